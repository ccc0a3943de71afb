"""Approximate aggregates in small states: distinct counts by HyperLogLog, percentiles by KLL (Apache DataSketches).

States are the sketches' own portable bytes. Errors are bounded by the parameter, not by the number of rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import ceil, log2, nan
from typing import Any, ClassVar

import datasketches
import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import (
    Floats,
    Mask,
    as_floats,
    as_ints,
    from_long_keys,
    is_decimal,
    is_numeric,
    long_keys,
    number,
    plain,
    plain_type,
    present,
)
from panewise.aggregates.base import AggClass, Aggregate, Codes, Columns, State, Types
from panewise.aggregates.exact_sums.exact import group_sum
from panewise.aggregates.exact_sums.totals import EXACT
from panewise.aggregates.quantiles import check_fraction
from panewise.aggregates.values import ValueCounts, is_orderable
from panewise.core.errors import AggregateError
from panewise.core.time import EPOCH

SKETCH = pa.field("sketch", pa.binary(), nullable=False)
HLL_TYPE = datasketches.tgt_hll_type.HLL_4  # half a byte per register
SMALLEST, LARGEST = 7, 21  # what the library takes as the logarithm of the number of registers


@dataclass(frozen=True)
class Sketched(Aggregate):
    """What aggregates share whose state is the bytes of a sketch, first of all."""

    agg_class: ClassVar[AggClass] = AggClass.ALGEBRAIC

    @abstractmethod
    def new(self) -> Any:
        """An empty sketch of the library."""

    @staticmethod
    @abstractmethod
    def read(sketch: bytes) -> Any:
        """A sketch of the library from its bytes."""

    @staticmethod
    def write(sketch: Any) -> bytes:
        """Its bytes."""
        return bytes(sketch.serialize())

    def union(self, sketches: Iterable[bytes]) -> bytes:
        """All of them as one."""
        union = self.new()
        for sketch in sketches:
            union.merge(self.read(sketch))
        return self.write(union)

    def unions(self, sketches: pa.Array, codes: Codes, groups: int) -> pa.Array:
        """One sketch per group; a group with a single one keeps its bytes."""
        members: list[list[bytes]] = [[] for _ in range(groups)]
        for code, sketch in zip(codes.tolist(), sketches.to_pylist(), strict=True):
            members[code].append(sketch)
        empty = self.write(self.new())
        return pa.array([m[0] if len(m) == 1 else self.union(m) if m else empty for m in members], pa.binary())


@dataclass(frozen=True)
class ApproxCountDistinct(Sketched):
    """``approx_count_distinct(x, relative_error)``: the default error, 0.02, takes about 2 kB per group.

    The estimate depends on the set of values alone, not on the order or the cuts in which they came.

    >>> approx = ApproxCountDistinct()
    >>> approx.finish(approx.add(approx.add(approx.init(), "a"), "a"))
    1
    """

    relative_error: float = 0.02
    name: ClassVar[str] = "approx_count_distinct"
    duplicate_insensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.relative_error, bool) or not isinstance(self.relative_error, int | float) \
                or not 0 < self.relative_error < 1:
            raise AggregateError(f"{self.name} needs a relative error between 0 and 1, not {self.relative_error!r}: "
                                 f"write {self.name}(x, 0.05)")
        if self._unbounded_size() > LARGEST:
            raise AggregateError(f"{self.name} cannot be as exact as {self.relative_error}: the smallest relative "
                                 "error is 0.0008; use count(DISTINCT x) for the exact number")

    def _unbounded_size(self) -> int:
        return ceil(2 * log2(1.04 / self.relative_error))

    @property
    def size(self) -> int:
        """The logarithm of the number of registers; the standard error is 1.04 by the root of their number."""
        return max(self._unbounded_size(), SMALLEST)

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """The sketch."""
        self.check_inputs(inputs)
        if not is_orderable(plain_type(inputs[0])):
            raise AggregateError(f"{self.name} cannot compare values of type {inputs[0]}: take a field or cast it")
        return [SKETCH]

    def result_type(self, inputs: Types) -> pa.DataType:
        """Always bigint."""
        self.state_fields(inputs)
        return pa.int64()

    def new(self) -> Any:
        """Half a byte per register."""
        return datasketches.hll_sketch(self.size, HLL_TYPE)

    @staticmethod
    def read(sketch: bytes) -> Any:
        """HyperLogLog."""
        return datasketches.hll_sketch.deserialize(sketch)

    @staticmethod
    def write(sketch: Any) -> bytes:
        """The short form."""
        return bytes(sketch.serialize_compact())

    def init(self) -> State:
        """An empty sketch."""
        return (self.write(self.new()),)

    def add(self, state: State, *values: Any) -> State:
        """Add the value; null adds nothing."""
        return state if values[0] is None else (self._updated(state[0], map(_hashable, values)),)

    def merge(self, left: State, right: State) -> State:
        """Union."""
        return (self.union([left[0], right[0]]),)

    def finish(self, state: State) -> int:
        """The estimate, rounded.

        A sketch that was only ever added to estimates from the order of its updates; a union (here with itself) does
        not, so that equal sets give equal numbers.
        """
        sketch, union = self.read(state[0]), datasketches.hll_union(self.size)
        union.update(sketch)
        union.update(sketch)
        estimate: float = union.get_estimate()
        return round(estimate)

    def _updated(self, sketch: bytes, values: Iterable[Any]) -> bytes:
        growing = self.read(sketch)
        for value in values:
            growing.update(value)
        return self.write(growing)

    def union(self, sketches: Iterable[bytes]) -> bytes:
        """By the library's own union."""
        union = datasketches.hll_union(self.size)
        for sketch in sketches:
            union.update(self.read(sketch))
        return self.write(union.get_result(HLL_TYPE))

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Each distinct value of a group is hashed once."""
        arrays, codes = present([plain(arguments[0])], codes)
        held = ValueCounts.of(arrays, codes, groups)
        values, empty = _hashables(held.values), self.write(self.new())
        pieces = [values[a:b] for a, b in zip(held.offsets[:-1], held.offsets[1:], strict=True)]
        return [pa.array([self._updated(empty, piece) if piece else empty for piece in pieces], pa.binary())]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Unions per group."""
        return [self.unions(partials[0], codes, groups)]


@dataclass(frozen=True)
class ApproxPercentile(Sketched):
    """``approx_percentile(x, fraction, accuracy)``: a value whose rank is off by about 1/accuracy of the rows.

    Numbers, dates and timestamps; integers beyond 2⁵³ are rounded to doubles on the way. Exact while a group has few
    rows; beyond that the sketch drops values at random. State: ``sketch`` of the numbers, and how many were NaN.

    >>> a = ApproxPercentile(0.5)
    >>> a.finish(a.add(a.add(a.add(a.init(), 1), 2), 10))
    2
    """

    fraction: float = 0.5
    accuracy: int = 1000
    name: ClassVar[str] = "approx_percentile"

    def __post_init__(self) -> None:
        check_fraction(self.name, self.fraction)
        if isinstance(self.accuracy, bool) or not isinstance(self.accuracy, int) or not 1 <= self.accuracy <= 10_000:
            raise AggregateError(f"{self.name} needs an accuracy from 1 to 10000, not {self.accuracy!r}: 1000 means "
                                 "that ranks are off by at most about a thousandth")

    @property
    def size(self) -> int:
        """The parameter k of KLL; its rank error is about 2.3 / k^0.97."""
        return int(max(8, min(65535, ceil((2.3 * self.accuracy) ** (1 / 0.97)))))

    def _type(self, inputs: Types) -> pa.DataType:
        self.check_inputs(inputs)
        data_type = plain_type(inputs[0])
        if not (is_numeric(data_type) or pa.types.is_date(data_type) or pa.types.is_timestamp(data_type)):
            raise AggregateError(f"{self.name} needs numbers, dates or timestamps, not {inputs[0]}: cast the argument")
        return data_type

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """The sketch and the number of NaN."""
        self._type(inputs)
        return [SKETCH, pa.field("nans", pa.int64(), nullable=False)]

    def result_type(self, inputs: Types) -> pa.DataType:
        """The argument's type."""
        return self._type(inputs)

    # -- scalar form ---------------------------------------------------------------------------------------------

    def new(self) -> Any:
        """Of doubles."""
        return datasketches.kll_doubles_sketch(self.size)

    @staticmethod
    def read(sketch: bytes) -> Any:
        """KLL."""
        return datasketches.kll_doubles_sketch.deserialize(sketch)

    def init(self) -> State:
        """An empty sketch, no NaN, and no value yet to tell what kind of value the result is."""
        return (self.write(self.new()), 0, None)

    def add(self, state: State, *values: Any) -> State:
        """Add the value; null adds nothing."""
        (value,) = values
        if value is None:
            return state
        sketch, nans, _ = state
        if not number(value):
            return sketch, nans + 1, value
        growing = self.read(sketch)
        growing.update(_to_double(value))
        return self.write(growing), nans, value

    def merge(self, left: State, right: State) -> State:
        """Merge the sketches."""
        return self.union([left[0], right[0]]), left[1] + right[1], right[2] if left[2] is None else left[2]

    def finish(self, state: State) -> Any:
        """The smallest value that at least the fraction of all rows does not exceed."""
        found = self._quantile(state[0], state[1])
        return found if found is None or not number(found) else _from_double(found, state[2])

    def _quantile(self, sketch: bytes, nans: int) -> float | None:
        held = self.read(sketch)
        total = held.n + nans
        if total == 0:
            return None
        rank = self.fraction * total / held.n if held.n else 2.0
        return nan if rank > 1 else float(held.get_quantile(rank, True))

    def pack(self, state: State, inputs: Types) -> State:
        """The sketch and the number of NaN."""
        return state[:2]

    def unpack(self, row: State, inputs: Types) -> State:
        """With a value of the argument's type beside it."""
        return (*row, _typed(np.zeros(1), None, self._type(inputs))[0].as_py())

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """One sketch per group, each updated by one array."""
        (array,), codes = present([plain(arguments[0])], codes)
        values = _doubles(array)
        missing = np.isnan(values)
        nans = np.bincount(codes[missing], minlength=groups).astype(np.int64)
        values, codes = values[~missing], codes[~missing]
        order = np.argsort(codes, kind="stable")
        values, ends = values[order], np.cumsum(np.bincount(codes, minlength=groups))
        sketches, start = [], 0
        for end in ends.tolist():
            sketch = self.new()
            sketch.update(values[start:end])
            sketches.append(self.write(sketch))
            start = end
        return [pa.array(sketches, pa.binary()), pa.array(nans)]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Merge per group."""
        nans = group_sum(as_ints(partials[1]), codes, groups)
        return [self.unions(partials[0], codes, groups), pa.array(nans)]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """Quantiles in the argument's type."""
        rows = zip(partials[0].to_pylist(), partials[1].to_pylist(), strict=True)
        found = [self._quantile(sketch, nans) for sketch, nans in rows]
        empty = np.array([f is None for f in found], np.bool_)
        return _typed(np.array([0.0 if f is None else f for f in found]), empty, self._type(inputs))


def _hashable(value: Any) -> int | float | str:
    """What the library hashes; values that count as equal must agree. It ignores an empty text, so none is."""
    if isinstance(value, Decimal):
        whole = value == value.to_integral_value() and abs(value) < 1 << 63
        return int(value) if whole else str(value.normalize(EXACT))
    if isinstance(value, float):
        return value + 0.0 if number(value) else nan
    if isinstance(value, int):
        return int(value) if abs(value) < 1 << 63 else str(value)
    return f"={value.hex() if isinstance(value, bytes) else value}"


def _hashables(array: pa.Array) -> list[Any]:
    """The same for a column whose NaN and zero are unique already."""
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        plain_values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
        return plain_values
    return list(map(_hashable, array.to_pylist()))


# Percentile sketches hold numbers as doubles, dates as days and timestamps as microseconds, whatever the column's unit.


def _doubles(array: pa.Array) -> Floats:
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz), safe=False)
    elif pa.types.is_date64(array.type):
        array = array.cast(pa.date32())
    return long_keys(array).astype(np.float64) if pa.types.is_temporal(array.type) else as_floats(array)


def _typed(found: Floats, empty: Mask | None, data_type: pa.DataType) -> pa.Array:
    if pa.types.is_floating(data_type) or is_decimal(data_type):
        return pa.array(found, mask=empty).cast(data_type, safe=False)
    whole = np.clip(found, -(2.0**63), 2.0**63 - 1024).astype(np.int64)
    if pa.types.is_timestamp(data_type):
        return from_long_keys(whole, pa.timestamp("us", data_type.tz), empty).cast(data_type)
    if pa.types.is_date(data_type):
        return from_long_keys(whole, pa.date32(), empty).cast(data_type)
    return from_long_keys(whole, data_type, empty)


def _to_double(value: Any) -> float:
    if isinstance(value, datetime):
        return (value - _epoch(value)) / timedelta(microseconds=1)
    return float(value.toordinal() - EPOCH.toordinal()) if isinstance(value, date) else float(value)


def _from_double(found: float, like: Any) -> Any:
    if isinstance(like, datetime):
        moment = _epoch(like) + timedelta(microseconds=found)
        return moment if like.tzinfo is None else moment.astimezone(like.tzinfo)
    if isinstance(like, date):
        return date.fromordinal(int(found) + EPOCH.toordinal())
    if isinstance(like, Decimal):
        return Decimal(found).quantize(Decimal(1).scaleb(int(like.as_tuple().exponent)), context=EXACT)
    return int(found) if isinstance(like, int) else found


def _epoch(like: datetime) -> datetime:
    return EPOCH if like.tzinfo is not None else EPOCH.replace(tzinfo=None)
