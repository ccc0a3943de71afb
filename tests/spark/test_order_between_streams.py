"""Rows of several streams that have one instant: in shards their order is that of the streams, however input is cut."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import GroupAggregate, Join, NamedScalar, Node, Project, Qualify, Union, Window, WindowClause
from panewise.planner.legal.capabilities import check
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from panewise.windows.count import CountWindow
from relations.operator_shapes import PAIRS
from relations.pair_plans import pairs
from relations.plans import COLUMNS, PLACES, TIME_WINDOWS, columns, source, timelines, windows
from relations.random_plans import is_legal
from relations.running import bag
from relations.test_group_aggregates import call
from spark.in_process_queries import Hosted

CATALOG = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in "stu"})
NEWEST = "SELECT k, v FROM (SELECT k, v FROM s UNION ALL SELECT k, v FROM t) [ROWS 1]"
ROWS = [Arrival("t", {"ts": 6, "k": "b", "v": 1}), Arrival("s", {"ts": 6, "k": "b", "v": 0})]


def stream_by_stream(timeline: Timeline) -> Timeline:
    """All of one stream, then all of the next, in the order of their names."""
    return sorted(timeline, key=lambda arrival: arrival.stream)


@pytest.mark.parametrize("cuts", [frozenset(), frozenset({1})])
@pytest.mark.parametrize("rows", [ROWS, ROWS[::-1]])
def test_the_newest_row_of_two_streams_does_not_depend_on_micro_batches(cuts: frozenset[int], rows: Timeline) -> None:
    assert [row["v"] for row in Hosted(parse(NEWEST, CATALOG), 1).run(rows, cuts)] == [1]


@pytest.mark.parametrize(("rows", "newest"), [(ROWS, 0), (ROWS[::-1], 1)])
def test_in_process_the_order_is_that_of_arrival(rows: Timeline, newest: int) -> None:
    plan = parse(NEWEST, CATALOG)
    query = open_plan(plan)
    for row in rows:
        query.push(row.stream, [row.item])  # type: ignore[list-item]
    assert [row["v"] for row in query.finish().to_pylist()] == [newest]
    assert [row["v"] for row in Oracle(plan, rows).results()] == [newest]


@st.composite
def ordered(draw: st.DrawFn) -> Node:
    """What asks for the order of rows of several streams: first and last, or a window by rows."""
    one, other = (columns(draw(windows(name, TIME_WINDOWS)), "k", "v") for name in "st")
    match draw(st.integers(0, 3)):
        case 0:
            return Window(Union(tuple(columns(source(name), "k", "v") for name in "uts")), _newest(draw))
        case 1:
            return Window(columns(draw(pairs()), "k", "v"), _newest(draw))
        case 2:
            below: Node = Union((other, one, columns(source("u"), "k", "v")))
        case _:
            joined = Join(Qualify(other, "l"), Qualify(one, "r"), draw(PAIRS))
            below = Project(joined, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.column("r.v"))))
    calls = call("first", "first", "v"), call("last", "last", "v")
    return GroupAggregate(below, (NamedScalar.column("k"),), calls)


def _newest(draw: st.DrawFn) -> WindowClause:
    return WindowClause(CountWindow(draw(st.integers(1, 4))), "row-num", OrdinalKind.ROWS)


@settings(max_examples=80, deadline=None)
@given(ordered(), timelines(("s", "t", "u"), rows=16, times=6), PLACES, st.integers(1, 3), st.integers(0, 9))
def test_shards_answer_as_if_streams_came_one_after_the_other(plan: Node, timeline: Timeline, cuts: frozenset[int],
                                                              shards: int, seed: int) -> None:
    assume(is_legal(plan))
    found = Hosted(plan, shards, seed=seed).run(timeline, cuts)
    assert bag(found) == bag(Oracle(plan, stream_by_stream(timeline)).results())


def test_first_and_last_of_pairs_as_they_are_found_are_refused_on_spark() -> None:
    plan = parse("SELECT last(a.v) AS v FROM (SELECT * FROM s AS a [RANGE 3, WA ts], t AS b [RANGE 3, WA ts] "
                 "WHERE a.k = b.k) [RANGE 4, SLIDE 4, WA a.ts]", CATALOG)
    check(plan, "embedded")
    with pytest.raises(UnsupportedError, match="a shard does not know whose rows came first"):
        check(plan, "spark")
