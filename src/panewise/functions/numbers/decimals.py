"""Decimal arithmetic: result types as Spark derives them, halves rounded away from zero, overflow reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.casts.outcome import OUT_OF_RANGE, nulls_of
from panewise.functions.numbers.unscaled import (
    SMALL,
    Digits,
    decimals_from,
    digits_of,
    largest,
    outside,
    quotient,
    remainder,
    roomy,
    scaled,
    truncated,
)
from panewise.functions.types import BIGINT, adjusted_decimal, type_name

ZERO_DIVISORS = {"/": "DIVIDE_BY_ZERO", "div": "DIVIDE_BY_ZERO", "%": "REMAINDER_BY_ZERO", "pmod": "REMAINDER_BY_ZERO"}


def bind(binder: Binding, one: Bound, other: Bound, tree: Any, sign: str, *, failing: bool) -> Bound:
    """An operator on two decimals."""
    gives = BIGINT if sign == "div" else result_type(sign, one.type, other.type)
    return binder.made(gives, tree, [one, other], _runner(sign, failing), needs_arrays=True,
                       order=(1, 0) if sign in ZERO_DIVISORS else (0, 1))


def result_type(sign: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type of a result; where 38 digits do not hold it, fractional digits are given up first.

    >>> result_type("*", pa.decimal128(10, 2), pa.decimal128(5, 3))
    Decimal128Type(decimal128(16, 5))
    """
    scale = max(one.scale, other.scale)
    integral, other_integral = one.precision - one.scale, other.precision - other.scale
    if sign in "+-":
        return adjusted_decimal(max(integral, other_integral) + scale + 1, scale)
    if sign == "*":
        return adjusted_decimal(one.precision + other.precision + 1, one.scale + other.scale)
    if sign == "/":
        scale = max(6, one.scale + other.precision + 1)
        return adjusted_decimal(integral + other.scale + scale, scale)
    return adjusted_decimal(min(integral, other_integral) + scale, scale)


def _runner(sign: str, failing: bool) -> Callable[..., pa.Array]:
    def run(one: pa.Array, other: pa.Array, here: Here) -> pa.Array:
        null = nulls_of(one) | nulls_of(other)
        left, right = digits_of(one), digits_of(other)
        if sign in ZERO_DIVISORS:
            zero = (right == 0).astype(np.bool_)
            if failing:
                here.fail_where(pa.array(zero & ~null), ZERO_DIVISORS[sign], "{} " + sign + " zero", one)
            null |= zero
            right = np.where(zero, 1, right)
        found = COMPUTED[sign](left, one.type.scale, right, other.type.scale, here.type)
        if sign == "div":
            return _as_bigint(found, null)
        wrong = outside(found, here.type.precision) & ~null
        if failing and wrong.any():
            here.fail(int(np.argmax(wrong)), OUT_OF_RANGE,
                      "{} " + sign + " {} does not fit " + type_name(here.type), one, other)
        return decimals_from(found, null | wrong, here.type)

    return run


def _as_bigint(found: Digits, null: np.ndarray[Any, Any]) -> pa.Array:
    """The last 64 bits: Spark does not look whether a whole quotient of decimals fits BIGINT."""
    whole = np.where(null, 0, found)
    if whole.dtype == object:
        whole = (whole & ((1 << 64) - 1)).astype(np.uint64).view(np.int64)
    return pa.array(whole.astype(np.int64), BIGINT, mask=null)


def negated(values: pa.Array, here: Here, only: np.ndarray[Any, Any] | None = None) -> pa.Array:
    """Minus every value, or some of them. Spark rounds a negated decimal to 34 digits, halves to even."""
    digits, null = digits_of(values), nulls_of(values)
    turned = -(_to_34_digits(digits) if digits.dtype == object else digits)
    found = turned if only is None else np.where(only, turned, digits)
    wrong = outside(found, here.type.precision) & ~null
    if wrong.any():
        here.fail(int(np.argmax(wrong)), "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
                  "minus {} does not fit " + type_name(here.type), values)
    return decimals_from(found, null, here.type)


def _to_34_digits(digits: Digits) -> Digits:
    for places in range(1, 5):
        size, unit = np.abs(digits), 10 ** places
        long = (size >= 10 ** (33 + places)) & (size < 10 ** (34 + places))
        if long.any():
            whole = size // unit
            left = 2 * (size - whole * unit)
            whole = whole + ((left > unit) | ((left == unit) & (whole % 2 == 1)))
            digits = np.where(long, np.where(digits < 0, -whole, whole) * unit, digits)
    return digits


def _sum(left: Digits, scale: int, right: Digits, other_scale: int, to: pa.DataType) -> Digits:
    left, right, common = _aligned(left, scale, right, other_scale)
    if largest(left) + largest(right) >= SMALL:
        left = left.astype(object)
    return scaled(left + right, to.scale - common)


def _difference(left: Digits, scale: int, right: Digits, other_scale: int, to: pa.DataType) -> Digits:
    return _sum(left, scale, -right, other_scale, to)


def _product(left: Digits, scale: int, right: Digits, other_scale: int, to: pa.DataType) -> Digits:
    return scaled(roomy(left, largest(right)) * right, to.scale - scale - other_scale)


def _ratio(left: Digits, scale: int, right: Digits, other_scale: int, to: pa.DataType) -> Digits:
    places = to.scale + other_scale - scale
    if places >= 0:
        return quotient(scaled(left, places), right)
    return quotient(left, scaled(right, -places))


def _whole_ratio(left: Digits, scale: int, right: Digits, other_scale: int, to: pa.DataType) -> Digits:
    left, right, _ = _aligned(left, scale, right, other_scale)
    return truncated(left, right)


def _rest(left: Digits, scale: int, right: Digits, other_scale: int, to: pa.DataType) -> Digits:
    left, right, common = _aligned(left, scale, right, other_scale)
    return scaled(remainder(left, right), to.scale - common)


def _positive_rest(left: Digits, scale: int, right: Digits, other_scale: int, to: pa.DataType) -> Digits:
    left, right, common = _aligned(left, scale, right, other_scale)
    found = remainder(left, right)
    return scaled(np.where(found < 0, remainder(found + right, right), found), to.scale - common)


def _aligned(left: Digits, scale: int, right: Digits, other_scale: int) -> tuple[Digits, Digits, int]:
    common = max(scale, other_scale)
    return scaled(left, common - scale), scaled(right, common - other_scale), common


COMPUTED: dict[str, Callable[[Digits, int, Digits, int, pa.DataType], Digits]] = {
    "+": _sum, "-": _difference, "*": _product, "/": _ratio, "div": _whole_ratio, "%": _rest, "pmod": _positive_rest}
