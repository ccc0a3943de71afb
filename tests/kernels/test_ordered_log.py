"""The log of ordered states: a range that only moves forward has the merge of its entries, whatever is done between."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.tiny import InOrder
from panewise.aggregates.count import Count
from panewise.aggregates.extremes import Max, Min
from panewise.aggregates.sums import Avg, Sum
from panewise.kernels.contract.partials import bind
from panewise.kernels.contract.state_columns import StateColumns
from panewise.kernels.positions.fifo_log import FifoLog, Windows
from panewise.kernels.positions.open_rows import OpenRows, RowRun

NUMBERS = bind([("n", Count()), ("low", Min()), ("high", Max()), ("total", Sum())],
               [(), (pa.int64(),), (pa.float64(),), (pa.int64(),)])
ANY = [*NUMBERS, *bind([("seen", InOrder())], [(pa.int64(),)])]

steps = st.lists(st.tuples(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-5, 5)), max_size=8),  # distance, group, value
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=4),  # how far the ends of windows move
    st.sampled_from(["", "drop", "save", "repack"])), max_size=12)


def columns_of(*, numbers: bool) -> StateColumns:
    return StateColumns(NUMBERS if numbers else ANY)


@settings(deadline=None, max_examples=75)
@given(steps, st.booleans())
def test_windows_that_move_forward_hold_the_merge_of_their_entries(
        steps: list[tuple[list[tuple[int, int, int]], list[tuple[int, int]], str]], numbers: bool) -> None:
    columns = columns_of(numbers=numbers)
    log = FifoLog(columns)
    entries: dict[int, list[tuple[int, int]]] = defaultdict(list)
    partition_of = np.zeros(3, np.int64)
    at = above = upto = 0
    for new, moves, then in steps:
        coordinates, groups, values = [], [], []
        for distance, group, value in new:
            at += distance
            entries[group].append((at, value))
            coordinates.append(at)
            groups.append(group)
            values.append(value)
        column = pa.array(values, pa.int64())
        arguments = [[], [column], [column.cast(pa.float64())], [column], *([] if numbers else [[column]])]
        states = columns.of_rows(arguments, np.arange(len(values)), len(values))
        log.append(np.array(coordinates, np.int64), np.array(groups, np.int64), states)
        windows = []
        for lower, upper in moves:
            above, upto = above + lower, min(at - 1, max(upto, above + lower) + upper)  # later entries may still share
            windows.append((above, max(upto, above)))
        ends = np.array(windows, np.int64).reshape(-1, 2)
        asked = Windows(np.arange(len(windows)), ends[:, 0].copy(), np.maximum.accumulate(ends[:, 1]),
                        np.array([[0], [len(windows)]]))
        expected = {(w, g): inside for w in range(len(windows)) for g in range(3)
                    if (inside := [v for c, v in entries[g] if asked.above[w] < c <= asked.upto[w]])}
        found = log.sweep(asked, partition_of)
        assert list(zip(found.windows.tolist(), found.groups.tolist(), strict=True)) == sorted(expected)
        results = columns.finished(found.states, found.slow)
        for i, inside in enumerate(expected[pair] for pair in sorted(expected)):
            row = [column[i].as_py() for column in results]
            assert row == [len(inside), min(inside), max(inside), sum(inside), *([] if numbers else [inside])]
        upto = int(asked.upto[-1]) if windows else upto
        if then == "drop":
            log.drop(np.array([above]), partition_of)
            assert len(log) <= sum(c > above for g in entries.values() for c, _ in g)
        elif then == "save":
            saved = log.saved()
            log = FifoLog(columns)
            log.load(saved["entries"], saved["stacks"])
        elif then == "repack":
            log._repack(np.zeros(log.pointers.shape[1], np.int64))


def test_entries_of_equal_coordinates_share_one_place() -> None:
    columns = StateColumns(bind([("n", Count())], [()]))
    log = FifoLog(columns)
    log.append(np.array([7, 7, 7, 8]), np.array([0, 1, 0, 0]), columns.of_rows([[]], np.arange(4), 4))
    assert log.lengths.tolist() == [2, 1]


def test_memory_follows_what_is_held_and_not_what_was() -> None:
    columns = StateColumns(bind([("n", Count())], [()]))
    log = FifoLog(columns)
    for start in range(0, 2_000_000, 100_000):
        rows = np.arange(start, start + 100_000)
        log.append(rows, np.zeros(100_000, np.int64), columns.of_rows([[]], np.arange(100_000), 100_000))
        log.drop(np.array([start + 100_000 - 50]), np.zeros(1, np.int64))
    assert len(log) == 49
    assert log.nbytes < 2_000
    assert len(log._coordinates) < 500_000


def test_float_sums_over_a_long_window_do_not_drift() -> None:
    columns = StateColumns(bind([("total", Sum()), ("mean", Avg())], [(pa.float64(),), (pa.float64(),)]))
    log = FifoLog(columns)
    values = np.tile([1e16, 1.0, -1e16], 20_000)
    states = columns.of_rows([[pa.array(values)]] * 2, np.arange(len(values)), len(values))
    log.append(np.arange(len(values)), np.zeros(len(values), np.int64), states)
    ends = np.arange(2, len(values), 3)
    found = log.sweep(Windows(ends, np.maximum(ends - 30_000, -1), ends, np.array([[0], [len(ends)]])),
                      np.zeros(1, np.int64))
    totals = columns.finished(found.states, found.slow)[0].to_numpy()
    assert totals.tolist() == [min(end + 1, 30_000) / 3 for end in ends.tolist()]


@settings(deadline=None, max_examples=75)
@given(st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=6), st.integers(0, 10), st.sampled_from(["", "a", "b"])),
                max_size=10))
def test_waiting_rows_come_out_by_value_and_then_arrival(steps: list[tuple[list[int], int, str]]) -> None:
    columns = StateColumns(bind([("n", Count())], [()]))
    waiting = OpenRows(columns)
    known: list[tuple[int, int]] = []  # value, arrival; groups alternate
    arrived = 0
    for values, bound, group in steps:
        arrivals = np.arange(arrived, arrived + len(values))
        arrived += len(values)
        known += zip(values, arrivals.tolist(), strict=True)
        waiting.add(RowRun(np.array(values, np.int64), arrivals % 2, arrivals, columns.empty(len(values))))
        wanted = "ab".find(group) if group else None
        taken = waiting.below(bound, None if wanted is None else (lambda groups, w=wanted: groups == w))
        due = sorted(row for row in known if row[0] < bound and wanted in (None, row[1] % 2))
        assert list(zip(taken.values.tolist(), waiting.marks[taken.places].tolist(), strict=True)) == due
        known = [row for row in known if row not in due]
        assert len(waiting) == len(known)
    rest = waiting.rows()
    assert list(zip(rest.values.tolist(), rest.marks.tolist(), strict=True)) == sorted(known)


@pytest.mark.parametrize("numbers", [True, False])
def test_a_log_of_nothing_has_no_results(numbers: bool) -> None:
    log = FifoLog(columns_of(numbers=numbers))
    one = np.array([5])
    found = log.sweep(Windows(one, one - 3, one, np.array([[0], [1]])), np.zeros(0, np.int64))
    assert len(found.windows) == 0
    assert len(log.columns.finished(found.states, found.slow)[0]) == 0
