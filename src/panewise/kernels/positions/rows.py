"""Row windows and the n newest rows, of the stream or of each partition: windows over positions, closed by counting.

The position of a row is final when it comes, so nothing is ever out of order here and no punctuation is needed: the
windows a batch completes come out of ``ripe``. Rows between the same two window boundaries are in the same windows and
share one entry of the log (a pane by position); with SLIDE 1 row every row is a pane. Aggregates of panes
(``frequent_items``) are given positions here, and keep only their lists of panes that are full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Arguments, Mask, chosen_rows
from panewise.kernels.contract.state_columns import Ints, StateColumns
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.positions.fifo_log import Windows
from panewise.kernels.positions.log_kernel import LogKernel, window_list
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED
from panewise.windows.base import ids_in_ranges
from panewise.windows.count import CountWindow
from panewise.windows.rows import RowWindow


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass
class OpenPanes:
    """Entries of the log whose panes are not full, of aggregates whose states get smaller when a pane is full.

    Batches cut panes: a pane has an entry of the log per batch that brought some of its rows. What the list of a pane
    leaves out is known when its last row has come, not before. Then the states of its entries become one, in the place
    of the first, and are settled; the others stay in the log with nothing in them. Only these aggregates pay for that.
    """

    starts: Ordinals = field(default_factory=_none)
    lasts: Ordinals = field(default_factory=_none)
    """The last position of the entry's pane."""
    partitions: Ints = field(default_factory=_none)
    groups: Ints = field(default_factory=_none)
    heap: Ints = field(default_factory=_none)

    def add(self, starts: Ordinals, lasts: Ordinals, partitions: Ints, groups: Ints, heap: Ints) -> None:
        """Note new entries."""
        new = (starts, lasts, partitions, groups, heap)
        for column, values in zip(fields(self), new, strict=True):
            setattr(self, column.name, np.concatenate([getattr(self, column.name), values]))

    def settle(self, columns: StateColumns, counts: Ints | None = None) -> None:
        """Make the states of full panes small; ``counts`` are the positions taken by partition, None: no more come."""
        full = np.ones(len(self.lasts), np.bool_) if counts is None else self.lasts <= counts[self.partitions]
        if not full.any():
            return
        codes, first = group_codes([self.starts[full], self.groups[full]])
        columns.settle(self.heap[full], first[codes])
        for column in fields(self):
            setattr(self, column.name, getattr(self, column.name)[~full])

    def renumber(self, groups: Ints | None, heap: Ints | None) -> None:
        """Groups or the heap were packed: old numbers to new ones."""
        if groups is not None:
            self.groups = groups[self.groups]
        if heap is not None:
            self.heap = heap[self.heap]

    def saved(self) -> pa.Table:
        """All of them."""
        return pa.table({column.name: pa.array(getattr(self, column.name)) for column in fields(self)})

    @classmethod
    def loaded(cls, table: pa.Table) -> OpenPanes:
        """What ``saved`` gave."""
        return cls(*int_columns(table))


class RowKernel(LogKernel):
    """Windows over the positions of rows; ``partition`` says whose rows are counted together.

    The values it is given are not looked at. Group keys beside the partition are welcome: a window then has one result
    per group that has rows among its positions.
    """

    name = "rows"

    def _prepare(self) -> None:
        spec = self.spec
        if isinstance(spec, CountWindow):  # the state after (w+1)·slide rows is the row window w with origin 1
            self._range, self._slide, self._base = spec.n, spec.slide, 1
        elif isinstance(spec, RowWindow):
            self._range, self._slide, self._base = spec.range, spec.slide, spec.origin - spec.lag
        else:
            raise UnsupportedError(f"{spec.kind} windows are not windows over row positions: the kernel for rows runs "
                                   "row windows and windows of the n newest rows")
        super()._prepare()

    def _begin(self) -> None:
        super()._begin()
        self._closed: Ordinals = np.zeros(0, np.int64)
        """Per partition the first window that is not closed."""
        self._open = OpenPanes() if self._columns.settles else None

    def _widen(self, partitions: int) -> None:
        super()._widen(partitions)
        new = np.full(partitions - len(self._closed), (1 - self._base) // self._slide)
        self._closed = np.append(self._closed, new)

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Number rows and put them into their panes; none is ever late."""
        rows = len(values)
        on_time = np.zeros(rows, np.bool_)
        self.rows += rows
        if rows == 0:
            return on_time
        groups, partitions = self._groups(keys, rows)
        numbers = self._numbered(partitions)
        arguments = self._with_numbers(arguments, numbers)
        distance = numbers - self._base
        first, end = distance // self._slide, (distance + self._range) // self._slide
        # the first position of the pane: a new one begins where a window begins or ends
        panes = np.maximum(first * self._slide, end * self._slide - self._range)
        if self._range < self._slide and not (used := first < end).all():  # between two windows
            panes, groups = panes[used], groups[used]
            _, arguments = chosen_rows(used, keys, arguments)
        if self._slide == 1 or len(panes) == 0:
            states = self._columns.of_rows(arguments, np.arange(len(panes)), len(panes))
            self._log.append(panes, groups, states)
        else:
            codes, begun = group_codes([panes, groups])
            panes, groups = panes[begun], groups[begun]
            states = self._columns.of_rows(arguments, codes, len(begun))
            self._log.append(panes, groups, states, np.argsort(begun))
        if self._open is not None:
            self._open.add(panes, self._lasts(panes), self._partitions.partition_of[groups], groups, states.heap)
            self._open.settle(self._columns, self._counts)
        return on_time

    def _lasts(self, panes: Ordinals) -> Ordinals:
        """The last position of panes: the next one is where a window ends, or the next begins."""
        ends, begins = panes // self._slide + 1, (panes + self._range) // self._slide + 1
        return np.minimum(ends * self._slide, begins * self._slide - self._range) - 1 + self._base

    def _with_numbers(self, arguments: Arguments, numbers: Ordinals) -> Arguments:
        """Arguments with the positions of rows, for functions of the panes of rows."""
        if not any(a.function.numbered for a in self.aggregates):
            return arguments
        positions = pa.array(numbers)
        return [[*columns, positions] if a.function.numbered else columns
                for a, columns in zip(self.aggregates, arguments, strict=True)]

    # -- results out

    def ripe(self) -> pa.Table:
        """The windows whose last position has been taken."""
        return self._close((self._counts + 1 - self._base) // self._slide)

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Positions follow from the rows alone, so only the end of the input closes anything."""
        if not punctuation.covers_everything or not self.bounds.advance(punctuation):
            return self.nothing
        if self._open is not None:  # the last panes stay as full as they are
            self._open.settle(self._columns)
        return self._close(self._ends())

    def _ends(self) -> Ordinals:
        """Per partition the end of the windows that its last row is in."""
        return np.where(self._counts > 0, (self._counts - self._base + self._range) // self._slide, self._closed)

    def _windows(self, end: Ordinals) -> Windows:
        """The windows from those that are closed up to others."""
        ids, ranges = window_list(self._closed, end)
        upto = (ids + 1) * self._slide - 1
        return Windows(ids, upto - self._range, upto, ranges)

    def _close(self, end: Ordinals) -> pa.Table:
        windows = self._windows(end)
        if len(windows) == 0:
            return self.nothing
        found = self._log.sweep(windows, self._partitions.partition_of, settled=True)
        results = self._results(windows, found)
        self._closed = np.maximum(self._closed, end)
        limits = (self._closed + 1) * self._slide - self._range - 1
        self._log.drop(limits, self._partitions.partition_of)
        self._tidy()
        return results

    # -- counters

    @property
    def closed_below(self) -> int:
        """Of partitions none is ever closed below its first window: another may come."""
        if self.bounds.linear == FINISHED:
            return FINISHED
        first = (1 - self._base) // self._slide
        return first if self.partition or not len(self._closed) else int(self._closed[0])

    def open_windows(self) -> list[int]:
        """The ids of windows that hold rows and are not closed."""
        return [int(wid) for wid in ids_in_ranges(self._closed, np.maximum(self._ends(), self._closed))]

    def counters(self) -> dict[str, int]:
        """How much state there is; rows of one pane and group are one partial."""
        windows = self._windows(self._ends())
        pairs = self._log.count(windows, self._partitions.partition_of) if len(windows) else 0
        return {**self._state_counters(), "buffered": 0, "window_groups": pairs,
                "open_windows": len(np.unique(windows.ids))}

    # -- saving

    def _renumber(self, groups: Ordinals | None, heap: Ordinals | None) -> None:
        super()._renumber(groups, heap)
        if self._open is not None:
            self._open.renumber(groups, heap)

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        header, tables = super()._saved()
        tables["closed"] = pa.table({"wid": pa.array(self._closed)})
        if self._open is not None:
            tables["open"] = self._open.saved()
        return header, tables

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        super()._load(header, tables)
        (self._closed,) = int_columns(tables["closed"])
        if self._open is not None:
            self._open = OpenPanes.loaded(tables["open"])
