"""VARIANCE, STDDEV and centre of mass: algebraic functions of doubles.

Variance keeps ``count``, ``mean`` and ``m2`` (the sum of squared distances from the mean): sums of squares would lose
every digit when the mean is large against the spread. So would a mean that is one double once states are merged, hence
``mean_rest``. Taking rows away again would lose them too: there is no inverse, although one exists on paper (Li 6.2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nan, sqrt
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import (
    COUNT,
    Floats,
    Ints,
    as_floats,
    as_ints,
    counts_of,
    numeric_input,
    plain,
    present,
)
from panewise.aggregates.base import AggClass, Aggregate, Codes, Columns, Elementwise, State
from panewise.aggregates.exact import (
    add_exact,
    exact_float,
    float_sums,
    from_pair,
    group_sum,
    rounded_float,
    to_pair,
    two_sum,
)
from panewise.aggregates.sums import combine_pairs


@dataclass(frozen=True)
class VarSamp(Aggregate):
    """``var_samp(x)``: the sample variance, null for fewer than two numbers; NaN once a value is not finite.

    >>> v = VarSamp()
    >>> v.finish(v.add(v.add(v.init(), 1), 3))
    2.0
    """

    name: ClassVar[str] = "var_samp"
    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC
    taken_off: ClassVar[int] = 1
    """Degrees of freedom that the mean takes: 1 for a sample, 0 for the population."""
    root: ClassVar[bool] = False
    """Whether the result is the standard deviation."""

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """Count, mean in double-double and squared distances."""
        self.check_inputs(inputs)
        numeric_input(self.name, inputs)
        return [COUNT, *(pa.field(n, pa.float64(), nullable=False) for n in ("mean", "mean_rest", "m2"))]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """Always double."""
        self.state_fields(inputs)
        return pa.float64()

    # -- scalar form: exact sums of the values and of their squares ------------------------------------------------

    def init(self) -> State:
        """No number."""
        return (0, Fraction(0), Fraction(0))

    def add(self, state: State, *values: Any) -> State:
        """Add the number and its square; null adds nothing."""
        (value,) = values
        if value is None:
            return state
        x = exact_float(float(value))
        return state[0] + 1, add_exact(state[1], x), add_exact(state[2], x * x)

    def merge(self, left: State, right: State) -> State:
        """Add all three."""
        return left[0] + right[0], add_exact(left[1], right[1]), add_exact(left[2], right[2])

    def finish(self, state: State) -> float | None:
        """Squared distances by the degrees of freedom."""
        count = state[0]
        if count <= self.taken_off:
            return None
        m2 = _squared_distances(state)
        variance = m2 / (count - self.taken_off) if isinstance(m2, float) else rounded_float(
            m2 / (count - self.taken_off))
        return sqrt(variance) if self.root else variance

    def pack(self, state: State, inputs: Sequence[pa.DataType]) -> State:
        """Count, mean and squared distances from it."""
        count, total, _ = state
        if count == 0:
            return 0, 0.0, 0.0, 0.0
        return (count, *to_pair(total / count), rounded_float(_squared_distances(state)))

    def unpack(self, row: State, inputs: Sequence[pa.DataType]) -> State:
        """Sums again."""
        count, mean, rest, m2 = row
        if not (isfinite(mean) and isfinite(m2)):
            return count, nan, nan
        exact = Fraction(mean) + Fraction(rest)
        return count, count * exact, Fraction(m2) + count * exact * exact

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int,
                 inputs: Sequence[pa.DataType]) -> Columns:
        """Two passes: the means, then the squared distances."""
        (array,), codes = present([plain(arguments[0])], codes)
        values = as_floats(array)
        count = counts_of(codes, groups)
        nothing = np.zeros(len(values))
        return _moments(count, values, nothing, np.ones(len(values)), nothing, codes)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Sequence[pa.DataType]) -> Columns:
        """The same on means with their counts (Chan, Golub and LeVeque 1979)."""
        counts = as_ints(partials[0])
        mean, rest, m2 = map(as_floats, partials[1:])
        return _moments(group_sum(counts, codes, groups), mean, rest, counts.astype(np.float64), m2, codes)

    def finish_all(self, partials: Columns, inputs: Sequence[pa.DataType]) -> pa.Array:
        """Null where the degrees of freedom are used up."""
        count, m2 = as_ints(partials[0]), as_floats(partials[3])
        empty = count <= self.taken_off
        variance = m2 / np.where(empty, 1, count - self.taken_off)
        return pa.array(np.sqrt(variance) if self.root else variance, mask=empty)


@dataclass(frozen=True)
class VarPop(VarSamp):
    """``var_pop(x)``: the variance of the population, 0 for one number."""

    name: ClassVar[str] = "var_pop"
    taken_off: ClassVar[int] = 0


@dataclass(frozen=True)
class StddevSamp(VarSamp):
    """``stddev_samp(x)``: the square root of the sample variance."""

    name: ClassVar[str] = "stddev_samp"
    root: ClassVar[bool] = True


@dataclass(frozen=True)
class StddevPop(VarPop):
    """``stddev_pop(x)``: the square root of the variance of the population."""

    name: ClassVar[str] = "stddev_pop"
    root: ClassVar[bool] = True


def _squared_distances(state: State) -> Fraction | float:
    count, total, squares = state
    if isinstance(total, float) or isinstance(squares, float):
        return nan
    distances: Fraction = squares - total * total / count
    return distances


def _moments(count: Ints, means: Floats, rests: Floats, weights: Floats, m2: Floats, codes: Codes) -> Columns:
    """Count, mean and squared distances of groups from those of their parts.

    Distances are taken from a rounded mean, which is exact for values near it; what the rounding left of the mean
    comes out of the same distances.
    """
    groups = len(count)
    divisor = np.where(count == 0, 1, count)
    with np.errstate(invalid="ignore", over="ignore"):
        total, rest = float_sums(means * weights, codes, groups)
        mean = (total + rest) / divisor
        distance = (means - mean[codes]) + rests
        weighted = weights * distance
        shift_total, shift_rest = float_sums(weighted, codes, groups)
        shift = (shift_total + shift_rest) / divisor
        squares, squares_rest = float_sums(m2 + weighted * distance, codes, groups)
        spread = np.maximum(squares + squares_rest - shift * shift * divisor, 0.0)
    mean, rest = two_sum(mean, np.where(np.isfinite(shift), shift, 0.0))
    return [pa.array(count), pa.array(mean), pa.array(rest), pa.array(spread)]


@dataclass(frozen=True)
class CentreOfMass(Aggregate):
    """``centre_of_mass(mass, position)``: Σ mass·position / Σ mass; null without rows or without mass.

    Rows with a null in either argument are left out.

    >>> c = CentreOfMass()
    >>> c.finish(c.add(c.add(c.init(), 1, 0.0), 3, 4.0))
    3.0
    """

    name: ClassVar[str] = "centre_of_mass"
    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC
    arity: ClassVar[int] = 2

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """Count, and mass and moment in double-double."""
        self.check_inputs(inputs)
        for at in range(2):
            numeric_input(self.name, inputs, at)
        names = ("mass", "mass_rest", "moment", "moment_rest")
        return [COUNT, *(pa.field(n, pa.float64(), nullable=False) for n in names)]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """Always double."""
        self.state_fields(inputs)
        return pa.float64()

    def elementwise(self, inputs: Sequence[pa.DataType]) -> list[Elementwise]:
        """All add."""
        return ["sum"] * 5

    def init(self) -> State:
        """No row."""
        return (0, Fraction(0), Fraction(0))

    def add(self, state: State, *values: Any) -> State:
        """Add the mass and its moment."""
        if None in values:
            return state
        mass, position = (exact_float(float(v)) for v in values)
        finite = isinstance(mass, Fraction) and isinstance(position, Fraction)
        moment = mass * position if finite else float(mass) * float(position)
        return state[0] + 1, add_exact(state[1], mass), add_exact(state[2], moment)

    def merge(self, left: State, right: State) -> State:
        """Add all three."""
        return left[0] + right[0], add_exact(left[1], right[1]), add_exact(left[2], right[2])

    def finish(self, state: State) -> float | None:
        """Moment by mass."""
        count, mass, moment = state
        if count == 0 or mass == 0:
            return None
        if isinstance(mass, float) or isinstance(moment, float):
            return rounded_float(moment) / rounded_float(mass)
        return rounded_float(moment / mass)

    def pack(self, state: State, inputs: Sequence[pa.DataType]) -> State:
        """Both sums as pairs."""
        return (state[0], *to_pair(state[1]), *to_pair(state[2]))

    def unpack(self, row: State, inputs: Sequence[pa.DataType]) -> State:
        """Both sums as one number each."""
        return row[0], from_pair(row[1], row[2]), from_pair(row[3], row[4])

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int,
                 inputs: Sequence[pa.DataType]) -> Columns:
        """Sums of masses and of exact products."""
        arrays, codes = present([plain(a) for a in arguments], codes)
        mass, position = map(as_floats, arrays)
        products, errors = _products(mass, position)
        sums = (*float_sums(mass, codes, groups),
                *float_sums(np.concatenate([products, errors]), np.concatenate([codes, codes]), groups))
        return [pa.array(counts_of(codes, groups)), *map(pa.array, sums)]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Sequence[pa.DataType]) -> Columns:
        """Add all."""
        count, mass, mass_rest, moment, moment_rest = partials
        sums = (*combine_pairs(mass, mass_rest, codes, groups), *combine_pairs(moment, moment_rest, codes, groups))
        return [pa.array(group_sum(as_ints(count), codes, groups)), *map(pa.array, sums)]

    def finish_all(self, partials: Columns, inputs: Sequence[pa.DataType]) -> pa.Array:
        """Moment by mass, null where there is none."""
        mass = as_floats(partials[1]) + as_floats(partials[2])
        moment = as_floats(partials[3]) + as_floats(partials[4])
        empty = (as_ints(partials[0]) == 0) | (mass == 0)
        with np.errstate(invalid="ignore", over="ignore"):
            return pa.array(moment / np.where(empty, 1.0, mass), mask=empty)


def _products(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Products and their rounding errors (Dekker 1971); no error is known where halves overflow."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = left * right
        (a, b), (c, d) = _halves(left), _halves(right)
        error = ((a * c - product) + a * d + b * c) + b * d
    return product, np.where(np.isfinite(error) & np.isfinite(product), error, 0.0)


def _halves(values: Floats) -> tuple[Floats, Floats]:
    scaled = values * 134217729.0  # 2²⁷ + 1
    high = scaled - (scaled - values)
    return high, values - high
