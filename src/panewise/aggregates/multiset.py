"""Aggregates of a multiset: exact count distinct, mode, top-k, heavy hitters, and DISTINCT in front of any other.

The state is the group's distinct values with their counts (``values``, ``counts``: two lists of equal length, values
ascending). Holistic, yet invertible: counts subtract (Li 6.2.2 calls such functions pseudo-differential). NaN equals
NaN and -0.0 equals 0.0, as Spark SQL groups them; nulls are not counted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import nan
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from panewise.aggregates.arrays import number, plain, plain_type, present
from panewise.aggregates.base import AggClass, Aggregate, Codes, Columns, State, Types
from panewise.aggregates.values import ValueCounts, is_orderable, sort_key
from panewise.core.arrays import of_each
from panewise.core.errors import AggregateError


@dataclass(frozen=True)
class Multiset(Aggregate):
    """What all of them share; a subclass says how to finish. The scalar state is one dictionary value → count."""

    agg_class: ClassVar[AggClass] = AggClass.HOLISTIC
    invertible: ClassVar[bool] = True

    def value_type(self, inputs: Types) -> pa.DataType:
        """The type of the counted values; a struct for several arguments."""
        self.check_inputs(inputs)
        for data_type in inputs:
            if not is_orderable(plain_type(data_type)):
                raise AggregateError(f"{self.name} cannot compare values of type {data_type}: take a field or cast it")
        if len(inputs) == 1:
            return plain_type(inputs[0])
        return pa.struct([pa.field(f"c{i}", plain_type(t)) for i, t in enumerate(inputs)])

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """Values and counts."""
        return [
            pa.field("values", pa.list_(self.value_type(inputs)), nullable=False),
            pa.field("counts", pa.list_(pa.int64()), nullable=False),
        ]

    # -- scalar form ---------------------------------------------------------------------------------------------

    def init(self) -> State:
        """No value."""
        return ({},)

    def add(self, state: State, *values: Any) -> State:
        """Count one more of the value; rows with a null are left out."""
        if any(v is None for v in values):
            return state
        alike = tuple(map(_alike, values))
        return self.merge(state, ({alike[0] if len(alike) == 1 else alike: 1},))

    def merge(self, left: State, right: State) -> State:
        """Add counts."""
        counts = dict(left[0])
        for value, count in right[0].items():
            counts[value] = counts.get(value, 0) + count
        return ({v: c for v, c in counts.items() if c},)

    def inverse(self, whole: State, part: State) -> State:
        """Subtract counts."""
        return self.merge(whole, ({value: -count for value, count in part[0].items()},))

    def pack(self, state: State, inputs: Types) -> State:
        """Two lists, values ascending."""
        values = sorted(state[0], key=sort_key)
        counts = [state[0][v] for v in values]
        if len(inputs) > 1:
            return [{f"c{i}": part for i, part in enumerate(v)} for v in values], counts
        return values, counts

    def unpack(self, row: State, inputs: Types) -> State:
        """One dictionary."""
        values, counts = row
        if len(inputs) > 1:
            values = [tuple(map(_alike, v.values())) for v in values]
        return (dict(zip(map(_alike, values), counts, strict=True)),)

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """Count values per group."""
        arrays, codes = present([plain(a) for a in arguments], codes)
        return self._state(ValueCounts.of(arrays, codes, groups), inputs)

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Add counts of equal values."""
        held = ValueCounts.from_columns(partials)
        return self._state(ValueCounts.of([held.values], codes[held.owners], groups, held.counts), inputs)

    def subtract_all(self, whole: Columns, part: Columns, inputs: Types) -> Columns:
        """Subtract counts; values that are used up disappear."""
        kept, gone = ValueCounts.from_columns(whole), ValueCounts.from_columns(part)
        values = pa.concat_arrays([kept.values, gone.values])
        owners, counts = np.concatenate([kept.owners, gone.owners]), np.concatenate([kept.counts, -gone.counts])
        return self._state(ValueCounts.of([values], owners, kept.groups, counts), inputs)

    def _state(self, held: ValueCounts, inputs: Types) -> Columns:
        pairs = zip(held.columns(), self.state_fields(inputs), strict=False)  # some keep more than these two
        return [c if c.type == f.type else c.cast(f.type) for c, f in pairs]

    def finish_all(self, partials: Columns, inputs: Types) -> pa.Array:
        """The results of all groups at once."""
        return self.finish_counts(ValueCounts.from_columns(partials), inputs)

    @abstractmethod
    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """The results from the counted values of all groups."""


@dataclass(frozen=True)
class CountDistinct(Multiset):
    """``count(DISTINCT x)``, ``count(DISTINCT x, y)``, exact.

    >>> count = CountDistinct()
    >>> count.finish(({"a": 3, "b": 1},))
    2
    """

    name: ClassVar[str] = "count_distinct"
    duplicate_insensitive: ClassVar[bool] = True
    variadic: ClassVar[bool] = True

    def result_type(self, inputs: Types) -> pa.DataType:
        """Always bigint."""
        self.value_type(inputs)
        return pa.int64()

    def finish(self, state: State) -> int:
        """How many values."""
        return len(state[0])

    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """Lengths of the lists."""
        return pa.array(held.sizes)


@dataclass(frozen=True)
class Mode(Multiset):
    """``mode(x)``: the most frequent value, of equally frequent ones the smallest.

    >>> Mode().finish(({"b": 2, "a": 2, "c": 1},))
    'a'
    """

    name: ClassVar[str] = "mode"

    def result_type(self, inputs: Types) -> pa.DataType:
        """The argument's type."""
        return self.value_type(inputs)

    def finish(self, state: State) -> Any:
        """First by descending count, then by value; null without values."""
        return min(state[0], key=lambda v: (-state[0][v], sort_key(v)), default=None)

    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """The first entry of each group in that order."""
        order = by_count(held)
        empty = held.sizes == 0
        if not len(order):
            return pa.nulls(held.groups, self.result_type(inputs))
        first = order[np.where(empty, 0, held.offsets[:-1])]
        return held.values.take(pa.array(first, mask=empty))


@dataclass(frozen=True)
class Ranking(Multiset):
    """A list of ``struct<item, count>`` by descending count, then by item; empty without values."""

    def result_type(self, inputs: Types) -> pa.DataType:
        """Item and count."""
        return self.list_type(self.value_type(inputs))

    @staticmethod
    def list_type(item: pa.DataType) -> pa.DataType:
        """Items of this type with their counts."""
        return pa.list_(pa.struct([pa.field("item", item), pa.field("count", pa.int64())]))

    @staticmethod
    def ranked(state: State) -> list[dict[str, Any]]:
        """All of them."""
        values = sorted(state[0], key=lambda v: (-state[0][v], sort_key(v)))
        return [{"item": v, "count": state[0][v]} for v in values]

    def lists(self, held: ValueCounts, keep: Any, order: Codes, inputs: Types) -> pa.Array:
        """The lists of all groups: the entries in this order, of those only the ones to keep."""
        chosen = order[keep]
        sizes = np.bincount(held.owners[keep], minlength=held.groups)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]).astype(np.int32)
        items = [held.values.take(pa.array(chosen)), pa.array(held.counts[chosen])]
        structs = pa.StructArray.from_arrays(items, ["item", "count"])
        return pa.ListArray.from_arrays(pa.array(offsets), structs).cast(self.result_type(inputs))


@dataclass(frozen=True)
class TopK(Ranking):
    """``top_k(x, k)``: the k most frequent values, of equally frequent ones the smaller first.

    >>> TopK(1).finish(({"b": 2, "a": 2},))
    [{'item': 'a', 'count': 2}]
    """

    k: int = 10
    name: ClassVar[str] = "top_k"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise AggregateError(f"top_k needs how many values to give, a whole number from 1, not {self.k!r}: "
                                 "write top_k(x, 10)")

    def finish(self, state: State) -> list[dict[str, Any]]:
        """The first k."""
        return self.ranked(state)[: self.k]

    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """Entries at positions below k of each group."""
        position = np.arange(len(held.counts)) - np.repeat(held.offsets[:-1], held.sizes)
        return self.lists(held, position < self.k, by_count(held), inputs)


@dataclass(frozen=True)
class HeavyHitters(Ranking):
    """``heavy_hitters(x, phi)``: values that make up at least the fraction phi of the non-null rows.

    >>> HeavyHitters(0.5).finish(({"a": 5, "b": 4, "c": 1},))
    [{'item': 'a', 'count': 5}]
    """

    phi: float = 0.01
    name: ClassVar[str] = "heavy_hitters"

    def __post_init__(self) -> None:
        if isinstance(self.phi, bool) or not isinstance(self.phi, int | float) or not 0 < self.phi <= 1:
            raise AggregateError(f"heavy_hitters needs a fraction above 0 and at most 1, not {self.phi!r}: "
                                 "write heavy_hitters(x, 0.01)")

    def _threshold(self, total: int) -> int:
        """The smallest count that is enough; phi is taken as the decimal that was written, 0.1 as one tenth."""
        return -int(-(Fraction(repr(self.phi)) * total) // 1)

    def finish(self, state: State) -> list[dict[str, Any]]:
        """All that reach the threshold."""
        threshold = self._threshold(sum(state[0].values()))
        return [entry for entry in self.ranked(state) if entry["count"] >= threshold]

    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """Entries that reach their group's threshold."""
        thresholds = of_each(self._threshold, held.totals)
        order = by_count(held)
        return self.lists(held, held.counts[order] >= thresholds[held.owners], order, inputs)


@dataclass(frozen=True)
class Distinct(Multiset):
    """``f(DISTINCT x)`` of any function f of one argument: f over each value once.

    >>> from panewise.aggregates.sums import Sum
    >>> Distinct(Sum()).finish(({5: 3, 7: 1},))
    12
    """

    function: Aggregate
    name: ClassVar[str] = "distinct"
    duplicate_insensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.function.arity != 1 or self.function.needs_order:
            raise AggregateError(f"{self.function.name}(DISTINCT …) is not possible: DISTINCT needs a function of one "
                                 "argument that does not depend on order")

    def result_type(self, inputs: Types) -> pa.DataType:
        """The function's."""
        self.value_type(inputs)
        return self.function.result_type(inputs)

    def finish(self, state: State) -> Any:
        """Add each value once."""
        inner = self.function.init()
        for value in sorted(state[0], key=sort_key):
            inner = self.function.add(inner, value)
        return self.function.finish(inner)

    def finish_counts(self, held: ValueCounts, inputs: Types) -> pa.Array:
        """The function over the entries."""
        partials = self.function.partials([held.values], held.owners, held.groups, inputs)
        return self.function.finish_all(partials, inputs)


def by_count(held: ValueCounts) -> Codes:
    """Positions of the entries, in each group by descending count; equal counts keep the order of their values."""
    return np.lexsort((-held.counts, held.owners)).astype(np.int64, copy=False)


def _alike(value: Any) -> Any:
    """One representative of values that count as equal: one NaN (a dictionary compares by identity), one zero."""
    if isinstance(value, float):
        return value + 0.0 if number(value) else nan
    return value
