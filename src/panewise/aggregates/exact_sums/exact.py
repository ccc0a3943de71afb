"""Sums that lose nothing: integers and decimals as 32-bit limbs, floats as fractions (in columns: `expansions`).

A sum of 64-bit integers may pass through totals that 64 bits do not hold. Cut into limbs of 32 bits, each summed in its
own int64, two thousand million rows add up without overflow, limbs of two sums add column by column, and subtraction
is exact too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf, isfinite

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import Floats, Ints, Mask, as_ints, decimal_words, is_decimal, long_keys
from panewise.aggregates.base import Codes

BITS = 32
LOW = (1 << BITS) - 1
CHUNK = 1 << 15
Limbs = list[Ints]  # most significant first; only the first is signed after carrying


def group_sum(values: Ints, codes: Codes, groups: int) -> Ints:
    """Sums per group in int64; the caller knows that they fit."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, codes, values)
    return sums


def limb_count(data_type: pa.DataType) -> int:
    """Two limbs for what fits 64 bits, four for longer decimals."""
    return 4 if is_decimal(data_type) and data_type.precision > 18 else 2


def limb_sums(array: pa.Array, codes: Codes, groups: int) -> Limbs:
    """Exact sums per group of a column of integers or decimals without nulls."""
    if limb_count(array.type) == 2:
        keys = long_keys(array)
        if len(keys) and max(int(keys.max()), -int(keys.min())) * len(keys) < 1 << 63:
            return carry([np.zeros(groups, np.int64), group_sum(keys, codes, groups)])
        return carry(_split_sums((keys,), codes, groups))
    low, high = decimal_words(array)
    return carry(_split_sums((high, low), codes, groups))


def _split_sums(words: Sequence[Ints], codes: Codes, groups: int) -> Limbs:
    """Sums of the two halves of each 64-bit word; only the first word has a sign."""
    sums = [np.zeros(groups, np.int64) for _ in range(2 * len(words))]
    for rows in chunks(len(codes)):
        for i, word in enumerate(words):
            part = word[rows]
            upper = part >> BITS
            np.add.at(sums[2 * i], codes[rows], upper if i == 0 else upper & LOW)
            np.add.at(sums[2 * i + 1], codes[rows], part & LOW)
    return sums


def chunks(rows: int) -> Iterator[slice]:
    """Pieces of a batch whose intermediate arrays stay in the processor's cache."""
    return (slice(start, start + CHUNK) for start in range(0, rows, CHUNK))


def carry(limbs: Limbs) -> Limbs:
    """The same numbers with every limb but the first in ``0 … 2³²-1``.

    >>> [limb.tolist() for limb in carry([np.array([0]), np.array([-1])])]
    [[-1], [4294967295]]
    """
    carried = list(limbs)
    for i in range(len(limbs) - 1, 0, -1):
        carried[i - 1] = carried[i - 1] + (carried[i] >> BITS)
        carried[i] = carried[i] & LOW
    return carried


def total_words(limbs: Limbs) -> tuple[Ints, Ints, Mask]:
    """The low and high 64 bits of each total, and where even 128 bits do not hold it."""
    limbs = carry(limbs)
    if len(limbs) == 2:
        high, low = limbs
        return (high << BITS) | low, high >> BITS, np.zeros(len(high), np.bool_)
    top, second, third, fourth = limbs
    return (third << BITS) | fourth, (top << BITS) | second, (top >= 1 << 31) | (top < -(1 << 31))


def totals(limbs: Limbs) -> list[int]:
    """Each total as a Python integer."""
    result = [0] * len(limbs[0])
    for limb in limbs:
        result = [(total << BITS) + part for total, part in zip(result, limb.tolist(), strict=True)]
    return result


def limb_pairs(limbs: Limbs) -> tuple[Floats, Floats, Mask]:
    """Each total as a pair of floats, and where a pair does not hold it."""
    high, low, lost = np.zeros(len(limbs[0])), np.zeros(len(limbs[0])), np.zeros(len(limbs[0]), np.bool_)
    limbs = carry(limbs)
    lost |= np.abs(limbs[0].astype(np.float64)) >= 2.0**53
    for i, limb in enumerate(limbs):
        total, error = two_sum(high, limb.astype(np.float64) * 2.0 ** (BITS * (len(limbs) - 1 - i)))
        rest, gone = two_sum(low, error)
        high, low, lost = total, rest, lost | (gone != 0)
    return *two_sum(high, low), lost


def two_sum(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """``left + right`` as the rounded sum and its exact error (Knuth)."""
    total = left + right
    shadow = total - left
    return total, (left - (total - shadow)) + (right - shadow)


def to_limbs(total: int, count: int) -> list[int]:
    """One integer as limbs.

    >>> to_limbs(-1, 2), to_limbs(2**40, 2)
    ([-1, 4294967295], [256, 0])
    """
    parts: list[int] = []
    for _ in range(count - 1):
        parts.insert(0, total & LOW)
        total >>= BITS
    return [total, *parts]


def from_limbs(limbs: Sequence[int]) -> int:
    """The inverse of ``to_limbs``, carried or not."""
    total = 0
    for limb in limbs:
        total = (total << BITS) + limb
    return total


# -- floats --------------------------------------------------------------------------------------------------------


def exact_float(value: float) -> Fraction | float:
    """A float that sums exactly; infinities and NaN stay what they are."""
    return Fraction(value) if isfinite(value) else value


def add_exact(left: Fraction | float, right: Fraction | float) -> Fraction | float:
    """Sum of two of them."""
    if isinstance(left, float) or isinstance(right, float):
        return (left if isinstance(left, float) else 0.0) + (right if isinstance(right, float) else 0.0)
    return left + right


def exact_product(left: float, right: float) -> Fraction | float:
    """A product of two of them."""
    return Fraction(left) * Fraction(right) if isfinite(left) and isfinite(right) else left * right


def rounded_float(value: Fraction | float) -> float:
    """The nearest double; infinite where there is none.

    >>> rounded_float(Fraction(1, 3)), rounded_float(Fraction(-10)**400)
    (0.3333333333333333, inf)
    """
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def limb_columns(columns: Sequence[pa.Array]) -> Limbs:
    """Limb columns of partial states as arrays."""
    return [as_ints(column) for column in columns]
