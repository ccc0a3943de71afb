"""Decimals as whole numbers: the digits of a decimal column as NumPy integers, and back.

Digits are int64 while everything fits 18 digits, which is the normal case, and Python's integers beyond. Both know the
same operators, so that every computation is written once and is exact.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Digits: TypeAlias = np.ndarray[Any, Any]
"""Whole numbers, int64 or Python's."""

SMALL = 10 ** 18
"""What int64 holds with every sign and one bit to spare."""
_WORD = 1 << 64


def digits_of(values: pa.Array) -> Digits:
    """The digits of every value without the point; zero for null."""
    if not len(values):
        return np.zeros(0, np.int64)
    if values.null_count:
        values = values.fill_null(pa.scalar(0, values.type))
    words = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset:2 * (values.offset + len(values))]
    low, high = words[0::2], words[1::2]
    if ((low >> 63) == high).all() and not ((low >= SMALL) | (low <= -SMALL)).any():
        return low.copy()
    found: Digits = high.astype(object) * _WORD + low.astype(np.uint64).astype(object)
    return found


def largest(digits: Digits) -> int:
    """The largest absolute value."""
    return max(int(digits.max()), -int(digits.min())) if len(digits) else 0


def roomy(digits: Digits, factor: int = 1) -> Digits:
    """The digits in integers that still hold them multiplied by a factor."""
    if digits.dtype == object or largest(digits) * abs(factor) < SMALL:
        return digits
    return digits.astype(object)


def scaled(digits: Digits, places: int) -> Digits:
    """Multiplied by ten to the power of ``places``; a negative power rounds halves away from zero."""
    if places == 0:
        return digits
    if places > 0:
        wide: Digits = roomy(digits, 10 ** places) if places <= 18 else digits.astype(object)
        return np.asarray(wide * 10 ** places)
    if -places > 76:
        return np.zeros(len(digits), np.int64)
    return quotient(digits, np.full(len(digits), 10 ** -places, np.int64 if places >= -18 else object))


def quotient(dividend: Digits, divisor: Digits) -> Digits:
    """The nearest whole number of a quotient, halves away from zero."""
    top, bottom = np.abs(dividend), np.abs(divisor)
    if largest(bottom) * 2 >= SMALL:
        bottom = bottom.astype(object)
    whole = top // bottom
    whole = whole + (2 * (top - whole * bottom) >= bottom)
    return np.asarray(np.where((dividend < 0) != (divisor < 0), -whole, whole))


def truncated(dividend: Digits, divisor: Digits) -> Digits:
    """The whole part of a quotient, cut towards zero."""
    whole = np.abs(dividend) // np.abs(divisor)
    return np.asarray(np.where((dividend < 0) != (divisor < 0), -whole, whole))


def remainder(dividend: Digits, divisor: Digits) -> Digits:
    """What a division leaves, with the sign of the dividend."""
    left = np.abs(dividend) % np.abs(divisor)
    return np.where(dividend < 0, -left, left)


def outside(digits: Digits, precision: int) -> np.ndarray[Any, Any]:
    """Where a number has more digits than a precision allows."""
    bound = 10 ** precision
    if digits.dtype != object and bound > SMALL:
        return np.zeros(len(digits), np.bool_)
    found: np.ndarray[Any, Any] = ((digits >= bound) | (digits <= -bound)).astype(np.bool_)
    return found


def decimals_from(digits: Digits, missing: np.ndarray[Any, Any], of: pa.DataType) -> pa.Array:
    """A decimal column of these digits, null where something is missing; digits there may be anything."""
    words = np.empty((len(digits), 2), np.int64)
    if digits.dtype == object:
        plain = np.where(missing, 0, digits)
        words[:, 0] = (plain & (_WORD - 1)).astype(np.uint64).view(np.int64)
        words[:, 1] = (plain >> 64).astype(np.int64)
    else:
        words[:, 0], words[:, 1] = digits, digits >> 63
    valid = None if not missing.any() else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(of, len(digits), [valid, pa.py_buffer(words)])
