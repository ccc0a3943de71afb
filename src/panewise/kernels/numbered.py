"""Windows over values whose values are arrival positions: rows are numbered here, then any kernel takes them.

Kinds that count rows by themselves (row windows, the n newest rows) have kernels of their own. What is left are kinds
made for values, such as a landmark or a session, with ``WA row-num``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.aggregates.base import Codes
from panewise.core.ordinals import Ordinals
from panewise.kernels.base import Arguments, Mask, WindowKernel
from panewise.kernels.grouping import group_codes
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.session import SessionWindow

COUNT = "<rows>"


class NumberedKernel(WindowKernel):
    """Numbers rows 1, 2, 3, … in the order they come, each partition its own; every row closes the position it took."""

    name = "numbered"

    def __init__(self, inner: WindowKernel) -> None:
        super().__init__(inner.spec, inner.keys, inner.aggregates, attribute=inner.attribute, late=inner.late,
                         partition=inner.partition)
        self.inner = inner
        self._partitions = pa.schema([self.keys.field(n) for n in self.partition]).empty_table()
        self._counts = np.zeros(0 if self.partition else 1, np.int64)
        self._touched: Codes = np.empty(0, np.int64)

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Positions have no bounds but the rows themselves: none is late."""
        codes = self._codes(keys, len(values))
        order = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes, minlength=len(self._counts))
        begins = np.cumsum(sizes) - sizes
        positions = np.empty(len(values), np.int64)
        positions[order] = np.arange(len(values)) - begins[codes[order]] + self._counts[codes[order]] + 1
        self._counts = self._counts + sizes
        self._touched = np.union1d(self._touched, codes)
        self.rows += len(values)
        return self.inner.process(positions, keys, arguments)

    def ripe(self) -> pa.Table:
        """Results of the windows that ended with the rows so far."""
        touched, self._touched = self._touched, np.empty(0, np.int64)
        tables = [self.inner.ripe()]
        if not isinstance(self.spec, SessionWindow):  # the next row always prolongs a session over positions
            columns = self._partitions.take(pa.array(touched)).to_pylist() if self.partition else [{}] * len(touched)
            for partition, count in zip(columns, self._counts[touched].tolist(), strict=True):
                tables.append(self.inner.advance(Punctuation.below(self.attribute, count + 1, **partition)))
        return pa.concat_tables(tables)

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Nothing but the end says anything about positions that rows do not say themselves."""
        if not punctuation.covers_everything or not self.bounds.advance(punctuation):
            return self.nothing
        return pa.concat_tables([self.ripe(), self.inner.advance(END)])

    def peek(self) -> pa.Table:
        """As the kernel inside."""
        return self.inner.peek()

    @property
    def result_schema(self) -> pa.Schema:
        """As the kernel inside."""
        return self.inner.result_schema

    # -- counters

    @property
    def closed_below(self) -> int:
        """As the kernel inside."""
        return self.inner.closed_below

    def open_windows(self) -> list[int]:
        """As the kernel inside."""
        return self.inner.open_windows()

    def counters(self) -> dict[str, int]:
        """As the kernel inside."""
        return self.inner.counters()

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        counts = pa.table([*self._partitions.columns, pa.array(self._counts)], names=[*self.partition, COUNT])
        return {"touched": self._touched.tolist()}, {
            "counts": counts, "inner": pa.table({"state": pa.array([self.inner.snapshot()], pa.large_binary())})}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._touched = np.array(header["touched"], np.int64)
        self._counts = tables["counts"].column(COUNT).to_numpy().copy()
        self._partitions = tables["counts"].drop_columns([COUNT]) if self.partition else self._partitions
        self.inner.restore(tables["inner"].column("state")[0].as_py())

    def _codes(self, keys: pa.Table, rows: int) -> Codes:
        """The place of each row's partition among the known ones; new ones are put behind them."""
        if not self.partition:
            return np.zeros(rows, np.int64)
        known = self._partitions.num_rows
        both = pa.concat_tables([self._partitions, keys.select(self.partition)]).combine_chunks()
        codes, first = group_codes(both.columns)
        by_age = np.argsort(first)  # the known ones come first, in their order
        place = np.empty(len(first), np.int64)
        place[by_age] = np.arange(len(first))
        self._partitions = both.take(pa.array(first[by_age]))
        self._counts = np.concatenate([self._counts, np.zeros(len(first) - known, np.int64)])
        return place[codes[known:]]
