"""VARIANCE and STDDEV: the exact sums of values and of their squares, rounded once.

Sums of squares lose every digit when the mean is large against the spread, unless they are exact: integers and decimals
in limbs, so that rows can be taken away again (Li 6.2.2), floats as `expansions`. Means and squared distances from
them, the usual state, are rounded with every merge, and two orders of merging would give two results. A variance is the
float nearest to the exact one, infinite beyond the largest float, and a standard deviation the root of that float.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import nan, sqrt
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates import expansions
from panewise.aggregates.arrays import (
    COUNT,
    Mask,
    as_floats,
    as_ints,
    counts_of,
    is_decimal,
    numeric_input,
    plain,
    present,
)
from panewise.aggregates.base import EXACT_SUM, AggClass, Aggregate, Codes, Columns, Elementwise, State
from panewise.aggregates.exact import (
    add_exact,
    carry,
    exact_float,
    from_limbs,
    group_sum,
    limb_columns,
    limb_count,
    limb_pairs,
    limb_sums,
    rounded_float,
    to_limbs,
)
from panewise.aggregates.squares import square_count, square_sums


@dataclass(frozen=True)
class VarSamp(Aggregate):
    """``var_samp(x)``: the sample variance, null for fewer than two numbers; NaN once a value is not finite.

    >>> v = VarSamp()
    >>> v.finish(v.add(v.add(v.init(), 1), 3))
    2.0
    """

    name: ClassVar[str] = "var_samp"
    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC
    short_lists: ClassVar[bool] = True
    taken_off: ClassVar[int] = 1
    """Degrees of freedom that the mean takes: 1 for a sample, 0 for the population."""
    root: ClassVar[bool] = False
    """Whether the result is the standard deviation."""

    def is_invertible(self, inputs: Sequence[pa.DataType]) -> bool:
        """Integers and decimals are; of floats a NaN or an infinity cannot be taken away again."""
        return not pa.types.is_floating(numeric_input(self.name, inputs))

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """Count, and the parts of both sums."""
        self.check_inputs(inputs)
        data_type = numeric_input(self.name, inputs)
        if pa.types.is_floating(data_type):
            return [COUNT, *expansions.fields("sum"), *expansions.fields("squares")]
        names = [f"{name}{i}" for name, limbs in (("sum", limb_count(data_type)), ("squares", square_count(data_type)))
                 for i in range(limbs - 1, -1, -1)]
        return [COUNT, *(pa.field(name, pa.int64(), nullable=False) for name in names)]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """Always double."""
        self.state_fields(inputs)
        return pa.float64()

    def elementwise(self, inputs: Sequence[pa.DataType]) -> list[Elementwise] | None:
        """Counts and limbs add; the three columns of a sum of floats are one number."""
        if pa.types.is_floating(numeric_input(self.name, inputs)):
            return ["sum", *EXACT_SUM, *EXACT_SUM]
        return ["sum"] * len(self.state_fields(inputs))

    # -- scalar form ---------------------------------------------------------------------------------------------

    def init(self) -> State:
        """No number."""
        return (0, Fraction(0), Fraction(0))

    def add(self, state: State, *values: Any) -> State:
        """Add the number and its square; null adds nothing."""
        (value,) = values
        if value is None:
            return state
        x = exact_float(value) if isinstance(value, float) else Fraction(value)
        return state[0] + 1, add_exact(state[1], x), add_exact(state[2], x * x)

    def merge(self, left: State, right: State) -> State:
        """Add all three."""
        return left[0] + right[0], add_exact(left[1], right[1]), add_exact(left[2], right[2])

    def inverse(self, whole: State, part: State) -> State:
        """Subtract all three; exact where ``is_invertible``."""
        return whole[0] - part[0], add_exact(whole[1], -part[1]), add_exact(whole[2], -part[2])

    def finish(self, state: State) -> float | None:
        """Squared distances by the degrees of freedom."""
        count, total, squares = state
        if count <= self.taken_off:
            return None
        if isinstance(total, float) or isinstance(squares, float):
            variance = nan
        else:
            variance = rounded_float((squares - total * total / count) / (count - self.taken_off))
        return sqrt(variance) if self.root else variance

    def pack(self, state: State, inputs: Sequence[pa.DataType]) -> State:
        """Both sums in parts."""
        data_type = numeric_input(self.name, inputs)
        count, total, squares = state
        if pa.types.is_floating(data_type):
            return (count, *expansions.to_parts(total), *expansions.to_parts(squares))
        unit = _unit(data_type)
        return (count, *to_limbs(int(total * unit), limb_count(data_type)),
                *to_limbs(int(squares * unit * unit), square_count(data_type)))

    def unpack(self, row: State, inputs: Sequence[pa.DataType]) -> State:
        """Both sums as one number each."""
        data_type = numeric_input(self.name, inputs)
        count, *parts = row
        if pa.types.is_floating(data_type):
            return count, expansions.from_parts(*parts[:3]), expansions.from_parts(*parts[3:])
        limbs, unit = limb_count(data_type), _unit(data_type)
        return count, Fraction(from_limbs(parts[:limbs]), unit), Fraction(from_limbs(parts[limbs:]), unit * unit)

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int,
                 inputs: Sequence[pa.DataType]) -> Columns:
        """Both sums per group."""
        (array,), codes = present([plain(arguments[0])], codes)
        if not pa.types.is_floating(numeric_input(self.name, inputs)):
            parts: Sequence[Any] = (*limb_sums(array, codes, groups), *square_sums(array, codes, groups))
        elif expansions.compiles(len(array)):
            values = as_floats(array)
            parts = (*expansions.sums([values], codes, groups),
                     *expansions.product_sums(values, values, codes, groups))
        else:
            return super().partials([array], codes, groups, inputs)
        return [pa.array(counts_of(codes, groups)), *map(pa.array, parts)]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Sequence[pa.DataType]) -> Columns:
        """Add all."""
        if pa.types.is_floating(numeric_input(self.name, inputs)):
            if not expansions.compiles(len(codes)):
                return super().combine(partials, codes, groups, inputs)
            parts: Sequence[Any] = (*expansions.combined(partials[1:4], codes, groups),
                                    *expansions.combined(partials[4:], codes, groups))
        else:
            first, second = self._limbs([group_sum(limb, codes, groups) for limb in limb_columns(partials[1:])], inputs)
            parts = (*carry(first), *carry(second))
        return [pa.array(group_sum(as_ints(partials[0]), codes, groups)), *map(pa.array, parts)]

    def subtract_all(self, whole: Columns, part: Columns, inputs: Sequence[pa.DataType]) -> Columns:
        """Subtract every column; floats go the way of the scalar form."""
        if pa.types.is_floating(numeric_input(self.name, inputs)):
            return super().subtract_all(whole, part, inputs)
        count, *limbs = (as_ints(w) - as_ints(p) for w, p in zip(whole, part, strict=True))
        first, second = self._limbs(limbs, inputs)
        return [pa.array(count), *map(pa.array, (*carry(first), *carry(second)))]

    def finish_all(self, partials: Columns, inputs: Sequence[pa.DataType]) -> pa.Array:
        """Null where the degrees of freedom are used up."""
        count = as_ints(partials[0])
        if not expansions.compiles(len(count)):
            return super().finish_all(partials, inputs)
        from panewise.aggregates import quotients_numba

        sums, scale, unsure = self._parts(partials, inputs)
        results = np.zeros(len(count))
        total, starts, squares, square_starts = sums
        quotients_numba.variances(count, self.taken_off, scale, total, starts, squares, square_starts, results, unsure)
        if self.root:
            results = np.sqrt(results)
        empty = count <= self.taken_off
        unsure &= ~empty
        results[unsure] = self.finish_some(partials, inputs, unsure)
        return pa.array(results, mask=empty)

    def _parts(self, partials: Columns, inputs: Sequence[pa.DataType]) -> tuple[list[Any], float, Mask]:
        """The parts of both sums with their starts, what the variance is to be divided by, and where they lack some."""
        data_type = numeric_input(self.name, inputs)
        if pa.types.is_floating(data_type):
            beyond = expansions.is_scaled(partials[1:4]) | expansions.is_scaled(partials[4:])
            return [*expansions.in_a_row(partials[1:4]), *expansions.in_a_row(partials[4:])], 1.0, beyond
        (*total, one), (*squares, two) = (limb_pairs(limbs) for limbs in self._limbs(
            limb_columns(partials[1:]), inputs))
        starts = np.arange(0, 2 * len(one) + 1, 2)
        scale = _unit(data_type) ** 2
        lacking = one | two | (int(float(scale)) != scale)
        return [np.stack(total, 1).ravel(), starts, np.stack(squares, 1).ravel(), starts], float(scale), lacking

    def _limbs(self, limbs: list[Any], inputs: Sequence[pa.DataType]) -> tuple[list[Any], list[Any]]:
        """The limbs of the sum and those of the squares."""
        cut = limb_count(numeric_input(self.name, inputs))
        return limbs[:cut], limbs[cut:]


def _unit(data_type: pa.DataType) -> int:
    """What one unscaled unit of a type is a fraction of."""
    return 10**data_type.scale if is_decimal(data_type) and data_type.scale > 0 else 1


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
