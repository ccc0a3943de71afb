"""What kernels on a log of ordered states share: groups and partitions, the log, results, tidying up, saving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import counted_up
from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.state_columns import Ints, StateColumns
from panewise.kernels.groups.partitions import Partitions
from panewise.kernels.positions import fifo_numba as loops
from panewise.kernels.positions.fifo_log import FifoLog, Found, Windows

FEW = 1 << 10
"""So many idle groups, or dead states in the heap, are not worth tidying up."""


class LogKernel(WindowKernel):
    """A window aggregate whose windows are ranges of an order in which rows become final."""

    def _prepare(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._columns = StateColumns(self.aggregates)
        self._log = FifoLog(self._columns)
        self._named: Partitions | None = None
        self._counts: Ints = np.zeros(0, np.int64)
        """Rows numbered so far, per partition."""
        self._crowd = FEW

    @property
    def _partitions(self) -> Partitions:
        if self._named is None:
            self._named = Partitions(self.keys, self.partition)
        return self._named

    def _groups(self, keys: pa.Table, rows: int) -> tuple[Ints, Ints]:
        """The groups of rows and their partitions."""
        groups = self._partitions.groups(keys, rows)
        if self._partitions.count > len(self._counts):
            self._widen(self._partitions.count)
        return groups, self._partitions.partition_of[groups]

    def _widen(self, partitions: int) -> None:
        """Have counters for so many partitions."""
        self._counts = np.append(self._counts, np.zeros(partitions - len(self._counts), np.int64))

    def _numbered(self, partitions: Ints, counts: Ints | None = None) -> Ints:
        """The positions of rows in their partitions, which go on counting; other ``counts`` leave them as they are."""
        numbers = np.empty(len(partitions), np.int64)
        loops.number_rows(partitions, self._counts if counts is None else counts, numbers)
        return numbers

    # -- results

    def _results(self, windows: Windows, found: Found) -> pa.Table:
        columns = [pa.array(windows.ids[found.windows]), *self._partitions.columns(found.groups),
                   *self._columns.finished(found.states, found.slow, found.ready)]
        return pa.table(columns, names=self.result_schema.names).cast(self.result_schema)

    # -- tidying up

    def _held(self) -> tuple[list[Ints], list[Ints]]:
        """Groups and heap numbers that rows outside the log need."""
        return [], []

    def _renumber(self, groups: Ints | None, heap: Ints | None) -> None:
        """Groups or the heap were packed: old numbers to new ones, for rows outside the log."""

    def _tidy(self) -> None:
        """Forget groups without rows and states without use, before they outnumber the others."""
        if len(self._partitions) > self._crowd and self.keys.names:
            alive = np.zeros(len(self._partitions), np.bool_)
            alive[np.flatnonzero(self._log.lengths)] = True
            for groups in self._held()[0]:
                alive[groups] = True
            kept = np.flatnonzero(alive)
            if 2 * len(kept) < len(alive):
                self._log.keep_groups(kept)
                self._partitions.keep(kept)
                self._renumber(np.cumsum(alive) - 1, None)
            self._crowd = max(FEW, 2 * len(kept))
        if self._columns.heap_rows > FEW:
            needed = [self._log.entries()[2].heap, *self._held()[1]]
            if 2 * sum(map(len, needed)) < self._columns.heap_rows:
                kept = np.sort(np.concatenate(needed))
                numbers = np.empty(self._columns.heap_rows, np.int64)
                numbers[kept] = np.arange(len(kept))
                self._columns.keep(kept)
                self._log.renumber_heap(numbers)
                self._renumber(None, numbers)

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        partitions = self._partitions
        tables = partitions.saved() | self._log.saved() | {"counts": pa.table({"rows": pa.array(self._counts)})}
        if self._columns.slow:
            tables["heap"] = self._columns.saved()
        return {"groups": len(partitions), "partitions": partitions.count,
                "digits": self._columns.saved_digits()}, tables

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._begin()
        self._columns.load_digits(header["digits"])
        self._partitions.load(tables["groups"].cast(self.keys), tables["partitions"],
                              (header["groups"], header["partitions"]))
        self._widen(header["partitions"])
        (self._counts,) = int_columns(tables["counts"])
        if self._columns.slow:
            self._columns.load(tables["heap"])
        self._log.load(tables["entries"], tables["stacks"])

    def _state_counters(self) -> dict[str, int]:
        return {"rows": self.rows, "late": self.late_rows, "partials": len(self._log),
                "bytes": self._log.nbytes + self._columns.heap_bytes}


def window_list(first: Ordinals, end: Ordinals) -> tuple[Ordinals, Ints]:
    """Ids from first to end of every partition, one partition after the other, and where each partition's are."""
    lengths = np.maximum(end - first, 0)
    stops = np.cumsum(lengths)
    return counted_up(first, lengths), np.stack([stops - lengths, stops])
