"""Sums of squares that lose nothing: integers and decimals as 32-bit limbs, twice as many as their sums have.

Beside the sum and the count of a group that is all its variance needs; all three can be subtracted again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.arrays import decimal_words, long_keys
from panewise.aggregates.base import Codes
from panewise.aggregates.exact_sums.exact import BITS, LOW, Limbs, carry, chunks, group_sum, limb_count

Words = npt.NDArray[np.uint64]
HALF = np.uint64(BITS)
MASK = np.uint64(LOW)


def square_count(data_type: pa.DataType) -> int:
    """How many limbs a sum of squares of this type has."""
    return 2 * limb_count(data_type)


def square_sums(array: pa.Array, codes: Codes, groups: int) -> Limbs:
    """Exact sums per group of the squares of a column of integers or decimals without nulls.

    >>> [limb.tolist() for limb in square_sums(pa.array([-(2**63), 3]), np.array([0, 1]), 2)]
    [[1073741824, 0], [0, 0], [0, 0], [0, 9]]
    """
    limbs = square_count(array.type)
    words = (long_keys(array),) if limbs == 4 else decimal_words(array)[::-1]
    if limbs == 4 and len(codes):
        largest = max(int(words[0].max()), -int(words[0].min()))
        if largest * largest * len(codes) < 1 << 63:
            total = group_sum(words[0] * words[0], codes, groups)
            return carry([*(np.zeros(groups, np.int64) for _ in range(3)), total])
    sums = [np.zeros(groups, np.int64) for _ in range(limbs)]
    for rows in chunks(len(codes)):
        for total, column in zip(sums, _products(_magnitudes([word[rows] for word in words])), strict=True):
            np.add.at(total, codes[rows], column)
    return carry(sums)


def _magnitudes(words: list[npt.NDArray[np.int64]]) -> list[Words]:
    """The 32-bit limbs of absolute values, most significant first."""
    negative = words[0] < 0
    flip = np.where(negative, -1, 0).astype(np.int64)
    flipped = [(word ^ flip).view(np.uint64) for word in words]
    add = negative.astype(np.uint64)  # two's complement: all bits flipped, and one added from below
    limbs: list[Words] = []
    for word in reversed(flipped):
        for part in (word & MASK, word >> HALF):
            total = part + add
            limbs.insert(0, total & MASK)
            add = total >> HALF
    return limbs


def _products(limbs: list[Words]) -> list[npt.NDArray[np.int64]]:
    """The square of a number in limbs, as columns that are not carried yet."""
    count = len(limbs)
    columns = [np.zeros(len(limbs[0]), np.uint64) for _ in range(2 * count)]
    for i, left in enumerate(limbs):
        for j in range(i, count):
            product = left * limbs[j]
            twice = np.uint64(i != j)
            columns[i + j + 1] += (product & MASK) << twice
            columns[i + j] += (product >> HALF) << twice
    return [column.view(np.int64) for column in columns]
