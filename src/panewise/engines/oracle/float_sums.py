"""Sums, averages, variances and standard deviations of floats by definition: integers, and one rounding.

Every finite float is an integer times 2⁻¹⁰⁷⁴, so Python's integers hold any sum, and dividing two of them rounds once,
to the nearest float. Nothing here is shared with the aggregates that kernels use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, isfinite, nan, sqrt
from typing import Any

UNITS = 1074
"""The smallest float is 2 to minus this."""


def defined(name: str) -> Callable[[Sequence[Any]], float | None] | None:
    """The definition of an aggregate over floats and nulls, if it is one of these."""
    known: dict[str, Callable[[Sequence[Any]], float | None]] = {
        "sum": total, "avg": average, "var_samp": partial(variance, taken_off=1),
        "var_pop": partial(variance, taken_off=0), "stddev_samp": partial(deviation, taken_off=1),
        "stddev_pop": partial(deviation, taken_off=0)}
    return known.get(name)


def total(values: Sequence[Any]) -> float | None:
    """The sum.

    >>> total([1e16, 1.0, -1e16, None]), total([1.5e308, 1.5e308, -1.5e308]), total([inf, -inf]), total([-0.0])
    (1.0, 1.5e+308, nan, 0.0)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    if not all(map(isfinite, known)):
        return float(sum(value for value in known if not isfinite(value)))
    return _quotient(sum(map(_units, known)), 1 << UNITS)


def average(values: Sequence[Any]) -> float | None:
    """The sum by the count."""
    whole = total(values)
    return None if whole is None else whole / sum(value is not None for value in values)


def variance(values: Sequence[Any], taken_off: int) -> float | None:
    """n·Σx² less (Σx)², by n times the degrees of freedom.

    >>> variance([1e200, 3e200], 1), variance([1.0, 2.0, 4.0], 0)
    (inf, 1.5555555555555556)
    """
    known = [value for value in values if value is not None]
    count = len(known)
    if count <= taken_off:
        return None
    if not all(map(isfinite, known)):
        return nan
    units = list(map(_units, known))
    spread = count * sum(unit * unit for unit in units) - sum(units) ** 2
    return _quotient(spread, count * (count - taken_off) << 2 * UNITS)


def deviation(values: Sequence[Any], taken_off: int) -> float | None:
    """The root of the variance."""
    found = variance(values, taken_off)
    return None if found is None else sqrt(found)


def _units(value: float) -> int:
    """A finite float as a multiple of the smallest one."""
    numerator, denominator = float(value).as_integer_ratio()
    return (numerator << UNITS) // denominator


def _quotient(above: int, below: int) -> float:
    """To the nearest float, infinite beyond the largest."""
    try:
        return above / below
    except OverflowError:
        return inf if above > 0 else -inf
