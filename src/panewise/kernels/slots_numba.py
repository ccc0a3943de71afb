"""The loop over rows of the bounded hash table, compiled by numba on first use and cached on disk.

It sees integers only: which item (group and range of windows) a row belongs to, and the slot of every item. What comes
out is for every row the *instance* it is folded into: an item that is put out and comes again is a new instance.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LAZY, SLOW, IN_ORDER = range(3)
NEWEST, OLDEST, CURSOR, SINCE, UNFINISHED = range(5)
"""Places in the registers: newest window seen, no resident is older, where the slow flush stands, rows since it put out
one, whether it is unfinished (1)."""

EMPTY = -1

compiled = numba.njit(cache=True, nogil=True)


@compiled
def put_out(slot: int, resident: Ints, instance: Ints, out: Ints, written: int) -> int:
    """Empty a slot."""
    out[written] = instance[slot]
    resident[slot] = EMPTY
    return written + 1


@compiled
def flush_old(resident: Ints, instance: Ints, old: Flags, out: Ints, written: int) -> int:
    """Empty every slot marked old."""
    for slot in range(len(resident)):
        if old[slot] and resident[slot] != EMPTY:
            written = put_out(slot, resident, instance, out, written)
    return written


@compiled
def flush_before(limit: int, ends: Ints, resident: Ints, instance: Ints, registers: Ints, out: Ints,
                 written: int) -> int:
    """Empty every slot of a window that ended before the limit."""
    oldest = registers[NEWEST]
    for slot in range(len(resident)):
        if resident[slot] != EMPTY:
            end = ends[resident[slot]]
            if end < limit:
                written = put_out(slot, resident, instance, out, written)
            elif end < oldest:
                oldest = end
    registers[OLDEST] = oldest
    return written


@compiled
def flush_one(ends: Ints, resident: Ints, instance: Ints, registers: Ints, out: Ints, written: int) -> int:
    """Empty the next slot of an older window than the newest, if there is one."""
    if registers[OLDEST] >= registers[NEWEST]:
        return written
    size = len(resident)
    for _ in range(size):
        slot = registers[CURSOR]
        registers[CURSOR] = (slot + 1) % size
        if resident[slot] != EMPTY and ends[resident[slot]] < registers[NEWEST]:
            return put_out(slot, resident, instance, out, written)
    registers[OLDEST] = registers[NEWEST]
    return written


@compiled
def next_window(end: int, ends: Ints, resident: Ints, instance: Ints, old: Flags, registers: Ints, mode: int,
                behind: int, out: Ints, written: int) -> int:
    """What the first row of a newer window brings about."""
    if mode == IN_ORDER:
        if registers[UNFINISHED]:
            written = flush_old(resident, instance, old, out, written)
        for slot in range(len(resident)):
            old[slot] = resident[slot] != EMPTY
        registers[CURSOR], registers[UNFINISHED], registers[NEWEST] = 0, 1, end
        return written
    registers[NEWEST] = end
    if registers[OLDEST] < end - behind:
        written = flush_before(end - behind, ends, resident, instance, registers, out, written)
    return written


@compiled
def place_rows(items: Ints, slots: Ints, ends: Ints, resident: Ints, instance: Ints, old: Flags, registers: Ints,
               mode: int, behind: int, every: int, instances: int, placed: Ints, out: Ints) -> tuple[int, int]:
    """Bring rows to their slots; how many instances there are then, and how many were put out."""
    written = 0
    for row in range(len(items)):
        item = items[row]
        end, slot = ends[item], slots[item]
        if end > registers[NEWEST]:
            written = next_window(end, ends, resident, instance, old, registers, mode, behind, out, written)
        if mode == IN_ORDER and registers[UNFINISHED]:
            at = registers[CURSOR]
            if old[at] and resident[at] != EMPTY:
                written = put_out(at, resident, instance, out, written)
            registers[CURSOR] = at + 1
            if at + 1 == len(resident):
                registers[UNFINISHED] = 0
        elif mode == SLOW:
            registers[SINCE] += 1
            if registers[SINCE] >= every:
                registers[SINCE] = 0
                written = flush_one(ends, resident, instance, registers, out, written)
        if resident[slot] != item and resident[slot] != EMPTY:
            if mode == IN_ORDER and not old[slot]:  # windows leave in order: everything older goes first
                written = flush_old(resident, instance, old, out, written)
            written = put_out(slot, resident, instance, out, written)
        if resident[slot] == EMPTY:
            resident[slot], instance[slot], old[slot] = item, instances, False
            instances += 1
            registers[OLDEST] = min(registers[OLDEST], end)
        placed[row] = instance[slot]
    return instances, written
