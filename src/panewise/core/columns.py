"""Arrays of numbers as Arrow columns, without a copy and without a look at their values."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
