"""Casts among integers, floats and booleans; fractions are cut, what does not fit fails."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.frame import Here, as_numpy, with_nulls
from panewise.functions.casts.table import cast
from panewise.functions.types import BOOLEAN, DOUBLE, FLOAT, is_float, is_integer, type_name

OVERFLOW = "CAST_OVERFLOW"


@cast(is_integer, is_integer)
def between_integers(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Wider always fits, narrower where the value does."""
    if values.type.bit_width <= here.type.bit_width:
        return values.cast(here.type)
    low, high = -(1 << here.type.bit_width - 1), (1 << here.type.bit_width - 1) - 1
    outside = pc.or_(pc.less(values, low), pc.greater(values, high))
    return _fitting(values, outside, here, failing).cast(here.type)


@cast(is_integer, is_float)
@cast(FLOAT, DOUBLE)
@cast(DOUBLE, FLOAT)
def to_float(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The nearest value."""
    del failing
    with np.errstate(over="ignore"):
        return with_nulls(as_numpy(values, 0).astype(here.type.to_pandas_dtype()), values, here.type)


@cast(is_float, is_integer)
def float_to_integer(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Fractions are cut towards zero; NaN and what is out of range does not fit."""
    numbers = as_numpy(values, 0)
    bits = here.type.bit_width - 1
    if not failing:  # TRY_CAST compares as doubles, CAST in the type of the value
        numbers = numbers.astype(np.float64)
    with np.errstate(invalid="ignore"):
        # As Spark compares: floor and ceil of the value against the bounds, which as floats may round up.
        outside = ~((np.floor(numbers) <= numbers.dtype.type(2.0 ** bits - (1 if bits < 53 else 0)))
                    & (np.ceil(numbers) >= numbers.dtype.type(-(2.0 ** bits))))
    values = _fitting(values, with_nulls(outside, values, BOOLEAN), here, failing)
    numbers = as_numpy(values, 0)
    with np.errstate(invalid="ignore"):
        cut = np.where(numbers >= 2.0 ** bits, (1 << bits) - 1, np.trunc(numbers).astype(np.float64)) \
            if bits < 53 else _cut_to_long(numbers)
    return with_nulls(cut.astype(here.type.to_pandas_dtype()), values, here.type)


def _cut_to_long(numbers: np.ndarray) -> np.ndarray:
    top = numbers.astype(np.float64) >= 2.0 ** 63
    return np.where(top, (1 << 63) - 1, np.where(top, 0, np.trunc(numbers)).astype(np.int64))


@cast(BOOLEAN, is_integer)
@cast(BOOLEAN, is_float)
def boolean_to_number(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """True is one."""
    del failing
    return values.cast(pa.int8()).cast(here.type)


@cast(is_integer, BOOLEAN)
@cast(is_float, BOOLEAN)
def number_to_boolean(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Everything but zero is true, NaN too."""
    del failing
    return with_nulls(as_numpy(values, 0) != 0, values, BOOLEAN)


def _fitting(values: pa.Array, outside: pa.Array, here: Here, failing: bool) -> pa.Array:
    """The values, null where they do not fit; or a failure."""
    if failing:
        here.fail_where(outside, OVERFLOW, "{} does not fit " + type_name(here.type), values)
        return values
    return pc.if_else(outside, pa.scalar(None, values.type), values)
