"""Keys of an equality as small integers, equal on both sides of a join; a key with a null equals nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.functions import evaluate
from panewise.kernels.key_table import KeyTable
from panewise.kernels.relations.delta import gather

NO_KEY = -1


class JoinKeys:
    """Numbers the keys of two inputs together. Forgetting is starting again, with the rows that are left."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._table = KeyTable(schema)

    def __len__(self) -> int:
        return max(len(self._table), 1)

    def table(self) -> pa.Table:
        """All keys in the order of their numbers."""
        return self._table.table() if len(self.schema) else pa.table({})

    def load(self, table: pa.Table) -> Ordinals:
        """Start again with these keys, each once; the number of each, which need not be its place."""
        self.forget()
        return self._table.codes(table.combine_chunks(), table.num_rows) if len(self.schema) else np.zeros(1, np.int64)

    def keep(self, used: Ordinals) -> Ordinals:
        """Forget all keys but these (ascending); the new number of each old one, -1 for those forgotten."""
        moved = np.full(len(self), -1, np.int64)
        moved[used] = self.load(gather(self._table.table(), used)) if len(self.schema) else 0
        return moved

    def forget(self) -> None:
        """Start again."""
        self._table = KeyTable(self.schema)

    def codes(self, scalars: Sequence[Scalar], table: pa.Table) -> Ordinals:
        """The number of every row's key; -1 where part of it is null."""
        rows = table.num_rows
        if not scalars:
            return np.zeros(rows, np.int64)
        if not rows:
            return np.empty(0, np.int64)
        columns = [c.cast(f.type) for c, f in zip(evaluate(list(scalars), table), self.schema, strict=True)]
        known = np.ones(rows, np.bool_)
        for column in columns:
            if column.null_count:
                known &= column.is_valid().to_numpy(zero_copy_only=False)
        if known.all():
            return self._table.codes(pa.table(columns, schema=self.schema), rows)
        codes = np.full(rows, NO_KEY, np.int64)
        kept = pa.table([c.filter(pa.array(known)) for c in columns], schema=self.schema)
        codes[known] = self._table.codes(kept, kept.num_rows)
        return codes


def key_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which two columns can be compared by their bits; None where equality needs more than that.

    >>> key_type(pa.int32(), pa.int64()), key_type(pa.int64(), pa.float64())
    (DataType(int64), None)
    """
    types = pa.types
    text = [types.is_string(t) or types.is_large_string(t) for t in (left, right)]
    if all(text):
        return pa.string()
    whole = [types.is_signed_integer(t) or (types.is_unsigned_integer(t) and t != pa.uint64()) for t in (left, right)]
    if all(whole):
        return pa.int64()
    if types.is_nested(left) or types.is_dictionary(left):
        return None
    return left if left == right else None
