"""Every query text of the language that is a relation runs in process with the oracle's answer."""

from __future__ import annotations

from typing import Any

import pytest

from oracle.questions import Oracle
from panewise.plan.nodes import BandJoin, Node, TumblingJoin
from panewise.planner.legal.relational import is_relational
from panewise.sql import parse
from relations.running import bag, run_relation
from sql.disorder import disordered
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES


def plan_of(case: dict[str, Any]) -> Node:
    return parse(case["text"], catalog(), **options(case))


def is_relation(plan: Node) -> bool:
    return is_relational(plan) and not any(isinstance(n, BandJoin | TumblingJoin) for n in plan.walk())


RELATIONS = [c for c in CASES if is_relation(plan_of(c))]


def test_there_are_relations_of_many_shapes() -> None:
    names = {type(n).__name__ for c in RELATIONS for n in plan_of(c).walk()}
    assert names >= {"Join", "Distinct", "AntiJoin", "SemiJoin", "BagDifference", "GroupAggregate", "RelationToStream",
                     "Lifetime", "Union"}


@pytest.mark.parametrize("case", RELATIONS, ids=[c["id"] for c in RELATIONS])
def test_a_relation_of_the_language_runs_and_gives_the_oracles_answer(case: dict[str, Any]) -> None:
    plan = plan_of(case)
    timeline = disordered(plan)
    found, query = run_relation(plan, timeline, frozenset({3, 9, 20}), frozenset({5, 12, 30}))
    assert query.relation is not None
    oracle = Oracle(plan, timeline)
    expected = oracle.results()
    assert expected
    assert bag(found) == bag(expected)
    assert query.late_count == len(oracle.late_rows())
