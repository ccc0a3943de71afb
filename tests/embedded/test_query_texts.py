"""Window aggregates and joins of streams among the query texts run on the embedded engine with the oracle's answer."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.compare import assert_same_rows
from embedded.plans import run_timeline
from oracle.questions import Oracle
from panewise.dataflow import open_plan
from panewise.plan.nodes import Node, WindowAggregate
from panewise.planner.facts.stream_joins import has_stream_join
from panewise.sql import parse
from relations.running import bag
from relations.test_query_texts import RELATIONS
from sql.disorder import disordered
from sql.rows import TOO_MANY, enough
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES


def plan_of(case: dict[str, Any]) -> Node:
    return parse(case["text"], catalog(), **options(case))


AGGREGATES = [c for c in CASES if any(isinstance(n, WindowAggregate) for n in plan_of(c).walk())]
LARGE = [c for c in AGGREGATES if enough(plan_of(c)) > TOO_MANY]
JOINS = [c for c in CASES if c not in AGGREGATES and has_stream_join(plan_of(c))]


def test_there_are_window_aggregates_of_many_kinds() -> None:
    kinds = {n.window.spec.kind for c in AGGREGATES for n in plan_of(c).walk() if isinstance(n, WindowAggregate)}
    assert kinds >= {"sliding", "tumbling", "session", "calendar", "landmark", "row", "partitioned row",
                     "slide by tuple"}


@pytest.mark.parametrize("case", AGGREGATES, ids=[c["id"] for c in AGGREGATES])
def test_a_window_aggregate_of_the_language_runs_and_gives_the_oracles_answer(case: dict[str, Any]) -> None:
    assert_like_the_oracle(case, 160)


@pytest.mark.soak
@pytest.mark.parametrize("case", LARGE, ids=[c["id"] for c in LARGE])
def test_windows_of_a_thousand_rows_are_filled(case: dict[str, Any]) -> None:
    assert_like_the_oracle(case)


def assert_like_the_oracle(case: dict[str, Any], most: int | None = None) -> None:
    plan = plan_of(case)
    timeline = disordered(plan, most)
    oracle = Oracle(plan, timeline)
    expected = oracle.results()
    found, query = run_timeline(open_plan(plan), timeline, frozenset({3, 9, 20}), frozenset({5, 12, 30}))
    assert expected
    assert_same_rows(found, expected)
    assert query.late_count == len(oracle.late_rows())


@pytest.mark.parametrize("case", JOINS, ids=[c["id"] for c in JOINS])
def test_a_join_of_streams_of_the_language_runs_and_gives_the_oracles_answer(case: dict[str, Any]) -> None:
    plan = plan_of(case)
    timeline = disordered(plan)
    found, query = run_timeline(open_plan(plan), timeline, frozenset({3, 9, 20}), frozenset({5, 12, 30}))
    oracle = Oracle(plan, timeline)
    expected = oracle.results()
    assert expected
    assert bag(found) == bag(expected)
    assert query.late_count == len(oracle.late_rows())


def test_no_query_is_left_out() -> None:
    assert all(c in AGGREGATES or c in JOINS or c in RELATIONS for c in CASES)
