"""MAX_BY and MIN_BY: a value of the row that is the largest or smallest by other columns.

State: the ordering columns of the chosen row, null before the first, and its value. Rows are compared column by column;
of rows that are equal in all of them the one with the smallest value is chosen (null is the largest), so the result
does not depend on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.arrays import Ints, as_floats, has_long_key, long_keys, plain, plain_type, valid_rows
from panewise.aggregates.base import Aggregate, Codes, Columns, State, Types
from panewise.aggregates.values import is_orderable, ranks_of, sort_key
from panewise.core.errors import AggregateError

NOTHING: State = ()
"""The scalar state before the first row."""


@dataclass(frozen=True)
class MaxBy(Aggregate):
    """``max_by(x, y, …)``: x of the row with the largest y, of equal ones by the next column; null without a y.

    >>> best = MaxBy()
    >>> best.finish(best.add(best.add(best.init(), "cheap", 1), "dear", 9))
    'dear'
    """

    name: ClassVar[str] = "max_by"
    duplicate_insensitive: ClassVar[bool] = True
    arity: ClassVar[int] = 2
    variadic: ClassVar[bool] = True
    extreme: ClassVar[np.ufunc] = np.maximum

    def _types(self, inputs: Types) -> list[pa.DataType]:
        self.check_inputs(inputs)
        types = [plain_type(one) for one in inputs]
        for given, one in zip(inputs, types, strict=True):
            if not is_orderable(one):
                raise AggregateError(f"{self.name} needs values with an order, not {given}: take a field or cast it")
        return types

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """What the chosen row is ordered by, and its value."""
        value, *by = self._types(inputs)
        return [*(pa.field(f"by{i}", one) for i, one in enumerate(by)), pa.field("value", value)]

    def result_type(self, inputs: Types) -> pa.DataType:
        """That of the first argument."""
        return self._types(inputs)[0]

    # -- scalar form ---------------------------------------------------------------------------------------------

    def init(self) -> State:
        """No row."""
        return NOTHING

    def add(self, state: State, *values: Any) -> State:
        """The better of the two; a row with a null in an ordering column is none."""
        value, *by = (v + 0.0 if isinstance(v, float) else v for v in values)
        return state if None in by else self.merge(state, (*by, value))

    def merge(self, left: State, right: State) -> State:
        """The better of the two."""
        if not left or not right:
            return left or right
        ours, theirs = (tuple(map(sort_key, state[:-1])) for state in (left, right))
        if ours != theirs:
            return left if (ours > theirs) == (self.extreme is np.maximum) else right
        return min(left, right, key=lambda state: (state[-1] is None, state[-1] is not None and sort_key(state[-1])))

    def finish(self, state: State) -> Any:
        """The value of the chosen row."""
        return state[-1] if state else None

    def pack(self, state: State, inputs: Types) -> State:
        """Nulls for no row."""
        return state or (None,) * len(inputs)

    def unpack(self, row: State, inputs: Types) -> State:
        """No row where an ordering column is null."""
        return NOTHING if row[0] is None else row

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """The chosen row of each group."""
        value, *by = map(plain, arguments)
        if pa.types.is_floating(value.type):
            value = pc.add(value, pa.scalar(0.0, value.type))  # one zero, whichever came first
        return self._chosen([*by, value], codes, groups)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """The best of the chosen rows."""
        return self._chosen(partials, codes, groups)

    def _chosen(self, columns: Columns, codes: Codes, groups: int) -> Columns:
        *by, value = columns
        valid = valid_rows(by)
        rows: Ints = np.arange(len(codes)) if valid is None else np.flatnonzero(valid)
        for column in by:
            rows = _best(_order(pc.take(column, pa.array(rows))), rows, codes, groups, self.extreme)
        rows = _best(_nulls_last(pc.take(value, pa.array(rows))), rows, codes, groups, np.minimum)
        at = np.full(groups, -1, np.int64)
        at[codes[rows]] = rows
        taken = pa.array(np.where(at < 0, 0, at), mask=at < 0)
        return [pc.take(column, taken) for column in columns]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """The values."""
        return partials[-1]


@dataclass(frozen=True)
class MinBy(MaxBy):
    """``min_by(x, y, …)``: x of the row with the smallest y, of equal ones by the next column; null without a y."""

    name: ClassVar[str] = "min_by"
    extreme: ClassVar[np.ufunc] = np.minimum


def _best(order: npt.NDArray[Any], rows: Ints, codes: Codes, groups: int, extreme: np.ufunc) -> Ints:
    """Those of the rows that are extreme in their group."""
    if not len(rows):
        return rows
    best = np.empty(groups, order.dtype)
    best[codes[rows]] = order  # any of the group to begin with
    extreme.at(best, codes[rows], order)
    kept: Ints = rows[order == best[codes[rows]]]
    return kept


def _order(column: pa.Array) -> npt.NDArray[Any]:
    """Numbers in the order of the values, NaN the largest; no nulls."""
    if has_long_key(column.type):
        return long_keys(column)
    if pa.types.is_floating(column.type):
        floats = as_floats(column)
        if not np.isnan(floats).any():
            return floats
    return ranks_of(column)[0]


def _nulls_last(column: pa.Array) -> npt.NDArray[Any]:
    if not column.null_count:
        return _order(column)
    there = column.is_valid().to_numpy(zero_copy_only=False)
    order = np.full(len(column), len(column), np.int64)
    order[there] = ranks_of(column.drop_null())[0]
    return order
