"""Texts by number: codes 0, 1, 2, … in the order they are first seen, from the bytes as Arrow keeps them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.aggregates.base import Codes
from panewise.kernels.groups.texts_numba import Bytes, find_texts

ROOM = 1 << 11
BYTES_EACH = 16
"""Room to begin with for so many texts, and for a text."""


class TextCodes:
    """Distinct texts (or other bytes) without nulls, in a hash table of their own.

    >>> texts = TextCodes(pa.string())
    >>> texts.codes(pa.array(["b", "a", "b"])).tolist(), texts.values(np.array([1, 0])).to_pylist()
    ([0, 1, 0], ['a', 'b'])
    """

    def __init__(self, data_type: pa.DataType) -> None:
        self.type = data_type
        self.count = 0
        self._wide = pa.large_string() if data_type in (pa.string(), pa.large_string()) else pa.large_binary()
        self._offsets = np.zeros(ROOM + 1, np.int64)
        self._data = np.empty(ROOM * BYTES_EACH, np.uint8)
        self._slots = np.empty(2 * ROOM, np.uint64), np.full(2 * ROOM, -1, np.int64)
        self._room = np.empty(0, np.int64)
        self._array: pa.Array | None = None

    def codes(self, texts: pa.Array) -> Codes:
        """The code of each; new ones are learnt."""
        offsets, data = _buffers(texts)
        codes = np.empty(len(texts), np.int64)
        done = 0
        while True:
            more, self.count = self._find(offsets[done:], data, codes[done:], learn=True)
            done += more
            if done == len(texts):
                return codes
            self._grow(int(offsets[done + 1] - offsets[done]))

    def known_codes(self, texts: pa.Array) -> Codes | None:
        """The code of each, if all are known; to be used before the next call, which writes to the same place."""
        if len(self._room) < len(texts):
            self._room = np.empty(len(texts), np.int64)
        codes = self._room[: len(texts)]
        done, _ = self._find(*_buffers(texts), codes, learn=False)
        return codes if done == len(texts) else None

    def _find(self, offsets: Codes, data: Bytes, codes: Codes, *, learn: bool) -> tuple[int, int]:
        done, count = find_texts(offsets, data, *self._slots, self._offsets, self._data, self.count, learn, codes)
        return int(done), int(count)

    def _grow(self, length: int) -> None:
        """Room for twice as many texts and bytes, and for one of this length."""
        offsets, data = self._offsets[: self.count + 1], self._data
        room = 2 * (len(self._offsets) - 1)
        self._offsets = np.zeros(room + 1, np.int64)
        self._data = np.empty(max(2 * len(data), len(data) + length), np.uint8)
        self._slots = np.empty(2 * room, np.uint64), np.full(2 * room, -1, np.int64)
        known, self.count = self.count, 0
        _, self.count = self._find(offsets, data, np.empty(known, np.int64), learn=True)

    def values(self, codes: Codes | pa.Array) -> pa.Array:
        """The texts behind codes; null behind null."""
        if self._array is None or len(self._array) < self.count:
            buffers = [None, pa.py_buffer(self._offsets[: self.count + 1]), pa.py_buffer(self._data)]
            self._array = pa.Array.from_buffers(self._wide, self.count, buffers)
        return self._array.take(codes if isinstance(codes, pa.Array) else pa.array(codes)).cast(self.type)


def _buffers(texts: pa.Array) -> tuple[Codes, Bytes]:
    """Where texts begin, one entry more than there are, and their bytes."""
    _, places, data = texts.buffers()
    wide = texts.type in (pa.large_string(), pa.large_binary())
    width = np.int64 if wide else np.int32
    if len(texts) == 0 or data is None:
        return np.zeros(len(texts) + 1, np.int64), np.empty(0, np.uint8)
    size = np.dtype(width).itemsize
    offsets = np.frombuffer(places, width, len(texts) + 1, size * texts.offset).astype(np.int64)
    return offsets, np.frombuffer(data, np.uint8)
