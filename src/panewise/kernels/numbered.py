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
from panewise.kernels.grouping import known_first
from panewise.kernels.wrapping import WrappingKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.session import SessionWindow

COUNT = "<rows>"


class NumberedKernel(WrappingKernel):
    """Numbers rows 1, 2, 3, … in the order they come, each partition its own; every row closes the position it took."""

    name = "numbered"

    def __init__(self, inner: WindowKernel) -> None:
        super().__init__(inner)
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

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        counts = pa.table([*self._partitions.columns, pa.array(self._counts)], names=[*self.partition, COUNT])
        return {"touched": self._touched.tolist()}, {"counts": counts, **self._inner_saved()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._touched = np.array(header["touched"], np.int64)
        self._counts = tables["counts"].column(COUNT).to_numpy().copy()
        self._partitions = tables["counts"].drop_columns([COUNT]) if self.partition else self._partitions
        self._load_inner(tables)

    def _codes(self, keys: pa.Table, rows: int) -> Codes:
        """The place of each row's partition among the known ones; new ones are put behind them."""
        if not self.partition:
            return np.zeros(rows, np.int64)
        known = self._partitions.num_rows
        self._partitions, codes = known_first(self._partitions, keys.select(self.partition))
        self._counts = np.concatenate([self._counts, np.zeros(self._partitions.num_rows - known, np.int64)])
        return codes
