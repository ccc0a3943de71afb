"""Late rows that still count in the windows open when they came (the policy *generous*).

Such a row is in the windows from the bound it broke up to its value plus RANGE: it enters later than its place in the
order says. Once the windows at hand begin behind that bound it is a row like any other, in a small log of its own,
built anew when windows close; a row whose bound lies among the windows at hand is taken to them one by one. States
that only their function can merge are merged after those of the rows in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from panewise.core.arrays import counted_up
from panewise.kernels.contract.state_columns import Ints, StateColumns, States
from panewise.kernels.positions import fifo_numba as loops
from panewise.kernels.positions.fifo_log import FifoLog, Found, Windows
from panewise.kernels.positions.open_rows import Mask, RowRun

WINDOWS_AT_ONCE = 1 << 11
"""A row whose bound lies among the windows at hand is copied to at most so many of them."""


class LateRows:
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
        asked, settled = self._settled(self.rows, windows, partition_of)
        parts = [_Part.of(log.sweep(windows, partition_of)),
                 *self._in_order(self.rows.take(settled), windows, partition_of)]
        rest = self.rows.take(asked & ~settled)
        for piece, numbers in pieces(windows, WINDOWS_AT_ONCE) if len(rest) else ():
            asked, settled = self._settled(rest, piece, partition_of)
            found = [*self._in_order(rest.take(settled), piece, partition_of),
                     self._one_by_one(rest.take(asked & ~settled), piece, partition_of)]
            parts.extend(replace(part, windows=numbers[part.windows]) for part in found)
        return self._merge(parts, windows)

    def _settled(self, rows: RowRun, windows: Windows, partition_of: Ints) -> tuple[Mask, Mask]:
        """Rows whose partitions have windows here, and those among them that may be in the first."""
        partitions = partition_of[rows.groups]
        starts, stops = windows.ranges[0][partitions], windows.ranges[1][partitions]
        asked = starts < stops
        return asked, asked & (rows.marks <= windows.ids[np.where(asked, starts, 0)])

    def _in_order(self, rows: RowRun, windows: Windows, partition_of: Ints) -> Iterator[_Part]:
        """Windows of rows that are rows like any other."""
        if len(rows):
            log = FifoLog(self.columns)
            log.append(rows.values, rows.groups, rows.states)
            yield _Part.of(log.sweep(windows, partition_of))

    def _one_by_one(self, rows: RowRun, windows: Windows, partition_of: Ints) -> _Part:
        partitions = partition_of[rows.groups]
        first, end = np.empty((2, len(rows)), np.int64)
        for partition in np.unique(partitions).tolist():
            low, high = windows.ranges[:, partition].tolist()
            mine = partitions == partition
            ids = windows.ids[low:high]
            first[mine] = low + np.searchsorted(ids, rows.marks[mine])
            end[mine] = low + np.searchsorted(ids, rows.values[mine] + self.reach)
        counts = np.maximum(end - first, 0)
        at = np.repeat(np.arange(len(rows)), counts)
        places = counted_up(first, counts)
        slow = self.columns.merged(np.arange(len(at)), rows.states.heap[at], len(at)) if self.columns.slow else []
        return _Part(places, rows.groups[at], rows.states, slow, at)

    def _merge(self, parts: list[_Part], windows: Windows) -> Found:
        """Results of the same window and group as one, ascending by window id."""
        at, groups = (np.concatenate([getattr(p, name) for p in parts]) for name in ("windows", "groups"))
        before = np.cumsum([0, *(len(p.states.heap) for p in parts)])
        sources = np.concatenate([p.sources + start for p, start in zip(parts, before[:-1], strict=True)])
        states = self.columns.fitted(States.concat([part.states for part in parts]))
        rank = np.empty(len(windows), np.int64)
        rank[np.argsort(windows.ids, kind="stable")] = np.arange(len(windows))
        keys = rank[at] * (int(groups.max(initial=0)) + 1) + groups
        first = np.empty(len(keys), np.int64)
        merged = self.columns.empty(len(keys))
        count = int(loops.fold_equal(np.argsort(keys, kind="stable"), keys, sources, states.ints, states.floats,
                                     self.columns.int_operations, self.columns.float_operations, first, merged.ints,
                                     merged.floats))
        first = first[:count]
        slow: list[list[pa.Array]] = []
        codes = np.searchsorted(keys[first], keys) if self.columns.slow else first
        for number, aggregate in enumerate(self.columns.slow):
            stacked = [pa.concat_arrays([part.slow[number][i] for part in parts])
                       for i in range(len(aggregate.state_schema))]
            slow.append(aggregate.function.combine(stacked, codes, count, aggregate.inputs))
        kept = States(merged.ints[:, :count], merged.floats[:, :count], merged.heap[:count])
        return Found(at[first], groups[first], kept, slow)


@dataclass(frozen=True)
class _Part:
    """States of windows and groups, several of which may be the same state."""

    windows: Ints
    groups: Ints
    states: States
    slow: list[list[pa.Array]]
    sources: Ints
    """Which of the states belongs to each window and group."""

    @classmethod
    def of(cls, found: Found) -> _Part:
        return cls(found.windows, found.groups, found.states, found.slow, np.arange(len(found.windows)))


def pieces(windows: Windows, size: int) -> Iterator[tuple[Windows, Ints]]:
    """So many windows per partition at a time, and their places among all."""
    lengths = windows.ranges[1] - windows.ranges[0]
    turn = (np.arange(len(windows)) - np.repeat(windows.ranges[0], lengths)) // size
    for number in range(int(turn.max(initial=0)) + 1):
        chosen = np.flatnonzero(turn == number)
        own = np.clip(lengths - number * size, 0, size)
        stops = np.cumsum(own)
        part = Windows(windows.ids[chosen], windows.above[chosen], windows.upto[chosen], np.stack([stops - own, stops]))
        yield part, chosen
