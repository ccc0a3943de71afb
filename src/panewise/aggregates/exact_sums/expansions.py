"""Exact sums of floats as state columns: the rounded sum, the rounded rest of it, and a list of what is still left.

The list is empty unless values differ by more than some thirty orders of magnitude. Each part is the float nearest to
what those before it leave, so one number has one form: states do not depend on the order in which rows were added, on
cuts, nor on other groups.

A sum that floats do not reach (it passed the largest one, and may come back; or it is one of products, and has bits
below the smallest) is *scaled*: its rest is NaN, and the list has parts and powers of two by turns. The sum of
infinities or NaN has neither rest nor list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite, isnan, nan

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import Floats, Ints, Mask, as_floats, as_ints
from panewise.aggregates.base import Codes
from panewise.aggregates.exact_sums import expansions_numba as loops
from panewise.aggregates.exact_sums.exact import add_exact, exact_float, exact_product, rounded_float

LIST = pa.list_(pa.float64())
SMALLEST_BITS = 1075
"""Bits of the denominator of the smallest float."""


def fields(name: str) -> list[pa.Field]:
    """The state columns of a sum."""
    plain = [pa.field(n, pa.float64(), nullable=False) for n in (name, f"{name}_rest")]
    return [*plain, pa.field(f"{name}_more", LIST, nullable=False)]


def to_parts(value: Fraction | float) -> tuple[float, float, list[float]]:
    """A sum as one row of state columns.

    >>> to_parts(Fraction(10)**200 + Fraction(1e100) + 1)[2][-1]
    1.0
    >>> to_parts(Fraction(2)**1025)
    (inf, nan, [1.0, 1025.0])
    """
    if isinstance(value, float):
        return value, 0.0, []
    high = rounded_float(value)
    if not isfinite(high) or value.denominator.bit_length() > SMALLEST_BITS:
        return high, nan, _scaled(value)
    parts: list[float] = []
    while value:
        parts.append(rounded_float(value))
        value -= Fraction(parts[-1])
    return high, parts[1] if len(parts) > 1 else 0.0, parts[2:]


def _scaled(value: Fraction) -> list[float]:
    """A number as integers of 53 bits and powers of two by turns, the largest first."""
    number, shift = value.numerator, 1 - value.denominator.bit_length()
    found: list[float] = []
    while number:
        drop = max(number.bit_length() - 53, 0)
        zeros = (number & -number).bit_length() - 1
        drop = max(drop, zeros)
        part = number >> drop if number > 0 else -(-number >> drop)
        found += [float(part), float(shift + drop)]
        number -= part << drop
    return found


def from_parts(high: float, low: float, more: Sequence[float] = ()) -> Fraction | float:
    """The inverse of ``to_parts``."""
    if isnan(low):
        pairs = zip(more[::2], more[1::2], strict=True)
        return sum((Fraction(part) * Fraction(2) ** int(shift) for part, shift in pairs), Fraction(0))
    total = add_exact(exact_float(high), exact_float(low))
    for part in more:
        total = add_exact(total, exact_float(part))
    return total


def patched(columns: Sequence[pa.Array], totals: Mapping[int, Fraction | float]) -> list[pa.Array]:
    """State columns with some of the sums replaced."""
    if not totals:
        return list(columns)
    high, low, more = (column.to_pylist() for column in columns)
    for row, total in totals.items():
        high[row], low[row], more[row] = to_parts(total)
    return [pa.array(high, pa.float64()), pa.array(low, pa.float64()), pa.array(more, LIST)]


def product_sums(left: Floats, right: Floats, codes: Codes, groups: int) -> list[pa.Array]:
    """Sums of products per group, as state columns.

    Of ordinary floats a product and its rounding error are two floats; groups with others go the way of the scalar
    form.
    """
    products, errors, odd = np.empty(len(left)), np.empty(len(left)), np.zeros(groups, np.bool_)
    loops.products_of(left, right, products, errors, codes, odd)
    found = sums([products, errors], codes, groups)
    if not odd.any():
        return found
    totals: dict[int, Fraction | float] = {int(group): Fraction(0) for group in np.flatnonzero(odd)}
    rows = np.flatnonzero(odd[codes])
    for group, a, b in zip(codes[rows].tolist(), left[rows].tolist(), right[rows].tolist(), strict=True):
        totals[group] = add_exact(totals[group], exact_product(a, b))
    return patched(found, totals)


def sums(terms: Sequence[Floats], codes: Codes, groups: int) -> list[pa.Array]:
    """Sums per group, as state columns; each of the terms has one value per code."""
    return _added([(part, codes) for part in terms], groups)


def combined(columns: Sequence[pa.Array], codes: Codes, groups: int) -> list[pa.Array]:
    """Sums per group of such sums."""
    scaled = is_scaled(columns)
    if scaled.any():
        return _combined_scaled(columns, codes, groups, scaled)
    terms = [(as_floats(column), codes) for column in columns[:2]]
    more = columns[2]
    if len(more.flatten()):
        terms.append((as_floats(more.flatten()), np.repeat(codes, as_ints(more.value_lengths()))))
    return _added(terms, groups)


def _combined_scaled(columns: Sequence[pa.Array], codes: Codes, groups: int, scaled: Mask) -> list[pa.Array]:
    """The same where some are scaled: their groups as exact numbers."""
    odd = np.zeros(groups, np.bool_)
    odd[codes[scaled]] = True
    slow = odd[codes]
    plain = pa.array(~slow)
    found = combined([column.filter(plain) for column in columns], codes[~slow], groups)
    totals: dict[int, Fraction | float] = {int(group): Fraction(0) for group in np.flatnonzero(odd)}
    chosen = pa.array(slow)
    for group, *row in zip(codes[slow].tolist(), *(c.filter(chosen).to_pylist() for c in columns), strict=True):
        totals[group] = add_exact(totals[group], from_parts(*row))
    return patched(found, totals)


def is_scaled(columns: Sequence[pa.Array]) -> Mask:
    """Which sums floats do not reach."""
    scaled: Mask = np.isnan(as_floats(columns[1]))
    return scaled


def is_wide(columns: Sequence[pa.Array]) -> Mask:
    """Which sums have more than two parts."""
    wide: Mask = as_ints(columns[2].value_lengths()) > 0
    return wide


def from_matrix(parts: Floats, sizes: Ints) -> list[pa.Array]:
    """State columns of sums whose parts are the rows of a matrix, so many of each."""
    high, low = (np.where(sizes > i, parts[:, i], 0.0) for i in range(2))
    places = np.arange(parts.shape[1])[None, :]
    more = parts[(places >= 2) & (places < sizes[:, None])]
    return [pa.array(high), pa.array(low), _lists(np.maximum(sizes - 2, 0), more)]


def in_a_row(columns: Sequence[pa.Array]) -> tuple[Floats, Ints]:
    """The parts of all sums, sum after sum, and where each begins."""
    lengths = as_ints(columns[2].value_lengths())
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths + 2, out=starts[1:])
    parts, is_more = np.empty(starts[-1]), np.ones(starts[-1], np.bool_)
    for i in range(2):
        parts[starts[:-1] + i], is_more[starts[:-1] + i] = as_floats(columns[i]), False
    parts[is_more] = as_floats(columns[2].flatten())
    return parts, starts


def _added(terms: Sequence[tuple[Floats, Codes]], groups: int) -> list[pa.Array]:
    high, low, third = np.zeros(groups), np.zeros(groups), np.zeros(groups)
    wide = np.zeros(groups, np.bool_)
    for part, of in terms:
        loops.add_threes(part, of, high, low, third, wide)
    chosen = np.flatnonzero(wide | (third != 0.0))
    short = chosen[~wide[chosen]]
    seconds = [(values[short].copy(), short) for values in (high, low, third)]
    loops.normalize(high, low, wide)
    more = np.flatnonzero(wide)
    if len(more) > len(chosen) - len(short):  # a sum that overflowed when it was made one
        chosen = np.union1d(chosen, more)
    lengths = np.zeros(groups, np.int64)
    if not len(chosen):
        return [pa.array(high), pa.array(low), _lists(lengths, np.empty(0))]
    place = np.full(groups, -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    again = [(part[wide[of]], place[of[wide[of]]]) for part, of in terms] if wide.any() else []
    again += [(part[~wide[of]], place[of[~wide[of]]]) for part, of in seconds]
    wides, totals = _wide(again, len(chosen))
    high[chosen], low[chosen] = (as_floats(column) for column in wides[:2])
    lengths[chosen] = as_ints(wides[2].value_lengths())
    found = [pa.array(high), pa.array(low), _lists(lengths, as_floats(wides[2].flatten()))]
    return patched(found, {int(chosen[group]): total for group, total in totals.items()})


def _wide(terms: Sequence[tuple[Floats, Codes]], groups: int) -> tuple[list[pa.Array], dict[int, Fraction | float]]:
    """State columns of sums with as many parts as it takes; those that passed the largest float as exact numbers."""
    parts, sizes = np.zeros((groups, loops.ROOM)), np.zeros(groups, np.int64)
    special, beyond = np.zeros(groups), np.zeros(groups, np.bool_)
    for part, of in terms:
        loops.add_wide(part, of, parts, sizes, special, beyond)
    infinite = np.flatnonzero(special != 0.0)
    sizes[beyond] = 0
    loops.largest_first(parts, sizes, beyond)
    parts[infinite, 0], sizes[infinite], beyond[infinite] = special[infinite], 1, False
    totals: dict[int, Fraction | float] = {int(group): Fraction(0) for group in np.flatnonzero(beyond)}
    for part, of in terms if totals else ():
        chosen = beyond[of]
        for group, value in zip(of[chosen].tolist(), part[chosen].tolist(), strict=True):
            totals[group] = add_exact(totals[group], exact_float(value))
    return from_matrix(parts, sizes), totals


def _lists(lengths: Ints, values: Floats) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.float64()))
