"""Arrow columns as NumPy arrays for the vectorised aggregates, and the types they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.base import Codes, Types
from panewise.core.columns import as_integers, from_integers
from panewise.core.errors import AggregateError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

COUNT = pa.field("count", pa.int64(), nullable=False)
LONG_DIGITS = 18  # a decimal of so many digits always fits an int64


def plain_type(data_type: pa.DataType) -> pa.DataType:
    """The type an aggregate works on: encodings removed, and what Spark SQL does not have replaced as Spark reads it.

    >>> plain_type(pa.dictionary(pa.int32(), pa.string())), plain_type(pa.uint64())
    (DataType(string), Decimal128Type(decimal128(20, 0)))
    """
    if pa.types.is_dictionary(data_type):
        return plain_type(data_type.value_type)
    if data_type == pa.uint64():
        return pa.decimal128(20, 0)
    if data_type == pa.float16():
        return pa.float32()
    if pa.types.is_decimal(data_type) and not pa.types.is_decimal128(data_type) and data_type.precision <= 38:
        return pa.decimal128(data_type.precision, data_type.scale)
    return data_type


def plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array of the plain type."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    wanted = plain_type(array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array if array.type == wanted else array.cast(wanted)


def is_decimal(data_type: pa.DataType) -> bool:
    """A decimal of at most 38 digits."""
    return bool(pa.types.is_decimal128(data_type))


def is_numeric(data_type: pa.DataType) -> bool:
    """Integers, floats and decimals."""
    return bool(pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or is_decimal(data_type))


def has_long_key(data_type: pa.DataType) -> bool:
    """Whether the values are, bit for bit, integers of at most 64 bits whose order is the values' order."""
    return bool(
        pa.types.is_integer(data_type) or pa.types.is_boolean(data_type)
        or (pa.types.is_temporal(data_type) and not pa.types.is_interval(data_type))
        or (is_decimal(data_type) and data_type.precision <= LONG_DIGITS)
    )


def numeric_input(name: str, inputs: Types, at: int = 0) -> pa.DataType:
    """The plain type of a numeric argument; anything else is refused by name."""
    data_type = plain_type(inputs[at])
    if pa.types.is_null(data_type):
        return pa.float64()
    if not is_numeric(data_type):
        raise AggregateError(f"{name} needs a number, not {inputs[at]}: cast the argument, as in {name}(CAST(x AS "
                             "DOUBLE))")
    return data_type


def valid_rows(arrays: Sequence[pa.Array]) -> Mask | None:
    """Where no argument is null; ``None`` when that is everywhere."""
    mask: Mask | None = None
    for array in arrays:
        if array.null_count:
            valid = array.is_valid().to_numpy(zero_copy_only=False)
            mask = valid if mask is None else mask & valid
    return mask


def present(arrays: Sequence[pa.Array], codes: Codes) -> tuple[list[pa.Array], Codes]:
    """The rows without a null, and their codes."""
    mask = valid_rows(arrays)
    if mask is None:
        return list(arrays), codes
    keep = pa.array(mask)
    return [a.filter(keep) for a in arrays], codes[mask]


def long_keys(array: pa.Array) -> Ints:
    """The integers behind a column for which ``has_long_key`` holds; no nulls."""
    return decimal_words(array)[0] if is_decimal(array.type) else as_integers(array)


def from_long_keys(keys: Ints, data_type: pa.DataType, null: Mask | None = None) -> pa.Array:
    """The inverse of ``long_keys``."""
    if is_decimal(data_type):
        return decimal_array(keys, keys >> 63, data_type, null)
    return from_integers(pa.array(keys, mask=null), data_type)


def as_ints(array: pa.Array) -> Ints:
    """A column of integers without nulls."""
    values: Ints = array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return values


def as_floats(array: pa.Array) -> Floats:
    """A column of numbers without nulls, as the nearest doubles."""
    if is_decimal(array.type):
        return _decimal_floats(array)
    if not pa.types.is_floating(array.type):
        array = pc.cast(array, pa.float64(), safe=False)
    values: Floats = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return values


def _decimal_floats(array: pa.Array) -> Floats:
    """One correctly rounded division where both numbers are exact doubles, else Python's conversion value by value."""
    low, high = decimal_words(array)
    scale = array.type.scale
    short = (high == low >> 63) & (np.abs(low.astype(np.float64)) < 2.0**53) & (0 <= scale <= 22)
    floats: Floats = low / 10.0 ** (scale if 0 <= scale <= 22 else 0)
    if not short.all():
        floats[~short] = [float(value) for value in array.filter(pa.array(~short)).to_pylist()]
    return floats


def decimal_words(array: pa.Array) -> tuple[Ints, Ints]:
    """The low and the high 64 bits of the unscaled values of a decimal column."""
    words = np.frombuffer(array.buffers()[1], np.int64) if len(array) else np.empty(0, np.int64)
    words = words[2 * array.offset:2 * (array.offset + len(array))]
    return words[0::2], words[1::2]


def decimal_array(low: Ints, high: Ints, data_type: pa.DataType, null: Mask | None = None) -> pa.Array:
    """A decimal column from the low and high 64 bits of its unscaled values.

    >>> decimal_array(np.array([125]), np.array([0]), pa.decimal128(5, 2)).to_pylist()
    [Decimal('1.25')]
    """
    words = np.empty(2 * len(low), np.int64)
    words[0::2], words[1::2] = low, high
    validity = None if null is None else pa.array(~null).buffers()[1]
    return pa.Array.from_buffers(data_type, len(low), [validity, pa.py_buffer(words.tobytes())])


def counts_of(codes: Codes, groups: int) -> Ints:
    """How many rows each group has."""
    counts: Ints = np.bincount(codes, minlength=groups).astype(np.int64, copy=False)
    return counts


def number(value: Any) -> bool:
    """Whether a Python value is an ordinary number, not NaN.

    >>> number(1.5), number(float("nan")), number("a")
    (True, False, True)
    """
    return bool(value == value)  # noqa: PLR0124  (NaN is the value that differs from itself)
