"""Texts by number: a hash table over the bytes of Arrow texts, compiled by numba on first use and cached on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from panewise.core.compiling import compiled
from panewise.kernels.panes.cells_numba import Ints

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]

MIX = np.uint64(0x9E3779B97F4A7C15)
SEED = np.uint64(0xD1B54A32D192ED03)
HALF = np.uint64(32)


def _word(_typing: Any, data: Any, _at: Any) -> Any:
    """Eight bytes as one number, from any place: byte by byte would cost more than all the rest."""
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)
    return types.uint64(data, types.int64), generate


word: Any = intrinsic(_word)

@compiled
def hash_text(data: Bytes, start: int, end: int) -> Any:
    """A number of 64 bits that hardly two texts share, by eight bytes at a time; the last eight may overlap others."""
    found = SEED ^ np.uint64(end - start)
    if end - start >= 8:
        at = start
        while at + 8 < end:
            found = (found ^ word(data, at)) * MIX
            found ^= found >> HALF
            at += 8
        found = (found ^ word(data, end - 8)) * MIX
    else:
        few = np.uint64(0)
        for at in range(start, end):
            few = few << np.uint64(8) | np.uint64(data[at])
        found = (found ^ few) * MIX
    found = (found ^ (found >> HALF)) * MIX  # the last bytes stand high, and slots are taken from the low bits
    return found ^ (found >> HALF)


@compiled
def same_text(left: Bytes, start: int, right: Bytes, other: int, length: int) -> bool:
    """Whether two texts of one length are equal."""
    if length >= 8:
        at = 0
        while at + 8 < length:
            if word(left, start + at) != word(right, other + at):
                return False
            at += 8
        last: bool = word(left, start + length - 8) == word(right, other + length - 8)
        return last
    for at in range(length):  # noqa: SIM110 (compiled: a loop is what it becomes)
        if left[start + at] != right[other + at]:
            return False
    return True


@compiled
def find_texts(offsets: Ints, data: Bytes, slot_hashes: Hashes, slot_codes: Ints, known_offsets: Ints,
               known_data: Bytes, count: int, learn: bool, codes: Ints) -> tuple[int, int]:
    """Codes of texts; returns how far it came and how many texts are known now.

    ``offsets`` are one more than the texts, as in Arrow. It stops at a text that is not known when it is not to
    ``learn``, or when the table has no room for another: a power of two of slots, at most half of them taken.
    """
    mask = np.uint64(len(slot_codes) - 1)
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        number = hash_text(data, start, end)
        slot = number & mask
        code = slot_codes[slot]
        while code >= 0:
            if slot_hashes[slot] == number:
                begin = known_offsets[code]
                if known_offsets[code + 1] - begin == end - start and same_text(data, start, known_data, begin,
                                                                                end - start):
                    break
            slot = (slot + np.uint64(1)) & mask
            code = slot_codes[slot]
        if code < 0:
            begin = known_offsets[count]
            if not learn or 2 * (count + 1) > len(slot_codes) or begin + end - start > len(known_data):
                return i, count
            for at in range(end - start):
                known_data[begin + at] = data[start + at]
            code = count
            known_offsets[code + 1] = begin + end - start
            slot_hashes[slot] = number
            slot_codes[slot] = code
            count += 1
        codes[i] = code
    return len(offsets) - 1, count
