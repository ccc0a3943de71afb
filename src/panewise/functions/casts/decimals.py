"""Casts into and out of decimals: exact digits, halves rounded away from zero, what does not fit fails."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.frame import Here
from panewise.functions.casts.exact import decimal_fitted, nearest
from panewise.functions.casts.outcome import OUT_OF_RANGE, OVERFLOW, by_value, missing, nulls_of
from panewise.functions.casts.table import cast
from panewise.functions.numbers.java_floats import double_text
from panewise.functions.numbers.unscaled import Digits, decimals_from, digits_of, outside, scaled, truncated
from panewise.functions.types import BOOLEAN, DOUBLE, is_decimal, is_float, is_integer


def fitted(digits: Digits, scale: int, null: np.ndarray[Any, Any], values: pa.Array, here: Here,
           failing: bool) -> pa.Array:
    """Digits of a scale in the decimal type of the call."""
    moved = scaled(digits, here.type.scale - scale)
    none = missing(values, outside(moved, here.type.precision), here, failing, OUT_OF_RANGE) | null
    return decimals_from(moved, none, here.type)


@cast(is_decimal, is_decimal)
def between_decimals(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Rounded to the scale."""
    given, to = values.type, here.type
    if given.scale == to.scale and given.precision <= to.precision:
        return values.cast(to)
    return fitted(digits_of(values), given.scale, nulls_of(values), values, here, failing)


@cast(is_integer, is_decimal)
def integer_to_decimal(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Exact where it fits."""
    digits = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    if len(digits) and (digits.max() >= 10 ** 18 or digits.min() <= -10 ** 18):
        digits = digits.astype(object)
    return fitted(digits, 0, nulls_of(values), values, here, failing)


@cast(BOOLEAN, is_decimal)
def boolean_to_decimal(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """True is one."""
    digits = values.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)
    return fitted(digits, 0, nulls_of(values), values, here, failing)


@cast(is_float, is_decimal)
def float_to_decimal(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The digits that the text of a double has, rounded to the scale; NaN and infinities are null, as in Spark."""
    def one(value: float) -> Decimal | None:
        if not np.isfinite(value):
            return None
        return decimal_fitted(Decimal(double_text(value)), here.type)

    return by_value(values.cast(DOUBLE), one, here, failing)


@cast(is_decimal, is_integer)
def decimal_to_integer(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Cut towards zero."""
    digits = digits_of(values)
    whole = truncated(digits, np.full(len(digits), 10 ** values.type.scale,
                                      np.int64 if values.type.scale <= 18 else object))
    low, high = -(1 << here.type.bit_width - 1), (1 << here.type.bit_width - 1) - 1
    none = missing(values, ((whole < low) | (whole > high)).astype(np.bool_), here, failing, OVERFLOW)
    return pa.array(np.where(none, 0, whole).astype(here.type.to_pandas_dtype()), here.type, mask=none)


@cast(is_decimal, is_float)
def decimal_to_float(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """The nearest value."""
    digits, scale = digits_of(values), values.type.scale
    none = nulls_of(values)
    if digits.dtype != object and here.type == DOUBLE and scale <= 22 and np.abs(digits).max(initial=0) <= 1 << 53:
        return pa.array(digits / 10.0 ** scale, DOUBLE, mask=none)  # both exact: one rounding
    return by_value(values, lambda value: nearest(f"{value:f}", here.type), here, failing)


@cast(is_decimal, BOOLEAN)
def decimal_to_boolean(values: pa.Array, *, here: Here, failing: bool) -> pa.Array:
    """Everything but zero is true."""
    del here, failing
    return pa.array((digits_of(values) != 0).astype(np.bool_), BOOLEAN, mask=nulls_of(values))
