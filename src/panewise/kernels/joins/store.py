"""The stored rows of one side of a join: found by key and time, left by time.

A row costs its own columns and twenty bytes or so: its time and the number of its key (from which those columns are
made again, so they are not kept twice), a link, and its share of the table of chains.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.joins.columns import Mask, room_for, stored_column
from panewise.kernels.joins.index_numba import Codes32, link, probe, unlink

LOAD = 2
"""Rows per chain, at most, when the table of chains grows."""
SMALLEST = 16


class JoinStore:
    """Rows in the order they came; ``bits`` is how many low bits of a time make a slot (see ``slot_bits``)."""

    def __init__(self, schema: pa.Schema, bits: int) -> None:
        self.schema, self.bits = schema, bits
        self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self._times = np.empty(0, np.int64)
        self._codes = np.empty(0, np.int32)
        self._following = np.empty(0, np.int32)
        self._head = np.full(SMALLEST, -1, np.int32)
        self._matched = np.empty(0, np.bool_)
        self._columns = {field.name: stored_column(field.type) for field in self.schema}

    @property
    def times(self) -> Ordinals:
        """The time of every row."""
        return self._times[: self.rows]

    @property
    def codes(self) -> Codes32:
        """The number of every row's key."""
        return self._codes[: self.rows]

    @property
    def matched(self) -> Mask:
        """Which rows have met a partner; kept up by joins that need it."""
        return self._matched[: self.rows]

    def append(self, codes: Codes32, times: Ordinals, columns: Mapping[str, pa.Array],
               matched: Mask | None = None) -> None:
        """More rows."""
        first, end = self.rows, self.rows + len(times)
        self._times = room_for(self._times, first, end)
        self._codes = room_for(self._codes, first, end)
        self._following = room_for(self._following, first, end)
        self._times[first:end] = times
        self._codes[first:end] = codes
        if matched is not None:
            self._matched = room_for(self._matched, first, end)
            self._matched[first:end] = matched
        for name, column in self._columns.items():
            column.append(columns[name])
        self.rows = end
        if end > LOAD * len(self._head):
            self._rehash()
        else:
            link(self._codes, self._times, first, end, self.bits, self._head, self._following)

    def probe(self, codes: Codes32, lows: Ordinals, highs: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Pairs (row, stored row) of equal key with the stored time in the row's range: by row, then as they came."""
        if not self.rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        found: tuple[Ordinals, Ordinals] = probe(codes, lows, highs, self._codes, self._times, self.bits, self._head,
                                                 self._following)
        return found

    def take(self, name: str, places: Ordinals) -> pa.Array:
        """A column of the rows at some places."""
        return self._columns[name].take(places)

    def keep(self, stay: Mask) -> None:
        """Only the rows that stay, in their order."""
        has_matches = len(self._matched) > 0
        self._times, self._codes = self.times[stay], self.codes[stay]
        if has_matches:
            self._matched = self.matched[stay]
        for column in self._columns.values():
            column.keep(stay)
        self.rows = len(self._times)
        self._following = np.empty(self.rows, np.int32)
        self._rehash()

    def renumber(self, translation: Codes32) -> None:
        """Keys have new numbers."""
        self._codes = translation[self.codes] if self.rows else self._codes
        self._rehash()

    def cut(self, rows: int) -> None:
        """Forget the newest rows: only the first so many stay."""
        if rows < self.rows:
            unlink(self._codes, self._times, rows, self.rows, self.bits, self._head, self._following)
            for column in self._columns.values():
                column.cut(rows)
            self.rows = rows

    def _rehash(self) -> None:
        size = max(SMALLEST, 1 << max(self.rows // LOAD - 1, 0).bit_length())
        self._following = room_for(self._following, 0, len(self._times))
        self._head = np.full(size, -1, np.int32)
        link(self._codes, self._times, 0, self.rows, self.bits, self._head, self._following)

    @property
    def size(self) -> int:
        """The bytes of rows and index."""
        index = (self._times, self._codes, self._following, self._head, self._matched)
        return sum(array.nbytes for array in index) + sum(column.size for column in self._columns.values())

    # -- saving

    def saved(self) -> pa.Table:
        """Everything but the index, which is made again."""
        places = np.arange(self.rows)
        kept = {"time": pa.array(self.times), "code": pa.array(self.codes)}
        if len(self._matched):
            kept["matched"] = pa.array(self.matched)
        return pa.table([*kept.values(), *(column.take(places) for column in self._columns.values())],
                        names=[*kept, *(f"column.{name}" for name in self._columns)])

    def load(self, table: pa.Table) -> None:
        """Become what ``saved`` gave."""
        self._clear()
        if not table.num_rows:
            return
        table = table.combine_chunks()
        columns = {name: table.column(f"column.{name}").chunk(0) for name in self._columns}
        matched = table.column("matched").to_numpy() if "matched" in table.column_names else None
        self.append(table.column("code").to_numpy(), table.column("time").to_numpy(), columns, matched)
