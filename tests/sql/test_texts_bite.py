"""The rows of every query tell it from queries that are nearly the same: an engine that answers those is found out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from oracle.questions import Oracle
from panewise.core.errors import SchemaError
from panewise.plan.nodes import Node
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from relations.running import bag
from sql.mutations import mutations
from sql.rows import TOO_MANY, arrivals, enough
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES

KEPT = "an output window keeps what came in, whatever becomes of it below"
COUNTED = "a window by rows counts what came in, whatever becomes of it below"
CAME = "what comes into a window is the same however long it stays: every row has a time of its own"
TOO_LONG = "a thousand rows cost the oracle too much at every instant: the text with fewer rows is told apart"
THOUSAND = dict.fromkeys(("rows doubled", "rows halved", "all rows"), TOO_LONG)
SAME = {
    "golab06-3.wstream": {"not INTERNAL": KEPT},
    "golab06-3.wstream-sum": {"not INTERNAL": KEPT},
    "own-outrange": {"not INTERNAL": KEPT},
    "golab06-3.nested": {"not INTERNAL": COUNTED},
    "own-istream": dict.fromkeys(("range doubled", "range halved", "unbounded"), CAME),
    "ex-spark-expressions": {"AND without its part 6": "amount BETWEEN 1 AND 10 is not true of null"},
    "ex-three-way": dict.fromkeys(("AND without its part 2", "no condition (2)"), "where S1.a = S2.a = S3.a the "
                                  "conditions S1.a + S2.a > S3.a and S3.a > 0 are one"),
    "ex-distinct-recent-rows": {"KEEP for RECENT": "no row says when it leaves, so only values come and go"},
    "ps11-Q5": THOUSAND,
    "ps11-Q5 with MAX": THOUSAND,
    "ps11-Q6": {**THOUSAND, **{f"{name} (2)": why for name, why in THOUSAND.items()}},
    "ps11-stock": THOUSAND,
}
"""Queries that are the same, by text and difference, and why."""


def answer(plan: Node, rows: Timeline) -> Counter[str] | None:
    try:
        return bag(Oracle(plan, rows).results())
    except SchemaError:  # a column of the window that the other kind of window does not have
        return None


def plan_of(case: dict[str, Any]) -> Node:
    return parse(case["text"], catalog(), **options(case))


@pytest.mark.parametrize("case", [
    pytest.param(c, id=c["id"], marks=[pytest.mark.soak] if enough(plan_of(c)) > TOO_MANY else []) for c in CASES])
def test_the_answer_is_that_of_no_other_query(case: dict[str, Any]) -> None:
    plan = plan_of(case)
    rows = arrivals(plan)
    expected = answer(plan, rows)
    assert expected
    same = {name for name, other in mutations(plan) if answer(other, rows) == expected}
    assert same == SAME.get(case["id"], {}).keys()
