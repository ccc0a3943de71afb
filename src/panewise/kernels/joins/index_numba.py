"""The compiled steps of a join: numbering keys, linking rows into chains by key and time slot, and probing.

A chain holds the stored rows of one (key, time slot). Slots are as wide as the window predicate, so the partners of a
row lie in at most two of them, however long a key lives: no chain grows with the state, only with what can match.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from panewise.core.ordinals import Ordinals

Codes32 = npt.NDArray[np.int32]

FEW = 24
"""Up to so many partners are sorted by insertion."""


@numba.njit(cache=True, nogil=True, inline="always")
def _mixed(value):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Every bit of the input in the high bits of the output (Stafford's mix 13)."""
    x = np.uint64(value)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(cache=True, nogil=True, inline="always")
def _place(code, slot, mask):  # type: ignore[no-untyped-def]  # pragma: no cover
    return np.int64(_mixed(np.uint64(slot) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(code)) & np.uint64(mask))


@numba.njit(cache=True, nogil=True)
def find_keys(rows: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_], known: npt.NDArray[np.int64],
              slots: Codes32, count: int, codes: Codes32) -> tuple[int, int]:
    """Number rows of key values, new ones next; stops where there is no room: (keys known, rows done)."""
    mask = len(slots) - 1
    width = rows.shape[1]
    room = min(len(known), len(slots) * 2 // 3)
    for i in range(len(rows)):
        if not valid[i]:
            codes[i] = -1
            continue
        h = np.uint64(0)
        for c in range(width):
            h = _mixed(h ^ np.uint64(rows[i, c]))
        at = np.int64(h & np.uint64(mask))
        while True:
            code = slots[at]
            if code < 0:
                if count >= room:
                    return count, i
                for c in range(width):
                    known[count, c] = rows[i, c]
                slots[at] = count
                code = count
                count += 1
                break
            same = True
            for c in range(width):
                if known[code, c] != rows[i, c]:
                    same = False
                    break
            if same:
                break
            at = (at + 1) & mask
        codes[i] = code
    return count, len(rows)


@numba.njit(cache=True, nogil=True)
def link(codes: Codes32, times: Ordinals, first: int, end: int, bits: int, head: Codes32, following: Codes32) -> None:
    """Put rows ``first`` to ``end`` in front of their chains."""
    mask = len(head) - 1
    for i in range(first, end):
        at = _place(codes[i], times[i] >> bits, mask)
        following[i] = head[at]
        head[at] = i


@numba.njit(cache=True, nogil=True)
def unlink(codes: Codes32, times: Ordinals, first: int, end: int, bits: int, head: Codes32, following: Codes32) -> None:
    """Take the newest rows out of their chains again."""
    mask = len(head) - 1
    for i in range(end - 1, first - 1, -1):
        head[_place(codes[i], times[i] >> bits, mask)] = following[i]


@numba.njit(cache=True, nogil=True)
def probe(codes: Codes32, lows: Ordinals, highs: Ordinals, stored_codes: Codes32, stored_times: Ordinals, bits: int,
          head: Codes32, following: Codes32) -> tuple[Ordinals, Ordinals]:
    """All pairs (row, stored row) of equal key whose stored time is within the row's range; by row, then by age."""
    mask = len(head) - 1
    rows = np.empty(len(codes) + 16, np.int64)
    found = np.empty(len(codes) + 16, np.int64)
    count = 0
    for i in range(len(codes)):
        code, low, high = codes[i], lows[i], highs[i]
        if code < 0 or low > high:
            continue
        begin = count
        for slot in range(low >> bits, (high >> bits) + 1):
            at = head[_place(code, slot, mask)]
            while at >= 0:
                time = stored_times[at]
                if stored_codes[at] == code and low <= time <= high and time >> bits == slot:
                    if count == len(rows):
                        more = np.empty(2 * count, np.int64)
                        more[:count] = rows
                        rows = more
                        more = np.empty(2 * count, np.int64)
                        more[:count] = found
                        found = more
                    rows[count] = i
                    found[count] = at
                    count += 1
                at = following[at]
        if count - begin > FEW:
            found[begin:count].sort()
        else:  # chains are from young to old, so this is mostly turning round
            for at in range(begin + 1, count):
                moved = found[at]
                place = at
                while place > begin and found[place - 1] > moved:
                    found[place] = found[place - 1]
                    place -= 1
                found[place] = moved
    return rows[:count], found[:count]


@numba.njit(cache=True, nogil=True)
def count_below(times: Ordinals, bound: int) -> int:
    """How many times are below a bound."""
    count = 0
    for i in range(len(times)):
        count += times[i] < bound
    return count
