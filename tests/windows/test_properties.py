"""Propositions 1 to 5 of Patroumpas and Sellis with our verdicts, and the numbered properties of Li that windows carry.

Numbers: *Prop.* is the paper's own numbering; P8, P14 and P18 are properties of window ids.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.windows import (
    BandWindow,
    CountWindow,
    Disclosure,
    LandmarkWindow,
    Rows,
    RowWindow,
    SlidingWindow,
    TumblingWindow,
)
from panewise.windows.base import disjoint_ranges, ids_in_ranges

MODERATE = settings(max_examples=50, deadline=None)
amounts, instants = st.integers(1, 12), st.integers(-10, 10)
stamps = st.lists(st.integers(0, 60), min_size=1, max_size=25)


def instants_in(scope, low=-30, high=100):
    return {t for t in range(low, high) if scope.contains(t)}


# -- Patroumpas and Sellis ------------------------------------------------------------------------------------------


@given(amounts, amounts, st.integers(0, 40))
@MODERATE
def test_prop_1_says_nothing_but_full_scopes_overlap_in_exactly_range_minus_slide(omega, beta, tau):
    # Printed: successive states share at least 0 rows, which any two sets do. This is the statement with content.
    window = SlidingWindow.scoped(omega, beta)
    overlap = instants_in(window.scope(tau)) & instants_in(window.scope(tau + beta))
    assert len(overlap) == max(0, omega - beta)


@given(amounts, amounts, stamps)
@MODERATE
def test_prop_2_earlier_rows_never_expire_later(omega, beta, values):
    ordered = np.sort(np.array(values))
    _, expiry = SlidingWindow.scoped(omega, beta).lifetime(ordered)
    assert (np.diff(expiry) >= 0).all()


def test_prop_2_the_converse_fails_as_soon_as_two_rows_share_a_refresh():
    # Printed: s1.ts <= s2.ts if and only if s1.exp <= s2.exp. Rows 4 and 3 expire together.
    _, expiry = SlidingWindow.scoped(10, 4).lifetime(np.array([4, 3]))
    assert expiry[0] <= expiry[1]


@given(amounts, st.lists(st.integers(0, 60), min_size=2, max_size=2))
@MODERATE
def test_prop_2_is_an_equivalence_when_every_tick_refreshes(omega, pair):
    (one, other), (_, expiry) = pair, SlidingWindow.scoped(omega).lifetime(np.array(pair))
    assert (one <= other) == (expiry[0] <= expiry[1])


@given(amounts, st.integers(0, 40), st.sampled_from(Disclosure))
@MODERATE
def test_prop_3_tumbling_states_of_successive_refreshes_are_disjoint(omega, tau, disclosure):
    window = TumblingWindow.registered(omega, disclosure=disclosure)
    assert not instants_in(window.scope(tau)) & instants_in(window.scope(tau + omega))


def test_prop_3_fails_between_instants_of_one_period():
    # Printed for successive instants; inside a period the state stays, or even grows.
    disclosed, growing = TumblingWindow(5), TumblingWindow(5, disclosure="growing")
    assert disclosed.scope(11) == disclosed.scope(12)
    assert instants_in(growing.scope(11)) < instants_in(growing.scope(12))


@given(instants, st.integers(-20, 20), st.integers(0, 20))
@MODERATE
def test_prop_4_landmark_states_only_grow(lower, tau, later):
    for window in (BandWindow.since(lower), BandWindow.until(lower), BandWindow(lower, lower + 5)):
        assert instants_in(window.scope(tau)) <= instants_in(window.scope(tau + later))


@given(st.integers(1, 9), stamps)
@MODERATE
def test_prop_5_rows_of_a_count_window_expire_in_the_order_of_admission(n, values):
    admitted, expiry = CountWindow(n).lifetime(Rows.of(values))
    assert all(b - a == 1 for a, b in pairwise(expiry.tolist()))
    assert (expiry - admitted == n).all()


# -- Li -------------------------------------------------------------------------------------------------------------


@given(amounts, amounts, instants, stamps)
@MODERATE
def test_p8_a_row_is_in_at_most_the_ceiling_of_range_over_slide_windows(extent, slide, origin, values):
    window = SlidingWindow(extent, slide, origin)
    first, last = window.wids(Rows.of(values))
    assert (last - first <= window.ratio).all()
    assert window.ratio == -(-extent // slide)
    if extent % slide == 0:
        assert (last - first == window.ratio).all()


def test_p8_the_bound_is_reached():
    window = SlidingWindow(10, 3)
    first, last = window.wids(Rows.of(range(30)))
    assert (last - first).max() == window.ratio == 4


@given(amounts, amounts, instants, stamps)
@MODERATE
def test_p14_partial_windows_are_full_windows_cut_at_the_origin(extent, slide, origin, values):
    window = SlidingWindow(extent, slide, origin)
    rows = Rows.of([origin + v for v in values])  # nothing before the origin
    for wid in window.windows(rows).tolist():
        cut = window.extent(wid).intersect(Interval(origin, None))
        assert cut == Interval(max(origin, origin + (wid + 1) * slide - extent), origin + (wid + 1) * slide)
        assert [cut.contains(v) for v in rows.values.tolist()] == window.members(wid, rows).tolist()
        assert (cut != window.extent(wid)) == (wid <= window.ratio - 2)


def test_p14_four_minute_windows_begin_with_one_two_and_three_minutes():
    window = SlidingWindow(4, 1)
    cut = [window.extent(wid).intersect(Interval(0, None)) for wid in range(5)]
    lengths = [extent.end - extent.start for extent in cut]
    assert lengths == [1, 2, 3, 4, 4]


@given(amounts, amounts, instants, stamps)
@MODERATE
def test_p18_windows_over_panes_have_the_ids_of_the_original_windows(extent, slide, origin, values):
    window, rows = SlidingWindow(extent, slide, origin), Rows.of(values)
    panes = TumblingWindow(window.pane, origin)
    over_panes = SlidingWindow(extent // window.pane, slide // window.pane, origin=0)
    pane, _ = panes.wids(rows)
    np.testing.assert_array_equal(over_panes.wids(Rows.of(pane)), window.wids(rows))


def test_p18_needs_origin_zero_on_panes_the_smallest_pane_moves_the_ids():
    window, rows = SlidingWindow(9, 6), Rows.of([7, 13])
    pane, _ = TumblingWindow(window.pane).wids(rows)
    from_smallest = SlidingWindow(3, 2, origin=int(pane.min()))
    assert not np.array_equal(from_smallest.wids(Rows.of(pane)), window.wids(rows))


@given(amounts, amounts)
@MODERATE
def test_w8_panes_are_the_largest_pieces_that_all_windows_are_made_of(extent, slide):
    window = SlidingWindow(extent, slide)
    for wid in (0, 1, 5):
        assert window.extent(wid).start % window.pane == window.extent(wid).end % window.pane == 0
    for larger in range(window.pane + 1, max(extent, slide) + 1):
        assert any(edge % larger for wid in range(3) for edge in (window.extent(wid).start, window.extent(wid).end))


def test_w8_range_9_and_slide_6_have_panes_of_3():
    window = SlidingWindow(9, 6)
    assert (window.pane, window.range // window.pane, window.slide // window.pane) == (3, 3, 2)


@given(amounts, amounts, stamps)
@MODERATE
def test_row_windows_are_sliding_windows_over_positions(extent, slide, values):
    positions = Rows.of(range(1, len(values) + 1))
    np.testing.assert_array_equal(
        RowWindow(extent, slide).wids(Rows.of(values)), SlidingWindow(extent, slide, origin=1).wids(positions)
    )


def test_lives_are_all_equal_only_if_the_slide_divides_the_range():
    def lives(omega, beta):
        enter, expiry = SlidingWindow.scoped(omega, beta).lifetime(np.arange(40))
        return set((expiry - enter).tolist())

    assert lives(12, 4) == {12}
    assert lives(10, 4) == {8, 12}
    assert lives(3, 10) == {0, 10}  # hopping: in a gap never visible, else for one whole slide


# -- many windows ----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9), st.integers(0, 3)), max_size=20))
@MODERATE
def test_ids_of_overlapping_ranges_are_listed_and_counted_once(ranges):
    first, length, codes = np.array(ranges, np.int64).reshape(-1, 3).T
    pairs = {(c, i) for f, n, c in ranges for i in range(f, f + n)}
    assert ids_in_ranges(first, first + length).tolist() == sorted({i for _, i in pairs})
    assert disjoint_ranges(first, first + length, codes)[1].sum() == len(pairs)


@pytest.mark.parametrize("window", [LandmarkWindow(1), SlidingWindow(10**9, 1)], ids=lambda w: w.kind)
def test_more_windows_than_memory_could_hold_are_not_listed(window):
    with pytest.raises(WindowSpecError, match="choose a longer SLIDE"):
        window.windows(Rows.of([0, 10**15]))
