"""MEDIAN and PERCENTILE, exact, with linear interpolation as Spark SQL does it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import as_floats, numeric_input
from panewise.aggregates.base import State, Types
from panewise.aggregates.multiset import Multiset
from panewise.aggregates.values import ValueCounts, sort_key
from panewise.core.errors import AggregateError


def check_fraction(name: str, fraction: Any) -> None:
    """Refuse what is not between 0 and 1."""
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        raise AggregateError(f"{name} needs a fraction from 0 to 1, not {fraction!r}: write {name}(x, 0.95) for the "
                             "95th percentile")


@dataclass(frozen=True)
class Percentile(Multiset):
    """``percentile(x, fraction)``: between the two nearest values in proportion; double, NaN above all numbers.

    >>> Percentile(0.5).finish(({1: 1, 2: 1, 10: 2},))
    6.0
    """

    fraction: float = 0.5
    name: ClassVar[str] = "percentile"

    def __post_init__(self) -> None:
        check_fraction(self.name, self.fraction)

    def value_type(self, inputs: Types) -> pa.DataType:
        """Numbers only."""
        self.check_inputs(inputs)
        return numeric_input(self.name, inputs)

    def result_type(self, inputs: Types) -> pa.DataType:
        """Always double."""
        self.value_type(inputs)
        return pa.float64()

    def finish(self, state: State) -> float | None:
        """The value at position ``(n - 1)·fraction``, counted from 0."""
        values = [float(v) for v in sorted(state[0], key=sort_key) for _ in range(state[0][v])]
        if not values:
            return None
        position = (len(values) - 1) * self.fraction
        low, high = floor(position), ceil(position)
        if low == high or values[low] == values[high]:
            return values[low]
        return values[low] + (values[high] - values[low]) * (position - low)  # rounds as Spark 4 does

    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """Both neighbours by one search in the running counts of all groups."""
        if not len(held.counts):
            return pa.nulls(held.groups, pa.float64())
        totals = held.totals
        empty = totals == 0
        before = np.cumsum(totals) - totals
        position = np.where(empty, 0.0, (totals - 1) * self.fraction)
        low, high = np.floor(position), np.ceil(position)
        running = np.cumsum(held.counts)
        floats = as_floats(held.values)
        last = len(floats) - 1  # groups without rows may point past the end
        below, above = (
            floats[np.minimum(np.searchsorted(running, before + at.astype(np.int64), side="right"), last)]
            for at in (low, high)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            between = below + (above - below) * (position - low)
        return pa.array(np.where((low == high) | (below == above), below, between), mask=empty)


@dataclass(frozen=True)
class Median(Percentile):
    """``median(x)``: the percentile at one half."""

    name: ClassVar[str] = "median"
