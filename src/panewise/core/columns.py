"""Arrays of numbers as Arrow columns, without a copy and without a look at their values."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pyarrow as pa

INT64, FLOAT64 = pa.int64(), pa.float64()


def as_column(values: npt.NDArray[Any], data_type: pa.DataType) -> pa.Array:
    """Numbers that lie in one piece as a column of a type of the same width; none of them is null.

    ``pa.array`` does the same after a few questions about pandas, which count when a column is short.

    >>> import numpy as np
    >>> as_column(np.array([1, 2]), pa.timestamp("us")).type
    TimestampType(timestamp[us])
    """
    return pa.Array.from_buffers(data_type, len(values), [None, pa.py_buffer(values)])
