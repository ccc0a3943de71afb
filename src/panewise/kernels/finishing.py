"""Results from the states of compiled forms; what has neither nulls nor NaN, as most has, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.compiled_form import CompiledForm
from panewise.aggregates.sums import Avg
from panewise.core.columns import FLOAT64, INT64, as_column
from panewise.kernels.partials import BoundAggregate

States = Sequence[npt.NDArray[Any]]
Finish = Callable[[States], pa.Array]


def finisher(aggregate: BoundAggregate, form: CompiledForm) -> Finish:
    """From the state columns of an aggregate to its results, in memory of their own."""
    if form.fold in ("rows", "count"):
        return lambda states: as_column(states[0].copy(), INT64)

    def at_length(states: States) -> pa.Array:
        return aggregate.function.finish_all([pa.array(state.copy()) for state in states], aggregate.inputs)

    if aggregate.result_field.type != FLOAT64:
        return at_length
    from panewise.kernels import roll_up_numba

    if form.fold == "float sum" and isinstance(aggregate.function, Avg):
        return at_length  # a division of exact sums, compiled as well
    if form.fold == "float sum":
        def usual(states: States) -> pa.Array:
            counts, totals, rests = states
            results = np.empty(len(counts))
            done = roll_up_numba.finish_sums(counts, totals, rests, results)
            return as_column(results, FLOAT64) if done else at_length(states)
    elif form.fold in ("float min", "float max"):
        def usual(states: States) -> pa.Array:
            done = roll_up_numba.all_equal(states[0], form.level)
            return as_column(states[1].copy(), FLOAT64) if done else at_length(states)
    else:
        return at_length
    return usual
