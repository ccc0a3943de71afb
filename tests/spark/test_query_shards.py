"""Shards of hosted queries give the oracle's answer, however many there are and wherever the input is cut."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.test_nested_windows import NESTED, items, read_by
from embedded.test_nested_windows import plan as nested_plan
from oracle.questions import Oracle
from panewise.engines.spark.host.wire import CONTROL
from panewise.plan.nodes import Distinct, Node, RelationToStream
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.result_forms import Form, form_of
from panewise.planner.facts.stream_joins import has_stream_join
from panewise.planner.legal.capabilities import supports
from panewise.planner.legal.relational import is_relational
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from relations.internal_plans import internals, mixtures
from relations.leaf_plans import relations
from relations.pair_plans import LEAVES, joins
from relations.pair_plans import STREAMS as JOINED
from relations.plans import PLACES, columns, source, timelines
from relations.random_plans import FOUR, STREAMS, cases, every_operator
from relations.running import bag
from relations.test_aggregates_inside import CATALOG, QUERIES
from spark.in_process_queries import Hosted
from spark.micro_batches import MicroBatches
from sql.disorder import disordered
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES


def plan_of(case: dict[str, Any]) -> Node:
    return parse(case["text"], catalog(), **options(case))


HOSTED = [c for c in CASES if is_relational(plan_of(c)) or has_stream_join(plan_of(c))]


@pytest.mark.parametrize("case", HOSTED, ids=[c["id"] for c in HOSTED])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_hosted_query_of_the_language_gives_the_oracles_answer(case: dict[str, Any], shards: int) -> None:
    plan = plan_of(case)
    timeline = disordered(plan, 24)
    hosted = Hosted(plan, shards)
    found = hosted.run(timeline, frozenset({3, 9, 20, 21}))
    oracle = Oracle(plan, timeline)
    assert oracle.results()
    assert bag(found) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


@pytest.mark.parametrize("case", HOSTED, ids=[c["id"] for c in HOSTED])
def test_a_hosted_query_tells_every_instant_once_when_it_is_complete(case: dict[str, Any]) -> None:
    """What real Spark is held to by ``test_query_texts``, a long run: nothing later, nothing to be corrected."""
    plan = plan_of(case)
    inputs = MicroBatches(plan)
    hosted = Hosted(plan, 2)
    told = list(accumulate(map(bag, hosted.told(inputs.tables, inputs.batches))))
    complete = inputs.complete()
    if form_of(plan) is not Form.STREAM:
        assert told == complete
    assert all(so_far <= may_be for so_far, may_be in zip(told, complete, strict=True))
    assert told[-1] == complete[-1]


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
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


@every_operator
@settings(max_examples=8, deadline=None)
@given(st.data(), st.sampled_from([Kind.ISTREAM, Kind.DSTREAM]), PLACES, st.integers(2, 3), st.integers(0, 9))
def test_what_came_and_went_is_the_oracles_in_any_number_of_shards(operator: str, data: st.DataObject, kind: Kind,
                                                                   cuts: frozenset[int], shards: int,
                                                                   seed: int) -> None:
    relation, timeline = data.draw(cases(operator, streams=FOUR, apart=True))
    plan = RelationToStream(columns(relation, "v"), kind)  # mostly split by k below
    hosted = Hosted(plan, shards, seed=seed)
    oracle = Oracle(plan, timeline)
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3).flatmap(internals) | st.integers(1, 3).flatmap(mixtures),
       timelines(STREAMS, rows=16, times=10), PLACES, st.integers(1, 3), st.integers(0, 9))
def test_internal_windows_give_the_oracles_answer_in_any_number_of_shards(plan: Node, timeline: Timeline,
                                                                          cuts: frozenset[int], shards: int,
                                                                          seed: int) -> None:
    hosted = Hosted(plan, shards, seed=seed)
    oracle = Oracle(plan, timeline)
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


INSIDE = {name: plan for name, text in QUERIES.items() if supports(plan := parse(text, CATALOG), "spark")}


@pytest.mark.parametrize("plan", INSIDE.values(), ids=INSIDE)
@settings(max_examples=10, deadline=None)
@given(timeline=timelines(STREAMS, rows=20), cuts=PLACES, shards=st.integers(1, 3), seed=st.integers(0, 9))
def test_window_aggregates_inside_relations_give_the_oracles_answer_in_shards(plan: Node, timeline: Timeline,
                                                                              cuts: frozenset[int], shards: int,
                                                                              seed: int) -> None:
    hosted = Hosted(plan, shards, seed=seed)
    oracle = Oracle(plan, timeline)
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


@pytest.mark.parametrize("name", NESTED)
@settings(max_examples=15, deadline=None)
@given(timeline=items, cuts=PLACES, shards=st.integers(1, 3), seed=st.integers(0, 9))
def test_nested_windows_give_the_oracles_answer_in_shards(name: str, timeline: Timeline, cuts: frozenset[int],
                                                          shards: int, seed: int) -> None:
    node = nested_plan(name)
    timeline = read_by(node, timeline)
    hosted, oracle = Hosted(node, shards, seed=seed), Oracle(node, timeline)
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3).flatmap(lambda depth: relations(depth, leaves=LEAVES)), timelines(JOINED, rows=16, times=10),
       PLACES, st.integers(1, 3), st.integers(0, 9))
def test_relations_over_pairs_give_the_oracles_answer_in_any_number_of_shards(plan: Node, timeline: Timeline,
                                                                              cuts: frozenset[int], shards: int,
                                                                              seed: int) -> None:
    hosted = Hosted(plan, shards, seed=seed)
    oracle = Oracle(plan, timeline)
    assert bag(hosted.run(timeline, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


def test_rows_of_several_streams_are_not_counted_as_they_come_on_spark() -> None:
    assert QUERIES.keys() - INSIDE.keys() == {"over rows of two streams"}


@settings(max_examples=30, deadline=None)
@given(joins(), st.booleans(), timelines(JOINED, rows=16, times=10), PLACES, st.integers(1, 3), st.integers(0, 9))
def test_shards_say_what_no_pair_to_come_will_be(plan: Node, distinct: bool, timeline: Timeline, cuts: frozenset[int],
                                                 shards: int, seed: int) -> None:
    plan = Distinct(plan) if distinct else plan
    hosted = Hosted(plan, shards, seed=seed, punctuated=True)
    said: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for row in hosted.run(timeline, cuts):
        if row[CONTROL] is not None:
            said.append(json.loads(row[CONTROL]))
        else:
            results.append({name: value for name, value in row.items() if name != CONTROL})
    assert bag(results) == bag(Oracle(plan, timeline).results())
    assert said[-1] == {}
    times = {"valid_from"} if distinct else set()
    assert {name for one in said for name in one} <= times | {name for name in plan.columns if name.endswith(".ts")}
    bounds = [one["valid_from"] for one in said if "valid_from" in one]
    assert bounds == sorted(bounds) or shards > 1
