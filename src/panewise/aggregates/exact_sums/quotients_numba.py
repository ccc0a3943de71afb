"""Quotients of exact sums, rounded once: variances and centres of mass, compiled by numba on first use.

A quotient of rounded sums is rounded twice, and so may change when nothing did, or stay when something did. Here the
remainder is computed exactly and says on which side of the middle between two floats the quotient lies. Where numbers
are so large or small that remainders are not exact, the row is marked, and exact arithmetic has to decide.
"""

from __future__ import annotations

import numpy as np

from panewise.aggregates.exact_sums.expansions_numba import (
    ROOM,
    Flags,
    Floats,
    Ints,
    grow,
    rounded,
    two_product,
)
from panewise.core.compiling import compiled

SMALL, LARGE = 2.0**-400, 2.0**400
"""Between these products and their errors are exact."""
MANY = 1 << 26
"""The product of two counts up to this one is exact."""


@compiled
def ordinary(value: float) -> bool:
    """Whether products with it are exact."""
    return value == 0.0 or SMALL < abs(value) < LARGE


@compiled
def less_product(parts: Floats, size: int, left: float, right: float) -> int:
    """Subtract an exact product from an expansion."""
    product, error = two_product(left, right)
    return grow(parts, grow(parts, size, -product), -error)


@compiled
def divided(parts: Floats, size: int, high: float, low: float, scratch: Floats) -> tuple[float, bool]:
    """An expansion by ``high + low``, which is positive or negative, to the nearest float; whether that is certain.

    ``parts`` is used up.
    """
    quotient = rounded(parts, size) / high
    if size == 0:
        return quotient, True
    if not SMALL < abs(quotient) < LARGE:
        return quotient, False
    size = less_product(parts, less_product(parts, size, quotient, high), quotient, low)
    for _ in range(4):  # the first quotient is off by a few steps at most
        rest = rounded(parts, size) / high
        after = quotient + rest
        if after == quotient:
            return _settled(parts, size, high, low, quotient, rest, scratch), True
        step = after - quotient
        size = less_product(parts, less_product(parts, size, step, high), step, low)
        quotient = after
    return quotient, False


@compiled
def _settled(parts: Floats, size: int, high: float, low: float, quotient: float, rest: float,
             scratch: Floats) -> float:
    """A quotient or its neighbour, whichever is nearer, given its remainder; of equally near ones the even one."""
    if rest == 0.0:
        return quotient
    neighbour = float(np.nextafter(quotient, np.inf if rest > 0.0 else -np.inf))
    half = (neighbour - quotient) / 2.0
    if abs(rest) < 0.49 * abs(neighbour - quotient):
        return quotient
    scratch[:size] = parts[:size]
    size = less_product(scratch, size, half, high)
    size = less_product(scratch, size, half, low)
    if size == 0:
        return quotient + half  # rounds to even
    beyond = (scratch[size - 1] > 0.0) == (high > 0.0)
    return neighbour if beyond == (half > 0.0) else quotient


@compiled
def ratios(high: Floats, low: Floats, by_high: Floats, by_low: Floats, results: Floats, unsure: Flags) -> None:
    """Sums by sums; those by nothing, and those that are unsure already, are left."""
    parts, scratch = np.empty(ROOM), np.empty(ROOM)
    for i in range(len(high)):
        if by_high[i] == 0.0 or unsure[i]:
            continue
        if (low[i] == 0.0 and by_low[i] == 0.0) or not (np.isfinite(high[i]) and np.isfinite(by_high[i])):
            results[i] = high[i] / by_high[i] + 0.0  # one zero
        elif ordinary(high[i]) and ordinary(low[i]) and ordinary(by_high[i]) and ordinary(by_low[i]):
            size = grow(parts, grow(parts, 0, low[i]), high[i])
            results[i], certain = divided(parts, size, by_high[i], by_low[i], scratch)
            unsure[i] = not certain
        else:
            unsure[i] = True


@compiled
def variances(counts: Ints, taken_off: int, scale: float, sums: Floats, sum_starts: Ints, squares: Floats,
              square_starts: Ints, results: Floats, unsure: Flags) -> None:
    """(n·Σx² - (Σx)²) / (n·(n - taken_off)·scale) of groups with more than ``taken_off`` values; others are left.

    ``sums`` and ``squares`` are the parts of both sums, group after group. Groups that are unsure already are left too.
    """
    parts, scratch = np.empty(ROOM), np.empty(ROOM)
    for i in range(len(counts)):
        if counts[i] <= taken_off or unsure[i]:
            continue
        total, total_squares = sums[sum_starts[i] : sum_starts[i + 1]], squares[square_starts[i] : square_starts[i + 1]]
        if not np.isfinite(total[0]):
            results[i] = np.nan
        elif counts[i] > MANY or not (all_ordinary(total) and all_ordinary(total_squares)):
            unsure[i] = True
        else:
            count, size = float(counts[i]), 0
            for part in total_squares:
                size = less_product(parts, size, -count, part)
            for j in range(len(total)):
                size = less_product(parts, size, total[j], total[j])
                for k in range(j):
                    size = less_product(parts, size, 2.0 * total[j], total[k])
            by, by_low = two_product(count * (count - taken_off), scale)
            results[i], certain = divided(parts, size, by, by_low, scratch)
            unsure[i] = not certain


@compiled
def all_ordinary(values: Floats) -> bool:
    """Whether products with all of them are exact."""
    wrong = 0
    for value in values:
        wrong += not ordinary(value)
    return wrong == 0
