"""The centre of mass: a ratio of two exact sums of floats, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import as_floats, as_ints, counts_of, numeric_input, plain, present
from panewise.aggregates.base import Codes, Columns, State, Types
from panewise.aggregates.exact_sums import expansions, quotients_numba
from panewise.aggregates.exact_sums.exact import add_exact, exact_float, exact_product, rounded_float
from panewise.aggregates.exact_sums.totals import Totals


@dataclass(frozen=True)
class CentreOfMass(Totals):
    """``centre_of_mass(mass, position)``: Σ mass·position / Σ mass; null without rows or without mass.

    Rows with a null in either argument are left out.

    >>> c = CentreOfMass()
    >>> c.finish(c.add(c.add(c.init(), 1, 0.0), 3, 4.0))
    3.0
    """

    name: ClassVar[str] = "centre_of_mass"
    sums: ClassVar[tuple[str, ...]] = ("mass", "moment")
    arity: ClassVar[int] = 2

    def limbs(self, inputs: Types) -> tuple[int, ...]:
        """Both are sums of floats, whatever the arguments are."""
        return 0, 0

    def check_inputs(self, inputs: Types) -> None:
        """Two numbers."""
        super().check_inputs(inputs)
        for at in range(2):
            numeric_input(self.name, inputs, at)

    def result_type(self, inputs: Types) -> pa.DataType:
        """Always double."""
        self.state_fields(inputs)
        return pa.float64()

    def add(self, state: State, *values: Any) -> State:
        """Add the mass and its moment."""
        if None in values:
            return state
        mass, position = map(float, values)
        return state[0] + 1, add_exact(state[1], exact_float(mass)), add_exact(state[2], exact_product(mass, position))

    def finish(self, state: State) -> float | None:
        """Moment by mass."""
        count, mass, moment = state
        if count == 0 or mass == 0:
            return None
        if isinstance(mass, float) or isinstance(moment, float):
            return rounded_float(moment) / rounded_float(mass)
        return rounded_float(moment / mass)

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Sums of masses and of exact products."""
        arrays, codes = present([plain(a) for a in arguments], codes)
        mass, position = map(as_floats, arrays)
        return [pa.array(counts_of(codes, groups)), *expansions.sums([mass], codes, groups),
                *expansions.product_sums(mass, position, codes, groups)]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """Moment by mass, null where there is none."""
        count = as_ints(partials[0])
        mass, moment = partials[1:4], partials[4:]
        above, above_rest, below, below_rest = (as_floats(c) for part in (moment, mass) for c in part[:2])
        unsure = expansions.is_wide(mass) | expansions.is_wide(moment)
        results = np.zeros(len(count))
        quotients_numba.ratios(above, above_rest, below, below_rest, results, unsure)
        empty = (count == 0) | (below == 0)
        unsure &= ~empty
        results[unsure] = self.finish_some(partials, inputs, unsure)
        return pa.array(results, mask=empty)
