"""Late rows that still count in the windows open when they came (the policy *generous*).

Such a row is in the windows from the bound it broke up to its value plus RANGE: it enters later than its place in the
order says. Once the windows at hand begin behind that bound it is a row like any other, in a small log of its own,
built anew when windows close; a row whose bound lies among the windows at hand is taken to them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from panewise.kernels.fifo_log import FifoLog, Found, Windows
from panewise.kernels.grouping import group_codes
from panewise.kernels.open_rows import RowRun
from panewise.kernels.state_columns import Ints, StateColumns

WINDOWS_AT_ONCE = 1 << 10
"""A row whose bound lies among the windows at hand is copied to at most so many of them."""


class Latecomers:
    """Late rows by value; the mark of a row is the first window it counts in."""

    def __init__(self, columns: StateColumns, reach: int) -> None:
        self.columns, self.reach = columns, reach
        nothing = np.empty(0, np.int64)
        self.rows = RowRun(nothing, nothing, nothing, columns.empty())

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: RowRun) -> None:
        """Rows as they come."""
        if len(rows):
            self.rows = RowRun.concat([self.rows, rows]).sorted()

    def drop(self, limits: Ints, partition_of: Ints) -> None:
        """Forget rows with values up to the limit of their partition."""
        if len(self.rows):
            self.rows = self.rows.take(self.rows.values > limits[partition_of[self.rows.groups]])

    def join(self, log: FifoLog, windows: Windows, partition_of: Ints) -> Found:
        """What ``log.sweep`` finds, with the late rows of every window."""
        found = [self._join(log, part, numbers, partition_of) for part, numbers in pieces(windows)]
        return found[0] if len(found) == 1 else self._merge(found, windows)

    def _join(self, log: FifoLog, windows: Windows, numbers: Ints, partition_of: Ints) -> Found:
        """The same for a few windows per partition; ``numbers`` are their places among all windows."""
        parts = [log.sweep(windows, partition_of)]
        partitions = partition_of[self.rows.groups]
        starts, stops = windows.ranges[0][partitions], windows.ranges[1][partitions]
        asked = starts < stops
        begin = np.where(asked, windows.ids[np.minimum(starts, len(windows) - 1)], 0)
        settled = asked & (self.rows.marks <= begin)
        if settled.any():
            rows = self.rows.take(np.flatnonzero(settled))
            own = FifoLog(self.columns)
            own.append(rows.values, rows.groups, rows.states)
            parts.append(own.sweep(windows, partition_of))
        rest = np.flatnonzero(asked & ~settled)
        if len(rest):
            parts.append(self._one_by_one(rest, windows, partitions[rest]))
        merged = self._merge(parts, windows)
        return Found(numbers[merged.windows], merged.groups, merged.states, merged.slow)

    def _one_by_one(self, rest: Ints, windows: Windows, partitions: Ints) -> Found:
        rows = self.rows.take(rest)
        first, end = np.empty((2, len(rest)), np.int64)
        for partition in np.unique(partitions).tolist():
            low, high = windows.ranges[:, partition].tolist()
            mine = partitions == partition
            ids = windows.ids[low:high]
            first[mine] = low + np.searchsorted(ids, rows.marks[mine])
            end[mine] = low + np.searchsorted(ids, rows.values[mine] + self.reach)
        counts = np.maximum(end - first, 0)
        at = np.repeat(np.arange(len(rest)), counts)
        places = first[at] + np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
        copies = rows.take(at)
        slow = self.columns.merged(np.arange(len(at)), copies.states.heap, len(at)) if self.columns.slow else []
        return Found(places, copies.groups, copies.states, slow)

    def _merge(self, parts: list[Found], windows: Windows) -> Found:
        """Results of the same window and group as one, ascending by window id."""
        at, groups = (np.concatenate([getattr(p, name) for p in parts]) for name in ("windows", "groups"))
        if len(at) == 0:
            return parts[0]
        codes, first = group_codes([at, groups])
        columns = [self.columns.columns(p.states, p.slow) for p in parts]
        merged: dict[str, list[pa.Array]] = {}
        order = np.argsort(windows.ids[at[first]], kind="stable")
        for aggregate in self.columns.aggregates:
            stacked = [pa.concat_arrays([c[aggregate.name][i] for c in columns])
                       for i in range(len(aggregate.state_schema))]
            combined = aggregate.function.combine(stacked, codes, len(first), aggregate.inputs)
            merged[aggregate.name] = [column.take(pa.array(order)) for column in combined]
        states, slow = self.columns.split(merged, len(first))
        return Found(at[first][order], groups[first][order], states, slow)


def pieces(windows: Windows) -> Iterator[tuple[Windows, Ints]]:
    """A few windows per partition at a time, and their places among all."""
    lengths = windows.ranges[1] - windows.ranges[0]
    turn = (np.arange(len(windows)) - np.repeat(windows.ranges[0], lengths)) // WINDOWS_AT_ONCE
    for number in range(int(turn.max(initial=0)) + 1):
        chosen = np.flatnonzero(turn == number)
        own = np.clip(lengths - number * WINDOWS_AT_ONCE, 0, WINDOWS_AT_ONCE)
        stops = np.cumsum(own)
        part = Windows(windows.ids[chosen], windows.above[chosen], windows.upto[chosen], np.stack([stops - own, stops]))
        yield part, chosen

