"""Errata of the algorithms in Li's thesis: what is printed fails, the correction holds (windows: tests/windows)."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from errata.algorithms import (
    band_by_definition,
    band_join,
    count_bins,
    eager_sums,
    slow_flush,
    tumbling_join,
)

rows = st.lists(st.integers(0, 30), min_size=1, max_size=12)


def bin_events(values: list[int], cuts: list[int]) -> list[tuple[str, int]]:
    """Rows in arrival order with true promises behind the cuts, and one that covers everything at the end."""
    events: list[tuple[str, int]] = []
    for i, value in enumerate(values):
        events.append(("row", value))
        if i in cuts and i + 1 < len(values):
            events.append(("below", min(values[i + 1:])))
    return [*events, ("below", 10**6)]


def slide_by_tuple_counts(values: list[int], reach: int) -> dict[int, int]:
    return {w: sum(w - reach < v <= w for v in values) for w in values}


bin_cases = st.tuples(rows, st.integers(1, 12), st.lists(st.integers(0, 11)))


@given(bin_cases)
def test_corrected_bins_are_exact(case: tuple[list[int], int, list[int]]) -> None:
    values, reach, cuts = case
    assert count_bins(bin_events(values, cuts), reach) == slide_by_tuple_counts(values, reach)


@pytest.mark.parametrize("slip", ["end_bins_are_results", "strictly_below", "forget_base"], ids=["E5-S2", "E6", "E7"])
def test_printed_bins_go_wrong(slip: str) -> None:
    def wrong(case: tuple[list[int], int, list[int]]) -> bool:
        values, reach, cuts = case
        return count_bins(bin_events(values, cuts), reach, **{slip: True}) != slide_by_tuple_counts(values, reach)

    find(bin_cases, wrong)  # raises when there is no counter-example


def test_w7_the_worked_example_bin_by_bin() -> None:
    arrivals = [("row", 10), ("row", 30), ("row", 50), ("row", 125), ("row", 20)]
    assert count_bins([*arrivals, ("below", 31)], 100) == {10: 1, 20: 2, 30: 3}
    assert count_bins([*arrivals, ("below", 31), ("below", 200)], 100) == {10: 1, 20: 2, 30: 3, 50: 4, 125: 3}


def stream_events(left: list[int], right: list[int], order: list[bool]) -> list[tuple[int, str, int]]:
    """Both inputs interleaved; after each row its side promises the smallest time still to come."""
    queues = ([*left], [*right])
    events: list[tuple[int, str, int]] = []
    for pick in [*order, *[False] * len(left), *[True] * len(right)]:
        side = int(pick)
        if queues[side]:
            events.append((side, "row", queues[side].pop(0)))
            events.append((side, "below", min(queues[side], default=10**6)))
    return events


reaches = st.tuples(st.integers(0, 6), st.integers(0, 6))
join_cases = st.tuples(rows, rows, st.lists(st.booleans(), max_size=24), reaches)


@given(join_cases)
def test_e8_the_state_rules_are_complete_for_the_canonical_band(case: tuple) -> None:
    left, right, order, ranges = case
    events = stream_events(left, right, order)
    assert Counter(band_join(events, ranges, printed=False).pairs) == band_by_definition(events, ranges, printed=False)


def test_e8_the_printed_band_loses_results() -> None:
    def loses(case: tuple) -> bool:
        left, right, order, ranges = case
        events = stream_events(left, right, order)
        found = Counter(band_join(events, ranges, printed=True).pairs)
        return found != band_by_definition(events, ranges, printed=True)

    find(join_cases, loses)


def test_e8_the_canonical_band_is_the_prose_of_the_query() -> None:
    # Main1 keeps 3 minutes, Main2 keeps 2: a row of Main2 at 10 meets rows of Main1 from 7 on, a row of Main1 at 10
    # rows of Main2 from 8 on.
    events = [(0, "row", 8), (1, "row", 10), (0, "row", 10), (1, "row", 7)]
    canonical = band_by_definition(events, (3, 2), printed=False)
    assert canonical == Counter({(8, 10): 1, (10, 10): 1, (8, 7): 1})


def promise_broken(events: list[tuple[int, str, int]], size: int, **slips: bool) -> bool:
    """Whether a later pair lies below a bound that was promised before."""
    run = tumbling_join(events, size, **slips)
    return any(pair[side] < bound for at, side, bound in run.promises for pair in run.pairs[at:])


tumbling_cases = st.tuples(rows, rows, st.lists(st.booleans(), max_size=24), st.integers(1, 8))


@given(tumbling_cases)
def test_e9_e10_the_corrected_tumbling_join_is_complete_sound_and_leaves_nothing_behind(case: tuple) -> None:
    left, right, order, size = case
    events = stream_events(left, right, order)
    run = tumbling_join(events, size)
    assert Counter(run.pairs) == Counter((x, y) for x in left for y in right if x // size == y // size)
    assert run.stored == ([], [])
    assert not promise_broken(events, size)


def test_e9_comparing_times_with_bucket_numbers_keeps_state_for_ever() -> None:
    events = [(0, "row", 100), (1, "row", 100), (0, "below", 500), (1, "below", 500)]
    assert tumbling_join(events, 10, printed_state=True).stored == ([100], [100])
    assert tumbling_join(events, 10).stored == ([], [])


def test_e10_the_printed_ceiling_promises_too_much() -> None:
    events = [(1, "row", 11), (1, "below", 25), (0, "below", 12), (0, "row", 12)]
    assert promise_broken(events, 10, printed_promise=True)
    assert not promise_broken(events, 10)


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(0, 20), st.integers(0, 20))
def test_e11_the_printed_or_never_filters(b0: int, b1: int, r0: int, r1: int) -> None:
    assert b0 - b1 <= r1 or b1 - b0 <= r0


def test_e11_and_filters_bounds_that_are_outside_each_others_window() -> None:
    def inside(b0: int, b1: int) -> bool:
        return b0 - b1 <= 2 and b1 - b0 <= 2

    assert inside(3, 1)
    assert not inside(9, 1)


flush_rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcdef")), max_size=40)
flush_cases = st.tuples(flush_rows, st.integers(1, 6))


@given(flush_cases)
def test_e12_the_corrected_slow_flush_is_exact_ordered_and_complete(case: tuple) -> None:
    data, slots = case
    data = sorted(data, key=lambda r: r[0])
    out, left_behind = slow_flush(data, slots, printed=False)
    total: Counter[tuple[int, str]] = Counter()
    for window, group, count in out:
        total[window, group] += count
    assert total == Counter(data)
    assert left_behind == 0
    assert [w for w, _, _ in out] == sorted(w for w, _, _ in out)


def test_e12_the_printed_slow_flush_leaves_results_behind() -> None:
    out, left_behind = slow_flush([(0, "a"), (1, "b")], 4, printed=True)
    assert (out, left_behind) == ([], 2)


@given(st.integers(1, 10), st.integers(1, 6), st.integers(0, 5))
def test_e13_open_extents_follow_from_the_high_watermark_at_the_start(slides: int, slide: int, lag_slides: int) -> None:
    reach, lag = slides * slide, lag_slides * slide
    # The stream is complete up to (high-watermark - lag): a window is open from its start until that passes its end.
    now = 1000 * slide
    ends = [(w + 1) * slide for w in range(3000)]
    open_windows = sum(1 for end in ends if end - reach <= now and end > now - lag)
    wed_by_high_watermark = reach + lag   # high-watermark at completion minus high-watermark at the start
    wed_by_low_watermark = reach + 2 * lag  # the other printed definition
    assert open_windows == wed_by_high_watermark // slide
    assert lag == 0 or open_windows != wed_by_low_watermark // slide


def sums_by_definition(data: list[tuple[int, int]], reach: int, slide: int) -> dict[int, int]:
    wids = {w for ts, _ in data for w in range(ts // slide, (ts + reach) // slide)}
    return {w: sum(v for ts, v in data if (w + 1) * slide - reach <= ts < (w + 1) * slide) for w in wids}


adapt_cases = st.tuples(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), min_size=1, max_size=10),
                        st.integers(1, 8), st.integers(1, 8))


@given(adapt_cases)
def test_e14_partials_for_every_open_window_are_exact(case: tuple) -> None:
    data, reach, slide = case
    assert eager_sums(data, reach, slide, printed=False) == sums_by_definition(data, reach, slide)


def test_e14_partials_for_later_windows_only_lose_the_late_row() -> None:
    data = [(25, 1), (5, 1)]
    assert eager_sums(data, 10, 10, printed=True) != sums_by_definition(data, 10, 10)


def test_e15_the_join_keeps_seven_minutes_of_the_ordered_side_and_two_of_the_late_one() -> None:
    minute, late, reach = 10, 50, 20  # tenths of a minute; S0 up to five minutes late, both windows two minutes
    events: list[tuple[int, str, int]] = []
    for now in range(0, 400, 2):
        events += [(1, "row", now), (1, "below", now)]
        events += [(0, "row", max(0, now - (now * 7) % (late + 1))), (0, "below", now - late)]
    run = band_join(events, (reach, reach), printed=False)
    newest = 398
    assert (newest - min(run.stored[1])) / minute == pytest.approx(7, abs=0.3)  # printed: 5
    assert (newest - min(run.stored[0])) / minute == pytest.approx(2, abs=0.3)


@settings(max_examples=200)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 10), st.integers(1, 10), st.integers(2, 5))
def test_e16_window_ids_of_a_join_are_in_units(left: int, right: int, w_left: int, w_right: int, unit: int) -> None:
    def ids(at: int, reach: int) -> set[int]:
        return set(range(at // unit, (at + reach * unit) // unit))

    def printed(at: int, reach: int) -> set[int]:
        return set(range(at, (at + reach * unit) // unit))  # lower end in time, upper end in units

    joins = bool(ids(left, w_left) & ids(right, w_right))
    assert joins == (left // unit - w_right < right // unit < left // unit + w_left)
    if left // unit > 12:
        assert not printed(left, w_left), "the printed lower end leaves no window at all"


def test_e17_a_pair_that_shares_several_windows_is_one_result() -> None:
    left, right, reach = [5, 5], [6], 4
    windows = range(20)
    as_printed = [(x, y) for w in windows for x in left for y in right if w - reach < x <= w and w - reach < y <= w]
    instances = {(i, j) for w in windows for i, x in enumerate(left) for j, y in enumerate(right)
                 if w - reach < x <= w and w - reach < y <= w}
    by_band = [(x, y) for x in left for y in right if abs(x - y) < reach]
    assert len(as_printed) == 6
    assert len(instances) == len(by_band) == 2


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4))
def test_e19_the_pane_stage_works_once_per_pane_of_a_slide(reach: int, slide: int, per_tick: int) -> None:
    pane = math.gcd(reach, slide)
    per_window = per_tick * reach            # T, with the same number of rows in every tick
    panes = reach // pane                    # P
    observed = per_tick * slide              # rows the pane stage sees between two windows
    printed = per_window / panes
    assert observed == printed * (slide // pane)
    assert (observed == printed) == (slide == pane)


def test_e20_one_input_is_enough_for_the_maximum_and_not_for_the_minimum() -> None:
    # the first input promised 10; the second can still bring times from 0
    future = [(x, y) for x in range(10, 15) for y in range(15)]
    assert all(max(pair) >= 10 for pair in future)
    assert any(min(pair) < 10 for pair in future)
    both = [(x, y) for x in range(10, 15) for y in range(10, 15)]
    assert all(min(pair) >= 10 for pair in both)
