"""Aggregates small enough to be obviously right, for testing kernels apart from the aggregate library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from panewise.aggregates.base import Aggregate, State


@dataclass(frozen=True)
class CountRows(Aggregate):
    name: ClassVar[str] = "count_rows"
    arity: ClassVar[int] = 0

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        return [pa.field("n", pa.int64())]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        return pa.int64()

    def init(self) -> State:
        return (0,)

    def add(self, state: State, *values: Any) -> State:
        return (state[0] + 1,)

    def merge(self, left: State, right: State) -> State:
        return (left[0] + right[0],)

    def finish(self, state: State) -> Any:
        return state[0]

    def elementwise(self, inputs: Sequence[pa.DataType]) -> list[str]:
        return ["sum"]


@dataclass(frozen=True)
class Extreme(Aggregate):
    """Largest (or smallest) value; null when all are."""

    name: ClassVar[str] = "extreme"
    which: str = "max"

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        return [pa.field("best", inputs[0])]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        return inputs[0]

    def init(self) -> State:
        return (None,)

    def add(self, state: State, *values: Any) -> State:
        return self.merge(state, values)

    def merge(self, left: State, right: State) -> State:
        known = [v for v in (left[0], right[0]) if v is not None]
        return ((max if self.which == "max" else min)(known),) if known else (None,)

    def finish(self, state: State) -> Any:
        return state[0]

    def elementwise(self, inputs: Sequence[pa.DataType]) -> list[str]:
        return [self.which]


@dataclass(frozen=True)
class Total(Aggregate):
    name: ClassVar[str] = "total"

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        return [pa.field("sum", inputs[0])]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        return inputs[0]

    def init(self) -> State:
        return (None,)

    def add(self, state: State, *values: Any) -> State:
        return self.merge(state, values)

    def merge(self, left: State, right: State) -> State:
        known = [v for v in (left[0], right[0]) if v is not None]
        return (sum(known),) if known else (None,)

    def finish(self, state: State) -> Any:
        return state[0]

    def elementwise(self, inputs: Sequence[pa.DataType]) -> list[str]:
        return ["sum"]


@dataclass(frozen=True)
class InOrder(Aggregate):
    """All values in the order they were merged: shows any disorder, and has no element-wise merge."""

    name: ClassVar[str] = "in_order"

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        return [pa.field("values", pa.list_(inputs[0]))]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        return pa.list_(inputs[0])

    def init(self) -> State:
        return ([],)

    def add(self, state: State, *values: Any) -> State:
        return ([*state[0], values[0]],)

    def merge(self, left: State, right: State) -> State:
        return ([*left[0], *right[0]],)

    def finish(self, state: State) -> Any:
        return state[0]
