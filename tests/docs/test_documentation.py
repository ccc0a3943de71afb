"""What the documentation shows is run: README, the worked timelines, and the generated pages are as generated."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from panewise.cli.main import main

ROOT = Path(__file__).parents[2]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["semantics.md", "progress.md", "embedded.md", "planner.md", "aggregates.md"])
def test_examples_in_the_pages_give_what_they_show(page: str) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, optionflags=flags)
    assert result.attempted > 3
    assert result.failed == 0


@pytest.mark.spark
def test_the_python_examples_of_the_readme_run(spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, object] = {}
    for block in blocks(ROOT / "README.md", "python"):
        exec(compile(block, "README.md", "exec"), space)
    assert capsys.readouterr().out.splitlines() == ["1 -30 30 10.0", "1 0 60 30.0", "2 0 60 20.0", "1 30 90 30.0",
                                                    "2 30 90 20.0", "1 60 120 15.0"]


@pytest.mark.spark
def test_the_commands_of_the_readme_run(
        spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(ROOT / "README.md", "console") for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ panewise")]
    assert len(commands) == 3
    for line in commands:
        assert main(shlex.split(line)[1:]) == 0, line
    assert (tmp_path / "result.parquet").stat().st_size > 1000


def test_the_generated_pages_are_up_to_date() -> None:
    code = ("import sys; sys.path.insert(0, 'tools'); from generate_docs import pages; "
            "print([p.name for p, t in pages().items() if p.read_text() != t])")
    stale = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert stale.stdout.strip() == "[]", f"run `make docs`: {stale.stdout}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
