"""Windows that depend on other rows: slide-by-tuple and sessions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import WindowSpecError
from panewise.windows import ContextClass, Rows, SessionWindow, TupleSlideWindow

MODERATE = settings(max_examples=40, deadline=None)
stamps = st.lists(st.integers(0, 60), min_size=1, max_size=20)
W7 = [10, 30, 50, 125, 20]  # arrivals of the worked example; the last one is late


def test_w7_every_row_names_the_window_that_ends_at_it():
    window, rows = TupleSlideWindow(100), Rows.of(W7)
    counts = {w: int(window.members(w, rows).sum()) for w in window.windows(rows).tolist()}
    assert counts == {10: 1, 20: 2, 30: 3, 50: 4, 125: 3}


def test_w7_a_punctuation_above_30_completes_the_first_three_windows():
    assert [w for w in (10, 20, 30, 50, 125) if w < TupleSlideWindow(100).closed_below(31)] == [10, 20, 30]


def test_the_upper_bound_is_inside_and_the_lower_is_not():
    assert TupleSlideWindow(10).members(20, Rows.of([10, 11, 20, 21])).tolist() == [False, True, True, False]


def test_rows_of_equal_value_name_one_window():
    assert TupleSlideWindow(10).windows(Rows.of([7, 7, 7])).tolist() == [7]


def test_ties_of_rank_are_broken_by_arrival():
    # In order of value: 5 (row 2), 7 (row 1), 7 (row 3), 9 (row 4); ranks 2 and 4 define windows.
    window = TupleSlideWindow(10, every=2, by="rank")
    rows = Rows.of([7, 5, 7, 9])
    assert rows.row_num[window.defining(rows)].tolist() == [1, 4]


@given(stamps, st.integers(2, 4), st.integers(0, 60))
@MODERATE
def test_by_arrival_a_window_is_final_when_its_row_arrives(values, every, late):
    window = TupleSlideWindow(10, every=every)
    assert set(window.windows(Rows.of(values))) <= set(window.windows(Rows.of([*values, late])))
    assert window.context_class is ContextClass.FCB


def test_by_rank_a_late_row_withdraws_windows():
    window = TupleSlideWindow(10, every=2, by="rank")
    assert window.windows(Rows.of([10, 30])).tolist() == [30]
    assert window.windows(Rows.of([10, 30, 20])).tolist() == [20]
    assert window.context_class is ContextClass.FCU


@given(stamps, st.integers(1, 4), st.sampled_from(["arrival", "rank"]), st.lists(st.integers(0, 60), max_size=8))
@MODERATE
def test_windows_below_a_bound_are_settled_whatever_comes_at_or_above_it(values, every, by, later):
    window = TupleSlideWindow(10, every=every, by=by)
    bound = max(values) + 1
    before, after = Rows.of(values), Rows.of([*values, *(bound + v for v in later)])
    closed = window.closed_below(bound)
    settled = [w for w in window.windows(after).tolist() if w < closed]
    assert settled == window.windows(before).tolist()
    for wid in settled:
        assert window.members(wid, after)[: len(before)].tolist() == window.members(wid, before).tolist()
        assert not window.members(wid, after)[len(before):].any()


def test_with_partitions_each_counts_its_own_rows():
    window = TupleSlideWindow(10, every=2, partitioned=True)
    rows = Rows.of([1, 2, 3, 4], list("aabb"))
    assert [window.windows(part).tolist() for part in rows.by_partition()] == [[2], [4]]
    assert window.members(4, rows).tolist() == [False, False, True, True]


@given(stamps, st.integers(1, 12))
@MODERATE
def test_sessions_are_the_runs_without_a_pause_longer_than_the_gap(values, gap):
    runs = []
    for v in sorted(values):
        if runs and v - runs[-1][-1] <= gap:
            runs[-1].append(v)
        else:
            runs.append([v])
    window, rows = SessionWindow(gap), Rows.of(values)
    extents = [window.extent(w, rows) for w in window.windows(rows).tolist()]
    assert [(e.start, e.end) for e in extents] == [(run[0], run[-1] + gap) for run in runs]


def test_a_row_can_join_two_sessions():
    window = SessionWindow(10)
    assert window.windows(Rows.of([0, 20])).tolist() == [0, 20]
    assert window.windows(Rows.of([0, 20, 10])).tolist() == [0]


@given(stamps, st.integers(1, 12), st.integers(0, 80), st.lists(st.integers(0, 30), max_size=6))
@MODERATE
def test_a_complete_session_is_not_touched_by_anything_at_or_above_the_bound(values, gap, bound, later):
    window, rows = SessionWindow(gap), Rows.of(values)
    after = Rows.of([*values, *(bound + v for v in later)])
    complete = window.complete(rows, bound)
    starts, ends = window.spans(rows)
    starts_after, ends_after = (e[: len(rows)] for e in window.spans(after))
    assert (starts[complete] == starts_after[complete]).all()
    assert (ends[complete] == ends_after[complete]).all()


def test_a_session_is_open_while_a_row_at_its_very_end_would_prolong_it():
    window, rows = SessionWindow(10), Rows.of([0])
    assert [window.complete(rows, bound).tolist() for bound in (10, 11)] == [[False], [True]]
    assert window.windows(Rows.of([0, 10])).tolist() == [0]


def test_sessions_of_two_partitions_that_start_together_must_be_told_apart():
    window, rows = SessionWindow(10), Rows.of([0, 0, 5], list("aba"))
    with pytest.raises(WindowSpecError, match="2 partitions have a session that starts at 0"):
        window.extent(0, rows)
    assert [str(window.extent(0, part)) for part in rows.by_partition()] == ["[0, 15)", "[0, 10)"]


@pytest.mark.parametrize(("make", "complaint"), [
    (lambda: SessionWindow(0), "the session gap must be positive, not 0"),
    (lambda: SessionWindow(10).extent(0), "depends on its rows"),
    (lambda: TupleSlideWindow(0), "RANGE must be positive"),
    (lambda: TupleSlideWindow(5, 0), "SLIDE must be positive"),
    (lambda: TupleSlideWindow(5, by="luck"), "by 'arrival' or by 'rank', not 'luck'"),
])
def test_what_makes_no_sense_is_refused(make, complaint):
    with pytest.raises(WindowSpecError, match=complaint):
        make()
