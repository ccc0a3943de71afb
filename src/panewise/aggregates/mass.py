"""The centre of mass: a ratio of two exact sums of floats, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates import expansions
from panewise.aggregates.arrays import COUNT, as_floats, as_ints, counts_of, numeric_input, plain, present
from panewise.aggregates.base import EXACT_SUM, AggClass, Aggregate, Codes, Columns, Elementwise, State
from panewise.aggregates.exact import add_exact, exact_float, exact_product, group_sum, rounded_float


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
    short_lists: ClassVar[bool] = True

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """Count, and the parts of mass and moment."""
        self.check_inputs(inputs)
        for at in range(2):
            numeric_input(self.name, inputs, at)
        return [COUNT, *(f for name in ("mass", "moment") for f in expansions.fields(name))]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """Always double."""
        self.state_fields(inputs)
        return pa.float64()

    def elementwise(self, inputs: Sequence[pa.DataType]) -> list[Elementwise] | None:
        """Counts add, and so do both sums."""
        return ["sum", *EXACT_SUM, *EXACT_SUM]

    def init(self) -> State:
        """No row."""
        return (0, Fraction(0), Fraction(0))

    def add(self, state: State, *values: Any) -> State:
        """Add the mass and its moment."""
        if None in values:
            return state
        mass, position = map(float, values)
        return state[0] + 1, add_exact(state[1], exact_float(mass)), add_exact(state[2], exact_product(mass, position))

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
        """Both sums in parts."""
        return (state[0], *(part for total in state[1:] for part in expansions.to_parts(total)))

    def unpack(self, row: State, inputs: Sequence[pa.DataType]) -> State:
        """Both sums as one number each."""
        return row[0], expansions.from_parts(*row[1:4]), expansions.from_parts(*row[4:])

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int,
                 inputs: Sequence[pa.DataType]) -> Columns:
        """Sums of masses and of exact products."""
        arrays, codes = present([plain(a) for a in arguments], codes)
        if not expansions.compiles(2 * len(codes)):
            return super().partials(arrays, codes, groups, inputs)
        mass, position = map(as_floats, arrays)
        return [pa.array(counts_of(codes, groups)), *expansions.sums([mass], codes, groups),
                *expansions.product_sums(mass, position, codes, groups)]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Sequence[pa.DataType]) -> Columns:
        """Add all."""
        if not expansions.compiles(2 * len(codes)):
            return super().combine(partials, codes, groups, inputs)
        return [pa.array(group_sum(as_ints(partials[0]), codes, groups)),
                *expansions.combined(partials[1:4], codes, groups), *expansions.combined(partials[4:], codes, groups)]

    def finish_all(self, partials: Columns, inputs: Sequence[pa.DataType]) -> pa.Array:
        """Moment by mass, null where there is none."""
        count = as_ints(partials[0])
        if not expansions.compiles(len(count)):
            return super().finish_all(partials, inputs)
        from panewise.aggregates import quotients_numba

        mass, moment = partials[1:4], partials[4:]
        above, above_rest, below, below_rest = (as_floats(c) for part in (moment, mass) for c in part[:2])
        unsure = expansions.is_wide(mass) | expansions.is_wide(moment)
        results = np.zeros(len(count))
        quotients_numba.ratios(above, above_rest, below, below_rest, results, unsure)
        empty = (count == 0) | (below == 0)
        unsure &= ~empty
        results[unsure] = self.finish_some(partials, inputs, unsure)
        return pa.array(results, mask=empty)
