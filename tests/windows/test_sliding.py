"""Sliding, tumbling, hopping and NOW windows: the boundary cases by name."""

import numpy as np
import pytest

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.time import HOUR, MINUTE, SECOND
from panewise.windows import Disclosure, NowWindow, Rows, RowWindow, SlidingWindow, TumblingWindow


def ids(spec, *values):
    return [list(range(a, b)) for a, b in zip(*(e.tolist() for e in spec.wids(Rows.of(values))), strict=True)]


TEN_BY_ONE = SlidingWindow(10 * MINUTE, MINUTE)


@pytest.mark.parametrize(("wid", "start", "end"), [
    (0, -9, 1), (8, -1, 9), (9, 0, 10), (10, 1, 11), (11, 2, 12), (12, 3, 13), (13, 4, 14), (14, 5, 15),
])
def test_w1_ten_minute_windows_end_on_every_minute(wid, start, end):
    assert TEN_BY_ONE.extent(wid) == Interval(start * MINUTE, end * MINUTE)


@pytest.mark.parametrize("origin", [0, 10 * HOUR])
def test_w2_a_row_five_seconds_after_the_origin_is_in_windows_0_to_9(origin):
    window = SlidingWindow(10 * MINUTE, MINUTE, origin)
    assert ids(window, origin + 5 * SECOND) == [list(range(10))]


def test_w3_window_10_holds_exactly_minutes_1_to_11():
    rows = Rows.of([MINUTE - 1, MINUTE, 11 * MINUTE - 1, 11 * MINUTE])
    assert TEN_BY_ONE.members(10, rows).tolist() == [False, True, True, False]


def test_w4_a_row_in_the_eleventh_minute_has_ids_10_to_19_and_the_punctuation_after_it_closes_window_10():
    noon = 12 * HOUR
    window = SlidingWindow(10 * MINUTE, MINUTE, noon)
    for at in (noon + 10 * MINUTE, noon + 11 * MINUTE - 1):
        assert ids(window, at) == [list(range(10, 20))]
    assert window.closed_below(noon + 11 * MINUTE) == 11
    assert window.closed_below(noon + 11 * MINUTE - 1) == 10


def test_w14_with_gaps_only_the_last_three_of_ten_are_in_a_window():
    window = SlidingWindow(3, 10)
    assert [d for d in range(10) if ids(window, d) != [[]]] == [7, 8, 9]
    assert ids(window, 17, 20) == [[1], []]


def test_w14_a_range_that_is_no_multiple_of_the_slide_gives_three_or_four_windows():
    window = SlidingWindow(10, 3)
    assert ids(window, 0, 2) == [[0, 1, 2], [0, 1, 2, 3]]
    assert {len(i) for i in ids(window, *range(30))} == {3, 4}
    assert {len(i) for i in ids(SlidingWindow(9, 6), *range(30))} == {1, 2}


def test_a_value_at_the_end_is_outside_and_one_at_the_start_inside():
    window = SlidingWindow(20, 10)
    assert window.members(1, Rows.of([-1, 0, 19, 20])).tolist() == [False, True, True, False]


def test_values_before_the_origin_round_down_not_towards_zero():
    assert ids(SlidingWindow(10, 10), -1, -10, -11, 0) == [[-1], [-1], [-2], [0]]
    assert ids(SlidingWindow(3, 10), -1, -4) == [[-1], []]


def test_an_origin_moves_all_boundaries():
    assert [str(SlidingWindow(10, 10, 3).extent(w)) for w in (-1, 0, 1)] == ["[-7, 3)", "[3, 13)", "[13, 23)"]


def test_a_lag_shifts_the_extent_into_the_past_but_not_the_moment_it_is_shown():
    prompt, delayed = SlidingWindow(10, 5), SlidingWindow(10, 5, lag=3)
    assert delayed.extent(4) == Interval(prompt.extent(4).start - 3, prompt.extent(4).end - 3)
    assert delayed.scope(24) == Interval(12, 22)
    assert [e.tolist() for e in delayed.lifetime(np.array([22, 21]))] == [[29, 24], [39, 34]]


def test_a_lag_keeps_windows_open_for_rows_that_still_belong_to_them():
    assert SlidingWindow(10, 10, lag=3).closed_below(7) == 1
    assert SlidingWindow(10, 10, lag=3).closed_below(6) == 0


def test_pf1_scopes_and_lifetimes_of_range_10_slide_4():
    window = SlidingWindow.scoped(10, 4, registered_at=0)
    since_registration = Interval(0, None)
    shown = {tau: str(window.scope(tau).intersect(since_registration)) for tau in (0, 3, 4, 9, 12, 15)}
    assert shown == {0: "[0, 1)", 3: "[0, 1)", 4: "[0, 5)", 9: "[0, 9)", 12: "[3, 13)", 15: "[3, 13)"}
    enter, expiry = window.lifetime(np.array([3, 4, 5]))
    assert list(zip(enter.tolist(), expiry.tolist(), strict=True)) == [(4, 16), (4, 16), (8, 16)]


def test_pf2_a_disclosed_tumbling_window_shows_one_instant_then_whole_batches():
    window = TumblingWindow.registered(5, at=0)
    states = {tau: str(window.scope(tau).intersect(Interval(0, None))) for tau in (0, 4, 5, 9, 10)}
    assert states == {0: "[0, 1)", 4: "[0, 1)", 5: "[1, 6)", 9: "[1, 6)", 10: "[6, 11)"}


def test_a_growing_tumbling_window_fills_up_and_is_dropped_as_one():
    window = TumblingWindow(5, disclosure=Disclosure.GROWING)
    assert [str(window.scope(tau)) for tau in (3, 4, 5)] == ["[0, 4)", "[0, 5)", "[5, 6)"]
    enter, expiry = window.lifetime(np.array([0, 3, 4, 5]))
    assert (enter.tolist(), expiry.tolist()) == ([0, 3, 4, 5], [5, 5, 5, 10])


def test_tumbling_windows_of_either_disclosure_have_the_windows_of_slide_equal_range():
    rows, plain = Rows.of(range(-20, 20)), SlidingWindow(7, 7, 2)
    for disclosure in Disclosure:
        window = TumblingWindow(7, 2, disclosure=disclosure)
        assert (window.range, window.slide) == (7, 7)
        np.testing.assert_array_equal(window.wids(rows), plain.wids(rows))


def test_now_shows_exactly_the_rows_of_the_instant():
    enter, expiry = NowWindow().lifetime(np.array([4, 5]))
    assert (enter.tolist(), expiry.tolist()) == ([4, 5], [5, 6])


def test_now_with_a_slide_samples_single_instants():
    window = NowWindow.registered(60, at=0)
    assert [str(window.scope(tau)) for tau in (59, 60, 61)] == ["[0, 1)", "[60, 61)", "[60, 61)"]


def test_rows_are_numbered_from_one_so_the_first_tumbling_row_window_is_full():
    rows = Rows.of([0] * 7)
    window = RowWindow(3, 3)
    assert [rows.row_num[window.members(w, rows)].tolist() for w in window.windows(rows)] == [[1, 2, 3], [4, 5, 6], [7]]


def test_row_windows_ignore_values_and_count_arrivals():
    first, last = RowWindow(4, 2).wids(Rows.of([900, 7, -3]))
    assert (first.tolist(), last.tolist()) == ([0, 0, 1], [2, 2, 3])


@pytest.mark.parametrize(("make", "complaint"), [
    (lambda: SlidingWindow(0, 1), "RANGE must be positive, not 0"),
    (lambda: SlidingWindow(1, 0), "SLIDE must be positive, not 0"),
    (lambda: SlidingWindow(1, 1, lag=-1), "LAG must not be negative, not -1"),
    (lambda: SlidingWindow(1.5, 1), "RANGE must be a whole number of ticks, not 1.5"),
    (lambda: SlidingWindow("10", 1), "RANGE must be a whole number of ticks, not '10'"),
    (lambda: SlidingWindow(True, 1), "RANGE must be a whole number of ticks, not True"),
    (lambda: SlidingWindow(2**60, 1), "64-bit arithmetic cannot hold"),
    (lambda: TumblingWindow(5, disclosure="sometimes"), "'disclosed' or 'growing', not 'sometimes'"),
    (lambda: NowWindow(0), "SLIDE must be positive"),
])
def test_a_specification_that_contradicts_itself_is_refused(make, complaint):
    with pytest.raises(WindowSpecError, match=complaint):
        make()


def test_specifications_are_values():
    assert TumblingWindow(5, disclosure="growing") == TumblingWindow(5, disclosure=Disclosure.GROWING)
    assert {SlidingWindow(5, 1): "by value"}[SlidingWindow(range=5, slide=1)] == "by value"
    assert SlidingWindow(5, 5) != TumblingWindow(5)
