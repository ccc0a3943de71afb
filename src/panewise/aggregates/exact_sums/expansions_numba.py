"""Exact sums of floats: loops compiled by numba on first use and cached on disk.

A sum is an *expansion*: floats whose exact total it is and none of whose bits overlap (Shewchuk 1997). Two of them
hold what data of ordinary range adds up to, three its squares, so that is tried first; the groups for which it was not
enough are marked and added again with as many as it takes. Importing this module imports numba, which takes a second.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


ROOM = 48
"""More than the parts of any sum: 2,098 bits in pieces of 53, and those that are being added."""
LARGEST = np.finfo(np.float64).max
SMALL, LARGE = 2.0**-900, 2.0**960
"""Between these products and their errors are floats, and so are sums of many; factors up to it can be halved."""


@compiled
def two_sum(left: float, right: float) -> tuple[float, float]:
    """The rounded sum and its exact error (Knuth)."""
    total = left + right
    shadow = total - left
    return total, (left - (total - shadow)) + (right - shadow)


@compiled
def two_product(left: float, right: float) -> tuple[float, float]:
    """The rounded product and its exact error (Dekker 1971), unless halves overflow or the error underflows."""
    product = left * right
    scaled = 134217729.0 * left  # 2²⁷ + 1
    a = scaled - (scaled - left)
    b = left - a
    scaled = 134217729.0 * right
    c = scaled - (scaled - right)
    d = right - c
    return product, ((a * c - product) + a * d + b * c) + b * d


@compiled
def add_threes(terms: Floats, codes: Ints, high: Floats, low: Floats, third: Floats, wide: Flags) -> None:
    """Add terms to the sums of their groups; ``wide`` are groups whose sum three floats do not hold."""
    for i in range(len(terms)):
        group = codes[i]
        total, error = two_sum(high[group], terms[i])
        rest, lost = two_sum(low[group], error)
        high[group], low[group] = total, rest
        if lost != 0.0:  # also where it is not a number: something was infinite
            third[group], lost = two_sum(third[group], lost)
            if lost != 0.0:
                wide[group] = True


@compiled
def normalize(high: Floats, low: Floats, wide: Flags) -> None:
    """Make the first float of every pair the rounded sum; a sum that overflows is marked."""
    for group in range(len(high)):
        total, rest = two_sum(high[group], low[group])
        high[group], low[group] = total, rest
        if rest != rest:  # noqa: PLR0124  (only NaN differs from itself)
            wide[group] = True


@compiled
def products_of(left: Floats, right: Floats, products: Floats, errors: Floats, codes: Ints, odd: Flags) -> None:
    """Products with their exact errors; ``odd`` are groups with finite ones of which floats do not hold both.

    What is not finite has no error, and adds up to what is not finite.
    """
    for i in range(len(left)):
        product, error = two_product(left[i], right[i])
        if abs(left[i]) <= LARGEST and abs(right[i]) <= LARGEST:
            if left[i] == 0.0 or right[i] == 0.0:
                product, error = 0.0, 0.0
            elif not (SMALL <= abs(product) <= LARGE and max(abs(left[i]), abs(right[i])) <= LARGE):
                odd[codes[i]] = True
                product, error = 0.0, 0.0
        else:
            error = 0.0
        products[i], errors[i] = product, error


# -- as many parts as it takes


@compiled
def grow(parts: Floats, size: int, term: float) -> int:
    """Add a term to an expansion, smallest part first, and return how many parts it has; zero has none."""
    kept = 0
    for i in range(size):
        total, error = two_sum(term, parts[i])
        if error != 0.0:
            parts[kept] = error
            kept += 1
        term = total
    if term != 0.0:
        parts[kept] = term
        kept += 1
    return kept


@compiled
def rounded(parts: Floats, size: int) -> float:
    """The float nearest to an expansion, ties to even (as ``math.fsum`` rounds)."""
    if size == 0:
        return 0.0
    at = size - 1
    total, error = float(parts[at]), 0.0
    while at > 0:
        at -= 1
        before = total
        total = before + parts[at]
        error = parts[at] - (total - before)
        if error != 0.0:
            break
    if at > 0 and error != 0.0 and (error < 0.0) == (parts[at - 1] < 0.0):  # beyond a tie by what is below
        twice = 2.0 * error
        after = total + twice
        if after - total == twice:
            total = after
    return total


@compiled
def add_wide(terms: Floats, codes: Ints, parts: Floats, sizes: Ints, special: Floats, beyond: Flags) -> None:
    """Add terms to the expansions of their groups.

    What is not finite adds up in ``special``; ``beyond`` are groups in which finite terms passed the largest float.
    """
    for i in range(len(terms)):
        group, term = codes[i], terms[i]
        if not abs(term) <= LARGEST:
            special[group] += term
        elif not beyond[group]:
            sizes[group] = grow(parts[group], sizes[group], term)
            if sizes[group] and not abs(parts[group, sizes[group] - 1]) <= LARGEST:
                beyond[group] = True


@compiled
def largest_first(parts: Floats, sizes: Ints, beyond: Flags) -> None:
    """Every expansion anew: each part the rounded rest of the sum, so that equal sums have equal parts.

    One that rounds to infinity is marked, and has none.
    """
    for group in range(len(sizes)):
        size, count = sizes[group], 0
        taken = np.empty(ROOM)
        while size:
            part = rounded(parts[group], size)
            if not abs(part) <= LARGEST:
                beyond[group], count = True, 0
                break
            size = grow(parts[group], size, -part)
            taken[count] = part
            count += 1
        sizes[group] = count
        parts[group, :count] = taken[:count]
