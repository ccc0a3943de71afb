"""Columns of stored rows: appended at the end, read at any places, cut down when rows leave.

Values of fixed width lie in one growing array, so reading a thousand scattered rows costs a thousand steps whatever the
batches were that brought them. Text and other values stay in Arrow arrays of few, growing sizes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals

Mask = npt.NDArray[np.bool_]
GROWTH = 1.0625
"""How much larger an array gets when it is full: memory counts more here than the time to copy, and rows that leave
make it be copied more often than this does."""
_WIDTHS: dict[int, tuple[Any, pa.DataType]] = {
    8: (np.int8, pa.int8()), 16: (np.int16, pa.int16()), 32: (np.int32, pa.int32()), 64: (np.int64, pa.int64())}


def room_for(array: npt.NDArray[Any], used: int, wanted: int) -> npt.NDArray[Any]:
    """The array, or a larger copy of what is used of it."""
    if wanted <= len(array):
        return array
    larger = np.empty((max(wanted, int(len(array) * GROWTH)) + 16, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


class FixedColumn:
    """Numbers, times and truth values."""

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self._is_bool = pa.types.is_boolean(data_type)
        self._dtype, self._plain = _WIDTHS[8 if self._is_bool else data_type.bit_width]
        self._rows = 0
        self._data = np.empty(0, self._dtype)
        self._valid: Mask | None = None  # while there is no null

    def append(self, values: pa.Array) -> None:
        """Copy them behind the others."""
        end = self._rows + len(values)
        self._data = room_for(self._data, self._rows, end)
        nulls = values.null_count
        plain = values.cast(pa.int8()) if self._is_bool else values.view(self._plain)
        if nulls:
            plain = plain.fill_null(0)
        self._data[self._rows : end] = plain.to_numpy(zero_copy_only=False)
        if nulls and self._valid is None:
            self._valid = np.ones(len(self._data), np.bool_)
        if self._valid is not None:
            self._valid = room_for(self._valid, self._rows, end)
            self._valid[self._rows : end] = values.is_valid().to_numpy(zero_copy_only=False) if nulls else True
        self._rows = end

    def take(self, places: Ordinals) -> pa.Array:
        """The values at some places."""
        data = self._data[places]
        array = pa.array(data) if self._valid is None else pa.array(data, mask=~self._valid[places])
        return array.cast(self.type) if self._is_bool else array.view(self.type)

    def keep(self, stay: Mask) -> None:
        """Only the rows that stay, copied together."""
        self._data = self._data[: self._rows][stay]
        if self._valid is not None:
            self._valid = self._valid[: self._rows][stay]
        self._rows = len(self._data)

    def cut(self, rows: int) -> None:
        """Only the first rows; the rest is overwritten by what comes next."""
        self._rows = rows

    @property
    def size(self) -> int:
        """Data and validity."""
        return self._data.nbytes + (0 if self._valid is None else self._valid.nbytes)


class ArrowColumn:
    """Text and whatever else has no fixed width."""

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self._chunks: list[pa.Array] = []

    def append(self, values: pa.Array) -> None:
        """A chunk more; chunks of like size become one, so that there are few."""
        if not len(values):
            return
        self._chunks.append(values)
        while len(self._chunks) > 1 and len(self._chunks[-2]) <= 2 * len(self._chunks[-1]):
            newest, before = self._chunks.pop(), self._chunks.pop()
            self._chunks.append(pa.concat_arrays([before, newest]))

    def take(self, places: Ordinals) -> pa.Array:
        """From each chunk its own, then in the order asked for."""
        if not len(places):
            return pa.array([], self.type)
        if len(self._chunks) == 1:
            return self._chunks[0].take(pa.array(places))
        starts = np.cumsum([0, *map(len, self._chunks)])
        of_chunk = np.searchsorted(starts, places, side="right") - 1
        order = np.argsort(of_chunk, kind="stable")
        parts = []
        cuts = np.searchsorted(of_chunk[order], np.arange(len(self._chunks) + 1))
        for chunk, start, first, end in zip(self._chunks, starts[:-1], cuts[:-1], cuts[1:], strict=True):
            if first < end:
                parts.append(chunk.take(pa.array(places[order[first:end]] - start)))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_arrays(parts).take(pa.array(back))

    def keep(self, stay: Mask) -> None:
        """Filtered into one chunk."""
        parts, at = [], 0
        for chunk in self._chunks:
            mask = stay[at : at + len(chunk)]
            at += len(chunk)
            if mask.any():
                parts.append(chunk.filter(pa.array(mask)))
        self._chunks = [pa.concat_arrays(parts)] if parts else []

    def cut(self, rows: int) -> None:
        """Sliced."""
        kept, at = [], 0
        for chunk in self._chunks:
            if at < rows:
                kept.append(chunk.slice(0, min(len(chunk), rows - at)))
            at += len(chunk)
        self._chunks = kept

    @property
    def size(self) -> int:
        """Of what is referred to."""
        return sum(chunk.nbytes for chunk in self._chunks)


StoredColumn: TypeAlias = FixedColumn | ArrowColumn


def stored_column(data_type: pa.DataType) -> StoredColumn:
    """The fastest way to keep values of a type."""
    types = pa.types
    fixed = types.is_integer(data_type) or types.is_floating(data_type) or types.is_boolean(data_type) or (
        types.is_temporal(data_type) and not types.is_interval(data_type))
    return FixedColumn(data_type) if fixed else ArrowColumn(data_type)
