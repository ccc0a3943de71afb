"""Keys of an equality as small integers, equal on both sides of a join; a key with a null equals nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.functions import evaluate
from panewise.kernels.groups.key_table import KeyTable

NO_KEY = -1


class JoinKeys(KeyTable):
    """Numbers the keys of two inputs together; without a key column all rows have one key."""

    def __len__(self) -> int:
        return max(super().__len__(), 1)

    def of_rows(self, scalars: Sequence[Scalar], table: pa.Table) -> Ordinals:
        """The number of every row's key; -1 where part of it is null."""
        rows = table.num_rows
        if not scalars or not rows:
            return np.zeros(rows, np.int64)
        columns = [c.cast(f.type) for c, f in zip(evaluate(list(scalars), table), self.schema, strict=True)]
        known = np.ones(rows, np.bool_)
        for column in columns:
            if column.null_count:
                known &= column.is_valid().to_numpy(zero_copy_only=False)
        if known.all():
            return self.codes(pa.table(columns, schema=self.schema), rows)
        codes = np.full(rows, NO_KEY, np.int64)
        kept = pa.table([c.filter(pa.array(known)) for c in columns], schema=self.schema)
        codes[known] = self.codes(kept, kept.num_rows)
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
    if types.is_struct(left) and left == right:  # missing fields are equal to each other, and zeros of floats are not
        return left if all(key_type(field.type, field.type) == field.type and not types.is_floating(field.type)
                           for field in left) else None
    if types.is_nested(left) or types.is_dictionary(left):
        return None
    return left if left == right else None
