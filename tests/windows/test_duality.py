"""What every window kind must satisfy; the kinds come from the registry, so none can be forgotten."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from panewise.windows import (
    KINDS,
    UNBOUNDED,
    BandWindow,
    CalendarWindow,
    Clock,
    ContextClass,
    CountWindow,
    LandmarkWindow,
    LinearWindow,
    NowWindow,
    PartitionedCountWindow,
    PartitionedRowWindow,
    PredicateWindow,
    Rows,
    RowWindow,
    SessionWindow,
    SlideOrder,
    SlidingWindow,
    TumblingWindow,
    TupleSlideWindow,
    VaryingWindow,
)
from windows.window_strategies import SPECS, cases, counted, parts

every_kind = pytest.mark.parametrize("kind", sorted(KINDS))
MODERATE = settings(max_examples=15, deadline=None)


def test_every_registered_kind_has_a_strategy():
    assert set(SPECS) == set(KINDS)


@every_kind
@given(data=st.data())
@MODERATE
def test_a_row_is_in_an_extent_exactly_when_the_window_is_in_its_wids(kind, data):
    spec, rows = data.draw(cases(kind))
    for part in parts(spec, rows):
        first, last = spec.wids(part)
        assert (first <= last).all()
        for wid in spec.windows(part).tolist():
            np.testing.assert_array_equal(spec.members(wid, part), (first <= wid) & (wid < last))


@every_kind
@given(data=st.data())
@MODERATE
def test_members_are_the_rows_whose_coordinate_lies_in_the_extent(kind, data):
    spec, rows = data.draw(cases(kind))
    for part in parts(spec, rows):
        at, passes = spec.coordinate(part).tolist(), counted(spec, part)
        for wid in spec.windows(part).tolist():
            extent = spec.extent(wid, part)
            expected = [extent.contains(c) and bool(q) for c, q in zip(at, passes, strict=True)]
            assert spec.members(wid, part).tolist() == expected


@every_kind
@given(data=st.data())
@MODERATE
def test_windows_lists_each_window_with_rows_once_in_order_and_no_other(kind, data):
    spec, rows = data.draw(cases(kind))
    for part in parts(spec, rows):
        ids = spec.windows(part).tolist()
        assert ids == sorted(set(ids))
        assert all(spec.members(wid, part).any() for wid in ids)
        if spec.context_class in (ContextClass.FCB, ContextClass.FCU):
            continue  # possible ids need not exist
        for begin, end in zip(*(ends.tolist() for ends in spec.wids(part)), strict=True):
            # Ids without end stop at the first window that holds all rows.
            assert set(range(begin, min(end, ids[-1] + 1) if end == UNBOUNDED else end)) <= set(ids)


@pytest.mark.parametrize("kind", ["partitioned row", "partitioned count", "slide by tuple", "session"])
@given(data=st.data())
@MODERATE
def test_the_windows_of_all_partitions_together_are_those_of_each(kind, data):
    spec, rows = data.draw(cases(kind))
    assume(spec.per_partition)
    each = [spec.windows(part) for part in rows.by_partition()]
    np.testing.assert_array_equal(spec.windows(rows), np.unique(np.concatenate(each)))
    for wid in spec.windows(rows).tolist():
        together = spec.members(wid, rows)
        for code in np.unique(rows.partition):
            part = rows.select(rows.partition == code)
            own = spec.members(wid, part) if wid in spec.windows(part) else np.zeros(len(part), bool)
            np.testing.assert_array_equal(together[rows.partition == code], own)


@every_kind
@given(data=st.data(), shift=st.integers(-3, 3))
@MODERATE
def test_a_bound_closes_exactly_the_windows_that_end_at_or_below_it(kind, data, shift):
    spec, rows = data.draw(cases(kind))
    part = parts(spec, rows)[0]
    ids = spec.windows(part).tolist()
    ends = [spec.extent(wid, part).end for wid in ids]
    bound = data.draw(st.sampled_from([*(e for e in ends if e is not None), 0])) + shift
    if isinstance(getattr(spec, "spec", spec), SessionWindow):  # only the rows tell when a session is over
        with pytest.raises(NotImplementedError, match="session windows do not close by a bound"):
            spec.closed_below(bound)
        return
    closed = spec.closed_below(bound)
    assert [wid < closed for wid in ids] == [end is not None and end <= bound for end in ends]


@every_kind
@given(data=st.data())
@MODERATE
def test_a_row_is_in_scope_exactly_from_its_entry_to_its_expiry(kind, data):
    spec, rows = data.draw(cases(kind))
    part = parts(spec, rows)[0]
    if spec.clock is None:
        with pytest.raises(NotImplementedError):
            spec.lifetimes(part)
        return
    enter, expiry = spec.lifetimes(part)
    assert (enter <= expiry).all()
    at, passes = spec.coordinate(part), counted(spec, part)
    edges = np.concatenate([enter, expiry[expiry < UNBOUNDED], at])
    taus = np.unique(np.concatenate([edges - 1, edges, edges + 1]))
    if spec.clock is not Clock.TIME:
        taus = taus[taus >= 0]  # nobody asks for the state after fewer than no rows
    for tau in taus.tolist():
        scope = spec.scope(tau)
        in_scope = [scope.contains(c) and bool(q) for c, q in zip(at.tolist(), passes, strict=True)]
        np.testing.assert_array_equal(in_scope, (enter <= tau) & (tau < expiry), err_msg=f"tau {tau}")


@pytest.mark.parametrize("kind", [
    "sliding", "tumbling", "now", "calendar", "varying", "landmark", "band", "session", "linear", "slide by tuple",
])
@given(data=st.data())
@MODERATE
def test_windows_on_values_do_not_depend_on_the_order_of_arrival(kind, data):
    spec, rows = data.draw(cases(kind))
    assume(not isinstance(spec, TupleSlideWindow) or spec.by is SlideOrder.RANK)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    shuffled = Rows(rows.values[order], np.arange(1, len(rows) + 1), rows.partition[order])
    np.testing.assert_array_equal(spec.windows(shuffled), spec.windows(rows))
    for before, after in zip(spec.wids(rows), spec.wids(shuffled), strict=True):
        np.testing.assert_array_equal(before[order], after)


@every_kind
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_every_kind_says_what_it_is_on_one_line(kind, data):
    spec, _ = data.draw(cases(kind))
    assert spec.kind == kind
    assert spec.describe()
    assert "\n" not in spec.describe()


@pytest.mark.parametrize("spec", [
    SlidingWindow(3, 2), TumblingWindow(3), NowWindow(), CalendarWindow("month"), VaryingWindow(3), RowWindow(3, 2),
    PartitionedRowWindow(3, 2), CountWindow(3), PartitionedCountWindow(3), LandmarkWindow(5), BandWindow(1, 2),
    TupleSlideWindow(5), SessionWindow(5), PredicateWindow(CountWindow(3)), LinearWindow(1, 0, 1, 5),
    LinearWindow(0, 0, 1, 5),
], ids=lambda spec: spec.kind)
def test_no_rows_make_no_windows(spec):
    nothing = Rows.of([])
    assert spec.windows(nothing).tolist() == []
    assert [ends.tolist() for ends in spec.wids(nothing)] == [[], []]
    if spec.clock is not None:
        assert [ends.tolist() for ends in spec.lifetimes(nothing)] == [[], []]
