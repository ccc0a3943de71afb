"""Windows over time, row-by-row operators, unions and joins give the oracle's lives, however rows come."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import Filter, Join, Node, Qualify, Union
from panewise.progress.timeline import Timeline
from panewise.progress.timeline import timeline as timeline_of
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, TIME_WINDOWS, columns, source, timelines, window
from relations.running import assert_like_the_oracle


@settings(max_examples=30, deadline=None)
@given(TIME_WINDOWS, timelines(("s",)), PLACES, PLACES)
def test_a_window_shows_every_row_for_its_time(spec: WindowSpec, timeline: Timeline, cuts: frozenset[int],
                                               saves: frozenset[int]) -> None:
    plan = Filter(window(source(), spec, predicate=Scalar.parse("v < 3")), Scalar.parse("v > 0"))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@pytest.mark.parametrize("condition", ["1 <> 2", "1 = 2", "2 > 1 AND v > 0", "'a' = 'a'"])
def test_a_condition_on_constants_holds_for_every_row_or_none(condition: str) -> None:
    rows = timeline_of(s=[{"ts": 1, "k": "a", "v": 1}, {"ts": 3, "k": "b", "v": 0}])
    for below in (source(), window(source(), SlidingWindow.scoped(4))):
        assert_like_the_oracle(Filter(below, Scalar.parse(condition)), rows)


PREDICATES = st.sampled_from([None, "`l.k` = `r.k`", "`l.k` = `r.k` AND `l.v` < `r.v`", "`l.v` + 1 = `r.v`",
                              "`l.v` < `r.v`", "`l.k` = `r.k` AND `r.v` = `l.v`"])


@settings(max_examples=30, deadline=None)
@given(TIME_WINDOWS, TIME_WINDOWS, PREDICATES, timelines(("s", "t")), PLACES, PLACES)
def test_a_join_of_windows(left: WindowSpec, right: WindowSpec, predicate: str | None, timeline: Timeline,
                           cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = Join(Qualify(window(source("s"), left), "l"), Qualify(window(source("t"), right), "r"),
                None if predicate is None else Scalar.parse(predicate))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(TIME_WINDOWS, TIME_WINDOWS, st.booleans(), timelines(("s", "t")), PLACES, PLACES)
def test_a_union_of_windows_and_streams(left: WindowSpec, right: WindowSpec, windowed: bool, timeline: Timeline,
                                        cuts: frozenset[int], saves: frozenset[int]) -> None:
    other: Node = window(source("t"), right) if windowed else source("t")
    plan = Union((columns(window(source("s"), left), "k", "v"), columns(other, "k", "v")))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(TIME_WINDOWS, TIME_WINDOWS, timelines(("s", "t", "u")), PLACES, PLACES)
def test_a_join_of_three_with_one_stream_without_a_window(one: WindowSpec, other: WindowSpec, timeline: Timeline,
                                                          cuts: frozenset[int], saves: frozenset[int]) -> None:
    pair = Join(Qualify(window(source("s"), one), "l"), Qualify(source("t"), "r"), Scalar.parse("`l.k` = `r.k`"))
    plan = Join(pair, Qualify(window(source("u"), other), "u"), Scalar.parse("`u.v` = `r.v`"))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=15, deadline=None)
@given(timelines(("s", "t")), PLACES, PLACES)
def test_a_plan_that_is_nothing_but_a_stream_passes_all_its_rows(timeline: Timeline, cuts: frozenset[int],
                                                                 saves: frozenset[int]) -> None:
    plan = Union((columns(Filter(source("s"), Scalar.parse("v > 1")), "k", "v"), columns(source("t"), "k", "v")))
    assert_like_the_oracle(plan, timeline, cuts, saves)
