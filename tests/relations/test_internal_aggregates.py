"""Values of INTERNAL aggregates: one each time the rows of a group become others, whatever order they leave in."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Qualify,
    RelationToStream,
    SemiJoin,
    Union,
    Window,
    WindowClause,
)
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.progress.timeline import Timeline, timeline
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, columns, source, timelines, window, windows
from relations.positive_plans import internal, positive
from relations.random_plans import is_legal
from relations.running import assert_like_the_oracle, run_relation
from relations.test_group_aggregates import call

K = NamedScalar.column("k")
VALUES = (call("n", "count"), call("top", "max", "v"), call("last", "last", "v"))


def united(long: int, short: int) -> Node:
    """Windows of two lengths: what came last may leave first."""
    one, other = (columns(window(source(name), SlidingWindow.scoped(length)), "k", "v")
                  for name, length in (("s", long), ("t", short)))
    return Union((one, other))


def row(ts: int, k: str, v: int) -> dict[str, object]:
    return {"ts": ts, "k": k, "v": v}


def test_a_group_of_the_same_rows_again_has_a_value_again() -> None:
    """The row of the short window comes and goes while that of the long one is there: 1, 2 and 1 again."""
    plan = GroupAggregate(internal(united(9, 2)), (K,), (call("n", "count"),))
    items = timeline(s=[row(1, "a", 0)], t=[row(3, "a", 0)])
    assert_like_the_oracle(plan, items)
    kept, _ = run_relation(plan, items)
    assert [(r["valid_from"], r["n"], r["expires_at"]) for r in kept] == [(1, 1, None), (3, 2, None), (5, 1, None)]


def test_internal_values_are_those_of_external_windows_and_stay() -> None:
    """Golab 3.3.2: identical results in identical order, where every change of the rows changes the value."""
    items = timeline(s=[row(1, "a", 1), row(4, "a", 2)], t=[row(2, "a", 4), row(4, "a", 8)])
    total = (call("n", "sum", "v"),)
    changes, _ = run_relation(GroupAggregate(united(6, 3), (K,), total), items)
    kept, _ = run_relation(GroupAggregate(internal(united(6, 3)), (K,), total), items)
    assert [(r["valid_from"], r["n"]) for r in kept] == [
        (r["valid_from"], r["n"]) for r in changes if r["change"] == 1]


OVER = st.one_of(st.none(), st.builds(CountWindow, st.integers(1, 3)),
                 st.builds(SlidingWindow.scoped, st.integers(1, 6)))


@example(united(9, 2), CountWindow(2), 2, timeline(s=[row(1, "a", 0)], t=[row(3, "a", 0)]), frozenset(), frozenset())
@settings(max_examples=40, deadline=None)
@given(positive(windows), OVER, st.integers(0, 4), timelines(("s", "t"), rows=16), PLACES, PLACES)
def test_values_over_rows_that_leave_in_any_order(below: Node, over: WindowSpec | None, shape: int, items: Timeline,
                                                  cuts: frozenset[int], saves: frozenset[int]) -> None:
    values: Node = GroupAggregate(internal(below), (K,), VALUES)
    clause = None if over is None else WindowClause(over, "valid_from", OrdinalKind.INTEGER)
    if shape == 1:  # of groups
        values = GroupAggregate(values, (), (call("sum", "sum", "n"), call("most", "max", "top")))
    elif shape == 2 and clause is not None:  # a window over values, and what it holds
        values = GroupAggregate(Window(values, clause), (), (call("sum", "sum", "n"), call("last", "last", "last")))
    elif shape == 3:  # the same, written as an output window over external ones
        values = RelationToStream(GroupAggregate(below, (K,), VALUES), Kind.WSTREAM, output_window=clause)
    elif shape == 4:  # beside rows
        values = Join(Qualify(values, "l"), Qualify(internal(below), "r"), Scalar.parse("`l.k` = `r.k`"))
    assume(is_legal(values))
    assert_like_the_oracle(values, items, cuts, saves)


@settings(max_examples=20, deadline=None)
@given(positive(windows), windows("t"), timelines(("s", "t"), rows=16), PLACES, PLACES)
def test_values_over_rows_that_come_and_go_again(below: Node, right: Window, items: Timeline, cuts: frozenset[int],
                                                 saves: frozenset[int]) -> None:
    found = SemiJoin(below, Qualify(columns(right, "k"), "r"), Scalar.parse("k = `r.k`"))
    plan = replace(GroupAggregate(found, (K,), VALUES), internal=True)
    assume(is_legal(plan))
    assert_like_the_oracle(plan, items, cuts, saves)


def test_values_of_an_aggregate_below_a_stream_are_rows_like_others() -> None:
    """An INTERNAL window over Istream of an aggregate keeps each of its rows once, not one at every refresh."""
    counted = GroupAggregate(window(source("t"), SlidingWindow.scoped(4, 2)), (), (call("n", "count"),))
    above = WindowClause(SlidingWindow.scoped(6, 3), "valid_from", OrdinalKind.INTEGER, internal=True)
    plan = Window(RelationToStream(counted, Kind.ISTREAM), above)
    arrivals = timeline(t=[{"ts": 6, "k": "a", "v": 0}])
    assert_like_the_oracle(plan, arrivals)
    found, _ = run_relation(plan, arrivals)
    assert [(row["n"], row["valid_from"]) for row in found] == [(1, 6), (0, 12)]  # 0 at 10, which is seen at 12
