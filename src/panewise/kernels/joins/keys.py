"""Equi-join keys by number: every combination of values is kept once, for both sides of a join.

A stored row then needs four bytes for its key, whatever the key is made of, and its key columns come back from here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.kernels.joins.columns import GROWTH
from panewise.kernels.joins.index_numba import Codes32, find_keys
from panewise.kernels.key_table import IntegerKeys, key_column

ROOM = 256


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
    """The keys in use; a row with a null in its key equals none and has the number -1."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.types = list(types)
        columns = [key_column(t) for t in self.types]
        self._interned = [None if isinstance(column, IntegerKeys) else column for column in columns]
        self._known = np.empty((ROOM, len(self.types)), np.int64)
        self._slots = np.full(2 * ROOM, -1, np.int32)
        self.count = 0

    def codes(self, columns: Sequence[pa.Array], rows: int) -> Codes32:
        """The number of every row's key; new keys get the next numbers."""
        if not self.types:
            return np.zeros(rows, np.int32)
        matrix = np.empty((rows, len(self.types)), np.int64)
        valid = np.ones(rows, np.bool_)
        for i, (column, data_type, interned) in enumerate(zip(columns, self.types, self._interned, strict=True)):
            typed = _typed(column, data_type)
            if typed.null_count:
                valid &= typed.is_valid().to_numpy(zero_copy_only=False)
            matrix[:, i] = _integers(typed) if interned is None else interned.codes(typed)
        codes = np.empty(rows, np.int32)
        done = 0
        while True:
            self.count, more = find_keys(matrix[done:], valid[done:], self._known, self._slots, self.count,
                                         codes[done:])
            done += more
            if done == rows:
                return codes
            self._grow()

    def _grow(self) -> None:
        """Values need memory and get a little more, slots are cheap and double."""
        known = self._known[: self.count]
        if self.count == len(self._known):
            self._known = np.empty((int(GROWTH * len(known)), len(self.types)), np.int64)
            self._known[: self.count] = known
            return
        self._slots = np.full(2 * len(self._slots), -1, np.int32)
        find_keys(known.copy(), np.ones(len(known), np.bool_), self._known, self._slots, 0,
                  np.empty(len(known), np.int32))

    def column(self, place: int, codes: Codes32, data_type: pa.DataType) -> pa.Array:
        """The values of one key column behind numbers; null behind -1."""
        missing = codes < 0
        integers = self._known[np.where(missing, 0, codes) if missing.any() else codes, place]
        integers[missing] = 0  # the first key may not be there yet
        interned = self._interned[place]
        if interned is not None:
            values = interned.values(integers) if interned.count else pa.nulls(len(codes), self.types[place])
        else:
            values = _from_integers(integers, self.types[place])
        if missing.any():
            values = pc.if_else(pa.array(missing), pa.scalar(None, values.type), values)
        return values if values.type == data_type else values.cast(data_type)

    def kept(self, codes: Codes32) -> tuple[JoinKeys, Codes32]:
        """Only these keys, and the new number of every old one: keys that no stored row has are forgotten."""
        used = np.zeros(self.count, np.bool_)
        used[codes[codes >= 0]] = True
        stay = np.flatnonzero(used).astype(np.int32)
        fresh = JoinKeys(self.types)
        translation = np.full(self.count, -1, np.int32)
        translation[stay] = fresh.codes([self.column(i, stay, t) for i, t in enumerate(self.types)], len(stay))
        return fresh, translation

    @property
    def size(self) -> int:
        """The bytes of the table; interned values at the size of their text."""
        interned = sum(64 * k.count for k in self._interned if k is not None)
        return self._known.nbytes + self._slots.nbytes + interned if self.types else 0


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
