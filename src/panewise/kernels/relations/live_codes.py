"""Values as small integers, with a way to forget those nobody holds any more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.key_table import KeyTable
from panewise.kernels.relations.delta import gather
from panewise.kernels.relations.stores.arena import Growing

SPARE = 4096


class LiveCodes:
    """Numbers rows by value: null is a value, NaN equals NaN, -0.0 equals 0.0."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._table = KeyTable(schema)

    def __len__(self) -> int:
        return len(self._table)

    def codes(self, table: pa.Table, rows: int) -> Ordinals:
        """The number of every row's value."""
        return self._table.codes(table, rows) if rows else np.empty(0, np.int64)

    def values(self, codes: Ordinals) -> pa.Table:
        """The values behind numbers."""
        if not len(self.schema):
            return pa.table({})
        return pa.Table.from_arrays(self._table.columns(codes), schema=self.schema)

    @property
    def nbytes(self) -> int:
        """Bytes of the values, not of the table in which they are looked up."""
        return int(self.values(np.arange(len(self))).nbytes)

    def crowded(self, used: int) -> bool:
        """Whether most numbers are held by nobody."""
        return len(self) > 4 * used + SPARE

    def load(self, values: pa.Table, rows: int) -> Ordinals:
        """Start again with these values, each once; the number of each, which need not be its place."""
        self._table = KeyTable(self.schema)
        return self.codes(values.combine_chunks(), rows)

    def keep(self, used: Ordinals) -> Ordinals:
        """Forget all numbers but these (ascending); the new number of each old one, -1 for those forgotten."""
        kept = gather(self._table.table(), used)
        moved = np.full(len(self), -1, np.int64)
        moved[used] = self.load(kept, len(used))
        return moved


def renumbered(values: Ordinals, numbers: Ordinals) -> Growing:
    """Something by number, when the i-th number becomes ``numbers[i]``."""
    made = np.empty(len(numbers), np.int64)
    made[numbers] = values
    return Growing(made)
