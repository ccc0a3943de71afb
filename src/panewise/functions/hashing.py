"""hash (Murmur3 of 32 bits) and xxhash64, as Spark computes them: column by column, each on the hashes of the last.

Numbers are hashed in one pass. Text goes on by words: as many passes as the longest value has words, each over the rows
that are long enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.frame import Here
from panewise.functions.binding.registry import operator
from panewise.functions.casts.outcome import nulls_of
from panewise.functions.nested.lists import elements_of, sizes_of, starts_of
from panewise.functions.numbers.unscaled import digits_of
from panewise.functions.types import BIGINT, BINARY, INT, STRING, is_decimal, is_float, type_name

Array = np.ndarray[Any, Any]
SEED = 42


class Murmur:
    """32 bits at a time; single bytes at the end of a text are words of their own."""

    type, unsigned = INT, np.uint32
    _C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)

    @staticmethod
    def _turned(values: Array, by: int) -> Array:
        return (values << np.uint32(by)) | (values >> np.uint32(32 - by))

    def _mixed(self, hashes: Array, words: Array) -> Array:
        mixed = hashes ^ (self._turned(words * self._C1, 15) * self._C2)
        return self._turned(mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)

    @staticmethod
    def _final(hashes: Array, length: Array | int) -> Array:
        found: Array = hashes ^ np.asarray(length, np.uint32)
        found = (found ^ (found >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        found = (found ^ (found >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return np.asarray(found ^ (found >> np.uint32(16)))

    def ints(self, values: Array, seeds: Array) -> Array:
        """32-bit numbers."""
        return self._final(self._mixed(seeds, values.astype(np.int32).view(np.uint32)), 4)

    def longs(self, values: Array, seeds: Array) -> Array:
        """64-bit numbers, the low half first."""
        bits = values.astype(np.int64).view(np.uint64)
        low, high = (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
        return self._final(self._mixed(self._mixed(seeds, low), high), 8)

    def texts(self, data: Array, starts: Array, sizes: Array, seeds: Array) -> Array:
        """Bytes: whole words, then the bytes that are left."""
        found = seeds.copy()
        for word in range(int(sizes.max(initial=0)) // 4):
            rows = np.flatnonzero(sizes >= 4 * word + 4)
            found[rows] = self._mixed(found[rows], _words(data, starts[rows] + 4 * word, np.uint32))
        for place in range(3):
            rows = np.flatnonzero(sizes % 4 > place)
            byte = data[starts[rows] + sizes[rows] // 4 * 4 + place].view(np.int8).astype(np.int32).view(np.uint32)
            found[rows] = self._mixed(found[rows], byte)
        return self._final(found, sizes)


class XxHash:
    """64 bits at a time; texts of 32 bytes and more in four lanes."""

    type, unsigned = BIGINT, np.uint64
    _P1, _P2, _P3, _P4, _P5 = (np.uint64(p) for p in (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5))

    @staticmethod
    def _turned(values: Array, by: int) -> Array:
        return (values << np.uint64(by)) | (values >> np.uint64(64 - by))

    def _final(self, hashes: Array) -> Array:
        found = (hashes ^ (hashes >> np.uint64(33))) * self._P2
        found = (found ^ (found >> np.uint64(29))) * self._P3
        return np.asarray(found ^ (found >> np.uint64(32)))

    def _of_int(self, hashes: Array, words: Array) -> Array:
        return self._turned(hashes ^ (words * self._P1), 23) * self._P2 + self._P3

    def _of_long(self, hashes: Array, words: Array) -> Array:
        return self._turned(hashes ^ (self._turned(words * self._P2, 31) * self._P1), 27) * self._P1 + self._P4

    def ints(self, values: Array, seeds: Array) -> Array:
        """32-bit numbers."""
        words = values.astype(np.int32).view(np.uint32).astype(np.uint64)
        return self._final(self._of_int(seeds + self._P5 + np.uint64(4), words))

    def longs(self, values: Array, seeds: Array) -> Array:
        """64-bit numbers."""
        return self._final(self._of_long(seeds + self._P5 + np.uint64(8), values.astype(np.int64).view(np.uint64)))

    def texts(self, data: Array, starts: Array, sizes: Array, seeds: Array) -> Array:
        """Bytes: blocks of 32, words of 8 and 4, then single bytes."""
        found = np.where(sizes >= 32, seeds, seeds + self._P5)
        long = np.flatnonzero(sizes >= 32)
        if len(long):
            found[long] = self._blocks(data, starts[long], sizes[long], seeds[long])
        found = found + sizes.astype(np.uint64)
        done = sizes // 32 * 32
        for _ in range(3):
            rows = np.flatnonzero(sizes - done >= 8)
            found[rows] = self._of_long(found[rows], _words(data, starts[rows] + done[rows], np.uint64))
            done[rows] += 8
        rows = np.flatnonzero(sizes - done >= 4)
        found[rows] = self._of_int(found[rows], _words(data, starts[rows] + done[rows], np.uint32).astype(np.uint64))
        done[rows] += 4
        for _ in range(3):
            rows = np.flatnonzero(sizes > done)
            byte = data[starts[rows] + done[rows]].astype(np.uint64)
            found[rows] = self._turned(found[rows] ^ (byte * self._P5), 11) * self._P1
            done[rows] += 1
        return self._final(found)

    def _blocks(self, data: Array, starts: Array, sizes: Array, seeds: Array) -> Array:
        lanes = [seeds + self._P1 + self._P2, seeds + self._P2, seeds.copy(), seeds - self._P1]
        for block in range(int(sizes.max()) // 32):
            rows = np.flatnonzero(sizes >= 32 * block + 32)
            for number, lane in enumerate(lanes):
                words = _words(data, starts[rows] + 32 * block + 8 * number, np.uint64)
                lane[rows] = self._turned(lane[rows] + words * self._P2, 31) * self._P1
        found = sum((self._turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)),
                    np.zeros(len(seeds), np.uint64))
        for lane in lanes:
            found = (found ^ (self._turned(lane * self._P2, 31) * self._P1)) * self._P1 + self._P4
        return np.asarray(found)


def _words(data: Array, starts: Array, of: Any) -> Array:
    """Little-endian words at places of a buffer."""
    width = np.dtype(of).itemsize
    taken = np.ascontiguousarray(data[starts[:, None] + np.arange(width)])
    return np.asarray(taken.view(of).ravel())


def _hashed(values: pa.Array, seeds: Array, by: Murmur | XxHash) -> Array:
    """The hashes of a column on those of what stands before it; null leaves them as they are."""
    of = values.type
    if t.is_struct(of):
        found = seeds
        for field in values.flatten():
            found = _hashed(field, found, by)
    elif t.is_list(of):
        found = _elements(values, seeds, by)
    elif of in (STRING, BINARY) or (is_decimal(of) and of.precision > 18):
        raw = values if not is_decimal(of) else pa.array(
            [n.to_bytes((n if n >= 0 else ~n).bit_length() // 8 + 1, "big", signed=True)
             for n in digits_of(values).tolist()], BINARY)
        buffers = raw.buffers()
        ends = np.frombuffer(buffers[1], np.int32, len(raw) + 1, raw.offset * 4).astype(np.int64)
        data = np.frombuffer(buffers[2] or b"", np.uint8)
        found = by.texts(data, ends[:-1], np.diff(ends), seeds)
    elif t.is_interval(of):
        found = _interval(values, seeds, by)
    else:
        found = _number(values, seeds, by)
    return np.where(nulls_of(values), seeds, found) if values.null_count else np.asarray(found)


def _number(values: pa.Array, seeds: Array, by: Murmur | XxHash) -> Array:
    of = values.type
    if is_decimal(of):
        return by.longs(np.asarray(digits_of(values)).astype(np.int64), seeds)
    if t.is_null(of):
        return seeds
    plain = values.storage if isinstance(values, pa.ExtensionArray) else values
    if t.is_boolean(of):
        plain = plain.cast(pa.int8())
    elif t.is_date32(of):
        plain = plain.view(INT)
    elif not is_float(of) and of.bit_width == 64:
        plain = plain.view(BIGINT)
    numbers = plain.fill_null(0).to_numpy(zero_copy_only=False)
    if is_float(of):  # both zeros are one, and so is every NaN
        numbers = np.where(np.isnan(numbers), np.array(np.nan, numbers.dtype), numbers + np.array(0, numbers.dtype))
        numbers = np.ascontiguousarray(numbers).view(np.int32 if numbers.dtype == np.float32 else np.int64)
    return by.longs(numbers, seeds) if numbers.dtype == np.int64 else by.ints(numbers, seeds)


def _interval(values: pa.Array, seeds: Array, by: Murmur | XxHash) -> Array:
    """Microseconds, then days, then months."""
    parts = np.dtype([("months", np.int32), ("days", np.int32), ("nanoseconds", np.int64)])
    stored = np.frombuffer(values.buffers()[1], parts, len(values), values.offset * parts.itemsize)
    found = by.longs(stored["nanoseconds"] // 1000, seeds)
    for part in ("days", "months"):
        found = by.ints(stored[part], found)
    return found


def _elements(lists: pa.Array, seeds: Array, by: Murmur | XxHash) -> Array:
    found, sizes, starts, inside = seeds.copy(), sizes_of(lists), starts_of(lists), elements_of(lists)
    for place in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > place)
        found[rows] = _hashed(inside.take(pa.array(starts[rows] + place)), found[rows], by)
    return found


def _has_map(of: pa.DataType) -> bool:
    return bool(t.is_map(of)) or (t.is_nested(of) and any(_has_map(of.field(i).type) for i in range(of.num_fields)))


def _declare(name: str, make: Callable[[], Murmur | XxHash]) -> None:
    by = make()

    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        if not arguments:
            raise binder.error(f"{name} takes at least one value", tree)
        for argument in arguments:
            if _has_map(argument.type):
                raise binder.error(f"{name} does not take {type_name(argument.type)}: equal maps may be stored "
                                   "differently", tree, "hash map_entries() of it")

        def run(*columns: pa.Array, here: Here) -> pa.Array:
            found = np.full(here.rows, SEED, by.unsigned)
            with np.errstate(over="ignore"):
                for column in columns:
                    found = _hashed(column, found, by)
            signed = np.int32 if by.type == INT else np.int64
            return pa.array(np.ascontiguousarray(found).view(signed), by.type)

        return binder.made(by.type, tree, arguments, run, needs_arrays=True)


_declare("hash", Murmur)
_declare("xxhash64", XxHash)
