"""Count windows and windows per partition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import WindowSpecError
from panewise.windows import (
    CountWindow,
    PartitionedCountWindow,
    PartitionedRowWindow,
    PredicateWindow,
    Rows,
    RowWindow,
    SlidingWindow,
)

MODERATE = settings(max_examples=30, deadline=None)
small = st.integers(1, 6)


def newest(n, items):
    return items[-n:]


@given(small, small, st.integers(0, 30))
@MODERATE
def test_a_count_window_shows_the_newest_rows_as_of_its_last_refresh(n, slide, admitted):
    rows = Rows.of(range(30))
    scope = CountWindow(n, slide).scope(admitted)
    refreshed = admitted - admitted % slide
    expected = newest(n, list(range(1, refreshed + 1)))
    assert [p for p in rows.row_num.tolist() if scope.contains(p)] == expected


def test_pf3_equal_timestamps_are_cut_by_arrival_so_the_window_is_always_full():
    for stamps in ([1, 1, 2, 2], [2, 2, 2, 2]):
        rows = Rows.of(stamps)
        assert rows.row_num[CountWindow(3).members(3, rows)].tolist() == [2, 3, 4]


def test_pf4_row_25_of_a_window_of_17_leaves_when_row_42_is_admitted():
    enter, expiry = CountWindow(17).lifetime(np.array([25]))
    assert (enter[0], expiry[0]) == (25, 42)
    assert CountWindow(17).scope(41).contains(25)
    assert not CountWindow(17).scope(42).contains(25)


def test_a_jumping_count_window_moves_entries_and_expiries_to_its_refreshes():
    enter, expiry = CountWindow(5, slide=2).lifetime(Rows.of([0, 0, 0]))
    assert (enter.tolist(), expiry.tolist()) == ([2, 2, 4], [6, 8, 8])


@given(small, st.lists(st.sampled_from("abc"), max_size=20))
@MODERATE
def test_a_partitioned_count_window_keeps_the_newest_rows_of_every_partition(n, keys):
    rows = Rows.of([0] * len(keys), keys)
    _, expiry = PartitionedCountWindow(n).lifetime(rows)
    admitted = [keys.count(key) for key in keys]
    alive = [i for i, (e, a) in enumerate(zip(expiry.tolist(), admitted, strict=True)) if e > a]
    assert alive == sorted(i for key in "abc" for i in newest(n, [j for j, k in enumerate(keys) if k == key]))


def test_partitions_progress_on_their_own():
    rows = Rows.of([0] * 6, list("abaaab"))
    assert rows.rank.tolist() == [1, 1, 2, 3, 4, 2]
    window = PartitionedRowWindow(2, 2)
    assert [part.row_num[window.members(1, part)].tolist() for part in rows.by_partition()] == [[4, 5], []]
    assert window.members(0, rows).tolist() == [True, True, True, False, False, True]


@given(small, small, st.lists(st.integers(0, 2), min_size=1, max_size=20))
@MODERATE
def test_a_partitioned_row_window_is_a_row_window_over_each_partition_alone(extent, slide, keys):
    rows = Rows.of(range(len(keys)), keys)
    first, last = PartitionedRowWindow(extent, slide).wids(rows)
    for code in np.unique(rows.partition):
        mine = rows.partition == code
        alone = RowWindow(extent, slide).wids(rows.select(mine).renumbered())
        np.testing.assert_array_equal((first[mine], last[mine]), alone)


@given(small, small, st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 2)), min_size=1, max_size=20))
@MODERATE
def test_p10_on_values_a_partition_is_nothing_but_a_group(extent, slide, pairs):
    rows = Rows.of([v for v, _ in pairs], [k for _, k in pairs])
    window = SlidingWindow(extent, slide)
    for part in rows.by_partition():
        for wid in window.windows(part).tolist():
            split_first = part.row_num[window.members(wid, part)]
            split_last = rows.row_num[window.members(wid, rows) & (rows.partition == part.partition[0])]
            np.testing.assert_array_equal(split_first, split_last)


def test_on_positions_a_partition_is_not_a_group():
    rows = Rows.of([0, 0, 0], list("aba"))
    split_first = PartitionedRowWindow(2, 2).members(0, rows).tolist()
    split_last = RowWindow(2, 2).members(0, rows).tolist()
    assert (split_first, split_last) == ([True, True, True], [True, True, False])


def test_a_predicate_filters_before_rows_are_counted():
    rows = Rows.of([5, 1, 2], qualifies=[True, False, False])
    window = CountWindow(2)
    filtered_first = PredicateWindow(window).scope(1)  # one row has qualified
    assert filtered_first.contains(1)
    assert PredicateWindow(window).coordinate(rows).tolist() == [1, 0, 0]
    filtered_last = window.members(2, rows) & rows.qualifies  # the state after all three rows
    assert filtered_last.tolist() == [False, False, False]


@given(small, small, st.lists(st.tuples(st.integers(-20, 20), st.booleans()), min_size=1, max_size=20))
@MODERATE
def test_on_values_a_predicate_may_filter_before_or_after(extent, slide, pairs):
    rows = Rows.of([v for v, _ in pairs], qualifies=[q for _, q in pairs])
    window = SlidingWindow(extent, slide)
    for wid in window.windows(rows).tolist():
        np.testing.assert_array_equal(
            PredicateWindow(window).members(wid, rows), window.members(wid, rows) & rows.qualifies
        )


def test_a_predicate_window_has_the_context_class_and_clock_of_the_window_inside():
    inside = PartitionedCountWindow(3)
    outside = PredicateWindow(inside)
    assert (outside.context_class, outside.clock, outside.per_partition) == (inside.context_class, inside.clock, True)


def test_a_row_that_does_not_qualify_is_never_visible():
    rows = Rows.of([1, 2, 3], qualifies=[True, False, True])
    enter, expiry = PredicateWindow(CountWindow(2)).lifetimes(rows)
    assert list(zip(enter.tolist(), expiry.tolist(), strict=True)) == [(1, 3), (0, 0), (2, 4)]


@pytest.mark.parametrize(("make", "complaint"), [
    (lambda: CountWindow(0), "ROWS must be positive, not 0"),
    (lambda: CountWindow(3, 0), "SLIDE must be positive, not 0"),
    (lambda: PartitionedCountWindow(-1), "ROWS must be positive, not -1"),
])
def test_a_count_of_nothing_is_refused(make, complaint):
    with pytest.raises(WindowSpecError, match=complaint):
        make()
