"""Results, and states to be saved, from the columns of compiled forms, and back.

What has neither nulls nor NaN, as most has, is finished in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.compiled_form import CompiledForm
from panewise.aggregates.digits import digits_of, gathered, rounded, spread
from panewise.aggregates.sums import Avg
from panewise.core.columns import FLOAT64, INT64, as_column
from panewise.kernels.partials import BoundAggregate

States = Sequence[npt.NDArray[Any]]
Finish = Callable[[States], pa.Array]


def finisher(aggregate: BoundAggregate, form: CompiledForm) -> Finish:
    """From the columns of a compiled form to the results of an aggregate, in memory of their own."""
    if form.fold in ("rows", "count"):
        return lambda states: as_column(states[0].copy(), INT64)
    if form.fold == "float sum":
        return _float_sums(aggregate, form)

    def at_length(states: States) -> pa.Array:
        return aggregate.function.finish_all([pa.array(state.copy()) for state in states], aggregate.inputs)

    if aggregate.result_field.type != FLOAT64 or form.fold not in ("float min", "float max"):
        return at_length
    from panewise.kernels import roll_up_numba

    def usual(states: States) -> pa.Array:
        done = roll_up_numba.all_equal(states[0], form.level)
        return as_column(states[1].copy(), FLOAT64) if done else at_length(states)
    return usual


def _float_sums(aggregate: BoundAggregate, form: CompiledForm) -> Finish:
    """Sums, or averages: the rounded sum by the count."""
    layout, averages = form.digits, isinstance(aggregate.function, Avg)
    assert layout is not None

    def finish(states: States) -> pa.Array:
        counts = states[0]
        results = rounded(np.stack(states[1:]), layout)
        empty = counts == 0
        if empty.any():
            return pa.array(results / np.where(empty, 1, counts) if averages else results, mask=empty)
        return as_column(results / counts if averages else results, FLOAT64)
    return finish


def states_of(forms: Sequence[CompiledForm], columns: States) -> list[pa.Array]:
    """The state columns of aggregates from the columns of their compiled forms."""
    found: list[pa.Array] = []
    at = 0
    for form in forms:
        mine = columns[at : at + len(form.columns)]
        if form.digits is None:
            found += map(pa.array, mine)
        else:
            found += [pa.array(mine[0]), *gathered(np.stack(mine[1:]), form.digits)]
        at += len(form.columns)
    return found


def fitted(forms: Sequence[CompiledForm], states: Sequence[pa.Array]) -> list[CompiledForm]:
    """The forms with all digits that the sums of floats among state columns have, and those they have already."""
    found: list[CompiledForm] = []
    at = 0
    for form in forms:
        digits = None if form.digits is None else form.digits.joined(digits_of(states[at + 1 : at + 4]))
        found.append(form if digits is None else form.with_digits(digits))
        at += width(form)
    return found


def columns_of(forms: Sequence[CompiledForm], states: Sequence[pa.Array]) -> list[npt.NDArray[Any]]:
    """The inverse of ``states_of``; the forms have all digits."""
    found: list[npt.NDArray[Any]] = []
    at = 0
    for form in forms:
        mine = states[at : at + width(form)]
        if form.digits is None:
            found += [column.to_numpy(zero_copy_only=False) for column in mine]
        else:
            found += [mine[0].to_numpy(zero_copy_only=False), *spread(mine[1:], form.digits)]
        at += width(form)
    return found


def width(form: CompiledForm) -> int:
    """How many state columns the aggregate has."""
    return len(form.columns) if form.digits is None else 4
