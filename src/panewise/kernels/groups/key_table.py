"""Groups by number: every combination of key values has a small integer, given once and kept while it is in use.

Integers, times, dates and texts, and structs of them, go through compiled hash tables; other values are looked up once
per batch and distinct value. Null is a value of its own, NaN equals NaN and -0.0 equals 0.0, as GROUP BY has it in
Spark SQL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.base import Codes
from panewise.core.columns import INT64, as_column, as_integers, flat, from_integers
from panewise.kernels.groups.text_codes import TextCodes
from panewise.kernels.panes.cells_numba import find_codes, look_up

ROOM = 1 << 12
NEAR = 1 << 16
"""Keys this far above the smallest of the first batch are found without hashing."""
TEXTS = pa.string(), pa.large_string(), pa.binary(), pa.large_binary()

Near: TypeAlias = tuple[Codes, Codes, int]
"""Integers, and the codes of integers by their distance from the third, the lowest; -1 where there is none."""


class IntegerCodes:
    """Codes 0, 1, 2, … of integers in the order they are first seen."""

    def __init__(self) -> None:
        self.count = 0
        self._known = np.empty(ROOM, np.int64)
        self._slots = np.empty(2 * ROOM, np.int64), np.full(2 * ROOM, -1, np.int64)
        self.direct, self.low = np.full(0, -1, np.int64), 0

    @property
    def known(self) -> Codes:
        """The integers by code."""
        return self._known[: self.count]

    def codes(self, integers: Codes) -> Codes:
        """The code of each; new ones are learnt."""
        self._reserve(self.count + min(len(integers), max(self.count, ROOM // 2)))
        if self.count == 0 and len(integers):
            self.direct, self.low = np.full(NEAR, -1, np.int64), max(int(integers.min()), -(1 << 62))
        codes = np.empty(len(integers), np.int64)
        done = 0
        while done < len(integers):  # as many at a time as surely find room
            step = integers[done : done + len(self._known) - self.count]
            self.count = find_codes(step, self.direct, self.low, *self._slots, self._known, self.count,
                                    codes[done : done + len(step)])
            done += len(step)
            if done < len(integers):
                self._reserve(2 * len(self._known))
        return codes

    def known_codes(self, integers: Codes) -> Codes:
        """The code of each, -1 for those that are not known."""
        codes = np.empty(len(integers), np.int64)
        look_up(integers, *self._slots, codes)
        return codes

    def _reserve(self, count: int) -> None:
        if count <= len(self._known):
            return
        size = 1 << int(count - 1).bit_length()
        known = self.known
        self._known = np.empty(size, np.int64)
        self._slots = np.empty(2 * size, np.int64), np.full(2 * size, -1, np.int64)
        nothing = np.empty(0, np.int64)
        self.count = find_codes(known, nothing, 0, *self._slots, self._known, 0, np.empty(len(known), np.int64))


class HashedKeys(ABC):
    """The distinct values of a key column, by a hash table without nulls: null has a code of its own, the first one
    there."""

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self._null = -1

    @property
    def count(self) -> int:
        """How many different values there were, null among them."""
        return self._known + (self._null >= 0)

    def codes(self, column: pa.Array) -> Codes:
        """The code of every row's value."""
        if column.null_count == 0:
            return self._around(self._hashed(column))
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        if self._null < 0:  # values have the codes in which they came, null among them: a saved table is numbered again
            self._hashed(column.slice(0, int(np.argmin(valid))))
            self._null = self._known
        codes = np.full(len(column), self._null, np.int64)
        codes[valid] = self._around(self._hashed(column.filter(pa.array(valid))))
        return codes

    def _around(self, codes: Codes) -> Codes:
        return codes if self._null < 0 else codes + (codes >= self._null)

    @property
    @abstractmethod
    def _known(self) -> int:
        """How many values are in the table."""

    @abstractmethod
    def _hashed(self, column: pa.Array) -> Codes:
        """The place of every value in the table; new ones are learnt."""


class IntegerKeys(HashedKeys):
    """Values that are 64-bit integers underneath."""

    def __init__(self, data_type: pa.DataType) -> None:
        super().__init__(data_type)
        self._integers = IntegerCodes()

    @property
    def _known(self) -> int:
        return self._integers.count

    def _hashed(self, column: pa.Array) -> Codes:
        return self._integers.codes(as_integers(column))

    def near(self, column: pa.Array) -> Near | None:
        """The integers of a column and the table of codes by distance from the lowest; None where nulls are about."""
        if self._null >= 0 or column.null_count:
            return None
        return as_integers(column), self._integers.direct, self._integers.low

    def values(self, codes: Codes) -> pa.Array:
        """Back to the column's type."""
        if self._null >= 0:
            null = codes == self._null
            codes = np.where(null, 0, codes - (codes > self._null))
            known = self._integers.known if self._integers.count else np.zeros(1, np.int64)
            return from_integers(pa.array(known[codes], mask=null), self.type)
        return from_integers(as_column(self._integers.known[codes], INT64), self.type)

class TextKeys(HashedKeys):
    """Texts and bytes."""

    def __init__(self, data_type: pa.DataType) -> None:
        super().__init__(data_type)
        self._texts = TextCodes(data_type)
        self._same = np.arange(ROOM)

    @property
    def _known(self) -> int:
        return self._texts.count

    def _hashed(self, column: pa.Array) -> Codes:
        return self._texts.codes(column)

    def near(self, column: pa.Array) -> Near | None:
        """The codes themselves, which lead to themselves; None where nulls are about or a text is new."""
        if self._null >= 0 or column.null_count:
            return None
        codes = self._texts.known_codes(column)
        if codes is None:
            return None
        if self.count > len(self._same):
            self._same = np.arange(2 * self.count)
        return codes, self._same, 0

    def values(self, codes: Codes) -> pa.Array:
        """Back to the column's type."""
        if self._null < 0:
            return self._texts.values(codes)
        null = codes == self._null
        known = pa.array(codes - (codes > self._null), mask=null)
        return self._texts.values(known)


class StructKeys:
    """Structs, such as windows: a group of their fields, and of whether they are null."""

    def __init__(self, data_type: pa.StructType) -> None:
        self._fields = [data_type.field(i) for i in range(data_type.num_fields)]
        types = [pa.bool_(), *(field.type for field in self._fields)]
        self._groups = KeyTable(pa.schema([(f"{place}", data_type) for place, data_type in enumerate(types)]))

    @property
    def count(self) -> int:
        """Different structs, and null."""
        return len(self._groups)

    def codes(self, column: pa.Array) -> Codes:
        """Those of the fields together; the fields of a null struct are null."""
        parts = [column.is_valid(), *column.flatten()]
        return self._groups.codes(pa.table(parts, schema=self._groups.schema), len(column))

    def values(self, codes: Codes) -> pa.Array:
        """Back to structs."""
        valid, *parts = self._groups.columns(codes)
        return pa.StructArray.from_arrays(parts, fields=self._fields, mask=pc.invert(valid))


class ValueKeys:
    """Any other value: looked up in a dictionary, once per distinct value of a batch."""

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self._code_of: dict[Any, int] = {}
        self._known: list[Any] = []
        self._array = pa.array([], data_type)

    @property
    def count(self) -> int:
        """All values."""
        return len(self._known)

    def codes(self, column: pa.Array) -> Codes:
        """By the batch's own dictionary."""
        if pa.types.is_nested(self.type):
            return np.fromiter((self._code(repr(v), v) for v in column.to_pylist()), np.int64, len(column))
        if not pa.types.is_dictionary(column.type) or column.dictionary.null_count:
            plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            column = plain.dictionary_encode(null_encoding="encode")
        translation = np.fromiter((self._code(v, v) for v in column.dictionary.to_pylist()), np.int64,
                                  len(column.dictionary))
        indices = column.indices
        if indices.null_count:
            translation = np.append(translation, self._code(None, None))
            indices = indices.fill_null(len(translation) - 1)
        codes: Codes = translation[indices.to_numpy(zero_copy_only=False)]
        return codes

    def _code(self, key: Any, value: Any) -> int:
        code = self._code_of.setdefault(key, len(self._known))
        if code == len(self._known):
            self._known.append(value)
        return code

    def values(self, codes: Codes) -> pa.Array:
        """Back to the column's type."""
        if len(self._array) < len(self._known):
            self._array = pa.concat_arrays([self._array, pa.array(self._known[len(self._array) :], self.type)])
        return pc.take(self._array, pa.array(codes))


KeyColumn: TypeAlias = IntegerKeys | TextKeys | StructKeys | ValueKeys
SPARE = 4096
"""So many numbers that nothing holds any more are not worth forgetting."""


class KeyTable:
    """Rows by value as numbers: groups, keys, distinct rows. What nothing holds any more can be forgotten."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.clear()

    def clear(self) -> None:
        """Start again."""
        self._columns = [key_column(field.type) for field in self.schema]
        self._pairs = [IntegerCodes() for _ in self._columns[1:]]
        self._seen = 0

    def __len__(self) -> int:
        return self._seen

    def codes(self, keys: pa.Table, rows: int) -> Codes:
        """The number of every row's group; new groups get the next numbers."""
        if not rows:
            return np.empty(0, np.int64)
        if not self._columns:
            self._seen = max(self._seen, min(rows, 1))
            return np.zeros(rows, np.int64)
        codes = self._columns[0].codes(flat(keys.column(0)))
        for i, (column, pairs) in enumerate(zip(self._columns[1:], self._pairs, strict=True), start=1):
            codes = pairs.codes((codes << 32) | column.codes(flat(keys.column(i))))
        self._seen = self._pairs[-1].count if self._pairs else self._columns[0].count
        return codes

    def columns(self, codes: Codes) -> list[pa.Array]:
        """The key columns of groups."""
        columns: list[pa.Array] = []
        for column, pairs in zip(reversed(self._columns[1:]), reversed(self._pairs), strict=True):
            both = pairs.known[codes]
            columns.append(column.values(both & 0xFFFFFFFF))
            codes = both >> 32
        if self._columns:
            columns.append(self._columns[0].values(codes))
        return columns[::-1]

    def near(self, keys: pa.Table) -> Near | None:
        """For a single key without nulls: the integers in which ``admit`` finds the codes of its rows."""
        if len(self._columns) != 1 or not isinstance(self._columns[0], HashedKeys):
            return None
        return self._columns[0].near(flat(keys.column(0)))

    def values(self, codes: Codes) -> pa.Table:
        """The key columns of groups as a table."""
        return pa.Table.from_arrays(self.columns(codes), schema=self.schema) if len(self.schema) else pa.table({})

    def table(self) -> pa.Table:
        """All groups."""
        return self.values(np.arange(self._seen))

    @property
    def nbytes(self) -> int:
        """Bytes of the values, not of the tables in which they are looked up."""
        return int(self.table().nbytes)

    # -- forgetting

    def crowded(self, used: int) -> bool:
        """Whether most numbers are held by nothing."""
        return len(self) > 4 * used + SPARE

    def load(self, values: pa.Table, rows: int) -> Codes:
        """Start again with these values, each once; the number of each, which need not be its place."""
        self.clear()
        return self.codes(values.combine_chunks(), rows)

    def keep(self, used: Codes) -> Codes:
        """Forget all numbers but these (ascending); the new number of each old one, -1 for those forgotten."""
        moved = np.full(len(self), -1, np.int64)
        moved[used] = self.load(self.values(used), len(used))
        return moved


def by_number(values: Codes, numbers: Codes) -> Codes:
    """Something by number, where the i-th value is that of ``numbers[i]``.

    >>> by_number(np.array([7, 8]), np.array([1, 0])).tolist()
    [8, 7]
    """
    made = np.empty(len(numbers), np.int64)
    made[numbers] = values
    return made


def key_column(data_type: pa.DataType) -> KeyColumn:
    """The fastest way to number values of a type."""
    types = pa.types
    small = types.is_integer(data_type) and data_type != pa.uint64()
    timely = types.is_temporal(data_type) and not types.is_interval(data_type)
    if small or timely or types.is_boolean(data_type) or data_type in (pa.float32(), pa.float64()):
        return IntegerKeys(data_type)
    if data_type in TEXTS:
        return TextKeys(data_type)
    if types.is_struct(data_type) and data_type.num_fields:
        return StructKeys(data_type)
    return ValueKeys(data_type)
