"""Shards of hosted queries give the oracle's answer, however many there are and wherever the input is cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.engines.oracle.engine import Oracle
from panewise.plan.nodes import Node
from panewise.planner.relational import is_relational
from panewise.planner.stream_joins import has_stream_join
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival
from panewise.sql import parse
from relations.plans import PLACES, columns, source
from relations.random_plans import FOUR, cases, every_operator
from relations.running import bag
from relations.test_query_texts import disordered
from spark.in_process_queries import Hosted, assert_the_same
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES


def plan_of(case: dict[str, Any]) -> Node:
    return parse(case["text"], catalog(), **options(case))


HOSTED = [c for c in CASES if is_relational(plan_of(c)) or has_stream_join(plan_of(c))]


@pytest.mark.parametrize("case", HOSTED, ids=[c["id"] for c in HOSTED])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_hosted_query_of_the_language_gives_the_oracles_answer(case: dict[str, Any], shards: int) -> None:
    plan = plan_of(case)
    timeline = disordered(plan, 12)
    hosted = Hosted(plan, shards)
    found = hosted.run(timeline, frozenset({3, 9, 20, 21}))
    oracle = Oracle(plan, timeline)
    assert oracle.results()
    assert bag(found) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


def test_a_plan_that_is_nothing_but_a_stream_has_no_late_rows() -> None:
    plan = columns(source("s"), "k", "v")
    timeline = [Arrival("s", Punctuation.below("ts", 5)), Arrival("s", {"ts": 0, "k": "a", "v": 0})]
    assert Hosted(plan, 2).run(timeline) == [{"k": "a", "v": 0}] == Oracle(plan, timeline).results()


@every_operator
@settings(max_examples=8, deadline=None)
@given(st.data(), PLACES, st.sampled_from([1, 2, 2, 3, 3]), st.integers(0, 9))
def test_random_plans_give_the_oracles_answer_in_any_number_of_shards(operator: str, data: st.DataObject,
                                                                      cuts: frozenset[int], shards: int,
                                                                      seed: int) -> None:
    plan, timeline = data.draw(cases(operator, streams=FOUR, apart=True, calendar=True))
    hosted = Hosted(plan, shards, seed=seed)
    oracle = Oracle(plan, timeline)
    assert_the_same(hosted, hosted.run(timeline, cuts), oracle.results())
    assert hosted.late == len(oracle.late_rows())
