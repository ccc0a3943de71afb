"""Distinct values of a column: ranked, hashed alike, and as sorted lists per group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.arrays import Ints, as_ints, is_numeric
from panewise.aggregates.base import Codes
from panewise.core.columns import as_integers, from_integers


def is_orderable(data_type: pa.DataType) -> bool:
    """Whether values have an order that Arrow and Python agree on."""
    types = pa.types
    return bool(
        is_numeric(data_type) or types.is_boolean(data_type) or types.is_null(data_type)
        or (types.is_temporal(data_type) and not types.is_interval(data_type))
        or types.is_string(data_type) or types.is_large_string(data_type)
        or types.is_binary(data_type) or types.is_large_binary(data_type)
    )


def one_nan_one_zero(array: pa.Array) -> pa.Array:
    """Floats with one NaN and without negative zero, as Spark SQL groups them; other types as they are."""
    if not pa.types.is_floating(array.type):
        return array
    return from_integers(pa.array(as_integers(array)), array.type)


def ranks_of(array: pa.Array) -> tuple[Ints, pa.Array]:
    """The rank of each value among the distinct ones, and these in ascending order; no nulls, NaN is last.

    >>> ranks, distinct = ranks_of(pa.array(["b", "a", "b"]))
    >>> ranks, distinct.to_pylist()
    (array([1, 0, 1]), ['a', 'b'])
    """
    array = one_nan_one_zero(array)
    if pa.types.is_null(array.type):
        return np.empty(0, np.int64), array
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        distinct, ranks = np.unique(array.to_numpy(zero_copy_only=False), return_inverse=True)
        return ranks.astype(np.int64, copy=False), pa.array(distinct, array.type)
    encoded = array.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary)
    position = np.empty(len(order), np.int64)
    position[as_ints(order)] = np.arange(len(order))
    return position[as_ints(encoded.indices)], encoded.dictionary.take(order)


def ranks_of_rows(arrays: Sequence[pa.Array]) -> tuple[Ints, pa.Array]:
    """The same for rows of several columns; the distinct values are structs ``c0, c1, …``."""
    if len(arrays) == 1 and not pa.types.is_struct(arrays[0].type):
        return ranks_of(arrays[0])
    if len(arrays) == 1:
        arrays = arrays[0].flatten()
    ranked = [ranks_of(array) for array in arrays]
    combined = ranked[0][0]
    for ranks, distinct in ranked[1:]:
        # renumbering after each column keeps the product of two counts within int64
        combined = np.unique(combined, return_inverse=True)[1] * len(distinct) + ranks
    _, first, rows = np.unique(combined, return_index=True, return_inverse=True)
    taken = [distinct.take(pa.array(ranks[first])) for ranks, distinct in ranked]
    return rows.astype(np.int64, copy=False), pa.StructArray.from_arrays(taken, [f"c{i}" for i in range(len(taken))])


@dataclass(frozen=True)
class ValueCounts:
    """Per group the distinct values in ascending order with their numbers of occurrences.

    The entries of all groups one after the other; ``offsets[g] … offsets[g + 1]`` are those of group g.
    """

    offsets: Ints
    values: pa.Array
    counts: Ints

    @classmethod
    def of(cls, values: Sequence[pa.Array], codes: Codes, groups: int, weights: Ints | None = None) -> ValueCounts:
        """Count values per group; an entry whose weights add up to nothing is left out."""
        ranks, distinct = ranks_of_rows(values)
        keys = codes * max(len(distinct), 1) + ranks
        if weights is None:
            entries, counts = np.unique(keys, return_counts=True)
            counts = counts.astype(np.int64, copy=False)
        else:
            entries, at = np.unique(keys, return_inverse=True)
            counts = np.zeros(len(entries), np.int64)
            np.add.at(counts, at, weights)
            entries, counts = entries[counts != 0], counts[counts != 0]
        owners, ranks = np.divmod(entries, max(len(distinct), 1))
        offsets = np.searchsorted(owners, np.arange(groups + 1)).astype(np.int64)
        return cls(offsets, distinct.take(pa.array(ranks)), counts)

    @classmethod
    def from_columns(cls, columns: Sequence[pa.Array]) -> ValueCounts:
        """Read two list columns."""
        values, counts = columns
        lengths = as_ints(pc.list_value_length(counts))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return cls(offsets, values.flatten(), as_ints(counts.flatten()))

    def columns(self) -> list[pa.Array]:
        """Two list columns: values and counts."""
        offsets = pa.array(self.offsets.astype(np.int32))
        return [pa.ListArray.from_arrays(offsets, child) for child in (self.values, pa.array(self.counts))]

    @property
    def groups(self) -> int:
        """How many groups."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """How many distinct values each group has."""
        sizes: Ints = np.diff(self.offsets)
        return sizes

    @property
    def owners(self) -> Codes:
        """The group of each entry."""
        return np.repeat(np.arange(self.groups, dtype=np.int64), self.sizes)

    @property
    def totals(self) -> Ints:
        """How many rows each group has."""
        totals = np.zeros(self.groups, np.int64)
        np.add.at(totals, self.owners, self.counts)
        return totals


def sort_key(value: Any) -> tuple[bool, Any]:
    """Orders Python values as ``ranks_of`` does: NaN last.

    >>> sorted([float("nan"), 2.0, 1.0], key=sort_key)
    [1.0, 2.0, nan]
    """
    if isinstance(value, tuple):
        return False, tuple(map(sort_key, value))
    return (True, 0) if value != value else (False, value)  # noqa: PLR0124  (only NaN differs from itself)
