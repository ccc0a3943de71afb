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
from panewise.storage.sealed import STATE_VERSION

ROOT = Path(__file__).parents[2]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["semantics.md", "progress.md", "embedded.md", "planner.md", "aggregates.md",
                                  "contributing.md"])
def test_examples_in_the_pages_give_what_they_show(page: str) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, optionflags=flags)
    assert result.attempted >= 3
    assert result.failed == 0


@pytest.mark.spark
def test_the_python_examples_of_the_readme_print_what_it_shows(
        spark: object, capsys: pytest.CaptureFixture[str]) -> None:
    readme, space = ROOT / "README.md", dict[str, object]()
    for block in blocks(readme, "python"):
        exec(compile(block, "README.md", "exec"), space)
    assert [capsys.readouterr().out] == blocks(readme, "text")


@pytest.mark.spark
def test_the_commands_of_the_page_about_them_run(
        spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(ROOT / "docs" / "command-line.md", "console") for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ panewise")]
    assert len(commands) == 4
    (tmp_path / "names.csv").write_text("id,name,at\n1000,lamp,2020-01-01T00:00:00Z\n")
    for line in commands:
        assert main(shlex.split(line)[1:]) == 0, line
    assert (tmp_path / "result.parquet").stat().st_size > 1000


def test_the_generated_pages_are_up_to_date() -> None:
    code = ("import sys; sys.path.insert(0, 'tools'); from generate_docs import pages; "
            "print([p.name for p, t in pages().items() if p.read_text() != t])")
    stale = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert stale.stdout.strip() == "[]", f"run `make docs`: {stale.stdout}"


def anchors(page: Path) -> set[str]:
    """What headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def test_the_page_of_changes_names_one_version_of_state_and_that_is_the_one() -> None:
    rows = [row for row in (ROOT / "docs" / "changes.md").read_text().splitlines()
            if re.search(r"\b(checkpoints?|saved state|state store)\b", row)]
    named = [int(number) for row in rows for number in re.findall(r"(?:\bversion|for all of it,) (\d+)(?![.\d])", row)]
    assert named == [STATE_VERSION]


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text()):
            aim = page.parent / target if target else page
            assert aim.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(aim), f"{page.name} links to {target}#{anchor}"
