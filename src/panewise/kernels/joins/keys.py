"""Equi-join keys in few bits: what a stored row keeps of its key, and how the columns of the key come back from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.joins.bit_range import NOTHING, BitRange
from panewise.kernels.joins.columns import Mask
from panewise.kernels.joins.index_numba import Words, pack, unpack, unpack_at
from panewise.kernels.key_table import IntegerKeys, key_column

Integers = npt.NDArray[np.int64]
"""Keys as rows of integers."""


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which key columns of both sides are compared; None where equality is not equality of values.

    >>> common_type(pa.int32(), pa.int64()), common_type(pa.int64(), pa.string())
    (DataType(int64), None)
    """
    left, right = (t.value_type if pa.types.is_dictionary(t) else t for t in (left, right))
    for family, wide in ((_is_integer, pa.int64()), (_is_text, pa.string()), (pa.types.is_floating, pa.float64())):
        if family(left) and family(right):
            return wide
    return left if left == right and not pa.types.is_nested(left) and not pa.types.is_null(left) else None


def _is_integer(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(data_type) and data_type != pa.uint64())


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type))


def comes_back(data_type: pa.DataType, common: pa.DataType) -> bool:
    """Whether a column of this type can be made again from the common values: zeros and NaN of floats cannot."""
    return not pa.types.is_floating(common) and not pa.types.is_dictionary(data_type)


class JoinKeys:
    """How keys become words: every column in as many bits as its values in use need, texts by number.

    So a row has its key with it in little room, also where no two rows have the same, and there is no table of keys to
    look into or to tidy up. Both sides of a join pack alike; what does not fit makes all of it packed anew.
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.types = list(types)
        columns = [key_column(t) for t in self.types]
        self._interned = [None if isinstance(column, IntegerKeys) else column for column in columns]
        self.ranges = [NOTHING for _ in self.types]
        self._set()

    def _set(self) -> None:
        self._bases, self._bits = (np.array([getattr(r, what) for r in self.ranges], np.int64)
                                   for what in ("base", "bits"))
        self._first = [sum(r.bits for r in self.ranges[:i]) for i in range(len(self.ranges))]
        self.words = -(-sum(r.bits for r in self.ranges) // 32)

    @property
    def count(self) -> int:
        """How many texts and other values that are no numbers are known."""
        return sum(column.count for column in self._interned if column is not None)

    def integers(self, columns: Sequence[pa.Array], rows: int) -> tuple[Integers, Mask]:
        """Keys as integers, and which rows have one: a row with a null in its key equals none."""
        matrix, valid = np.empty((rows, len(self.types)), np.int64), np.ones(rows, np.bool_)
        for i, (column, data_type, interned) in enumerate(zip(columns, self.types, self._interned, strict=True)):
            typed = _typed(column, data_type)
            if typed.null_count:
                valid &= typed.is_valid().to_numpy(zero_copy_only=False)
            matrix[:, i] = _integers(typed) if interned is None else interned.codes(typed)
        return matrix, valid

    def fit(self, parts: Sequence[Integers]) -> None:
        """Make room for exactly these keys, and some to come."""
        used = [part for part in parts if len(part)]
        lows, highs = (np.array([getattr(part, of)(axis=0) for part in used]) for of in ("min", "max"))
        self.ranges = [BitRange.of(int(lows[:, i].min()), int(highs[:, i].max())) if used else NOTHING
                       for i in range(len(self.types))]
        self._set()

    def packed(self, integers: Integers, valid: Mask) -> Words | None:
        """Keys as words; None where one that is valid does not fit as things are."""
        packed = np.empty((len(integers), self.words), np.uint32)
        return packed if pack(integers, valid, self._bases, self._bits, packed) else None

    def pack(self, integers: Integers) -> Words:
        """Keys as words, of keys that there is room for."""
        packed = self.packed(integers, np.ones(len(integers), np.bool_))
        assert packed is not None
        return packed

    def unpack(self, packed: Words) -> Integers:
        """Words as keys."""
        matrix = np.empty((len(packed), len(self.types)), np.int64)
        for i in range(len(self.types)):
            matrix[:, i] = self._column(i, packed)
        return matrix

    def _column(self, place: int, packed: Words) -> npt.NDArray[np.int64]:
        column: npt.NDArray[np.int64] = unpack(packed, self._first[place], self.ranges[place].bits,
                                               self.ranges[place].base)
        return column

    def column(self, place: int, packed: Words, data_type: pa.DataType) -> pa.Array:
        """The values of one key column."""
        return self._values(place, self._column(place, packed), data_type)

    def column_at(self, place: int, words: Words, before: int, places: Ordinals, data_type: pa.DataType) -> pa.Array:
        """The values of one key column at some places of rows that have so many words before their key."""
        known = self.ranges[place]
        integers = unpack_at(words, places, 32 * before + self._first[place], known.bits, known.base)
        return self._values(place, integers, data_type)

    def _values(self, place: int, integers: npt.NDArray[np.int64], data_type: pa.DataType) -> pa.Array:
        interned = self._interned[place]
        if interned is not None:
            values = interned.values(integers) if interned.count else pa.nulls(len(integers), self.types[place])
        else:
            values = _from_integers(integers, self.types[place])
        return values if values.type == data_type else values.cast(data_type)

    def renumbered(self, parts: Sequence[Words]) -> tuple[JoinKeys, list[Integers]]:
        """Keys that know no other texts than those of these rows, and the rows' integers there."""
        fresh = JoinKeys(self.types)
        found = [fresh.integers([self.column(i, part, t) for i, t in enumerate(self.types)], len(part))[0]
                 for part in parts]
        return fresh, found

    @property
    def size(self) -> int:
        """The bytes of what is kept once for all rows: texts and other values that are no numbers."""
        return 64 * self.count


def _typed(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if column.type == data_type else column.cast(data_type)


def _integers(column: pa.Array) -> npt.NDArray[np.int64]:
    data_type = column.type
    if pa.types.is_floating(data_type):
        floats = column.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        floats[np.isnan(floats)] = np.nan  # one NaN, one zero
        bits: npt.NDArray[np.int64] = floats.view(np.int64)
        return bits
    if pa.types.is_boolean(data_type):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(data_type):
        column = column.view(pa.int64() if data_type.bit_width == 64 else pa.int32())
    if column.null_count:
        column = column.fill_null(0)
    integers: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return integers


def _from_integers(integers: npt.NDArray[np.int64], data_type: pa.DataType) -> pa.Array:
    array = pa.array(np.ascontiguousarray(integers))
    if pa.types.is_floating(data_type):
        return array.view(pa.float64()).cast(data_type)
    if pa.types.is_boolean(data_type):
        return array.cast(pa.int8()).cast(data_type)
    if pa.types.is_temporal(data_type):
        return (array if data_type.bit_width == 64 else array.cast(pa.int32())).view(data_type)
    return array if array.type == data_type else array.cast(data_type)
