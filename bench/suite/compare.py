"""Whether two results are equal: row by row in any order, averages up to rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

CLOSE = 1e-9
APART = ("end", "item", "query")
"""The columns that tell one result from another."""


def differences(left: pa.Table, right: pa.Table) -> int:
    """How many results differ: windows only one has, counts, maxima, or averages by more than 1e-9 of their value.

    Tables without windows, as those of a join, are compared as bags of rows.
    """
    keys = [name for name in APART if name in left.column_names]
    if "end" not in keys:
        keys = [field.name for field in left.schema if not pa.types.is_floating(field.type)]
        keys += [name for name in left.column_names if name not in keys]
    a, b = (_sorted(table, keys) for table in (left, right))
    if a.num_rows != b.num_rows or any(not _same(a[key], b[key]) for key in keys):
        only_left, only_right = (one.select(keys).join(other.select(keys), keys, join_type="left anti").num_rows
                                 for one, other in ((left, right), (right, left)))
        return only_left + only_right or abs(a.num_rows - b.num_rows) or 1
    wrong = np.zeros(a.num_rows, np.bool_)
    for name in [name for name in a.column_names if name not in keys]:
        wrong |= _apart(a[name], b[name], close=name == "mean")
    return int(wrong.sum())


def _sorted(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    return table.combine_chunks().sort_by([(key, "ascending") for key in keys])


def _apart(left: pa.ChunkedArray, right: pa.ChunkedArray, *, close: bool) -> np.ndarray:
    a, b = left.to_numpy(), right.to_numpy()
    return ~(np.abs(a - b) <= CLOSE * np.abs(a)) if close else a != b


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    return bool(left.equals(right.cast(left.type)))
