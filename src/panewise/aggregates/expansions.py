"""Exact sums of floats as state columns: the rounded sum, the rounded rest of it, and a list of what is still left.

The list is empty unless values differ by more than some thirty orders of magnitude. Each part is the float nearest to
what those before it leave, so one number has one form: states do not depend on the order in which rows were added, on
cuts, nor on other groups. Few rows go the way of the scalar form, many through compiled loops; both are exact.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from math import isfinite

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import Floats, Ints, Mask, as_floats, as_ints
from panewise.aggregates.base import Codes
from panewise.aggregates.exact import add_exact, exact_float, rounded_float

LIST = pa.list_(pa.float64())
FEW = 20_000
"""So many terms are added without compiled loops before these are loaded."""
_seen = [0]


def fields(name: str) -> list[pa.Field]:
    """The state columns of a sum."""
    plain = [pa.field(n, pa.float64(), nullable=False) for n in (name, f"{name}_rest")]
    return [*plain, pa.field(f"{name}_more", LIST, nullable=False)]


def compiles(terms: int) -> bool:
    """Whether compiled loops are worth loading: numba is there already, or so many terms have come by now."""
    _seen[0] += terms
    return _seen[0] > FEW or "numba" in sys.modules


def to_parts(value: Fraction | float) -> tuple[float, float, list[float]]:
    """A sum as one row of state columns.

    >>> to_parts(Fraction(10)**200 + Fraction(1e100) + 1)[2][-1]
    1.0
    """
    parts: list[float] = []
    while not isinstance(value, float) and isfinite(part := rounded_float(value)) and part:
        parts.append(part)
        value -= Fraction(part)
    if not parts:
        return rounded_float(value), 0.0, []
    high, low, *more = [*parts, 0.0] if len(parts) < 2 else parts
    return high, low, more


def from_parts(high: float, low: float, more: Sequence[float] = ()) -> Fraction | float:
    """The inverse of ``to_parts``."""
    total = add_exact(exact_float(high), exact_float(low))
    for part in more:
        total = add_exact(total, exact_float(part))
    return total


def squares(values: Floats) -> list[Floats]:
    """Terms whose sum is the sum of the squares."""
    return products(values, values)


def products(left: Floats, right: Floats) -> list[Floats]:
    """Terms whose sum is the sum of the products."""
    from panewise.aggregates import expansions_numba as loops

    terms = [np.empty(len(left)), np.empty(len(left))]
    loops.products_of(left, right, *terms)
    return terms


def sums(terms: Sequence[Floats], codes: Codes, groups: int) -> list[pa.Array]:
    """Sums per group, as state columns; each of the terms has one value per code."""
    return _added([(part, codes) for part in terms], groups)


def combined(columns: Sequence[pa.Array], codes: Codes, groups: int) -> list[pa.Array]:
    """Sums per group of such sums, whose lists may be missing."""
    terms = [(as_floats(column), codes) for column in columns[:2]]
    lists = columns[2:]
    if lists and len(lists[0].flatten()):
        terms.append((as_floats(lists[0].flatten()), np.repeat(codes, as_ints(lists[0].value_lengths()))))
    return _added(terms, groups)


def is_wide(columns: Sequence[pa.Array]) -> Mask:
    """Which sums have more than two parts."""
    if len(columns) < 3:
        return np.zeros(len(columns[0]), np.bool_)
    wide: Mask = as_ints(columns[2].value_lengths()) > 0
    return wide


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
    from panewise.aggregates import expansions_numba as loops

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
    parts, sizes = _wide(again, len(chosen))
    high[chosen], low[chosen] = (np.where(sizes > i, parts[:, i], 0.0) for i in range(2))
    lengths[chosen] = np.maximum(sizes - 2, 0)
    rest = np.arange(parts.shape[1])[None, :]
    return [pa.array(high), pa.array(low), _lists(lengths, parts[(rest >= 2) & (rest < sizes[:, None])])]


def _wide(terms: Sequence[tuple[Floats, Codes]], groups: int) -> tuple[Floats, Ints]:
    """The parts of sums, largest first, and how many there are of each."""
    from panewise.aggregates import expansions_numba as loops

    parts, sizes = np.zeros((groups, loops.ROOM)), np.zeros(groups, np.int64)
    special, beyond = np.zeros(groups), np.zeros(groups, np.bool_)
    for part, of in terms:
        loops.add_wide(part, of, parts, sizes, special, beyond)
    sizes[beyond] = 0
    loops.largest_first(parts, sizes)
    for group in np.flatnonzero(beyond):  # the sum may come back among the floats: exact numbers say
        total = sum((Fraction(x) for part, of in terms for x in part[of == group].tolist() if isfinite(x)), Fraction(0))
        *first, more = to_parts(total)
        found = [*first, *more]
        parts[group, : len(found)], sizes[group] = found, len(found)
    infinite = np.flatnonzero(special != 0.0)
    parts[infinite, 0], sizes[infinite] = special[infinite], 1
    return parts, sizes


def _lists(lengths: Ints, values: Floats) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.float64()))
