"""The centre of mass: a ratio of two exact sums of floats, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates import expansions
from panewise.aggregates.arrays import COUNT, as_floats, as_ints, counts_of, numeric_input, plain, present
from panewise.aggregates.base import AggClass, Aggregate, Codes, Columns, Elementwise, State
from panewise.aggregates.exact import add_exact, exact_float, group_sum, rounded_float


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
    kept: ClassVar[int] = 2
    """How many columns hold a sum: with the third, a list, it is exact."""

    def exactly(self, inputs: Sequence[pa.DataType]) -> Aggregate:
        """With all parts of both sums."""
        return ExactCentreOfMass()

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """Count, and the parts of mass and moment."""
        self.check_inputs(inputs)
        for at in range(2):
            numeric_input(self.name, inputs, at)
        return [COUNT, *(f for name in ("mass", "moment") for f in expansions.fields(name)[: self.kept])]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """Always double."""
        self.state_fields(inputs)
        return pa.float64()

    def elementwise(self, inputs: Sequence[pa.DataType]) -> list[Elementwise] | None:
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
        moment: Fraction | float = float(mass) * float(position)
        if finite and isfinite(moment):
            moment = mass * position
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
        """Both sums in parts."""
        return (state[0], *(part for total in state[1:] for part in expansions.to_parts(total)[: self.kept]))

    def unpack(self, row: State, inputs: Sequence[pa.DataType]) -> State:
        """Both sums as one number each."""
        cut = 1 + self.kept
        return row[0], expansions.from_parts(*row[1:cut]), expansions.from_parts(*row[cut:])

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int,
                 inputs: Sequence[pa.DataType]) -> Columns:
        """Sums of masses and of exact products."""
        arrays, codes = present([plain(a) for a in arguments], codes)
        if not expansions.compiles(2 * len(codes)):
            return super().partials(arrays, codes, groups, inputs)
        mass, position = map(as_floats, arrays)
        sums = (expansions.sums([mass], codes, groups),
                expansions.sums(expansions.products(mass, position), codes, groups))
        return [pa.array(counts_of(codes, groups)), *(part for parts in sums for part in parts[: self.kept])]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Sequence[pa.DataType]) -> Columns:
        """Add all."""
        if not expansions.compiles(2 * len(codes)):
            return super().combine(partials, codes, groups, inputs)
        sums = (expansions.combined(part, codes, groups) for part in self._both(partials))
        return [pa.array(group_sum(as_ints(partials[0]), codes, groups)),
                *(part for parts in sums for part in parts[: self.kept])]

    def finish_all(self, partials: Columns, inputs: Sequence[pa.DataType]) -> pa.Array:
        """Moment by mass, null where there is none."""
        count = as_ints(partials[0])
        if not expansions.compiles(len(count)):
            return super().finish_all(partials, inputs)
        from panewise.aggregates import expansions_numba, quotients_numba

        results, unsure, (mass, moment) = np.zeros(len(count)), np.zeros(len(count), np.bool_), self._both(partials)
        pairs = [[as_floats(column).copy() for column in part[:2]] for part in (moment, mass)]
        for high, low in pairs:
            expansions_numba.normalize(high, low, np.zeros(len(count), np.bool_))
        (above, above_rest), (below, below_rest) = pairs
        unsure |= expansions.is_wide(mass) | expansions.is_wide(moment)
        quotients_numba.ratios(above, above_rest, below, below_rest, results, unsure)
        empty = (count == 0) | (below == 0)
        unsure &= ~empty
        results[unsure] = self.finish_some(partials, inputs, unsure)
        return pa.array(results, mask=empty)

    def _both(self, partials: Columns) -> tuple[Columns, Columns]:
        """The columns of the mass and those of the moment."""
        return partials[1 : 1 + self.kept], partials[1 + self.kept :]


@dataclass(frozen=True)
class ExactCentreOfMass(CentreOfMass):
    """``centre_of_mass(mass, position)`` of any range, whatever is merged with what."""

    kept: ClassVar[int] = 3
    short_lists: ClassVar[bool] = True

    def elementwise(self, inputs: Sequence[pa.DataType]) -> None:
        """Parts are added together."""
