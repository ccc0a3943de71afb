"""Errata of the papers that concern windows: the printed form is shown to fail, ours to hold.

E: Li's thesis. P: Patroumpas and Sellis. S: Li et al., SIGMOD 2005. One test per erratum and side.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from panewise.core.errors import WindowSpecError
from panewise.windows import (
    UNBOUNDED,
    BandWindow,
    ContextClass,
    CountWindow,
    Disclosure,
    LandmarkWindow,
    PartitionedRowWindow,
    Rows,
    RowWindow,
    SlidingWindow,
    TumblingWindow,
    TupleSlideWindow,
)

MODERATE = settings(max_examples=100, deadline=None)
SEARCH = settings(database=None, max_examples=2000)
amounts = st.integers(1, 12)
specs = st.tuples(amounts, amounts, st.integers(-10, 10))
stamps = st.lists(st.integers(0, 40), min_size=1, max_size=20)


# -- E1: ceilings in wids -----------------------------------------------------------------------------------------


def printed_wids(extent, slide, origin, value):
    """Equation 5.3 as printed: ⌈(a−o)/s⌉ − 1 < w ≤ ⌈(a+r−o)/s⌉ − 1."""
    return range(-(-(value - origin) // slide), -(-(value + extent - origin) // slide))


def disagrees(case):
    (extent, slide, origin), value = case
    window = SlidingWindow(extent, slide, origin)
    return any((w in printed_wids(*case[0], value)) != window.extent(w).contains(value) for w in range(-30, 60))


def test_e1_ceilings_break_the_duality():
    spec, value = find(st.tuples(specs, st.integers(0, 40)), disagrees, settings=SEARCH)
    assert disagrees((spec, value))
    # The thesis's own example: a row at +5 s with RANGE 600, SLIDE 60 is in windows 0 to 9.
    assert list(printed_wids(600, 60, 0, 5)) == list(range(1, 11))


@given(specs, st.integers(-40, 40))
@MODERATE
def test_e1_floors_are_the_dual_of_the_extent(spec, value):
    window = SlidingWindow(*spec)
    first, last = (int(e[0]) for e in window.wids(Rows.of([value])))
    assert [w for w in range(-80, 80) if window.extent(w).contains(value)] == list(range(first, last))
    assert list(range(*(int(e[0]) for e in SlidingWindow(600, 60).wids(Rows.of([5]))))) == list(range(10))


def test_e1_concerns_partitioned_and_landmark_windows_too():
    ranks, slide = Rows.of([0, 0, 0], list("aba")), 2
    printed = [-(-(rank - 1) // slide) for rank in ranks.rank.tolist()]
    first, _ = PartitionedRowWindow(2, slide).wids(ranks)
    assert (printed, first.tolist()) == ([0, 0, 1], [0, 0, 0])  # rows 1 and 2 of a are one window
    landmark = LandmarkWindow(60)
    assert landmark.extent(0).contains(5)
    assert (-(-5 // 60), landmark.wids(Rows.of([5]))[0][0]) == (1, 0)


# -- E2, E3: what a bound closes ----------------------------------------------------------------------------------


def windows_lost(arrivals, window, closed_by):
    """Feed values and bounds in order; windows that a later value still belonged to when they were closed."""
    closed, lost = -UNBOUNDED, []
    for what, value in arrivals:
        if what == "bound":
            closed = max(closed, closed_by(value))
        else:
            first, last = (int(e[0]) for e in window.wids(Rows.of([value])))
            lost += [w for w in range(first, last) if w < closed]
    return lost


def test_e2_reading_an_exclusive_bound_as_inclusive_closes_a_window_too_early():
    window = SlidingWindow(10, 1)
    arrivals = [("row", 655), ("bound", 660), ("row", 660)]  # "smaller than 660" keeps its promise

    def inclusive(bound):
        return window.closed_below(bound + 1)

    assert windows_lost(arrivals, window, inclusive) == [660]
    assert windows_lost(arrivals, window, window.closed_below) == []


@given(specs, st.integers(-20, 40), st.integers(0, 20))
@MODERATE
def test_e2_an_exclusive_bound_never_closes_a_window_that_can_still_grow(spec, bound, later):
    window = SlidingWindow(*spec)
    assert windows_lost([("bound", bound), ("row", bound + later)], window, window.closed_below) == []


def test_e2_an_inclusive_promise_is_accepted_by_its_successor():
    window = TumblingWindow(10)
    no_value_up_to = 9
    assert window.closed_below(no_value_up_to) == 0
    assert window.closed_below(no_value_up_to + 1) == 1


def test_e3_output_of_the_window_equal_to_the_bound_loses_all_others():
    window, rows = SlidingWindow(10, 10), Rows.of([5, 15, 25])
    open_windows = window.windows(rows).tolist()
    bound = window.closed_below(30)  # one coarse punctuation closes three windows
    printed = [w for w in open_windows if w == bound]
    assert printed == []
    assert [w for w in open_windows if w < bound] == [0, 1, 2]


@given(specs, stamps)
@MODERATE
def test_e3_every_window_is_output_exactly_once_whatever_the_punctuation(spec, values):
    window, rows = SlidingWindow(*spec), Rows.of(values)
    waiting, output = window.windows(rows).tolist(), []
    for bound in (*sorted(values), 1000):
        closed = window.closed_below(bound)
        output += [w for w in waiting if w < closed]
        waiting = [w for w in waiting if w >= closed]
    assert (output, waiting) == (window.windows(rows).tolist(), [])


# -- E4: the origin -----------------------------------------------------------------------------------------------


def test_e4_the_smallest_value_so_far_as_origin_makes_windows_depend_on_arrival():
    def ids_with_running_minimum(arrivals):
        seen, ids = [], {}
        for value in arrivals:
            seen.append(value)
            ids[value] = int(SlidingWindow(10, 10, origin=min(seen)).wids(Rows.of([value]))[0][0])
        return ids

    assert ids_with_running_minimum([3, 14]) == {3: 0, 14: 1}
    assert ids_with_running_minimum([14, 3]) == {14: 0, 3: 0}  # the same rows, now in one window


@given(stamps, st.randoms())
@MODERATE
def test_e4_with_an_explicit_origin_any_order_of_arrival_gives_the_same_windows(values, random):
    window = SlidingWindow(10, 4, origin=3)

    def ids_by_value(arrivals):
        return Counter(zip(arrivals, *(ends.tolist() for ends in window.wids(Rows.of(arrivals))), strict=True))

    assert ids_by_value(values) == ids_by_value(random.sample(values, len(values)))


# -- P2: expiry ---------------------------------------------------------------------------------------------------


def last_visible(window, ts):
    return max((tau for tau in range(ts, ts + 60) if window.scope(tau).contains(ts)), default=None)


def test_p2_expiry_at_ts_plus_range_ignores_the_slide():
    def wrong(case):
        omega, beta, ts = case
        seen = last_visible(SlidingWindow.scoped(omega, beta), ts)
        return seen is not None and seen + 1 != ts + omega

    _, beta, _ = find(st.tuples(amounts, amounts, st.integers(0, 30)), wrong, settings=SEARCH)
    assert beta > 1
    assert wrong((10, 4, 3))  # visible until 15, not until 12


@given(amounts, amounts, st.integers(0, 30))
@MODERATE
def test_p2_expiry_at_the_refresh_after_ts_plus_range_is_exact(omega, beta, ts):
    window = SlidingWindow.scoped(omega, beta)
    enter, expiry = (int(e[0]) for e in window.lifetime(np.array([ts])))
    seen = last_visible(window, ts)
    assert (enter == expiry) if seen is None else (seen + 1 == expiry)


# -- P3: tumbling states ------------------------------------------------------------------------------------------


def test_p3_the_printed_scope_freezes_where_the_prose_lets_rows_pile_up():
    def printed(tau, omega):  # the scope function with slide = range, registered at 0
        star = tau - tau % omega
        return set(range(max(0, star - omega + 1), star + 1))

    sizes = [len(printed(tau, 5)) for tau in range(15)]
    assert sizes == [1] * 5 + [5] * 10  # one instant first; nothing ever piles up
    assert printed(7, 5) == printed(9, 5)


def test_p3_both_readings_exist_under_their_own_name():
    def sizes(disclosure):
        window = TumblingWindow(5, disclosure=disclosure)
        return [sum(window.scope(tau).contains(ts) for ts in range(20)) for tau in range(4, 15)]

    assert sizes(Disclosure.GROWING) == [5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    assert sizes(Disclosure.DISCLOSED) == [5] * 11


# -- P4, P5: count windows ----------------------------------------------------------------------------------------


def printed_count_window(n, values, tau):
    """Walk back from tau while the rows of [τ', τ] are at most n; batches of one timestamp go in or out whole."""
    contents = [v for v in values if v <= tau]
    state = []
    for start in range(tau, min(values, default=tau) - 2, -1):
        batch = [v for v in contents if start <= v <= tau]
        if len(batch) > n:
            break
        state = batch
    return state


@pytest.mark.parametrize(("values", "kept"), [([1, 1, 2, 2], [2, 2]), ([2, 2, 2, 2], [])])
def test_p4_the_printed_count_window_drops_a_boundary_batch_whole(values, kept):
    assert printed_count_window(3, values, 2) == kept


@given(st.integers(1, 6), stamps)
@MODERATE
def test_p4_by_admission_order_a_count_window_is_full_as_soon_as_n_rows_came(n, values):
    rows = Rows.of(sorted(values))
    scope = CountWindow(n).scope(len(rows))
    kept = [v for v, rho in zip(rows.values.tolist(), rows.row_num.tolist(), strict=True) if scope.contains(rho)]
    assert kept == sorted(values)[-n:]
    if len(set(values)) == len(values):
        assert kept == sorted(printed_count_window(n, values, max(values)))


def test_p5_no_condition_on_a_row_and_an_instant_alone_describes_a_count_window():
    row, tau = 5, 10
    quiet, busy = Rows.of([row]), Rows.of([row, 8, 9])  # the same row, the same instant, other contents
    window = CountWindow(2)
    states = [window.scope(len(rows)).contains(1) for rows in (quiet, busy)]
    assert states == [True, False]  # any C(row, tau) would give one answer
    assert all(v <= tau for v in busy.values.tolist())
    # A window on time is such a condition: the other rows do not matter.
    assert SlidingWindow.scoped(6).scope(tau).contains(row)


# -- P6: subsets, bags and order ----------------------------------------------------------------------------------


def test_p6_a_window_may_hold_the_whole_contents_so_the_subset_is_not_proper():
    rows = Rows.of([1, 2, 3])
    state = rows.values[BandWindow.since(0).members(0, rows)].tolist()
    assert not set(state) < set(rows.values.tolist())
    assert set(state) <= set(rows.values.tolist())


def test_p6_a_set_of_rows_loses_duplicates_a_bag_keeps_them():
    rows = Rows.of([7, 7, 7])
    state = rows.values[SlidingWindow(10, 10).members(0, rows)].tolist()
    assert (len(set(state)), len(state)) == (1, 3)


def test_p6_timestamps_that_repeat_do_not_order_rows_but_admission_does():
    rows = Rows.of([4, 4])
    assert not rows.values[0] < rows.values[1]  # "ever-increasing" and a total order would need this
    _, expiry = CountWindow(1).lifetime(rows)
    assert expiry[0] < expiry[1]


# -- P12, P13: landmarks ------------------------------------------------------------------------------------------


def test_p12_a_landmark_before_the_registration_has_no_printed_case():
    def printed(tau, tau0, landmark):
        if tau0 <= tau < landmark:
            return "empty"
        if tau0 <= landmark <= tau:
            return (landmark, tau)
        return None

    assert printed(9, tau0=5, landmark=2) is None
    with_history = BandWindow(lower=2, registered_at=5)
    without = BandWindow(lower=2, registered_at=5, keeps_history=False)
    assert (str(with_history.scope(9)), str(without.scope(9))) == ("[2, 10)", "[5, 10)")
    with pytest.raises(WindowSpecError, match="registered_at"):
        BandWindow(lower=2, keeps_history=False)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
@MODERATE
def test_p12_where_the_paper_has_a_case_both_readings_agree_with_it(tau0, after, delay):
    landmark, tau = tau0 + delay, tau0 + after
    for keeps_history in (True, False):
        scope = BandWindow(lower=landmark, registered_at=tau0, keeps_history=keeps_history).scope(tau)
        printed = [] if tau < landmark else list(range(landmark, tau + 1))
        assert [ts for ts in range(0, 60) if scope.contains(ts)] == printed


@given(st.integers(1, 200))
@MODERATE
def test_p13_no_bound_holds_for_all_states_of_a_landmark_but_every_state_is_finite(n):
    rows = Rows.of(range(n + 1))
    scope = BandWindow.since(0).scope(n)
    size = sum(scope.contains(v) for v in rows.values.tolist())
    assert n < size < UNBOUNDED


# -- S1, S4, S5: SIGMOD 2005 --------------------------------------------------------------------------------------


def partition_of(values, spec):
    """The extents as sets of rows, without their names."""
    rows = Rows.of(values)
    return {tuple(spec.members(w, rows).tolist()) for w in spec.windows(rows).tolist()}


def test_s1_another_origin_below_the_minimum_changes_the_extents():
    values = [10, 14, 19]
    assert partition_of(values, SlidingWindow(5, 5, origin=10)) != partition_of(values, SlidingWindow(5, 5, origin=8))


@given(amounts, amounts, st.integers(0, 10), st.integers(-3, 3), stamps)
@MODERATE
def test_s1_only_a_shift_by_whole_slides_leaves_the_extents_alone(extent, slide, origin, k, values):
    moved = SlidingWindow(extent, slide, origin - k * slide)
    assert partition_of(values, moved) == partition_of(values, SlidingWindow(extent, slide, origin))


def test_s4_remainder_one_would_let_the_first_row_define_a_window():
    rows, every = Rows.of([10, 20, 30, 40, 50, 60]), 3
    damaged = rows.values[rows.row_num % every == 1].tolist()
    assert damaged == [10, 40]
    assert TupleSlideWindow(100, every=every).windows(rows).tolist() == [30, 60]


def test_s4_a_smallest_id_of_one_would_lose_the_first_window():
    rows = Rows.of([0] * 4)
    ids = RowWindow(2, 2).windows(rows).tolist()
    assert ids == [0, 1]
    assert [w for w in ids if w >= 1] != ids


@given(stamps, st.integers(1, 4))
@MODERATE
def test_s5_counts_at_start_bins_alone_tell_which_ranks_define_windows(values, every):
    # Printed: every arrival updates a tuple count in start and end bins. Ranks are asked of start bins only.
    extent, starts, ends = 10, [], []
    touched_starts = touched_ends = 0
    for value in values:
        rank = sum(v <= value for v, _ in starts) + 1
        moved = [(v, r + (v > value)) for v, r in starts]
        touched_starts += sum(v > value for v, _ in starts)
        touched_ends += sum(v > value for v in ends)
        starts, ends = sorted([*moved, (value, rank)]), [*ends, value + extent]
    window = TupleSlideWindow(extent, every=every, by="rank")
    assert sorted({v for v, r in starts if r % every == 0}) == window.windows(Rows.of(values)).tolist()
    assert touched_ends >= touched_starts  # what the printed form pays in addition, for nothing


def test_s5_ranks_change_with_late_rows_which_is_why_the_kind_is_unbounded():
    assert TupleSlideWindow(10, every=2, by="rank").context_class is ContextClass.FCU
    assert TupleSlideWindow(10, every=2, by="arrival").context_class is ContextClass.FCB
