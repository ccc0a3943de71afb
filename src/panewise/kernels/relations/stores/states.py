"""Partial states by number (a group, a block of rows): a new state takes the place of the old one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.core.columns import flat
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import Mask, integers
from panewise.kernels.relations.stores.arena import Growing, Payload

SPARE_STATES = 256
SPARE_BYTES = 1 << 16
"""So many states, and bytes, that were replaced may stay beside those that count before they are swept out."""


class NumberedStates:
    """Rows of state columns by number.

    Columns of integers and floats without nulls are arrays that are written in place. Arrow columns cannot be, so a new
    state of other types is appended and its place noted; replaced ones are swept out when they are the most, counted
    by number and by bytes: one state may be a long list.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        plain = [not f.nullable and f.type in (pa.int64(), pa.float64()) for f in schema]
        self._plain = {i: Growing() for i, is_plain in enumerate(plain) if is_plain}
        self._others = [i for i, is_plain in enumerate(plain) if not is_plain]
        self._rows = Payload(pa.schema([schema.field(i) for i in self._others]))
        self._place = Growing()  # where the row of a number is, 0 if it has none; -1: the number has no state
        self._count, self._bytes, self._swept_bytes = 0, 0, 0

    def __len__(self) -> int:
        return self._count

    def has(self, numbers: Ordinals) -> Mask:
        """Which numbers have a state."""
        found = np.zeros(len(numbers), np.bool_)
        known = numbers < self._place.count
        found[known] = self._place.values[numbers[known]] >= 0
        return found

    def put(self, numbers: Ordinals, columns: Sequence[pa.Array]) -> None:
        """States of different numbers."""
        if not len(numbers):
            return
        self._place.extend_to(int(numbers.max()) + 1, -1)
        self._count += int(np.count_nonzero(self._place.values[numbers] < 0))
        for i, values in self._plain.items():
            values.extend_to(self._place.count, 0)
            values.values[numbers] = columns[i].to_numpy(zero_copy_only=False).view(np.int64)
        first = self._rows.count
        self._place.values[numbers] = np.arange(first, first + len(numbers)) if self._others else 0
        if self._others:
            rows = pa.table([columns[i] for i in self._others], schema=self._rows.schema)
            self._rows.append(rows)
            self._bytes += int(rows.nbytes)
            if self._rows.count > 2 * self._count + SPARE_STATES or self._bytes > 2 * self._swept_bytes + SPARE_BYTES:
                self._sweep()

    def drop(self, numbers: Ordinals) -> None:
        """Numbers that have no state any more."""
        numbers = numbers[self.has(numbers)]
        self._place.values[numbers] = -1
        self._count -= len(numbers)

    def take(self, numbers: Ordinals) -> list[pa.Array]:
        """The states of numbers that have one."""
        columns: list[pa.Array] = [None] * len(self.schema)
        for i, values in self._plain.items():
            taken = values.values[numbers]
            columns[i] = pa.array(taken.view(np.float64) if pa.types.is_floating(self.schema.field(i).type) else taken)
        if self._others:
            places = self._place.values[numbers] if len(numbers) else integers()
            rows = self._rows.take(places)
            for i, column in zip(self._others, rows.columns, strict=True):
                columns[i] = flat(column)
        return columns

    def _sweep(self) -> None:
        there = np.flatnonzero(self._place.values >= 0)
        self._rows.keep(self._place.values[there])
        self._place.values[there] = np.arange(len(there))
        self._bytes = self._swept_bytes = self._rows.nbytes

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return 8 * self._place.count * (1 + len(self._plain)) + self._rows.nbytes

    # -- other numbers, saving

    def table(self, numbers: Ordinals) -> pa.Table:
        """The states of some numbers, which have one."""
        return pa.table(self.take(numbers), schema=self.schema)

    @classmethod
    def of(cls, schema: pa.Schema, numbers: Ordinals, table: pa.Table) -> NumberedStates:
        """What ``table`` gave, under these numbers."""
        made = cls(schema)
        columns = [flat(column) for column in table.columns]
        made.put(numbers, columns)
        return made
