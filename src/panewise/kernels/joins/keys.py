"""Equi-join keys in few bits: what a stored row keeps of its key, and how the columns of the key come back from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.columns import as_integers, from_integers
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import IntegerKeys, key_column
from panewise.kernels.joins.columns import Mask
from panewise.kernels.joins.index_numba import Words, pack, unpack_at

Integers = npt.NDArray[np.int64]
"""Keys as rows of integers."""


LOWEST, HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class BitRange:
    """The integers from ``base`` on that so many ``bits`` can tell apart.

    >>> BitRange.of(0, 65_000), BitRange.of(-1, 1)
    (BitRange(base=0, bits=16), BitRange(base=-3, bits=3))
    """

    base: int
    bits: int

    @classmethod
    def of(cls, low: int, high: int) -> BitRange:
        """A range with these two in it.

        A whole block of numbers where that costs at most a bit: addresses, codes and ports then have their place once
        and for all. Otherwise as much room below as above: it must double before it is left again.
        """
        least = (high - low).bit_length()
        for bits in (least, least + 1):
            base = low >> bits << bits
            if high < base + 2**bits and base >= LOWEST:
                return cls(base, bits) if bits < 64 else WHOLE
        bits = least + 1
        base = low - (2**bits - (high - low + 1)) // 2
        return cls(base, bits) if bits < 64 and base >= LOWEST else WHOLE


WHOLE = BitRange(0, 64)
NOTHING = BitRange(0, 0)
"""Of a column without values."""


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
            matrix[:, i] = as_integers(typed) if interned is None else interned.codes(typed)
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
        known = self.ranges[place]
        return unpack_at(packed, np.arange(len(packed)), self._first[place], known.bits, known.base)

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
            values = from_integers(pa.array(np.ascontiguousarray(integers)), self.types[place])
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
