"""Every query of ``queries.yaml`` gives the plan its golden file shows.

After a wanted change run ``PANEWISE_UPDATE_GOLDEN=1 pytest tests/sql/test_golden.py`` and read the difference.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from panewise.sql import parse
from plan_text import render
from sql.sql_cases import HERE, catalog, load, options

CASES = [*load("queries.yaml"), *load("examples.yaml")]
GOLDEN = HERE / "golden"
UPDATE = os.environ.get("PANEWISE_UPDATE_GOLDEN") == "1"


def shown(case: dict[str, Any]) -> str:
    given = "".join(f"-- {name}: {case[name]}\n" for name in ("params", "functions", "lenient") if name in case)
    plan = render(parse(case["text"], catalog(), **options(case)))
    return f"-- {case['about']}\n{given}{case['text']}\n\n{plan}\n"


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_the_plan_is_the_one_in_the_golden_file(case: dict[str, Any]) -> None:
    path = GOLDEN / f"{case['id']}.txt"
    if UPDATE:
        path.write_text(shown(case), encoding="utf-8")
    assert shown(case) == path.read_text(encoding="utf-8")


def test_no_golden_file_is_without_a_query() -> None:
    assert {p.stem for p in GOLDEN.glob("*.txt")} == {c["id"] for c in CASES}


def test_all_printed_queries_are_here() -> None:
    printed = [c["id"] for c in load("queries.yaml")]
    assert len(set(printed)) == len(printed) >= 93
