"""Results, and states to be saved, from the columns of compiled forms, and back.

What has neither nulls nor NaN, as most has, is finished in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.compiled_form import CompiledForm
from panewise.aggregates.exact_sums.digits import digits_of, gathered, rounded, spread
from panewise.aggregates.sums import Avg
from panewise.core.columns import FLOAT64, INT64, as_column
from panewise.kernels.contract.partials import BoundAggregate

T = TypeVar("T")
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
    def usual(states: States) -> pa.Array:
        done = bool((states[0] == form.level).all())
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
    for form, mine in _parts(forms, columns, lambda form: len(form.columns)):
        found += map(pa.array, mine) if form.digits is None else \
            [pa.array(mine[0]), *gathered(np.stack(mine[1:]), form.digits)]
    return found


def fitted(forms: Sequence[CompiledForm], states: Sequence[pa.Array]) -> list[CompiledForm]:
    """The forms with all digits that the sums of floats among state columns have, and those they have already."""
    return [form if form.digits is None else form.with_digits(form.digits.joined(digits_of(mine[1:])))
            for form, mine in _parts(forms, states, width)]


def columns_of(forms: Sequence[CompiledForm], states: Sequence[pa.Array]) -> list[npt.NDArray[Any]]:
    """The inverse of ``states_of``; the forms have all digits."""
    found: list[npt.NDArray[Any]] = []
    for form, mine in _parts(forms, states, width):
        plain = mine if form.digits is None else mine[:1]
        found += [column.to_numpy(zero_copy_only=False) for column in plain]
        if form.digits is not None:
            found += list(spread(mine[1:], form.digits))
    return found


def _parts(forms: Sequence[CompiledForm], columns: Sequence[T],
           width_of: Callable[[CompiledForm], int]) -> Iterator[tuple[CompiledForm, list[T]]]:
    """The columns of each form."""
    rest = iter(columns)
    return ((form, list(islice(rest, width_of(form)))) for form in forms)


def width(form: CompiledForm) -> int:
    """How many state columns the aggregate has."""
    return len(form.columns) if form.digits is None else 4
