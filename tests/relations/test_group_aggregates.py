"""Aggregates over changing contents: replaced when they change, gone with their last row, exact throughout."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.kernels.relations.stores import blocks
from panewise.plan.nodes import (
    AggregateCall,
    AntiJoin,
    Distinct,
    Filter,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    SemiJoin,
    Union,
    Window,
    WindowClause,
)
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, TIME_WINDOWS, columns, source, timelines, window, windows
from relations.running import assert_like_the_oracle, bag, run_relation


def call(name: str, function: str, *arguments: str, **options: object) -> AggregateCall:
    return AggregateCall(name, function, tuple(Scalar.parse(a) for a in arguments), **options)  # type: ignore[arg-type]


CALLS = st.lists(st.sampled_from([
    call("n", "count"), call("nk", "count", "k"), call("s", "sum", "v"), call("f", "sum", "v / 7.0"),
    call("m", "avg", "v"), call("low", "min", "v"), call("high", "max", "v / 3.0"), call("word", "max", "k"),
    call("mid", "median", "v"), call("kinds", "count", "v", distinct=True),
    call("one", "first", "v"), call("newest", "last", "v"), call("total", "sum", "v", distinct=True),
    call("by", "max_by", "k", "v"), call("known", "first", "k", parameters=(True,)), call("often", "mode", "v"),
]), min_size=1, max_size=3, unique_by=lambda c: c.name)
KEYS = st.sampled_from([(), (NamedScalar.column("k"),), (NamedScalar("odd", Scalar.parse("v % 2")),
                                                         NamedScalar.column("k"))])


@settings(max_examples=30, deadline=None)
@given(windows("s"), CALLS, KEYS, timelines(("s",), rows=22), PLACES, PLACES)
def test_aggregates_over_a_window(window: Window, calls: list[AggregateCall], keys: tuple[NamedScalar, ...],
                                  timeline: Timeline, cuts: frozenset[int], saves: frozenset[int]) -> None:
    assert_like_the_oracle(GroupAggregate(window, keys, tuple(calls)), timeline, cuts, saves)


@settings(max_examples=20, deadline=None)
@given(CALLS, KEYS, timelines(("s",), rows=22), PLACES, PLACES)
def test_aggregates_over_a_stream_without_a_window(calls: list[AggregateCall], keys: tuple[NamedScalar, ...],
                                                   timeline: Timeline, cuts: frozenset[int],
                                                   saves: frozenset[int]) -> None:
    plan = GroupAggregate(Filter(source(), Scalar.parse("v > 0")), keys, tuple(calls))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), CALLS, st.integers(0, 3), timelines(("s", "t"), rows=22), PLACES, PLACES)
def test_aggregates_over_other_operators_and_below_them(left: Window, right: Window, calls: list[AggregateCall],
                                                        shape: int, timeline: Timeline, cuts: frozenset[int],
                                                        saves: frozenset[int]) -> None:
    a, b = columns(left, "k", "v"), columns(right, "k", "v")
    by_k = (NamedScalar.column("k"),)
    counted = GroupAggregate(b, by_k, (call("n", "count"),))
    pairs = Join(Qualify(a, "l"), Qualify(b, "r"), Scalar.parse("`l.v` = `r.v`"))
    renamed = columns(pairs, "l.k", "r.v")
    plan: Node = [
        GroupAggregate(AntiJoin(a, Qualify(b, "r"), Scalar.parse("k = `r.k`")), by_k, tuple(calls)),
        GroupAggregate(renamed, (NamedScalar("k", Scalar.column("l.k")),), (call("s", "sum", "`r.v`"),
                                                                             call("m", "max", "`r.v`"))),
        Join(Qualify(a, "l"), Qualify(Filter(counted, Scalar.parse("n > 1")), "r"), Scalar.parse("`l.v` = `r.n`")),
        GroupAggregate(Distinct(columns(counted, "n")), (), (call("s", "sum", "n"), call("low", "min", "n"))),
    ][shape]
    assert_like_the_oracle(plan, timeline, cuts, saves)


def net_changes(rows: list[dict[str, Any]]) -> dict[str, int]:
    """What changes at each instant, to ten digits."""
    net: Counter[str] = Counter()
    signed = [{k: v for k, v in row.items() if k != "change"} | {"": row["change"]} for row in rows]
    for text, count in bag(signed).items():
        value, _, sign = text.rpartition(", ('', ")
        net[value] += count * int(sign.rstrip(")]"))
    return {value: count for value, count in net.items() if count}


@settings(max_examples=30, deadline=None)
@given(windows("s"), KEYS, timelines(("s",), rows=22), PLACES, PLACES, st.sampled_from([2, 32]))
@example(window(source(), LandmarkWindow(1)), (), [Arrival("s", {"ts": int(i == 3), "k": "a", "v": v})
                                                   for i, v in enumerate((1, 1, 3, 3))], frozenset(), frozenset(), 32)
def test_deviations_to_ten_digits(of: Window, keys: tuple[NamedScalar, ...], timeline: Timeline, cuts: frozenset[int],
                                  saves: frozenset[int], size: int) -> None:
    """Their last digit depends on how rows are merged, so {1, 1, 3} and {1, 1, 3, 3} may differ, and be told anew."""
    plan = GroupAggregate(of, keys, (call("sd", "stddev", "v"),))
    with patch.object(blocks, "SIZE", size):
        found, _ = run_relation(plan, timeline, cuts, saves)
    assert net_changes(found) == net_changes(Oracle(plan, timeline).results())


STYLES = st.sampled_from(["upa", "negative"])
LOW_BLOCKS = st.sampled_from([2, 3, 32])
"""Blocks so small that few rows make a tree of several levels."""


@settings(max_examples=60, deadline=None)
@given(windows("s"), CALLS, KEYS, timelines(("s",), rows=40, times=24), PLACES, PLACES, LOW_BLOCKS, STYLES)
@example(window(source(), SlidingWindow.scoped(5, 1, lag=1)), [call("n", "count"), call("f", "sum", "v / 7.0")], (),
         [Arrival("s", {"ts": ts, "k": "a", "v": 1}) for ts in (0, 0, 1, 9)], frozenset({3}), frozenset(), 16, "upa")
@example(window(source(), LandmarkWindow(1)), [call("one", "first", "v")], (), [], frozenset(), frozenset(), 2, "upa")
def test_blocks_of_rows_that_leave(of: Window, calls: list[AggregateCall], keys: tuple[NamedScalar, ...],
                                   timeline: Timeline, cuts: frozenset[int], saves: frozenset[int], size: int,
                                   style: str) -> None:
    with patch.object(blocks, "SIZE", size):
        assert_like_the_oracle(GroupAggregate(of, keys, tuple(calls)), timeline, cuts, saves, style=style)


@settings(max_examples=40, deadline=None)
@given(windows("s"), windows("t"), CALLS, KEYS, st.integers(0, 3), timelines(("s", "t"), rows=36, times=20), PLACES,
       PLACES, LOW_BLOCKS, STYLES)
def test_blocks_of_rows_that_leave_in_any_order(one: Window, two: Window, calls: list[AggregateCall],
                                                keys: tuple[NamedScalar, ...], shape: int, timeline: Timeline,
                                                cuts: frozenset[int], saves: frozenset[int], size: int,
                                                style: str) -> None:
    a, b = columns(one, "k", "v"), columns(two, "k", "v")
    below: Node = [Union((a, b)), SemiJoin(a, Qualify(b, "r"), Scalar.parse("v = `r.v`")),
                   AntiJoin(a, Qualify(b, "r"), Scalar.parse("v = `r.v`")), Distinct(Union((a, b)))][shape]
    if isinstance(below, Union | Distinct):  # rows of two streams at one instant have no first and no last
        calls = [c for c in calls if c.function not in {"first", "last"}] or [call("low", "min", "v")]
    with patch.object(blocks, "SIZE", size):
        assert_like_the_oracle(GroupAggregate(below, keys, tuple(calls)), timeline, cuts, saves, style=style)


GROWING = st.one_of(st.builds(LandmarkWindow, st.integers(1, 4)),
                    st.builds(BandWindow, st.none() | st.integers(0, 6), st.none() | st.integers(6, 12)))


@settings(max_examples=50, deadline=None)
@given(windows("s", GROWING), windows("t", GROWING), CALLS, KEYS, st.integers(0, 5), timelines(("s", "t"), rows=26),
       PLACES, PLACES, st.sampled_from(["upa", "negative", "direct"]))
def test_aggregates_over_rows_that_never_leave(one: Window, two: Window, calls: list[AggregateCall],
                                               keys: tuple[NamedScalar, ...], shape: int, timeline: Timeline,
                                               cuts: frozenset[int], saves: frozenset[int], style: str) -> None:
    a, b = columns(one, "k", "v"), columns(two, "k", "v")
    below: Node = [one, a, SemiJoin(a, Qualify(b, "r"), Scalar.parse("v = `r.v`")), Distinct(a),
                   RelationToStream(SemiJoin(a, Qualify(b, "r"), Scalar.parse("v = `r.v`")),
                                    RelationToStreamKind.ISTREAM),
                   columns(source(), "k", "v")][shape]
    assert_like_the_oracle(GroupAggregate(below, keys, tuple(calls)), timeline, cuts, saves, style=style)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([TIME_WINDOWS, GROWING]).flatmap(lambda kinds: windows("s", kinds)), CALLS, KEYS,
       st.sampled_from([kind for kind in RelationToStreamKind if kind is not RelationToStreamKind.WSTREAM]),
       timelines(("s",), rows=24), PLACES, PLACES)
def test_aggregates_as_streams(of: Window, calls: list[AggregateCall], keys: tuple[NamedScalar, ...],
                               kind: RelationToStreamKind, timeline: Timeline, cuts: frozenset[int],
                               saves: frozenset[int]) -> None:
    assert_like_the_oracle(RelationToStream(GroupAggregate(of, keys, tuple(calls)), kind), timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([TIME_WINDOWS, GROWING]).flatmap(lambda kinds: windows("s", kinds)), CALLS, KEYS,
       st.integers(1, 4), timelines(("s",), rows=24), PLACES, PLACES, LOW_BLOCKS)
def test_the_newest_values_of_aggregates(of: Window, calls: list[AggregateCall], keys: tuple[NamedScalar, ...],
                                         newest: int, timeline: Timeline, cuts: frozenset[int],
                                         saves: frozenset[int], size: int) -> None:
    """Every change counts, also to an equal value, and values of one instant are as old as the youngest row in each."""
    values = RelationToStream(GroupAggregate(of, keys, tuple(calls)), RelationToStreamKind.ISTREAM)
    plan = Window(values, WindowClause(CountWindow(newest), "row-num", OrdinalKind.ROWS))
    with patch.object(blocks, "SIZE", size):
        assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([TIME_WINDOWS, GROWING]).flatmap(lambda kinds: windows("s", kinds)), CALLS, KEYS,
       timelines(("s",), rows=24), PLACES, PLACES)
def test_aggregates_of_internal_windows(of: Window, calls: list[AggregateCall], keys: tuple[NamedScalar, ...],
                                        timeline: Timeline, cuts: frozenset[int], saves: frozenset[int]) -> None:
    internal = replace(of, clause=replace(of.clause, internal=True))
    assert_like_the_oracle(GroupAggregate(internal, keys, tuple(calls)), timeline, cuts, saves)


def test_first_and_last_of_groups_go_by_the_newest_row_of_each_group_also_where_its_value_stays() -> None:
    by_k = (NamedScalar.column("k"),)
    tops = GroupAggregate(columns(window(source(), SlidingWindow.scoped(5)), "k", "v"), by_k, (call("v", "max", "v"),))
    rows = [Arrival("s", {"ts": ts, "k": k, "v": v}) for ts, k, v in ((1, "a", 5), (2, "b", 3), (3, "a", 1))]
    plan = GroupAggregate(tops, (), (call("oldest", "first", "v"), call("newest", "last", "v")))
    assert_like_the_oracle(plan, rows)
    told = [row for row in run_relation(plan, rows)[0] if row["change"] == 1]
    assert [(row["valid_from"], row["oldest"], row["newest"]) for row in told][:4] == [
        (None, None, None), (1, 5, 5), (2, 5, 3), (3, 3, 5)]
