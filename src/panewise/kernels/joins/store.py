"""The stored rows of one side of a join: found by key and time, left by time.

A row costs its own columns and words of four bytes: a link, its time, its key (from which those columns are made again,
so they are not kept twice), and two to four bytes for its share of the table of chains. A time is a distance from a
common base while all of them are near each other, which rows of a window are, and takes one word.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.joins.columns import Mask, room_for, stored_column
from panewise.kernels.joins.index_numba import (
    Words,
    count_below,
    link,
    probe,
    probe_near,
    read_times_at,
    unlink,
    write_times,
)
from panewise.progress.watermarks import NO_BOUND

LOAD = 2
"""Rows per chain, at most, when the table of chains grows."""
SMALLEST = 16
NEAR = 2**32
"""Times that are less apart than this take one word."""
BEHIND = ("behind", "came in")
"""What bounds are called where they are saved."""

Bounds = npt.NDArray[np.int64]
"""For every row the bound on its time that it came behind, and the largest that any of the rows it is made of did."""


class JoinStore:
    """Rows in the order they came; ``bits`` is how many low bits of a time make a slot (see ``slot_bits``)."""

    def __init__(self, schema: pa.Schema, bits: int) -> None:
        self.schema, self.bits = schema, bits
        self._clear(0)

    def _clear(self, words: int) -> None:
        self.rows = 0
        self._wide, self._base = False, 0
        self._data = np.empty((0, 2 + words), np.uint32)
        self._head = np.full(SMALLEST, -1, np.int32)
        self._matched = np.empty(0, np.bool_)
        self._behind: Bounds | None = None
        self._columns = {field.name: stored_column(field.type) for field in self.schema}

    # -- what is stored

    @property
    def times(self) -> Ordinals:
        """The time of every row."""
        return self.times_at(np.arange(self.rows))

    def times_at(self, places: Ordinals) -> Ordinals:
        """The times of the rows at some places."""
        return read_times_at(self._data, places, self._wide, self._base)

    @property
    def keys(self) -> Words:
        """The key of every row."""
        return np.ascontiguousarray(self._data[: self.rows, self._before :])

    @property
    def words(self) -> tuple[Words, int]:
        """All there is of every row, and how many words come before its key."""
        return self._data, self._before

    @property
    def _before(self) -> int:
        """The words before the key."""
        return 3 if self._wide else 2

    @property
    def matched(self) -> Mask:
        """Which rows have met a partner; kept up by joins that need it."""
        return self._matched[: self.rows]

    @property
    def behind(self) -> Bounds | None:
        """For every row what it came behind (see ``oa_join``); None while no late row is stored."""
        return None if self._behind is None else self._behind[: self.rows]

    def below(self, bound: int) -> int:
        """How many rows have a time below a bound."""
        return int(count_below(self._data, self.rows, self._wide, self._base, bound))

    # -- rows in

    def append(self, keys: Words, times: Ordinals, columns: Mapping[str, pa.Array],
               matched: Mask | None = None, behind: Bounds | None = None) -> None:
        """More rows."""
        if not len(times):
            return
        first, end = self.rows, self.rows + len(times)
        low, high = int(times.min()), int(times.max())
        if not self._wide and not (self._base <= low and high < self._base + NEAR and first):
            self._make_room(low, high)
        if end > len(self._data):
            self._data = room_for(self._data, first, end)
        write_times(self._data, first, times, self._wide, self._base)
        self._data[first:end, self._before :] = keys
        if matched is not None:
            self._matched = room_for(self._matched, first, end)
            self._matched[first:end] = matched
        if behind is not None and self._behind is None and (behind != NO_BOUND).any():
            self._behind = np.full((first, 2), NO_BOUND, np.int64)
        if self._behind is not None:
            self._behind = room_for(self._behind, first, end)
            self._behind[first:end] = NO_BOUND if behind is None else behind
        for name, column in self._columns.items():
            column.append(columns[name])
        self.rows = end
        if end > LOAD * len(self._head):
            self._rehash()
        else:
            link(self._data, first, end, self._wide, self._base, self.bits, self._head)

    def _make_room(self, low: int, high: int) -> None:
        """Times are measured from another base, or take two words."""
        times, keys = self.times, self.keys
        if self.rows:
            low, high = min(low, int(times.min())), max(high, int(times.max()))
        self._lay_out(times, keys, low, high)
        self._rehash()

    def _lay_out(self, times: Ordinals, keys: Words, low: int, high: int) -> None:
        self._wide = high - low >= NEAR
        self._base = 0 if self._wide else low - (NEAR - 1 - (high - low)) // 4  # later ones are more likely
        data = np.empty((len(times), self._before + keys.shape[1]), np.uint32)
        data[:, self._before :] = keys
        write_times(data, 0, times, self._wide, self._base)
        self._data = data

    def probe(self, keys: Words, valid: Mask, lows: Ordinals, highs: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Pairs (row, stored row) of equal key with the stored time in the row's range: by row, then as they came."""
        if not self.rows:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if keys.shape[1] and not self._wide:
            return probe_near(keys, valid, lows, highs, self._data, self._base, self.bits, self._head)
        return probe(keys, valid, lows, highs, self._data, self._wide, self._base, self.bits, self._head)

    def take(self, name: str, places: Ordinals) -> pa.Array:
        """A column of the rows at some places."""
        return self._columns[name].take(places)

    # -- rows out

    def keep(self, stay: Mask) -> None:
        """Only the rows that stay, in their order."""
        if len(self._matched):
            self._matched = self.matched[stay]
        if self._behind is not None:
            behind = self._behind[: self.rows][stay]
            self._behind = behind if (behind != NO_BOUND).any() else None
        for column in self._columns.values():
            column.keep(stay)
        self._data = _chosen(self._data[: self.rows], stay)
        self.rows = len(self._data)
        if self._wide and self.rows:
            times = self.times
            low, high = int(times.min()), int(times.max())
            if high - low < NEAR // 2:
                self._lay_out(times, self.keys, low, high)
        self._rehash()

    def rekey(self, keys: Words) -> None:
        """Keys are packed otherwise."""
        data = np.empty((self.rows, self._before + keys.shape[1]), np.uint32)
        data[:, : self._before] = self._data[: self.rows, : self._before]
        data[:, self._before :] = keys
        self._data = data
        self._rehash()

    def cut(self, rows: int) -> None:
        """Forget the newest rows: only the first so many stay."""
        if rows < self.rows:
            unlink(self._data, rows, self.rows, self._wide, self._base, self.bits, self._head)
            for column in self._columns.values():
                column.cut(rows)
            self.rows = rows

    def _rehash(self) -> None:
        size = max(SMALLEST, 1 << max(self.rows // LOAD - 1, 0).bit_length())
        self._head = np.full(size, -1, np.int32)
        link(self._data, 0, self.rows, self._wide, self._base, self.bits, self._head)

    @property
    def size(self) -> int:
        """The bytes of rows and index."""
        index = (self._data, self._head, self._matched, *([] if self._behind is None else [self._behind]))
        return sum(array.nbytes for array in index) + sum(column.size for column in self._columns.values())

    # -- saving

    def saved(self, keys: Mapping[str, pa.Array]) -> pa.Table:
        """Everything but the index, which is made again; beside it the columns of the key."""
        places = np.arange(self.rows)
        kept = {"time": pa.array(self.times), **keys}
        if len(self._matched):
            kept["matched"] = pa.array(self.matched)
        if self.behind is not None:
            kept |= {name: pa.array(column) for name, column in zip(BEHIND, self.behind.T, strict=True)}
        return pa.table([*kept.values(), *(column.take(places) for column in self._columns.values())],
                        names=[*kept, *(f"column.{name}" for name in self._columns)])

    def load(self, table: pa.Table, keys: Words) -> None:
        """Become what ``saved`` gave."""
        self._clear(keys.shape[1])
        if not table.num_rows:
            return
        table = table.combine_chunks()
        columns = {name: table.column(f"column.{name}").chunk(0) for name in self._columns}
        matched = table.column("matched").to_numpy() if "matched" in table.column_names else None
        behind = np.stack([table.column(name).to_numpy() for name in BEHIND], axis=1) \
            if set(BEHIND) <= set(table.column_names) else None
        self.append(keys, table.column("time").to_numpy(), columns, matched, behind)


def _chosen(data: Words, stay: Mask) -> Words:
    """Some of the rows, each copied as one."""
    whole = data.view(np.dtype((np.void, data.shape[1] * data.itemsize))).ravel()
    return whole[stay].view(np.uint32).reshape(-1, data.shape[1])
