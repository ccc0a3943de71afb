"""Windows by rows, alone, in joins and beside windows over time, change as the oracle says."""

from __future__ import annotations

from hypothesis import given, settings

from panewise.core.scalar import Scalar
from panewise.plan.nodes import Filter, Join, Qualify, Union, Window
from panewise.progress.timeline import Timeline
from relations.plans import COUNT_WINDOWS, PLACES, columns, timelines, windows
from relations.running import assert_like_the_oracle


@settings(max_examples=30, deadline=None)
@given(windows("s", COUNT_WINDOWS), timelines(("s",), rows=18), PLACES, PLACES)
def test_a_window_by_rows(window: Window, timeline: Timeline, cuts: frozenset[int], saves: frozenset[int]) -> None:
    assert_like_the_oracle(Filter(window, Scalar.parse("v < 3")), timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t", COUNT_WINDOWS), timelines(("s", "t"), rows=20), PLACES, PLACES)
def test_a_join_with_a_window_by_rows(left: Window, right: Window, timeline: Timeline, cuts: frozenset[int],
                                      saves: frozenset[int]) -> None:
    plan = Join(Qualify(left, "l"), Qualify(right, "r"), Scalar.parse("`l.k` = `r.k` AND `l.v` <= `r.v`"))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s", COUNT_WINDOWS), windows("t"), windows("u"), timelines(("s", "t", "u"), rows=20), PLACES, PLACES)
def test_a_join_above_a_union_of_strict_inputs(one: Window, two: Window, three: Window, timeline: Timeline,
                                               cuts: frozenset[int], saves: frozenset[int]) -> None:
    both = Union((columns(one, "k", "v"), columns(two, "k", "v")))
    plan = Join(Qualify(both, "l"), Qualify(three, "r"), Scalar.parse("`l.k` = `r.k`"))
    assert_like_the_oracle(plan, timeline, cuts, saves)
