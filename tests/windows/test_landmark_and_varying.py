"""Landmark and band windows, windows of varying extent, and windows given by a linear extent."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.windows import (
    UNBOUNDED,
    BandWindow,
    LandmarkWindow,
    LinearWindow,
    Rows,
    SlidingWindow,
    VaryingWindow,
    derive_wids,
)

MODERATE = settings(max_examples=40, deadline=None)
values = st.lists(st.integers(-40, 40), min_size=1, max_size=15)


@given(st.integers(1, 9), st.integers(-10, 10), values)
@MODERATE
def test_p11_every_landmark_window_holds_the_one_before_it(slide, origin, stamps):
    window, rows = LandmarkWindow(slide, origin), Rows.of(stamps)
    ids = window.windows(rows).tolist()
    assert window.members(ids[-1], rows).all()
    for wid in ids[1:]:
        assert (window.members(wid, rows) >= window.members(wid - 1, rows)).all()


def test_a_row_of_a_landmark_window_never_expires():
    enter, expiry = LandmarkWindow(10).lifetime(np.array([0, 9, 10]))
    assert (enter.tolist(), expiry.tolist()) == ([9, 9, 19], [UNBOUNDED] * 3)


def test_a_lower_landmark_is_empty_before_it_and_then_grows():
    window = BandWindow.since(5)
    assert window.scope(4).empty
    assert [str(window.scope(tau)) for tau in (5, 9)] == ["[5, 6)", "[5, 10)"]
    assert window.closed_below(10**15) == 0


def test_an_upper_landmark_is_frozen_once_it_has_passed():
    window = BandWindow.until(9)
    assert [str(window.scope(tau)) for tau in (3, 9, 50)] == ["(-∞, 4)", "(-∞, 10)", "(-∞, 10)"]
    assert [window.closed_below(bound) for bound in (9, 10)] == [0, 1]


def test_a_fixed_band_includes_both_of_its_instants():
    window, rows = BandWindow(5, 9), Rows.of([4, 5, 9, 10])
    assert window.members(0, rows).tolist() == [False, True, True, False]
    enter, expiry = window.lifetime(rows.values)
    assert (enter < expiry).tolist() == [False, True, True, False]


def test_a_band_without_ends_is_the_whole_stream():
    assert BandWindow().scope(7) == Interval(None, 8)
    assert BandWindow().describe() == "unbounded"


def test_a_shrinking_extent_drops_rows_at_once():
    window = VaryingWindow(10, changes=((20, 3),))
    assert [str(window.scope(tau)) for tau in (19, 20, 21)] == ["[10, 20)", "[18, 21)", "[19, 22)"]


def test_a_growing_extent_is_refused_because_expired_rows_would_return():
    with pytest.raises(WindowSpecError, match="at 20 the RANGE jumps from 3 to 10"):
        VaryingWindow(3, changes=((20, 10),))


def test_an_extent_may_grow_by_one_tick_per_tick():
    window = VaryingWindow(3, changes=((20, 4), (21, 5)))
    assert [str(window.scope(tau)) for tau in (19, 20, 21, 22)] == ["[17, 20)", "[17, 21)", "[17, 22)", "[18, 23)"]


def test_a_gradual_growth_holds_the_lower_end_until_the_new_extent_is_filled():
    window = VaryingWindow(3, changes=((20, 6),), gradual=True)
    lowers = [window.scope(tau).start for tau in range(18, 26)]
    assert lowers == [16, 17, 17, 17, 17, 18, 19, 20]


@st.composite
def schedules(draw):
    at = sorted(draw(st.lists(st.integers(-20, 20), unique=True, max_size=4)))
    return draw(st.integers(1, 9)), tuple((a, draw(st.integers(1, 9))) for a in at)


@given(schedules(), st.integers(-30, 30))
@MODERATE
def test_no_row_ever_comes_back_under_a_varying_extent(schedule, ts):
    window = VaryingWindow(*schedule, gradual=True)
    visible = [window.scope(tau).contains(ts) for tau in range(-40, 60)]
    runs = [v for v, before in zip(visible, [False, *visible], strict=False) if v and not before]
    assert len(runs) <= 1


@given(schedules())
@MODERATE
def test_a_legal_schedule_needs_no_holding_and_a_jump_brings_rows_back(schedule):
    extent, changes = schedule

    def omega(tau):
        return next((e for at, e in reversed(changes) if tau >= at), extent)

    lowers = [tau - omega(tau) + 1 for tau in range(-30, 40)]
    if lowers == sorted(lowers):
        window = VaryingWindow(extent, changes)
        assert [window.scope(tau).start for tau in range(-30, 40)] == lowers
    else:
        with pytest.raises(WindowSpecError):
            VaryingWindow(extent, changes)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(-9, 9), values)
@MODERATE
def test_an_extent_that_never_changes_is_a_sliding_window(extent, slide, origin, stamps):
    rows = Rows.of(stamps)
    np.testing.assert_array_equal(
        VaryingWindow(extent, slide=slide, origin=origin).wids(rows), SlidingWindow(extent, slide, origin).wids(rows)
    )


@given(st.integers(1, 9), st.integers(1, 9), st.integers(-9, 9), values)
@MODERATE
def test_the_derived_wids_of_a_sliding_extent_are_the_floor_formula(extent, slide, origin, stamps):
    derived = derive_wids(slide, origin + slide - extent, slide, origin + slide, np.array(stamps))
    np.testing.assert_array_equal(derived, SlidingWindow(extent, slide, origin).wids(Rows.of(stamps)))


@given(st.integers(1, 9), st.integers(-9, 9), values)
@MODERATE
def test_a_fixed_lower_end_derives_ids_without_end(slide, lower, stamps):
    first, last = derive_wids(0, lower, slide, slide, np.array(stamps))
    for t, a, b in zip(stamps, first.tolist(), last.tolist(), strict=True):
        assert (b == UNBOUNDED) == (t >= lower)
        assert b in (a, UNBOUNDED)
        assert a * slide + slide > t >= (a - 1) * slide + slide


def test_fractions_are_inverted_exactly():
    # Every third of a tick a window of one tick: the integers 0, 1, … are in three each.
    first, last = derive_wids(Fraction(1, 3), 0, Fraction(1, 3), 1, np.array([0, 1]))
    assert (first.tolist(), last.tolist()) == ([-2, 1], [1, 4])


@pytest.mark.parametrize("coefficients", [(-1, 0, 1, 5), (1, 0, 0, 5), (1, 0, -1, 5)])
def test_an_extent_whose_rows_have_no_first_window_is_refused(coefficients):
    with pytest.raises(WindowSpecError, match="has no first window"):
        LinearWindow(*coefficients)


@pytest.mark.parametrize(("make", "complaint"), [
    (lambda: LandmarkWindow(0), "SLIDE must be positive"),
    (lambda: BandWindow(9, 5), "a window from 9 to 5 is empty: END AT must not precede START AT"),
    (lambda: BandWindow(5, keeps_history=False), "say registered_at"),
    (lambda: BandWindow("07:00"), "START AT must be a whole number"),
    (lambda: VaryingWindow(0), "RANGE must be positive"),
    (lambda: VaryingWindow(3, ((5, 0),)), "the RANGE after a change must be positive"),
    (lambda: VaryingWindow(3, ((5, 2), (5, 1))), "changes must be in the order of time"),
])
def test_ends_and_changes_that_make_no_sense_are_refused(make, complaint):
    with pytest.raises(WindowSpecError, match=complaint):
        make()
