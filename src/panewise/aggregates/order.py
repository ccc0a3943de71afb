"""FIRST and LAST by arrival: the state carries the arrival position, so states merge in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.arrays import Ints, as_ints, plain, plain_type
from panewise.aggregates.base import Aggregate, Codes, Columns, State, Types
from panewise.core.errors import AggregateError


@dataclass(frozen=True)
class First(Aggregate):
    """``first(x)``: the value of the first row, null included; ``first(x, true)`` skips nulls.

    State: ``position`` (null before the first row) and ``value``. Positions are unique, as arrivals are.

    >>> first = First()
    >>> first.finish(first.merge((9, "late"), (4, None))) is None, First(ignore_nulls=True).add((None, None), None, 1)
    (True, (None, None))
    """

    ignore_nulls: bool = False
    name: ClassVar[str] = "first"
    duplicate_insensitive: ClassVar[bool] = True
    needs_order: ClassVar[bool] = True
    extreme: ClassVar[np.ufunc] = np.minimum

    def __post_init__(self) -> None:
        if not isinstance(self.ignore_nulls, bool):
            raise AggregateError(f"{self.name} takes true or false for ignoring nulls, not {self.ignore_nulls!r}: "
                                 f"write {self.name}(x, true)")

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """Position and value."""
        self.check_inputs(inputs)
        return [pa.field("position", pa.int64()), pa.field("value", plain_type(inputs[0]))]

    def result_type(self, inputs: Types) -> pa.DataType:
        """The argument's type."""
        self.check_inputs(inputs)
        return plain_type(inputs[0])

    def init(self) -> State:
        """No row."""
        return (None, None)

    def add(self, state: State, *values: Any) -> State:
        """The earlier of the two; arguments are the value and its arrival position."""
        value, position = values
        return state if value is None and self.ignore_nulls else self.merge(state, (position, value))

    def merge(self, left: State, right: State) -> State:
        """The earlier of the two."""
        if left[0] is None or right[0] is None:
            return right if left[0] is None else left
        return right if (right[0] < left[0]) == (self.extreme is np.minimum) else left

    def finish(self, state: State) -> Any:
        """The value."""
        return state[1]

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """The row with the extreme position."""
        values, positions = plain(arguments[0]), as_ints(plain(arguments[1]))
        rows: Ints = np.arange(len(codes))
        if self.ignore_nulls and values.null_count:
            rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        return self._chosen(values, positions, rows, codes, groups)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """The same, among states that have a row."""
        position, value = partials
        rows = np.flatnonzero(position.is_valid().to_numpy(zero_copy_only=False))
        return self._chosen(value, as_ints(position.fill_null(0)), rows, codes, groups)

    def _chosen(self, values: pa.Array, positions: Ints, rows: Ints, codes: Codes, groups: int) -> Columns:
        best = np.empty(groups, np.int64)
        best[codes[rows]] = positions[rows]  # any of the group to begin with
        self.extreme.at(best, codes[rows], positions[rows])
        winners = rows[positions[rows] == best[codes[rows]]]
        at = np.full(groups, -1, np.int64)
        at[codes[winners]] = winners
        empty = at < 0
        return [pa.array(best, mask=empty), pc.take(values, pa.array(np.where(empty, 0, at), mask=empty))]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """The values."""
        return partials[1]


@dataclass(frozen=True)
class Last(First):
    """``last(x)``: the value of the last row, null included; ``last(x, true)`` skips nulls."""

    name: ClassVar[str] = "last"
    extreme: ClassVar[np.ufunc] = np.maximum
