"""Aggregates over changing contents: replaced when they change, gone with their last row, exact throughout."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
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
    Window,
)
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, columns, source, timelines, window, windows
from relations.running import assert_like_the_oracle, run_relation


def call(name: str, function: str, *arguments: str, **options: object) -> AggregateCall:
    return AggregateCall(name, function, tuple(Scalar.parse(a) for a in arguments), **options)  # type: ignore[arg-type]


CALLS = st.lists(st.sampled_from([
    call("n", "count"), call("nk", "count", "k"), call("s", "sum", "v"), call("f", "sum", "v / 7.0"),
    call("m", "avg", "v"), call("low", "min", "v"), call("high", "max", "v / 3.0"), call("word", "max", "k"),
    call("mid", "median", "v"), call("kinds", "count", "v", distinct=True), call("sd", "stddev", "v"),
    call("one", "first", "v"), call("newest", "last", "v"), call("total", "sum", "v", distinct=True),
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


def test_first_and_last_of_groups_go_by_the_newest_row_of_each_group_also_where_its_value_stays() -> None:
    by_k = (NamedScalar.column("k"),)
    tops = GroupAggregate(columns(window(source(), SlidingWindow.scoped(5)), "k", "v"), by_k, (call("v", "max", "v"),))
    rows = [Arrival("s", {"ts": ts, "k": k, "v": v}) for ts, k, v in ((1, "a", 5), (2, "b", 3), (3, "a", 1))]
    plan = GroupAggregate(tops, (), (call("oldest", "first", "v"), call("newest", "last", "v")))
    assert_like_the_oracle(plan, rows)
    told = [row for row in run_relation(plan, rows)[0] if row["change"] == 1]
    assert [(row["valid_from"], row["oldest"], row["newest"]) for row in told][:3] == [(1, 5, 5), (2, 5, 3), (3, 3, 5)]
