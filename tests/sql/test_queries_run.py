"""Every query that is accepted also has an answer: its plan can be evaluated by definition, and has its columns."""

from __future__ import annotations

from typing import Any

import pytest

from oracle.questions import Oracle
from panewise.sql import parse
from sql.rows import arrivals
from sql.sql_cases import catalog, load, options, variants

LISTED = [c for c in [*load("queries.yaml"), *load("examples.yaml")] if "parsed_only" not in c]
CASES = [*LISTED, *(other for c in LISTED for other in variants(c))]
"""Every query, and those with parameters also with the other values they list."""


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_the_plan_has_an_answer_with_the_columns_it_says(case: dict[str, Any]) -> None:
    plan = parse(case["text"], catalog(), **options(case))
    oracle = Oracle(plan, arrivals(plan, 100))
    found = oracle.results()
    assert found, "rows for which the query has an answer"
    for row in found:
        assert tuple(row) == oracle.columns
