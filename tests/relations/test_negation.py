"""EXISTS, NOT EXISTS and EXCEPT ALL over windows of any kind, alone and below other operators."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
    Join,
    Node,
    Qualify,
    SemiJoin,
    Union,
    Window,
    WindowClause,
)
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, columns, source, timelines, window, windows
from relations.running import assert_like_the_oracle

PREDICATES = st.sampled_from([None, "k = `r.k`", "k = `r.k` AND v < `r.v`", "v > `r.v`", "k = `r.k` AND v = `r.v`"])


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), PREDICATES, st.sampled_from([SemiJoin, AntiJoin]), timelines(("s", "t"), rows=20),
       PLACES, PLACES)
def test_rows_with_or_without_a_match(left: Window, right: Window, predicate: str | None,
                                      kind: type[SemiJoin] | type[AntiJoin], timeline: Timeline,
                                      cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = kind(left, Qualify(right, "r"), None if predicate is None else Scalar.parse(predicate))
    assert_like_the_oracle(plan, timeline, cuts, saves)


def test_a_query_without_a_condition_is_saved_before_its_first_row() -> None:
    spec = SlidingWindow.scoped(3)
    plan = SemiJoin(window(source("s"), spec), Qualify(window(source("t"), spec), "r"), None)
    rows = [Arrival(name, {"ts": 1, "k": "a", "v": 1}) for name in "st"]
    assert_like_the_oracle(plan, rows, saves=frozenset({0, 1}))


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), st.sampled_from([("k",), ("k", "v")]), timelines(("s", "t"), rows=24), PLACES,
       PLACES)
def test_a_bag_difference(left: Window, right: Window, names: tuple[str, ...], timeline: Timeline,
                          cuts: frozenset[int], saves: frozenset[int]) -> None:
    plan = BagDifference(columns(left, *names), columns(right, *names))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), windows("u"), st.integers(0, 4), timelines(("s", "t", "u"), rows=24), PLACES, PLACES)
def test_operators_above_strict_ones(one: Window, two: Window, three: Window, shape: int, timeline: Timeline,
                                     cuts: frozenset[int], saves: frozenset[int]) -> None:
    a, b, c = (columns(w, "k", "v") for w in (one, two, three))
    equal = Scalar.parse("k = `r.k`")
    plan: Node = [
        Join(Qualify(AntiJoin(a, Qualify(b, "r"), equal), "l"), Qualify(c, "r"), Scalar.parse("`l.v` = `r.v`")),
        BagDifference(BagDifference(a, b), c),
        AntiJoin(BagDifference(a, b), Qualify(SemiJoin(c, Qualify(b, "r"), equal), "r"), equal),
        Distinct(Union((BagDifference(a, b), c))),
        SemiJoin(Distinct(a), Qualify(BagDifference(b, c), "r"), Scalar.parse("k = `r.k` AND v >= `r.v`")),
    ][shape]
    assert_like_the_oracle(plan, timeline, cuts, saves)


def test_a_side_is_frozen_only_if_its_window_is_on_the_time_of_its_stream() -> None:
    """A row of 9 o'clock with v = 1 takes back what a row of 1 o'clock with v = 7 gave, although 1 is before 7."""
    left, right = (Window(source(name), WindowClause(spec, "v", OrdinalKind.INTEGER))
                   for name, spec in (("s", BandWindow(7, 12)), ("t", BandWindow(0, 5))))
    plan = AntiJoin(columns(left, "k"), Qualify(columns(right, "k"), "r"), Scalar.parse("k = `r.k`"))
    timeline = [Arrival("s", {"ts": 1, "k": "a", "v": 7}), Arrival("t", {"ts": 9, "k": "a", "v": 1}),
                *(Arrival(name, Punctuation.below("v", bound)) for bound in (9, 30) for name in "st")]
    assert_like_the_oracle(plan, timeline)


def test_a_difference_of_windows_on_another_column_than_the_time_tells_no_instant_twice() -> None:
    stream = source("s")
    five, three = (columns(Window(stream, WindowClause(SlidingWindow(length, 1), "v", OrdinalKind.INTEGER)), "k")
                   for length in (5, 3))
    shifts = Random(15)
    timeline: Timeline = []
    for ts in range(40):
        row = {"ts": ts, "k": shifts.choice("xy"), "v": max(0, ts + shifts.randint(-4, 4))}
        timeline += [Arrival("s", row), Arrival("s", Punctuation.below("v", ts - 8)),
                     Arrival("s", Punctuation.below("ts", ts))]
    assert_like_the_oracle(BagDifference(five, three), timeline, frozenset(range(0, 120, 7)), frozenset({40}))
