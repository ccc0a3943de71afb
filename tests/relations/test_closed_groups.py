"""Groups of append-only streams are over when no row of theirs can come; then nothing of them is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import Distinct, Filter, GroupAggregate, NamedScalar, Node, Project, Union
from panewise.planner.facts.closing import closers
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Timeline
from panewise.progress.timeline import timeline as timeline_of
from panewise.sql import parse
from relations.pair_plans import STREAMS, joins
from relations.plans import PLACES, source, timelines
from relations.random_plans import is_legal
from relations.running import assert_like_the_oracle, run_relation
from relations.test_group_aggregates import call

CATALOG = Catalog({name: SourceSchema({"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}, time="ts")
                   for name in ("S0", "S1")})
BAND = "FROM S0 [WA ts, RANGE 2], S1 [WA ts, RANGE 2] WHERE S0.k = S1.k"
CALLS = (call("n", "count"), call("s", "sum", "v"), call("top", "max", "v"), call("newest", "last", "v"))


@st.composite
def grouped(draw: st.DrawFn) -> GroupAggregate:
    """An aggregate by some of the times of a join, of a union of joins, or of a stream."""
    below: Node
    if draw(st.integers(0, 4)) == 0:
        below = Project(source("s"), tuple(NamedScalar(name, Scalar.column(c)) for name, c in
                                           (("lts", "ts"), ("rts", "v"), ("k", "k"), ("v", "v"))))
    else:
        parts = [draw(joins()) for _ in range(draw(st.integers(1, 2)))]
        shown = [Project(join, tuple(NamedScalar(name, Scalar.column(c)) for name, c in (
            ("lts", "l.ts"), ("rts", "r.ts" if "r.ts" in join.columns else "l.ts"), ("k", "l.k"), ("v", "l.v"))))
            for join in parts]
        below = shown[0] if len(shown) == 1 else Union(tuple(shown))
    if draw(st.booleans()):
        below = Filter(below, Scalar.parse("v > 0"))
    keys = draw(st.sampled_from([("lts", "rts"), ("lts",), ("rts",), ("k", "rts"), ("k", "lts", "rts"), ("k",)]))
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=2, unique_by=lambda c: c.name))
    plan = GroupAggregate(below, tuple(NamedScalar.column(key) for key in keys), tuple(calls))
    return plan if is_legal(plan) else replace(plan, aggregates=CALLS[:3])  # rows that have no last one


@settings(max_examples=80, deadline=None)
@given(grouped(), timelines(STREAMS, rows=24, times=12), PLACES, PLACES, st.sampled_from(["upa", "negative"]))
def test_groups_that_are_over_have_told_all(plan: GroupAggregate, items: Timeline, cuts: frozenset[int],
                                            saves: frozenset[int], style: str) -> None:
    assert_like_the_oracle(plan, items, cuts, saves, style=style)
    found, query = run_relation(plan, items, cuts, saves, style=style)
    if closers(plan) and not any(row["lts" if "lts" in row else "rts"] is None or row.get("rts", 0) is None
                                 for row in found):
        assert query.status()["partials"] == 0  # all groups are over


@settings(max_examples=40, deadline=None)
@given(grouped(), st.sampled_from(["keep", "recent"]), timelines(STREAMS, rows=24, times=12), PLACES, PLACES)
def test_values_that_are_over_have_come(plan: GroupAggregate, policy: str, items: Timeline, cuts: frozenset[int],
                                        saves: frozenset[int]) -> None:
    distinct = Distinct(Project(plan.input, plan.keys), policy)
    assert_like_the_oracle(distinct, items, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(grouped(), timelines(STREAMS, rows=24, times=12), PLACES)
def test_a_relation_that_is_shown_keeps_groups_that_are_over(plan: GroupAggregate, items: Timeline,
                                                             cuts: frozenset[int]) -> None:
    found, query = run_relation(plan, items, cuts, current=True)
    there: dict[str, int] = {}
    for row in found:
        value = repr([row[name] for name in plan.columns])
        there[value] = there.get(value, 0) + row["change"]
    shown = [repr(list(row.values())) for row in query.current().to_pylist()]
    assert sorted(shown) == sorted(value for value, count in there.items() for _ in range(count))


def steady(query: Any, steps: int) -> list[int]:
    """Two streams at a steady rate; how many rows are kept after each step."""
    random, kept = np.random.default_rng(1), []
    for step in range(steps):
        for stream in ("S0", "S1"):
            if stream in query.streams:
                times, keys = step * 10 + random.integers(0, 10, 40), random.integers(0, 5, 40)
                query.push(stream, pa.table({"ts": times, "k": keys, "v": keys}))
        for stream in query.streams:
            query.push(stream, Punctuation.below("ts", step * 10 + 10))
        kept.append(query.status(windows=0)["partials"])
    return kept


@pytest.mark.parametrize("text", [
    f"SELECT S0.ts, S1.ts, count(*) {BAND} GROUP BY S0.ts, S1.ts",      # Q7-1: a box
    f"SELECT S0.ts, S1.ts, max(S1.v) {BAND} GROUP BY S0.ts, S1.ts",     # with rows, of which the largest is found
    f"SELECT S0.ts, count(*), max(S0.v) {BAND} GROUP BY S0.ts",         # a slab
    f"SELECT S1.k, S1.ts, count(*) {BAND} GROUP BY S1.k, S1.ts",
    f"SELECT S1.k, count(*) {BAND} GROUP BY S1.k",                      # nothing is over, and states are small
    "SELECT k, ts, count(*) FROM S0 GROUP BY k, ts",                    # Q2-1: one stream
    f"SELECT DISTINCT S0.ts, S1.k {BAND}",                              # values as keys
    "SELECT DISTINCT ts, k FROM S0",
    f"SELECT S0.ts, n FROM (SELECT S0.ts AS ts, S1.ts AS other, count(*) AS n {BAND} GROUP BY S0.ts, S1.ts) AS S0 "
    "WHERE n > 1",
])
def test_what_is_kept_does_not_grow_with_time(text: str) -> None:
    kept = steady(open_plan(parse(text, CATALOG)), 60)
    assert max(kept[30:]) <= 1.5 * max(kept[5:15])


def test_a_group_of_both_times_is_over_before_one_of_a_single_time() -> None:
    """W10: the box covers (1, 0) at once, the slab waits for the window."""
    query = open_plan(parse(f"SELECT S0.ts, S1.ts, count(*) {BAND} GROUP BY S0.ts, S1.ts", CATALOG))
    alone = open_plan(parse(f"SELECT S1.ts, count(*) {BAND} GROUP BY S1.ts", CATALOG))
    held = []
    for running in (query, alone):
        assert running.relation is not None
        running.push("S0", [{"ts": 1, "k": 1, "v": 1}])
        running.push("S1", [{"ts": 0, "k": 1, "v": 1}])
        groups = []
        for bound in (2, 3):
            for stream in ("S0", "S1"):
                running.push(stream, Punctuation.below("ts", bound))
            operators = running.status()["operators"]
            groups.append(next(o["groups"] for o in operators if o["operator"] == "GroupAggregate"))
        held.append(groups)
    assert held == [[0, 0], [1, 0]]


@pytest.mark.parametrize("text", [
    "SELECT z, count(*) AS n FROM (SELECT v + 1 AS z FROM {sums}) GROUP BY z", "SELECT DISTINCT v + 1 AS z FROM {sums}",
    "SELECT DISTINCT upper(CAST(k AS VARCHAR)) AS z FROM {sums}"])
@pytest.mark.parametrize("slide", [1, 5])
def test_a_computed_column_is_not_taken_for_the_birth_of_a_row(text: str, slide: int) -> None:
    """The results of a window aggregate do not show when they were born."""
    sums = f"(SELECT k, sum(v) [RANGE 5, SLIDE {slide}, WA ts] AS v FROM S0 GROUP BY k)"
    plan = parse(text.format(sums=sums), CATALOG)
    items = [{"ts": 1, "k": 1, "v": 1}, Punctuation.below("ts", 3), {"ts": 4, "k": 1, "v": 2},
             Punctuation.below("ts", 5), {"ts": 6, "k": 1, "v": 1}, Punctuation.below("ts", 9)]
    assert_like_the_oracle(plan, timeline_of(S0=items))
