"""An aggregate of your own, by the same contract as the built-in ones: a state, add, merge, finish.

    .venv/bin/python examples/own_aggregate.py
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any, ClassVar

import pyarrow as pa

import panewise as pw
from panewise.aggregates import AggClass, State


@dataclass(frozen=True)
class GeometricMean(pw.Aggregate):
    """``geometric_mean(x)``: the n-th root of the product; null without a value."""

    name: ClassVar[str] = "geometric_mean"
    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """A count and a sum of logarithms: small, mergeable, plain data."""
        return [pa.field("count", pa.int64()), pa.field("logs", pa.float64())]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """Double."""
        return pa.float64()

    def init(self) -> State:
        """No values."""
        return (0, 0.0)

    def add(self, state: State, *values: Any) -> State:
        """One more; nulls do not count."""
        return state if values[0] is None else (state[0] + 1, state[1] + log(values[0]))

    def merge(self, left: State, right: State) -> State:
        """Both together."""
        return (left[0] + right[0], left[1] + right[1])

    def finish(self, state: State) -> float | None:
        """The mean."""
        return exp(state[1] / state[0]) if state[0] else None


pw.register(GeometricMean)
growth = [{"ts": day, "factor": factor} for day, factor in enumerate((1.0, 2.0, 4.0, 8.0, 0.5, 0.25))]
for row in pw.stream(growth, time="ts").window(range=4, slide=2).agg(mean="geometric_mean(factor)"):
    print(row["window"], round(row["mean"], 3))
