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
from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Arguments, Mask, WindowKernel
from panewise.kernels.contract.wrapping import WrappingKernel
from panewise.kernels.groups.key_table import KeyTable, by_number
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.session import SessionWindow

COUNT = "<rows>"


class NumberedKernel(WrappingKernel):
    """Numbers rows 1, 2, 3, … in the order they come, each partition its own; every row closes the position it took."""

    name = "numbered"

    def __init__(self, inner: WindowKernel) -> None:
        super().__init__(inner)
        self._partitions = KeyTable(pa.schema([self.keys.field(n) for n in self.partition]))
        self._counts = np.zeros(0, np.int64)
        self._touched: Codes = np.empty(0, np.int64)

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Positions have no bounds but the rows themselves: none is late."""
        codes = self._partitions.codes(keys.select(self.partition), len(values))
        self._counts = np.append(self._counts, np.zeros(len(self._partitions) - len(self._counts), np.int64))
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
            columns = self._partitions.values(touched).to_pylist() if self.partition else [{}] * len(touched)
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
        header, tables = self._inner_saved()
        own = {"partitions": self._partitions.table(), "counts": pa.table({COUNT: self._counts})}
        return {"touched": self._touched.tolist(), **header}, own | tables

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        (counts,) = int_columns(tables["counts"])
        numbers = self._partitions.load(tables["partitions"], len(counts))
        self._counts = by_number(counts, numbers)
        self._touched = numbers[np.array(header["touched"], np.int64)]
        self._load_inner(header, tables)
