"""Exact sums of floats as digits: integer columns that add, and subtract, one by one.

Every float is an integer times a power of two. Cut at multiples of 32 bits, all of them on one grid, a float has three
neighbouring digits, and a sum of floats is the sums of their digits, each in an int64 of its own, which holds two
thousand million rows. Nothing is rounded until a result is asked for, so neither order nor cuts nor merges matter. Of
ordinary data three or four digits are in use, of floats of every size 66. NaN and infinities are counted, in three
columns that exist only where there are any.

Kernels keep sums this way while they add. Where states are saved or shipped they are the three columns of `expansions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import Floats, Ints, as_floats, as_ints
from panewise.aggregates.exact_sums import digits_numba as loops
from panewise.aggregates.exact_sums import expansions
from panewise.aggregates.exact_sums.exact import rounded_float

BITS = 32
SPECIALS = 3
"""Columns that count NaN, infinity and minus infinity."""
BOTTOM = -34
"""The digit of the smallest float."""


@dataclass(frozen=True)
class Digits:
    """Which digits are in use: ``count`` of them from ``first``, digit i standing for 2³²ⁱ; counts of specials last."""

    first: int = 0
    count: int = 0
    special: bool = False

    @property
    def width(self) -> int:
        """How many columns."""
        return self.count + (SPECIALS if self.special else 0)

    def covers(self, other: Digits) -> bool:
        """Whether all digits of the other are among these.

        >>> Digits(-2, 4).covers(Digits(-1, 3)), Digits(-2, 4).covers(Digits(-1, 4)), Digits().covers(Digits())
        (True, False, True)
        """
        within = not other.count or (self.first <= other.first and
                                     other.first + other.count <= self.first + self.count)
        return within and self.special >= other.special

    def joined(self, other: Digits) -> Digits:
        """The digits of both, and those in between."""
        special = self.special or other.special
        if not (self.count and other.count):
            kept = self if self.count else other
            return Digits(kept.first, kept.count, special)
        first = min(self.first, other.first)
        return Digits(first, max(self.first + self.count, other.first + other.count) - first, special)


def digits_of_floats(values: Floats) -> Digits:
    """The digits that floats have.

    >>> digits_of_floats(np.array([0.0, 1.0, 0.01])), digits_of_floats(np.array([np.nan]))
    (Digits(first=-2, count=3, special=False), Digits(first=0, count=0, special=True))
    """
    least, largest, special = loops.exponents(values.view(np.int64))
    if least > largest:
        return Digits(special=special)
    first, last = (least - loops.BIAS) // BITS, (largest - loops.BIAS) // BITS
    return Digits(first, last + 3 - first, special)


def digits_of(columns: Sequence[pa.Array]) -> Digits:
    """The digits that sums in state columns have."""
    high, low = as_floats(columns[0]), as_floats(columns[1])
    scaled = np.isnan(low)
    if scaled.any():
        plain = [column.filter(pa.array(~scaled)) for column in columns]
        found = digits_of(plain)
        for total in _totals(columns, np.flatnonzero(scaled)):
            assert isinstance(total, Fraction)
            number, shift = _as_integer(total)
            first = shift // BITS
            found = found.joined(Digits(first, (number.bit_length() + shift) // BITS + 2 - first))
        return found
    found = digits_of_floats(high).joined(digits_of_floats(low))
    more = columns[2].flatten()
    return found.joined(digits_of_floats(as_floats(more))) if len(more) else found


def spread(columns: Sequence[pa.Array], layout: Digits) -> Ints:
    """Sums in state columns as digits, one row of the matrix per digit; the layout covers them."""
    high, low = as_floats(columns[0]), as_floats(columns[1])
    rows = len(high)
    matrix = np.zeros((layout.width, rows), np.int64)
    if layout.special:
        infinite = np.where(np.isnan(low), 0.0, high)  # what overflowed is no infinity
        matrix[layout.count:] = np.isnan(infinite), infinite == inf, infinite == -inf
    odd = ~np.isfinite(high) | np.isnan(low)
    for row, total in zip(np.flatnonzero(odd).tolist(), _totals(columns, np.flatnonzero(odd)), strict=True):
        if isinstance(total, Fraction):
            _write(matrix, row, total, layout)
    numbers = np.flatnonzero(~odd)
    for part in (high, low):
        loops.add_floats(matrix, layout.first, numbers, part[numbers])
    more = columns[2]
    if len(more.flatten()):
        owners = np.repeat(np.arange(rows), as_ints(more.value_lengths()))
        plain = ~odd[owners]
        loops.add_floats(matrix, layout.first, owners[plain], as_floats(more.flatten())[plain])
    return matrix


def gathered(matrix: Ints, layout: Digits) -> list[pa.Array]:
    """The inverse of ``spread``: digits as the state columns of sums."""
    rows = matrix.shape[1]
    room = layout.count * BITS // 53 + 4
    parts, sizes, unsure = np.zeros((rows, room)), np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    if layout.count:
        loops.parts_of(np.ascontiguousarray(matrix[: layout.count]), layout.first, parts, sizes, unsure)
    if layout.special:
        unsure |= (matrix[layout.count:] != 0).any(axis=0)
    found = expansions.from_matrix(parts, sizes)
    return expansions.patched(found, {int(row): _total(matrix, int(row), layout) for row in np.flatnonzero(unsure)})


def rounded(matrix: Ints, layout: Digits) -> Floats:
    """The sums, each to the nearest float."""
    rows = matrix.shape[1]
    results = np.zeros(rows)
    if layout.count:
        assert layout.first >= BOTTOM
        loops.round_sums(matrix[: layout.count], layout.first, results)
    if layout.special:
        for row in np.flatnonzero((matrix[layout.count:] != 0).any(axis=0)).tolist():
            results[row] = rounded_float(_total(matrix, row, layout))
    return results


# -- single sums as Python numbers


def _total(matrix: Ints, row: int, layout: Digits) -> Fraction | float:
    """One sum."""
    column = matrix[:, row].tolist()
    if layout.special and any(column[layout.count:]):
        not_a_number, plus, minus = column[layout.count:]
        return nan if not_a_number or (plus and minus) else inf if plus else -inf
    number = sum(digit << (BITS * i) for i, digit in enumerate(column[: layout.count]))
    shift = BITS * layout.first
    return Fraction(number << shift) if shift >= 0 else Fraction(number, 1 << -shift)


def _write(matrix: Ints, row: int, total: Fraction, layout: Digits) -> None:
    """One sum into its column."""
    number, shift = _as_integer(total)
    if not number:
        return
    number <<= shift - BITS * layout.first
    for i in range(layout.count):
        matrix[i, row] = number & ((1 << BITS) - 1) if i < layout.count - 1 else number
        number >>= BITS


def _as_integer(total: Fraction) -> tuple[int, int]:
    """An integer and the power of two it is to be multiplied by; zero shifts nowhere.

    >>> _as_integer(Fraction(3, 8)), _as_integer(Fraction(12))
    ((3, -3), (3, 2))
    """
    number, shift = total.numerator, 1 - total.denominator.bit_length()
    zeros = (number & -number).bit_length() - 1 if number else 0
    return number >> zeros, shift + zeros


def _totals(columns: Sequence[pa.Array], rows: Ints) -> list[Fraction | float]:
    """Some of the sums in state columns."""
    at = pa.array(rows)
    return [expansions.from_parts(*row) for row in zip(*(c.take(at).to_pylist() for c in columns), strict=True)]

