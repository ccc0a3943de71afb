"""Arrow columns in one piece, with one zero, and from and to arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.arrays import Ints

INT64, FLOAT64 = pa.int64(), pa.float64()


def one_zero(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of floats in which zero has one sign: both zeros are one value, which is shown as 0.0.

    >>> one_zero(pa.array([-0.0, 1.5, None])).to_pylist()
    [0.0, 1.5, None]
    """
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column


def with_one_zero(table: pa.Table) -> pa.Table:
    """A table in whose columns zero has one sign."""
    if not any(pa.types.is_floating(field.type) for field in table.schema):
        return table
    return pa.table([one_zero(column) for column in table.columns], schema=table.schema)


def as_column(values: npt.NDArray[Any], data_type: pa.DataType) -> pa.Array:
    """Numbers that lie in one piece as a column of a type of the same width; none of them is null.

    ``pa.array`` does the same after a few questions about pandas, which count when a column is short.

    >>> import numpy as np
    >>> as_column(np.array([1, 2]), pa.timestamp("us")).type
    TimestampType(timestamp[us])
    """
    return pa.Array.from_buffers(data_type, len(values), [None, pa.py_buffer(values)])


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece, without a copy where it is in one."""
    if isinstance(column, pa.Array):
        return column
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def int_columns(table: pa.Table, *names: str) -> list[Ints]:
    """Columns of integers as arrays that may be written to: all of a table, or those with these names."""
    return [np.array(table.column(name).to_numpy(), np.int64) for name in names or table.column_names]


def as_integers(column: pa.Array) -> Ints:
    """The 64 bits behind integers, times, truth values and floats, so that equal values have equal ones.

    Floats have one NaN and one zero; their integers do not have their order. What stands at nulls says nothing.

    >>> as_integers(pa.array([True, None])).tolist(), as_integers(pa.array([0.0, -0.0])).tolist()
    ([1, 0], [0, 0])
    """
    if column.type == INT64 and not column.null_count:
        plain: Ints = column.to_numpy()
        return plain
    types, filled = pa.types, column.null_count > 0
    if types.is_floating(column.type):
        floats = (column.fill_null(0.0) if filled else column).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        floats[np.isnan(floats)] = np.nan
        bits: Ints = floats.view(np.int64)
        return bits
    if types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif types.is_temporal(column.type):
        column = column.view(INT64 if column.type.bit_width == 64 else pa.int32())
    column = column.fill_null(0) if filled else column
    integers: Ints = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return integers


def from_integers(integers: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The inverse of ``as_integers``, from a column of them."""
    types = pa.types
    if integers.type == data_type:
        return integers
    if types.is_floating(data_type):
        return integers.view(FLOAT64).cast(data_type)
    if types.is_boolean(data_type):
        return integers.cast(pa.int8()).cast(data_type)
    if types.is_temporal(data_type):
        return (integers if data_type.bit_width == 64 else integers.cast(pa.int32())).view(data_type)
    return integers.cast(data_type)
