"""``docs/errata.md`` lists every erratum, and every test it names exists."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTHING = "nothing to compute: "
EXPECTED = [
    *(f"E{i}" for i in range(1, 21)),
    *(f"P{i}" for i in range(1, 20)),
    *(f"S{i}" for i in range(1, 6)),
    *(f"N{i}" for i in range(1, 3)),
    *(f"G-E{i}" for i in range(1, 27)),
]


@dataclass(frozen=True)
class Erratum:
    """One line of a table."""

    name: str
    where: str
    printed: str
    right: str
    test: str

    @property
    def tests(self) -> list[tuple[str, str]]:
        """The files and functions it names."""
        return re.findall(r"`([\w/.]+\.py)::(\w+)`", self.test)


def errata() -> list[Erratum]:
    lines = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [Erratum(*row) for row in cells if row[0] != "id" and not row[0].startswith("---")]


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


LINES = errata()


def test_every_erratum_is_listed_once_and_in_order() -> None:
    assert [line.name for line in LINES] == EXPECTED


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_a_line_names_tests_that_exist_or_says_why_there_are_none(line: Erratum) -> None:
    assert all((line.where, line.printed, line.right))
    if line.test.startswith(NOTHING):
        assert len(line.test) > len(NOTHING) + 20
        assert line.tests == []
    assert line.tests or line.test.startswith(NOTHING)
    missing = [f"{file}::{name}" for file, name in line.tests if name not in functions_of(file)]
    assert missing == []
    assert all(name.startswith("test_") for _, name in line.tests)


def test_only_references_and_experiments_go_without_a_test() -> None:
    untested = [line.name for line in LINES if not line.tests]
    assert [name for name in untested if not name.startswith("G-")] == ["P19", "N2"]


def test_every_test_of_this_folder_that_bears_the_number_of_an_erratum_is_listed() -> None:
    listed = {test for line in LINES for test in line.tests}
    numbered = re.compile(r"test_(g_)?[epsn]\d+_")
    folder = Path(__file__).parent
    unlisted = [
        f"{file.name}::{name}"
        for file in sorted(folder.glob("test_*.py"))
        for name in sorted(functions_of(str(file.relative_to(ROOT))))
        if numbered.match(name) and (str(file.relative_to(ROOT).as_posix()), name) not in listed
    ]
    assert unlisted == []
