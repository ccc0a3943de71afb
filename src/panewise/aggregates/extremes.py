"""MIN and MAX of any ordered type, NaN above every number.

Types that are integers underneath (integers, dates, timestamps, booleans, decimals up to 18 digits) and floats keep two
state columns that merge column by column: ``seen`` by maximum, and ``value`` by the function itself, holding its
identity while nothing was seen. ``seen`` is 0 for nothing, else 1 or 2, where 2 is what decides: for MAX that a NaN
was seen, for MIN that a number was. So ``value`` never is NaN. Other types keep one nullable ``value``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.arrays import (
    Ints,
    as_floats,
    as_ints,
    from_long_keys,
    has_long_key,
    long_keys,
    number,
    plain,
    plain_type,
    present,
)
from panewise.aggregates.base import Aggregate, Codes, Columns, Elementwise, State, Types
from panewise.aggregates.values import is_orderable, ranks_of
from panewise.core.errors import AggregateError

SEEN = pa.field("seen", pa.int64(), nullable=False)


@dataclass(frozen=True)
class Extreme(Aggregate):
    """What MIN and MAX share; null without a value."""

    duplicate_insensitive: ClassVar[bool] = True
    sign: ClassVar[int]
    """+1 for MAX, -1 for MIN."""
    nan_level: ClassVar[int]
    """What ``seen`` is when only NaN, or for MAX any NaN, was seen; 3 minus it is the level of numbers."""
    ufunc: ClassVar[np.ufunc]
    operation: ClassVar[Elementwise]
    """How ``value`` merges."""

    def _type(self, inputs: Types) -> pa.DataType:
        self.check_inputs(inputs)
        data_type = plain_type(inputs[0])
        if not (has_long_key(data_type) or pa.types.is_floating(data_type) or is_orderable(data_type)):
            raise AggregateError(f"{self.name} needs values with an order, not {inputs[0]}: take a field or cast it")
        return data_type

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """``seen`` and ``value``, or a nullable ``value`` alone."""
        data_type = self._type(inputs)
        if has_long_key(data_type):
            return [SEEN, pa.field("value", pa.int64(), nullable=False)]
        if pa.types.is_floating(data_type):
            return [SEEN, pa.field("value", pa.float64(), nullable=False)]
        return [pa.field("value", data_type)]

    def result_type(self, inputs: Types) -> pa.DataType:
        """The argument's type."""
        return self._type(inputs)

    def elementwise(self, inputs: Types) -> list[Elementwise] | None:
        """Column by column where the state has two columns."""
        return ["max", self.operation] if len(self.state_fields(inputs)) == 2 else None

    def _identity(self, data_type: pa.DataType) -> int | float:
        if pa.types.is_floating(data_type):
            return -self.sign * inf
        limits = np.iinfo(np.int64)
        return int(limits.min if self.sign > 0 else limits.max)

    # -- scalar form ---------------------------------------------------------------------------------------------

    def init(self) -> State:
        """Nothing seen."""
        return (None,)

    def add(self, state: State, *values: Any) -> State:
        """The more extreme of the two; null changes nothing."""
        (value,) = values
        if isinstance(value, float):
            value += 0.0  # one zero: -0.0 and 0.0 are equal, the result must not depend on which came first
        return self.merge(state, (value,))

    def merge(self, left: State, right: State) -> State:
        """The more extreme of the two, the left of equals."""
        (a,), (b,) = left, right
        if a is None or b is None:
            return right if a is None else left
        if not number(a) or not number(b):  # NaN is the largest
            return left if (not number(a)) == (self.sign > 0) else right
        return right if (b > a if self.sign > 0 else b < a) else left

    def finish(self, state: State) -> Any:
        """The value itself."""
        return state[0]

    def pack(self, state: State, inputs: Types) -> State:
        """``seen`` and the integer or float behind the value."""
        data_type = self._type(inputs)
        if len(self.state_fields(inputs)) == 1:
            return state
        (value,) = state
        identity = self._identity(data_type)
        if value is None:
            return 0, identity
        if not number(value):
            return self.nan_level, identity
        if pa.types.is_floating(data_type):
            return 3 - self.nan_level, value
        return 3 - self.nan_level, int(long_keys(pa.array([value], data_type))[0])

    def unpack(self, row: State, inputs: Types) -> State:
        """The value again."""
        if len(row) == 1:
            return row
        seen, value = row
        data_type = self._type(inputs)
        if seen == 0:
            return (None,)
        if pa.types.is_floating(data_type):
            return (nan if seen == self.nan_level else value,)
        return (from_long_keys(np.array([value], np.int64), data_type)[0].as_py(),)

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """The extreme of each group."""
        data_type = self._type(inputs)
        (array,), codes = present([plain(arguments[0])], codes)
        if len(self.state_fields(inputs)) == 1:
            return [self._ranked(array, codes, groups)]
        seen = np.zeros(groups, np.int64)
        if pa.types.is_floating(data_type):
            floats = as_floats(array)
            missing = np.isnan(floats)
            if missing.any():
                seen[codes[missing]] = self.nan_level
                floats, codes = floats[~missing], codes[~missing]
            value: npt.NDArray[Any] = self._reduce(floats, codes, groups, data_type) + 0.0
        else:
            value = self._reduce(long_keys(array), codes, groups, data_type)
        np.maximum.at(seen, codes, 3 - self.nan_level)
        return [pa.array(seen), pa.array(value)]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """The extreme of the extremes."""
        data_type = self._type(inputs)
        if len(partials) == 1:
            (array,), codes = present(partials, codes)
            return [self._ranked(array, codes, groups)]
        seen = np.zeros(groups, np.int64)
        np.maximum.at(seen, codes, as_ints(partials[0]))
        values = as_floats(partials[1]) if pa.types.is_floating(data_type) else as_ints(partials[1])
        return [pa.array(seen), pa.array(self._reduce(values, codes, groups, data_type))]

    def _reduce(self, values: npt.NDArray[Any], codes: Codes, groups: int, data_type: pa.DataType) -> npt.NDArray[Any]:
        result = np.full(groups, self._identity(data_type), values.dtype)
        self.ufunc.at(result, codes, values)
        return result

    def _ranked(self, array: pa.Array, codes: Codes, groups: int) -> pa.Array:
        """The extreme by rank among the distinct values, for types NumPy cannot compare."""
        ranks, distinct = ranks_of(array)
        best: Ints = np.full(groups, self._identity(pa.int64()), np.int64)
        self.ufunc.at(best, codes, ranks)
        nothing = counts_missing(codes, groups)
        best[nothing] = 0
        return pc.take(distinct, pa.array(best, mask=nothing))

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """Values in their own type, null where nothing was seen."""
        if len(partials) == 1:
            return partials[0]
        data_type = self._type(inputs)
        seen = as_ints(partials[0])
        empty = seen == 0
        if pa.types.is_floating(data_type):
            floats = as_floats(partials[1])
            if (seen == 3 - self.nan_level).all():  # nothing is empty, nothing is NaN
                return pa.array(floats).cast(data_type)
            floats = np.where(seen == self.nan_level, nan, floats)
            return pa.array(np.where(empty, 0.0, floats), mask=empty).cast(data_type)
        return from_long_keys(np.where(empty, 0, as_ints(partials[1])), data_type, empty)


def counts_missing(codes: Codes, groups: int) -> npt.NDArray[np.bool_]:
    """Which groups have no row."""
    missing = np.ones(groups, np.bool_)
    missing[codes] = False
    return missing


@dataclass(frozen=True)
class Max(Extreme):
    """``max(x)``.

    >>> Max().finish(Max().merge((3.0,), (nan,)))
    nan
    """

    name: ClassVar[str] = "max"
    sign: ClassVar[int] = 1
    nan_level: ClassVar[int] = 2
    ufunc: ClassVar[np.ufunc] = np.maximum
    operation: ClassVar[Elementwise] = "max"


@dataclass(frozen=True)
class Min(Extreme):
    """``min(x)``.

    >>> Min().finish(Min().merge((3.0,), (nan,)))
    3.0
    """

    name: ClassVar[str] = "min"
    sign: ClassVar[int] = -1
    nan_level: ClassVar[int] = 1
    ufunc: ClassVar[np.ufunc] = np.minimum
    operation: ClassVar[Elementwise] = "min"
