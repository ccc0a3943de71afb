"""The compiled steps of a join: packing keys, linking rows into chains by key and time slot, and probing.

A stored row is a few 32-bit words side by side, so that looking at it costs one place in memory: a link, its time, and
its key. A chain holds the stored rows of one (key, time slot). Slots are as wide as the window predicate, so the
partners of a row lie in at most two of them, however long a key lives: no chain grows with the state, only with what
can match.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals

Words = npt.NDArray[np.uint32]
"""Rows of 32-bit words."""
Heads = npt.NDArray[np.int32]

FEW = 24
"""Up to so many partners are sorted by insertion."""


@compiled(inline="always")
def _mixed(value):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Every bit of the input in the high bits of the output (Stafford's mix 13)."""
    x = np.uint64(value)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(inline="always")
def _hashed(rows, i, first):  # type: ignore[no-untyped-def]  # pragma: no cover
    """A number for the key in the words from ``first`` on."""
    width = rows.shape[1] - first
    if width == 1:  # the usual key
        return np.uint64(rows[i, first])
    h = np.uint64(0)
    for at in range(first, first + width):
        h = (h ^ np.uint64(rows[i, at])) * np.uint64(0x9FB21C651E98DF25)
        h ^= h >> np.uint64(32)
    return h


@compiled(inline="always")
def _place(key, slot, mask):  # type: ignore[no-untyped-def]  # pragma: no cover
    return np.int64(_mixed(np.uint64(slot) * np.uint64(0x9E3779B97F4A7C15) ^ key) & np.uint64(mask))


@compiled(inline="always")
def _time(rows, i, wide, base):  # type: ignore[no-untyped-def]  # pragma: no cover
    if wide:
        return np.int64(np.uint64(rows[i, 1]) | np.uint64(rows[i, 2]) << np.uint64(32))
    return base + np.int64(rows[i, 1])


@compiled
def pack(integers: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_], bases: npt.NDArray[np.int64],
         bits: npt.NDArray[np.int64], packed: Words) -> bool:
    """Each row's integers, less their bases, side by side in as many bits as they have; whether all valid ones fit."""
    over = np.uint64(0)
    if len(bits) == 1 and 0 < bits[0] <= 32:  # the usual key
        base, above = np.uint64(bases[0]), np.uint64(bits[0])
        for i in range(len(integers)):
            left = np.uint64(integers[i, 0]) - base
            packed[i, 0] = np.uint32(left)
            over |= np.uint64(valid[i]) * (left >> above)
        return bool(over == 0)
    for i in range(len(integers)):
        at = 0
        for word in range(packed.shape[1]):
            packed[i, word] = 0
        for c in range(len(bits)):
            left = np.uint64(integers[i, c]) - np.uint64(bases[c])
            still = bits[c]
            while still > 0:
                begin = at & 31
                taken = min(32 - begin, still)
                part = left & ((np.uint64(1) << np.uint64(taken)) - np.uint64(1))
                packed[i, at >> 5] |= np.uint32(part << np.uint64(begin))
                left >>= np.uint64(taken)
                at += taken
                still -= taken
            if valid[i]:
                over |= left
    return bool(over == 0)


@compiled(inline="always")
def _unpacked(packed, i, first, bits):  # type: ignore[no-untyped-def]  # pragma: no cover
    at, done, value = first, 0, np.uint64(0)
    while done < bits:
        begin = at & 31
        taken = min(32 - begin, bits - done)
        part = np.uint64(packed[i, at >> 5]) >> np.uint64(begin)
        value |= (part & ((np.uint64(1) << np.uint64(taken)) - np.uint64(1))) << np.uint64(done)
        at += taken
        done += taken
    return value


@compiled
def unpack_at(packed: Words, places: Ordinals, first: int, bits: int, base: int) -> npt.NDArray[np.int64]:
    """One column of the packed integers at some places, which begins at a bit."""
    found = np.empty(len(places), np.int64)
    for i in range(len(places)):
        found[i] = np.int64(_unpacked(packed, places[i], first, bits) + np.uint64(base))
    return found


@compiled
def write_times(rows: Words, first: int, times: Ordinals, wide: bool, base: int) -> None:
    """The times of rows from ``first`` on: in two words, or in one as the distance from a base."""
    for i in range(len(times)):
        if wide:
            rows[first + i, 1] = np.uint32(np.uint64(times[i]) & np.uint64(0xFFFFFFFF))
            rows[first + i, 2] = np.uint32(np.uint64(times[i]) >> np.uint64(32))
        else:
            rows[first + i, 1] = np.uint32(times[i] - base)


@compiled
def read_times_at(rows: Words, places: Ordinals, wide: bool, base: int) -> Ordinals:
    """The times of the rows at some places."""
    found = np.empty(len(places), np.int64)
    for i in range(len(places)):
        found[i] = _time(rows, places[i], wide, base)
    return found


@compiled
def link(rows: Words, first: int, end: int, wide: bool, base: int, bits: int, head: Heads) -> None:
    """Put rows ``first`` to ``end`` in front of their chains."""
    mask = len(head) - 1
    key = 3 if wide else 2
    for i in range(first, end):
        at = _place(_hashed(rows, i, key), _time(rows, i, wide, base) >> bits, mask)
        rows[i, 0] = np.uint32(head[at])
        head[at] = i


@compiled
def unlink(rows: Words, first: int, end: int, wide: bool, base: int, bits: int, head: Heads) -> None:
    """Take the newest rows out of their chains again."""
    mask = len(head) - 1
    key = 3 if wide else 2
    for i in range(end - 1, first - 1, -1):
        head[_place(_hashed(rows, i, key), _time(rows, i, wide, base) >> bits, mask)] = np.int32(rows[i, 0])


@compiled(inline="always")
def _with_room(found):  # type: ignore[no-untyped-def]  # pragma: no cover
    more = np.empty(2 * len(found), np.int64)
    more[: len(found)] = found
    return more


@compiled(inline="always")
def _by_age(found, begin, count):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Put the partners of a row in order: chains are from young to old, so this is mostly turning round."""
    left, right = begin, count - 1
    while left < right:
        found[left], found[right] = found[right], found[left]
        left += 1
        right -= 1
    if count - begin > FEW:
        for later in range(begin + 1, count):
            if found[later - 1] > found[later]:
                found[begin:count].sort()
                break
    else:
        for later in range(begin + 1, count):
            moved = found[later]
            place = later
            while place > begin and found[place - 1] > moved:
                found[place] = found[place - 1]
                place -= 1
            found[place] = moved


@compiled
def probe(keys: Words, valid: npt.NDArray[np.bool_], lows: Ordinals, highs: Ordinals, stored: Words, wide: bool,
          base: int, bits: int, head: Heads) -> tuple[Ordinals, Ordinals]:
    """All pairs (row, stored row) of equal key whose stored time is within the row's range; by row, then by age."""
    mask = len(head) - 1
    first = 3 if wide else 2
    width = keys.shape[1]
    flat, step = stored.ravel(), np.int64(stored.shape[1])
    rows = np.empty(len(keys) + 16, np.int64)
    found = np.empty(len(keys) + 16, np.int64)
    count = 0
    for i in range(len(keys)):
        low, high = lows[i], highs[i]
        if not valid[i] or low > high:
            continue
        begin = count
        key, word = _hashed(keys, i, 0), keys[i, 0] if width else np.uint32(0)
        for slot in range(high >> bits, (low >> bits) - 1, -1):  # the young first, so that all are from young to old
            # of the slot and the range together, so that one look at a time is enough
            least, most = max(low, slot << bits), min(high, (slot << bits) + ((1 << bits) - 1))
            at = np.int64(head[_place(key, slot, mask)])
            while at >= 0:
                row = at * step
                if width == 0 or flat[row + first] == word:
                    time = base + np.int64(flat[row + 1])
                    if wide:
                        time = np.int64(np.uint64(flat[row + 1]) | np.uint64(flat[row + 2]) << np.uint64(32))
                    same = least <= time <= most
                    for c in range(1, width):
                        same &= flat[row + first + c] == keys[i, c]
                    if same:
                        if count == len(found):
                            rows, found = _with_room(rows), _with_room(found)
                        rows[count] = i
                        found[count] = at
                        count += 1
                at = np.int64(np.int32(flat[row]))
        _by_age(found, begin, count)
    return rows[:count], found[:count]


@compiled(inline="always")
def _probe_near(keys, valid, lows, highs, stored, base, bits, head, width):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Both chains of a row as one, and a stored row written down whatever it is, counted only if it is a partner.

    What is done in vain costs less than what the processor could not foretell.
    """
    mask = len(head) - 1
    flat, step = stored.ravel(), 2 + width
    end = base + np.int64(0xFFFFFFFF)
    rows = np.empty(len(keys) + 16, np.int64)
    found = np.empty(len(keys) + 16, np.int64)
    count = 0
    for i in range(len(keys)):
        low, high = max(lows[i], base), min(highs[i], end)
        if not valid[i] or low > high:
            continue
        begin = count
        since, span = np.uint32(low - base), np.uint32(high - low)
        key, word = _hashed(keys, i, 0), keys[i, 0]
        at = np.int64(head[_place(key, high >> bits, mask)])
        then = np.int64(head[_place(key, low >> bits, mask)])
        if then == at:  # one slot, or two in one chain
            then = np.int64(-1)
        if at < 0:
            at, then = then, np.int64(-1)
        while at >= 0:
            if count == len(found):
                rows, found = _with_room(rows), _with_room(found)
            row = at * step
            same = (flat[row + 2] == word) & (np.uint32(flat[row + 1] - since) <= span)
            if width > 1 and same:
                for c in range(1, width):
                    same &= flat[row + 2 + c] == keys[i, c]
            found[count] = at
            rows[count] = i
            count += int(same)
            at = np.int64(np.int32(flat[row]))
            if at < 0:
                at, then = then, np.int64(-1)
        _by_age(found, begin, count)
    return rows[:count], found[:count]


@compiled
def probe_near(keys: Words, valid: npt.NDArray[np.bool_], lows: Ordinals, highs: Ordinals, stored: Words,
               base: int, bits: int, head: Heads) -> tuple[Ordinals, Ordinals]:
    """The same where there is a key and times take one word: the usual case, and most of what a join does."""
    pairs: tuple[Ordinals, Ordinals]
    if keys.shape[1] == 1:  # most keys are one word; that it is known makes a loop of its own
        pairs = _probe_near(keys, valid, lows, highs, stored, base, bits, head, 1)
    else:
        pairs = _probe_near(keys, valid, lows, highs, stored, base, bits, head, keys.shape[1])
    return pairs


@compiled
def count_below(rows: Words, count: int, wide: bool, base: int, bound: int) -> int:
    """How many of the first rows have a time below a bound."""
    below = 0
    for i in range(count):
        below += _time(rows, i, wide, base) < bound
    return below
