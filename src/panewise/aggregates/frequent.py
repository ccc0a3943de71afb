"""Frequent values in a small state: the frequent-items sketch of Apache DataSketches (Misra and Gries)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import Any, ClassVar

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.arrays import plain, plain_type, present
from panewise.aggregates.base import Codes, Columns, State, Types
from panewise.aggregates.sketches import SKETCH, Sketched
from panewise.aggregates.values import sort_key
from panewise.core.errors import AggregateError

SMALLEST, LARGEST = 3, 26  # what the library takes as the logarithm of the number of counters
ERROR_PER_COUNTER = 3.5
"""The error of a count is at most this share of all rows, by the number of counters."""


@dataclass(frozen=True)
class ApproxHeavyHitters(Sketched):
    """``approx_heavy_hitters(x, phi, error)``: values that may make up the fraction phi of the non-null rows.

    No value that does is missing; one that falls short by at most ``error`` of the rows may be among them, and counts
    are at most so much too large. Exact while a group has few different values. ``error`` is a tenth of phi unless
    given.

    >>> a = ApproxHeavyHitters(0.5)
    >>> a.finish(a.add(a.add(a.add(a.init(), "x"), "y"), "x"))
    [{'item': 'x', 'count': 2}]
    """

    phi: float = 0.01
    error: float | None = None
    name: ClassVar[str] = "approx_heavy_hitters"

    def __post_init__(self) -> None:
        for what, value in (("a fraction", self.phi), ("an error", self.error)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)
                                      or not 0 < value <= 1):
                raise AggregateError(f"{self.name} needs {what} above 0 and at most 1, not {value!r}: "
                                     f"write {self.name}(x, 0.01)")

    @property
    def size(self) -> int:
        """The logarithm of the number of counters."""
        error = self.phi / 10 if self.error is None else self.error
        return min(LARGEST, max(SMALLEST, ceil(log2(ERROR_PER_COUNTER / error))))

    def _type(self, inputs: Types) -> pa.DataType:
        self.check_inputs(inputs)
        data_type = plain_type(inputs[0])
        if pa.types.is_nested(data_type) or pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type):
            raise AggregateError(f"{self.name} needs numbers, texts, booleans or times, not {inputs[0]}")
        return data_type

    def state_fields(self, inputs: Types) -> list[pa.Field]:
        """The sketch."""
        self._type(inputs)
        return [SKETCH]

    def result_type(self, inputs: Types) -> pa.DataType:
        """Items with their counts, the most frequent first."""
        return pa.list_(pa.struct([pa.field("item", self._type(inputs)), pa.field("count", pa.int64())]))

    # -- scalar form ---------------------------------------------------------------------------------------------

    def new(self) -> Any:
        """Of texts."""
        return datasketches.frequent_strings_sketch(self.size)

    @staticmethod
    def read(sketch: bytes) -> Any:
        """Misra and Gries."""
        return datasketches.frequent_strings_sketch.deserialize(sketch)

    def init(self) -> State:
        """An empty sketch, and no value yet to tell the type of the items."""
        return (self.write(self.new()), None)

    def add(self, state: State, *values: Any) -> State:
        """Count the value; null counts nothing."""
        (value,) = values
        if value is None:
            return state
        array = pa.array([value + 0.0 if isinstance(value, float) else value])
        growing = self.read(state[0])
        growing.update(_texts(array)[0])
        return self.write(growing), array.type

    def merge(self, left: State, right: State) -> State:
        """Merge the sketches."""
        return self.union([left[0], right[0]]), right[1] if left[1] is None else left[1]

    def finish(self, state: State) -> list[dict[str, Any]]:
        """All that may reach the fraction."""
        found = self._frequent(state[0])
        items = pa.array([item for item, _ in found], pa.string()).cast(state[1] or pa.string()).to_pylist()
        counted = [{"item": item, "count": count} for item, (_, count) in zip(items, found, strict=True)]
        return sorted(counted, key=lambda entry: (-entry["count"], sort_key(entry["item"])))

    def _frequent(self, sketch: bytes) -> list[tuple[str, int]]:
        held = self.read(sketch)
        least = max(-int(-(Fraction(repr(self.phi)) * int(held.total_weight)) // 1), 1)  # 0.1 is one tenth
        found = held.get_frequent_items(datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES, least - 1)
        return [(item, upper) for item, _, _, upper in found if upper >= least]

    def pack(self, state: State, inputs: Types) -> State:
        """The sketch alone."""
        return state[:1]

    def unpack(self, row: State, inputs: Types) -> State:
        """With the type of the items."""
        return (*row, self._type(inputs))

    # -- columnar form -------------------------------------------------------------------------------------------

    def partials(self, arguments: Sequence[pa.Array], codes: Codes, groups: int, inputs: Types) -> Columns:
        """One sketch per group, updated once per different value."""
        (array,), codes = present([plain(arguments[0])], codes)
        sketches = [self.new() for _ in range(groups)]
        if len(array):
            if pa.types.is_floating(array.type):
                array = pc.add(array, pa.scalar(0.0, array.type))  # one zero
            encoded = array.dictionary_encode()
            places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            texts = _texts(encoded.dictionary)
            pairs, counts = np.unique(codes * len(texts) + places, return_counts=True)
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
                sketches[pair // len(texts)].update(texts[pair % len(texts)], count)
        return [pa.array(list(map(self.write, sketches)), pa.binary())]

    def combine(self, partials: Columns, codes: Codes, groups: int, inputs: Types) -> Columns:
        """Merge per group."""
        return [self.unions(partials[0], codes, groups)]


def _texts(array: pa.Array) -> list[str]:
    texts: list[str] = array.cast(pa.string()).to_pylist()
    return texts
