"""Every query of the literature, optimized, gives the results it gives as written: rows, lives, changes and events."""

from __future__ import annotations

from typing import Any

import pytest

from oracle.questions import Oracle
from panewise.engines.oracle.tuples import sorted_rows
from panewise.plan import nodes as n
from panewise.planner.choose.optimizer import optimize
from panewise.planner.legal.capabilities import supports
from panewise.planner.legal.legality import problems
from panewise.planner.statistics.relation_statistics import InputStatistics, RelationStatistics
from panewise.sql import parse
from sql.rows import arrivals
from sql.sql_cases import catalog, load, options

CASES = {case["id"]: case for case in [*load("queries.yaml"), *load("examples.yaml")]
         if "parsed_only" not in case}


def unequal(plan: n.Node) -> RelationStatistics:
    """Inputs so different that the order of joins and the place of negations matter."""
    names = [node.name for node in plan.walk() if isinstance(node, n.Named)]
    return RelationStatistics({name: InputStatistics(10.0 ** (place % 3 - 1)) for place, name in enumerate(names)})


@pytest.mark.parametrize("name", CASES)
def test_the_optimized_plan_gives_the_same_results(name: str) -> None:
    case: dict[str, Any] = CASES[name]
    plan = parse(case["text"], catalog(), **options(case))
    items = arrivals(plan, 30)
    expected = Oracle(plan, items)
    assert expected.results()
    for statistics in (None, unequal(plan)):
        found = optimize(plan, statistics, limit=20)
        assert not list(problems(found.plan))
        oracle = Oracle(found.plan, items)
        assert oracle.columns == expected.columns
        assert sorted_rows(oracle.results()) == sorted_rows(expected.results()), found.chosen.by
        for engine in ("embedded", "spark"):  # what an engine runs as written it also runs optimized
            assert supports(found.plan, engine) or not supports(plan, engine)
