"""Dense group codes for rows of several columns: the step every columnar aggregate starts with.

Null is a group of its own, NaN equals NaN and -0.0 equals 0.0, as GROUP BY has it in Spark SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.base import Codes
from panewise.kernels.groups.codes_numba import integer_codes

Column: TypeAlias = npt.NDArray[Any] | pa.Array | pa.ChunkedArray

SMALL = 1 << 16
"""A table of this many slots is always cheaper than hashing."""
WIDE = 1 << 31
"""Integers of a narrower range are not numbered by themselves when they are numbered with other columns."""


def group_codes(columns: Sequence[Column]) -> tuple[Codes, Codes]:
    """For every row the code of its group (0, 1, …), and for every group the index of its first row.

    Groups are numbered in ascending order of the columns where all are narrow integers, else in no special order.

    >>> codes, first = group_codes([np.array([7, 5, 7]), pa.array(["a", None, "a"])])
    >>> codes.tolist(), first.tolist()
    ([1, 0, 1], [1, 0])
    """
    if not columns:
        raise ValueError("group_codes needs at least one column")
    rows = len(columns[0])
    if rows == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    combined, size = _column_codes(columns[0], rows)
    for column in columns[1:]:
        codes, width = _column_codes(column, rows)
        if size <= _roomy(rows) < size * width:  # a table may make the mixed-radix code small enough for another
            combined, size = _compact(combined, size)
        if size * width >= 1 << 62:
            combined, size = _compact(combined, size)
        if size * width >= 1 << 62:
            codes, width = _compact(codes, width)
        combined, size = combined * width + codes, size * width
    return _dense(combined, size)


def groups_of(table: pa.Table, names: Sequence[str]) -> tuple[Codes, Codes]:
    """The groups of a table's rows by some columns; without any all rows are one group."""
    if names:
        return group_codes([table.column(name) for name in names])
    return np.zeros(table.num_rows, np.int64), np.zeros(min(1, table.num_rows), np.int64)


def _roomy(rows: int) -> int:
    return max(4 * rows, SMALL)


def _column_codes(column: Column, rows: int) -> tuple[Codes, int]:
    """Codes of one column below a known size; not every code need occur."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, np.ndarray):
        if column.dtype.kind not in "iu":
            return _column_codes(pa.array(column, from_pandas=False), rows)
        integers: Codes = column.astype(np.int64, copy=False)
    elif pa.types.is_integer(column.type) and column.null_count == 0 and column.type != pa.uint64():
        integers = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    elif pa.types.is_null(column.type):
        return np.zeros(rows, np.int64), 1
    else:
        return _hashed(column)
    low, high = int(integers.min()), int(integers.max())
    if high - low < max(_roomy(rows), WIDE):  # hashed once, with the other columns
        return integers - low, high - low + 1
    codes, first = _numbered(integers)
    return codes, len(first)


def _hashed(column: pa.Array) -> tuple[Codes, int]:
    """Codes in order of first occurrence; those of a dictionary are taken as they are."""
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        if values.null_count == 0 and len(values.unique()) == len(values):
            indices = column.indices.fill_null(len(values)) if column.null_count else column.indices
            return indices.to_numpy(zero_copy_only=False).astype(np.int64), len(values) + 1
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 + 0.0 is 0.0
    if pa.types.is_nested(column.type):
        return _by_value(column)
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(len(encoded.dictionary), 1)


def _by_value(column: pa.Array) -> tuple[Codes, int]:
    """Structs and lists, which Arrow does not hash: their printed values are compared."""
    seen: dict[str, int] = {}
    codes = np.fromiter((seen.setdefault(repr(v), len(seen)) for v in column.to_pylist()), np.int64, len(column))
    return codes, max(len(seen), 1)


def _dense(codes: Codes, size: int) -> tuple[Codes, Codes]:
    rows = len(codes)
    if size <= _roomy(rows):
        first = np.full(size, -1, np.int64)
        first[codes[::-1]] = np.arange(rows - 1, -1, -1)  # of equal indices the last assignment stays
        present = first >= 0
        if present.all():
            return codes, first
        return (np.cumsum(present) - 1)[codes], first[present]
    return _numbered(codes)


def _numbered(integers: Codes) -> tuple[Codes, Codes]:
    """Codes in order of first occurrence, and the first row of each."""
    return integer_codes(np.ascontiguousarray(integers))


def _compact(codes: Codes, size: int) -> tuple[Codes, int]:
    dense, first = _dense(codes, size)
    return dense, len(first)
