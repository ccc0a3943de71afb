"""Slide-by-tuple: windows that end at rows, every row or every n-th by arrival or by rank (Li 6.1.4, errata E5 to E7).

The published algorithm keeps a bin for every window and for every end, and a late row updates all bins between its
value and value + RANGE. Here rows below the bound wait for no others: sorted by value they form a log that only grows,
and a window is a range of it whose both ends only move forward. Rows at or above the bound wait unsorted. So a row
costs the same whether it comes in order or not, and no more in a long window than in a short one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Arguments, Mask, chosen_rows
from panewise.kernels.contract.state_columns import Ints, StateColumns
from panewise.kernels.positions.fifo_log import FifoLog, Windows
from panewise.kernels.positions.log_kernel import LogKernel
from panewise.kernels.positions.open_rows import OpenRows, RowRun, Sorted, rows_from, rows_table
from panewise.kernels.window_ids.late_rows import LateRows
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.tuple_slide import SlideOrder, TupleSlideWindow


class TupleSlideKernel(LogKernel):
    """Windows that rows define. Any row of a partition may define a window for all groups of the partition.

    So a promise closes windows when it is about whole partitions; about a group inside one it only says which rows of
    the group are late. A late row has no number, defines no window and, under the policy ``generous``, counts in
    the windows that were open when it came.
    """

    name = "slide by tuple"

    def _prepare(self) -> None:
        spec = self.spec
        if not isinstance(spec, TupleSlideWindow):
            raise UnsupportedError(f"{spec.kind} windows are not defined by rows: this kernel runs windows with RANGE "
                                   "on an attribute and SLIDE in rows")
        self._range, self._every = spec.range, spec.every
        self._by_rank = spec.by is SlideOrder.RANK and spec.every > 1  # else ranks do not matter
        super()._prepare()

    def _begin(self) -> None:
        super()._begin()
        self._open = OpenRows(self._columns)
        self._late = LateRows(self._columns, self._range)
        self._reached: Ordinals = np.zeros(0, np.int64)
        """Per partition the bound up to which its rows are in the log."""

    def _widen(self, partitions: int) -> None:
        super()._widen(partitions)
        self._reached = np.append(self._reached, np.full(partitions - len(self._reached), NO_BOUND))

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Number rows and let them wait for a punctuation."""
        decision = self._lateness(values, keys, values, values + self._range, bounds)
        late, counted = decision.late, decision.first < decision.last
        self.rows += len(values)
        keys, arguments = chosen_rows(counted, keys, arguments)
        values, first, in_time = values[counted], decision.first[counted], ~late[counted]
        if len(values) == 0:
            return late
        groups, partitions = self._groups(keys, len(values))
        marks = np.zeros(len(values), np.int64)
        if self._by_rank:
            pass  # ranks are known when the bound has passed
        elif self._every == 1:
            marks[in_time] = 1
        else:
            marks[in_time] = self._numbered(partitions[in_time]) % self._every == 0
        states = self._columns.of_rows(arguments, np.arange(len(values)), len(values))
        rows = RowRun(values, groups, marks, states)
        if in_time.all():
            self._open.add(rows)
        else:
            self._open.add(rows.take(np.flatnonzero(in_time)))
            tardy = np.flatnonzero(~in_time)
            self._late.add(RowRun(values[tardy], groups[tardy], first[tardy], states.take(tardy)))
        return late

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Put the rows it covers in order, and the windows together that they define."""
        closing = self._promised(punctuation)
        if closing is None or not {a for a, _ in closing.patterns} <= set(self.partition) or \
                not self._partitions.count:
            return self.nothing
        partition_of, bound = self._partitions.partition_of, closing.bound
        if not closing.linear:
            covered = closing.covers(self._partitions.table())
            taken = self._open.below(bound, lambda groups: covered[partition_of[groups]])
            self._reached[covered] = np.maximum(self._reached[covered], bound)
        else:
            taken = self._open.below(None if bound == FINISHED else bound)
            self._reached = np.maximum(self._reached, bound)
        windows = self._windows(taken)
        self._log.append_from(taken.values, taken.places, self._open.groups, self._open.states)
        results = self.nothing
        if len(windows):
            found = self._log.sweep(windows, partition_of) if not len(self._late) else \
                self._late.join(self._log, windows, partition_of)
            results = self._results(windows, found)
        self._forget()
        return results

    def _windows(self, rows: Sorted, counts: Ints | None = None) -> Windows:
        """The windows that rows define, which have come to their place; ``counts`` replaces the kernel's ranks."""
        several = self._partitions.count > 1
        owners = self._partitions.partition_of[self._open.groups[rows.places]] if several else \
            np.zeros(len(rows), np.int64)
        if self._by_rank:
            defining = self._numbered(owners, counts) % self._every == 0
        else:
            defining = self._open.marks[rows.places] > 0
        ids, owners = rows.values[defining], owners[defining]
        if several:
            order = np.argsort(owners, kind="stable")
            ids, owners = ids[order], owners[order]
        new = np.ones(len(ids), np.bool_)  # rows of equal value define one window
        new[1:] = (ids[1:] != ids[:-1]) | (owners[1:] != owners[:-1])
        ids, owners = ids[new], owners[new]
        stops = np.searchsorted(owners, np.arange(self._partitions.count), side="right")
        return Windows(ids, ids - self._range, ids, np.stack([np.append(0, stops)[:-1], stops]))

    def _forget(self) -> None:
        """Drop what no window at or above the bound can reach."""
        limits = np.where(self._reached == FINISHED, FINISHED,
                          np.where(self._reached == NO_BOUND, NO_BOUND, self._reached - self._range))
        self._log.drop(limits, self._partitions.partition_of)
        self._late.drop(limits, self._partitions.partition_of)
        self._tidy()

    # -- counters

    @property
    def closed_below(self) -> int:
        """A window's id is a value, so the bound for all rows."""
        return self.bounds.linear

    def open_windows(self) -> list[int]:
        """The ids of the windows that rows define so far; by rank a row in time may still withdraw them."""
        return [int(wid) for wid in np.unique(self._pending().ids)]

    def _pending(self) -> Windows:
        return self._windows(self._open.all(), self._counts.copy())

    def counters(self) -> dict[str, int]:
        """How much state there is: rows that wait are buffered, rows in the log are partials."""
        windows, waiting = self._pending(), self._open.all()
        bare = FifoLog(StateColumns([]))  # the order alone tells which groups have rows in which windows
        for values, groups in (self._log.entries()[:2], (waiting.values, self._open.groups[waiting.places])):
            bare.append(values, groups, bare.columns.empty(len(values)))
        counters = self._state_counters()
        counters["bytes"] += self._open.nbytes + self._late.rows.nbytes
        return {**counters, "buffered": len(self._open) + len(self._late),
                "window_groups": bare.count(windows, self._partitions.partition_of) if len(windows) else 0,
                "open_windows": len(np.unique(windows.ids))}

    # -- tidying up and saving

    def _held(self) -> tuple[list[Ints], list[Ints]]:
        waiting, late = self._open.all().places, self._late.rows
        return [self._open.groups[waiting], late.groups], [self._open.states.heap[waiting], late.states.heap]

    def _renumber(self, groups: Ints | None, heap: Ints | None) -> None:
        self._open.renumber(groups, heap)
        self._late.rows = self._late.rows.renumbered(groups, heap)

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        header, tables = super()._saved()
        reached = pa.table({"bound": pa.array(self._reached)})
        return header, tables | {"open": rows_table(self._open.rows()), "late": rows_table(self._late.rows),
                                 "reached": reached}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        super()._load(header, tables)
        self._open.add(rows_from(tables["open"], self._columns))
        self._late.rows = rows_from(tables["late"], self._columns)
        (self._reached,) = int_columns(tables["reached"])
