"""What AdaptWID keeps beside a partial: the rows it stands for, and whether its group is on the eager side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.base import Aggregate, Codes, Columns, State

MOST = np.iinfo(np.uint16).max
"""Counting stops here: a group with so many rows per partial is eager beyond doubt."""


@dataclass(frozen=True)
class HeldRows(Aggregate):
    """tupleCnt of a partial (rows that expire with it), the eager flag, and with ``lagging`` the sum of their offsets.

    Its arguments are the flag and the offset of each row. Nobody asks for its result.
    """

    name: ClassVar[str] = "held_rows"
    arity: ClassVar[int] = 2
    lagging: bool = False

    def state_fields(self, inputs: Sequence[pa.DataType]) -> list[pa.Field]:
        """Two narrow columns, three when sources lag."""
        lag = [pa.field("lag", pa.float32())] if self.lagging else []
        return [pa.field("rows", pa.uint16()), pa.field("eager", pa.bool_()), *lag]

    def result_type(self, inputs: Sequence[pa.DataType]) -> pa.DataType:
        """The count, if somebody asked."""
        return pa.uint16()

    def init(self) -> State:
        """No rows, lazy."""
        return (0, False, 0.0) if self.lagging else (0, False)

    def add(self, state: State, *values: Any) -> State:
        """One more row."""
        return self.merge(state, (1, *values)[: len(state)])

    def merge(self, left: State, right: State) -> State:
        """Counts add up to a limit; one eager part makes the whole eager."""
        lag = (left[2] + right[2],) if self.lagging else ()
        return (min(left[0] + right[0], MOST), left[1] or right[1], *lag)

    def finish(self, state: State) -> Any:
        """The count."""
        return state[0]

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int,
                 inputs: Sequence[pa.DataType]) -> Columns:
        """Counted per group."""
        return self.combine([pa.array(np.ones(len(codes), np.uint16)), *arguments], codes, groups, inputs)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Sequence[pa.DataType]) -> Columns:
        """Column by column."""
        rows, eager, *lag = (column.to_numpy(zero_copy_only=False) for column in partials)
        merged = [pa.array(np.minimum(np.bincount(codes, rows, groups), MOST).astype(np.uint16)),
                  pa.array(np.bincount(codes, eager, groups) > 0)]
        if self.lagging:
            merged.append(pa.array(np.bincount(codes, lag[0], groups).astype(np.float32)))
        return merged
