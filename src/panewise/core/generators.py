"""Rows of collections: what ``explode``, ``posexplode`` and ``inline`` make of an array or a map, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.arrays import counted_up
from panewise.core.errors import SchemaError
from panewise.core.ordinals import Ordinals


class Generator(Enum):
    """What makes rows of a collection, and of what it makes them."""

    EXPLODE = "explode"        # an element, or a key and its value
    POSEXPLODE = "posexplode"  # the same behind its place, counted from 0
    INLINE = "inline"          # the fields of every struct of an array

    def fields(self, collection: pa.DataType) -> list[pa.Field]:
        """The columns it makes of a collection, under Spark's names.

        >>> [f"{f.name} {f.type}" for f in Generator.POSEXPLODE.fields(pa.map_(pa.string(), pa.int64()))]
        ['pos int32', 'key string', 'value int64']
        """
        if pa.types.is_map(collection) and self is not Generator.INLINE:
            made = [pa.field("key", collection.key_type), pa.field("value", collection.item_type)]
        elif not _is_list(collection):
            wanted = "an array of structs" if self is Generator.INLINE else "an array or a map"
            raise SchemaError(f"{self.value} takes {wanted}, not {collection}")
        elif self is Generator.INLINE:
            if not pa.types.is_struct(collection.value_type):
                raise SchemaError(f"inline takes an array of structs, not {collection}; write explode for its elements")
            made = list(collection.value_type)
        else:
            made = [pa.field("col", collection.value_type)]
        return [pa.field("pos", pa.int32()), *made] if self is Generator.POSEXPLODE else made


@dataclass(frozen=True)
class Elements:
    """The rows of many collections, one after the other."""

    parents: Ordinals
    """The place of the collection each row is of; ascending."""
    index: Ordinals
    """The place of the element in it, from 0."""
    columns: tuple[pa.Array, ...]

    def named(self, names: Sequence[str]) -> tuple[pa.Array, ...]:
        """The columns, one for every name."""
        if len(names) != len(self.columns):
            raise SchemaError(f"{len(names)} names ({', '.join(names)}) for {len(self.columns)} columns that a "
                              "collection makes: name all of them, or none")
        return self.columns


def elements(generator: Generator, collections: pa.Array, *, outer: bool) -> Elements:
    """What a generator makes of a column of collections; null and empty ones have one row of nulls where ``outer``.

    >>> made = elements(Generator.EXPLODE, pa.array([[1, 2], [], None, [7]]), outer=True)
    >>> made.parents.tolist(), made.index.tolist(), made.columns[0].to_pylist()
    ([0, 0, 1, 2, 3], [0, 1, 0, 0, 0], [1, 2, None, None, 7])
    """
    fields = generator.fields(collections.type)
    starts, lengths = _extents(collections)
    counts = np.maximum(lengths, 1) if outer else lengths
    parents = np.repeat(np.arange(len(counts)), counts)
    index = counted_up(np.zeros_like(counts), counts)
    missing = lengths[parents] == 0
    mask = missing if missing.any() else None
    places = pa.array(starts[parents] + index, mask=mask)
    columns = [child.take(places) for child in _children(generator, collections)]
    if generator is Generator.POSEXPLODE:
        columns.insert(0, pa.array(index.astype(np.int32), mask=mask))
    return Elements(parents, index, tuple(column if column.type == field.type else column.cast(field.type)
                                          for column, field in zip(columns, fields, strict=True)))


def _extents(collections: pa.Array) -> tuple[Ordinals, npt.NDArray[np.int64]]:
    """Where each collection begins among the elements of all, and how many it has; null has none."""
    if pa.types.is_fixed_size_list(collections.type):
        size = collections.type.list_size
        starts = (np.arange(len(collections)) + collections.offset) * size
        lengths = np.full(len(collections), size, np.int64)
    else:
        offsets = collections.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        starts, lengths = offsets[:-1], np.diff(offsets)
    if collections.null_count:
        lengths = np.where(collections.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    return starts, lengths


def _children(generator: Generator, collections: pa.Array) -> list[pa.Array]:
    if pa.types.is_map(collections.type):
        return [collections.keys, collections.items]
    if generator is Generator.INLINE:
        found: list[pa.Array] = collections.values.flatten()  # of a struct that is null every field is
        return found
    return [collections.values]


def _is_list(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(data_type) for is_kind in kinds)
