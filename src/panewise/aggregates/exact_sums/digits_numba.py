"""Floats into digits and digits into floats: loops compiled by numba on first use and cached on disk.

The bits of a float are looked at as an integer. Importing this module imports numba, which takes a second.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from panewise.aggregates.exact_sums.expansions_numba import LARGEST, Flags, Floats, Ints, two_sum
from panewise.core.compiling import compiled

LOW = (1 << 32) - 1
MANTISSA = (1 << 52) - 1
HIDDEN = 1 << 52
EXPONENT = 2047
"""The exponent field of what is not finite."""
BIAS = 1075
"""A float is its mantissa, an integer, times two to its exponent field less this."""
BELOW = (1 << 14) - 1
"""The bits of digit -34 that no float has: those below 2⁻¹⁰⁷⁴."""
SPARE = 3
"""Digits beyond the highest that a sum may come to have while it is rounded."""


@compiled
def exponents(bits: Ints) -> tuple[int, int, bool]:
    """The smallest and the largest exponent field of floats that are finite and not zero; whether some are not finite.

    Of none the smallest is larger than the largest. ``bits`` are the floats looked at as integers. Without a branch,
    so that several rows are looked at at a time.
    """
    least, largest, special = EXPONENT, 0, 0
    for i in range(len(bits)):
        field = (bits[i] >> 52) & EXPONENT
        nothing = (bits[i] << 1) == 0
        least = min(least, EXPONENT if nothing else max(field, 1))
        special |= field == EXPONENT
        largest = max(largest, 0 if nothing or field == EXPONENT else max(field, 1))
    return least, largest, special != 0


@compiled
def fold_floats(count: Ints, digits: Any, first: int, slots: Any, bits: Ints) -> None:
    """Count floats and add them to the sums at their slots, whose digits lie column by column.

    The digits cover them; what is not finite counts, and adds nothing.
    """
    for i in range(len(slots)):
        at, word = slots[i], bits[i]
        field = (word >> 52) & EXPONENT
        mantissa = (word & MANTISSA) | (HIDDEN if field > 0 else 0)
        mantissa = 0 if field == EXPONENT else mantissa
        sign = word >> 63
        mantissa = (mantissa ^ sign) - sign
        exponent = max(field, 1) - BIAS
        shift, place = exponent & 31, np.uint64(max((exponent >> 5) - first, 0) if mantissa != 0 else 0)
        low = (mantissa & LOW) << shift
        high = ((mantissa >> 32) << shift) + (low >> 32)
        count[at] += 1
        digits[place, at] += low & LOW
        digits[place + np.uint64(1), at] += high & LOW
        digits[place + np.uint64(2), at] += high >> 32


@compiled
def add_floats(digits: Any, first: int, rows: Ints, values: Floats) -> None:
    """Add finite floats to the sums of their rows; the digits cover them."""
    bits = values.view(np.int64)
    for i in range(len(rows)):
        add_float(digits[:, rows[i]], first, bits[i])


@compiled
def add_float(digits: Any, first: int, word: int) -> None:
    """Add one float, given as its bits; what lies below the digits is zero."""
    field = (word >> 52) & EXPONENT
    mantissa = (word & MANTISSA) | (HIDDEN if field > 0 else 0)
    if mantissa == 0:
        return
    if word < 0:
        mantissa = -mantissa
    exponent = max(field, 1) - BIAS
    below = 32 * first - exponent
    if below > 0:
        mantissa >>= below
        exponent += below
    place, shift = (exponent >> 5) - first, exponent & 31
    low = (mantissa & LOW) << shift
    high = ((mantissa >> 32) << shift) + (low >> 32)
    digits[place] += low & LOW
    if place + 1 < len(digits):
        digits[place + 1] += high & LOW
        if place + 2 < len(digits):
            digits[place + 2] += high >> 32


@compiled
def settle(work: Ints) -> bool:
    """Carry, so that every digit has 32 bits, and make the number positive; whether it was negative."""
    carry(work)
    if work[-1] >= 0:
        return False
    for i in range(len(work)):
        work[i] = -work[i]
    carry(work)
    return True


@compiled
def carry(work: Ints) -> None:
    """Every digit but the last in 0 … 2³²-1."""
    for i in range(len(work) - 1):
        work[i + 1] += work[i] >> 32
        work[i] &= LOW


@compiled
def rounded(work: Ints, first: int) -> float:
    """The float nearest to a positive number whose digits are settled, ties to even; infinite beyond the largest.

    Three digits hold 65 bits or more, what lies below them only says that something does: the sum of the first two and
    its error are exact, and so is the error with the third, so that one addition rounds.
    """
    top = len(work) - 1
    while top >= 0 and work[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    second = work[top - 1] if top >= 1 else 0
    third = float(work[top - 2]) if top >= 2 else 0.0
    for i in range(top - 2):
        if work[i] != 0:
            third += 0.5
            break
    total, error = two_sum(float(work[top]) * 18446744073709551616.0, float(second) * 4294967296.0)
    return math.ldexp(total + (error + third), 32 * (first + top - 2))


@compiled
def round_sums(digits: Any, first: int, results: Floats) -> None:
    """Every sum to the nearest float; the digits begin where floats do or above."""
    work = np.zeros(len(digits) + SPARE, np.int64)
    for row in range(len(results)):
        for i in range(len(digits)):
            work[i] = digits[i, row]
        work[len(digits):] = 0
        negative = settle(work)
        value = rounded(work, first)
        results[row] = -value if negative and value != 0.0 else value


@compiled
def parts_of(digits: Any, first: int, parts: Floats, sizes: Ints, unsure: Flags) -> None:
    """Every sum as floats, each the nearest to what those before it leave; unsure where floats do not reach."""
    work = np.zeros(len(digits) + SPARE, np.int64)
    for row in range(len(sizes)):
        for i in range(len(digits)):
            work[i] = digits[i, row]
        work[len(digits):] = 0
        negative, size = settle(work), 0
        for i in range(min(len(digits), -33 - first)):
            if work[i] & (BELOW if first + i == -34 else LOW) != 0:
                unsure[row] = True
        while not unsure[row]:
            value = rounded(work, first)
            if value == 0.0:
                break
            if value > LARGEST:
                unsure[row] = True
                break
            parts[row, size] = -value if negative else value
            size += 1
            add_float(work, first, np.array([-value]).view(np.int64)[0])
            negative = settle(work) != negative
        sizes[row] = size
