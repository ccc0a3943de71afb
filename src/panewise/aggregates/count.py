"""COUNT: of rows, or of rows in which no argument is null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import COUNT, as_ints, counts_of, valid_rows
from panewise.aggregates.base import Aggregate, Codes, Columns, Elementwise, State, Types
from panewise.aggregates.exact_sums.exact import group_sum


@dataclass(frozen=True)
class Count(Aggregate):
    """``count(*)`` without arguments, ``count(x)`` and ``count(x, y)`` with; never null.

    >>> count = Count()
    >>> count.finish(count.add(count.add(count.init(), 7), None))
    1
    """

    name: ClassVar[str] = "count"
    invertible: ClassVar[bool] = True
    arity: ClassVar[int] = 0
    variadic: ClassVar[bool] = True

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """The count."""
        return [COUNT]

    def result_type(self, inputs: Types) -> pa.DataType:
        """Always bigint."""
        return pa.int64()

    def elementwise(self, inputs: Types) -> list[Elementwise]:
        """Counts add."""
        return ["sum"]

    def init(self) -> State:
        """Zero."""
        return (0,)

    def add(self, state: State, *values: Any) -> State:
        """One more, unless an argument is null."""
        return (state[0] + all(v is not None for v in values),)

    def merge(self, left: State, right: State) -> State:
        """Add."""
        return (left[0] + right[0],)

    def inverse(self, whole: State, part: State) -> State:
        """Subtract."""
        return (whole[0] - part[0],)

    def finish(self, state: State) -> int:
        """The count."""
        return int(state[0])

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Count codes."""
        mask = valid_rows(arguments)
        return [pa.array(counts_of(codes, groups) if mask is None else group_sum(mask.astype(np.int64), codes, groups))]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Add counts."""
        return [pa.array(group_sum(as_ints(partials[0]), codes, groups))]

    def subtract_all(self, whole: Columns, part: Columns, inputs: Types) -> Columns:
        """Subtract counts."""
        return [pa.array(as_ints(whole[0]) - as_ints(part[0]))]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """The counts are the results."""
        return partials[0]
