"""Row windows and the n newest rows, of the stream or of each partition: windows over positions, closed by counting.

The position of a row is final when it comes, so nothing is ever out of order here and no punctuation is needed: the
windows a batch completes come out of ``ripe``. Rows between the same two window boundaries are in the same windows and
share one entry of the log (a pane by position); with SLIDE 1 row every row is a pane. Aggregates of panes
(``frequent_items``) are given positions here, and keep only their lists of panes that are full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.base import Arguments, Mask
from panewise.kernels.fifo_log import Windows
from panewise.kernels.grouping import group_codes
from panewise.kernels.log_kernel import LogKernel, window_list
from panewise.kernels.open_panes import OpenPanes
from panewise.kernels.partials import BoundAggregate
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED
from panewise.windows.base import WindowSpec, ids_in_ranges
from panewise.windows.count import CountWindow
from panewise.windows.rows import RowWindow


class RowKernel(LogKernel):
    """Windows over the positions of rows; ``partition`` says whose rows are counted together.

    The values it is given are not looked at. Group keys beside the partition are welcome: a window then has one result
    per group that has rows among its positions.
    """

    name = "rows"

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP,
                 partition: Sequence[str] = ()) -> None:
        if isinstance(spec, CountWindow):  # the state after (w+1)·slide rows is the row window w with origin 1
            self._range, self._slide, self._base = spec.n, spec.slide, 1
        elif isinstance(spec, RowWindow):
            self._range, self._slide, self._base = spec.range, spec.slide, spec.origin - spec.lag
        else:
            raise UnsupportedError(f"{spec.kind} windows are not windows over row positions: the kernel for rows runs "
                                   "row windows and windows of the n newest rows")
        super().__init__(spec, keys, aggregates, attribute=attribute, late=late, partition=partition)

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
            chosen = pa.array(used)
            panes, groups = panes[used], groups[used]
            arguments = [[column.filter(chosen) for column in columns] for columns in arguments]
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
        self._closed = np.array(tables["closed"].column("wid").to_numpy(), np.int64)
        if self._open is not None:
            self._open = OpenPanes.loaded(tables["open"])
