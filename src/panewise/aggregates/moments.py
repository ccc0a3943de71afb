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

from panewise.aggregates.arrays import (
    Mask,
    as_floats,
    as_ints,
    counts_of,
    plain,
    present,
)
from panewise.aggregates.base import Codes, Columns, State, Types
from panewise.aggregates.exact_sums import expansions, quotients_numba
from panewise.aggregates.exact_sums.exact import (
    add_exact,
    exact_float,
    limb_columns,
    limb_count,
    limb_pairs,
    limb_sums,
    rounded_float,
)
from panewise.aggregates.exact_sums.squares import square_count, square_sums
from panewise.aggregates.exact_sums.totals import Totals


@dataclass(frozen=True)
class VarSamp(Totals):
    """``var_samp(x)``: the sample variance, null for fewer than two numbers; NaN once a value is not finite.

    >>> v = VarSamp()
    >>> v.finish(v.add(v.add(v.init(), 1), 3))
    2.0
    """

    name: ClassVar[str] = "var_samp"
    sums: ClassVar[tuple[str, ...]] = ("sum", "squares")
    taken_off: ClassVar[int] = 1
    """Degrees of freedom that the mean takes: 1 for a sample, 0 for the population."""
    root: ClassVar[bool] = False
    """Whether the result is the standard deviation."""

    def limbs(self, inputs: Types) -> tuple[int, ...]:
        """Those of the sum, and of the squares."""
        data_type = self.number_type(inputs)
        return (0, 0) if pa.types.is_floating(data_type) else (limb_count(data_type), square_count(data_type))

    def result_type(self, inputs: Types) -> pa.DataType:
        """Always double."""
        self.state_fields(inputs)
        return pa.float64()

    # -- scalar form ---------------------------------------------------------------------------------------------

    def add(self, state: State, *values: Any) -> State:
        """Add the number and its square; null adds nothing."""
        (value,) = values
        if value is None:
            return state
        x = exact_float(value) if isinstance(value, float) else Fraction(value)
        return state[0] + 1, add_exact(state[1], x), add_exact(state[2], x * x)

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

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Both sums per group."""
        (array,), codes = present([plain(arguments[0])], codes)
        if not self.is_floating(inputs):
            parts: Sequence[Any] = (*limb_sums(array, codes, groups), *square_sums(array, codes, groups))
        else:
            values = as_floats(array)
            parts = (*expansions.sums([values], codes, groups),
                     *expansions.product_sums(values, values, codes, groups))
        return [pa.array(counts_of(codes, groups)), *map(pa.array, parts)]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """Null where the degrees of freedom are used up."""
        count = as_ints(partials[0])
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

    def _parts(self, partials: Columns, inputs: Types) -> tuple[list[Any], float, Mask]:
        """The parts of both sums with their starts, what the variance is to be divided by, and where they lack some."""
        sums = list(self.parts(partials[1:], inputs))
        if self.is_floating(inputs):
            beyond = expansions.is_scaled(sums[0]) | expansions.is_scaled(sums[1])
            return [*expansions.in_a_row(sums[0]), *expansions.in_a_row(sums[1])], 1.0, beyond
        (*total, one), (*squares, two) = (limb_pairs(limb_columns(limbs)) for limbs in sums)
        starts = np.arange(0, 2 * len(one) + 1, 2)
        scale = self.unit(inputs) ** 2
        lacking = one | two | (int(float(scale)) != scale)
        return [np.stack(total, 1).ravel(), starts, np.stack(squares, 1).ravel(), starts], float(scale), lacking


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
