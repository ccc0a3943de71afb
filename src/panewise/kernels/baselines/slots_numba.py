"""The loop over rows of the bounded hash table, compiled by numba on first use and cached on disk.

It sees integers only. ``names`` tells the item (group and range of windows) in each slot, ``rows`` the row of the log
its partial is in or will be in. An item that is put out and comes again is a new *instance*: what comes out is for
every row of the batch the instance it is folded into.
"""

from __future__ import annotations

from panewise.core.arrays import Ints, Mask
from panewise.core.compiling import compiled

LAZY, SLOW, IN_ORDER = range(3)
NEWEST, OLDEST, CURSOR, SINCE, UNFINISHED = range(5)
"""Places in the registers: newest window seen, no resident is older, where the slow flush stands, rows since it put out
one, whether it is unfinished (1)."""

EMPTY = -1



@compiled
def put_out(slot: int, rows: Ints, out: Ints, written: int) -> int:
    """Empty a slot."""
    out[written] = rows[slot]
    rows[slot] = EMPTY
    return written + 1


@compiled
def flush_old(rows: Ints, old: Mask, out: Ints, written: int) -> int:
    """Empty every slot marked old."""
    for slot in range(len(rows)):
        if old[slot] and rows[slot] != EMPTY:
            written = put_out(slot, rows, out, written)
    return written


@compiled
def flush_before(limit: int, ends: Ints, rows: Ints, registers: Ints, out: Ints, written: int) -> int:
    """Empty every slot of a window that ended before the limit."""
    oldest = registers[NEWEST]
    for slot in range(len(rows)):
        if rows[slot] != EMPTY:
            if ends[slot] < limit:
                written = put_out(slot, rows, out, written)
            else:
                oldest = min(oldest, ends[slot])
    registers[OLDEST] = oldest
    return written


@compiled
def flush_one(ends: Ints, rows: Ints, registers: Ints, out: Ints, written: int) -> int:
    """Empty the next slot of an older window than the newest, if there is one."""
    if registers[OLDEST] >= registers[NEWEST]:
        return written
    size = len(rows)
    for _ in range(size):
        slot = registers[CURSOR]
        registers[CURSOR] = (slot + 1) % size
        if rows[slot] != EMPTY and ends[slot] < registers[NEWEST]:
            return put_out(slot, rows, out, written)
    registers[OLDEST] = registers[NEWEST]
    return written


@compiled
def next_window(end: int, ends: Ints, rows: Ints, old: Mask, registers: Ints, mode: int, behind: int, out: Ints,
                written: int) -> int:
    """What the first row of a newer window brings about."""
    if mode == IN_ORDER:
        if registers[UNFINISHED]:
            written = flush_old(rows, old, out, written)
        for slot in range(len(rows)):
            old[slot] = rows[slot] != EMPTY
        registers[CURSOR], registers[UNFINISHED], registers[NEWEST] = 0, 1, end
        return written
    registers[NEWEST] = end
    if registers[OLDEST] < end - behind:
        written = flush_before(end - behind, ends, rows, registers, out, written)
    return written


@compiled
def place_rows(items: Ints, item_names: Ints, item_slots: Ints, item_ends: Ints, names: Ints, ends: Ints, rows: Ints,
               old: Mask, registers: Ints, mode: int, behind: int, every: int, log: int, placed: Ints, carried: Ints,
               out: Ints) -> tuple[int, int]:
    """Bring rows to their slots; how many instances they make, and how many partials were put out.

    The partial of instance j will be row ``log + j`` of the log; ``carried[j]`` is the row it goes on from.
    """
    instances, written = 0, 0
    for row in range(len(items)):
        item = items[row]
        end, slot = item_ends[item], item_slots[item]
        if end > registers[NEWEST]:
            written = next_window(end, ends, rows, old, registers, mode, behind, out, written)
        if mode == IN_ORDER and registers[UNFINISHED]:
            at = registers[CURSOR]
            if old[at] and rows[at] != EMPTY:
                written = put_out(at, rows, out, written)
            registers[CURSOR] = at + 1
            if at + 1 == len(rows):
                registers[UNFINISHED] = 0
        elif mode == SLOW:
            registers[SINCE] += 1
            if registers[SINCE] >= every:
                registers[SINCE] = 0
                written = flush_one(ends, rows, registers, out, written)
        if rows[slot] != EMPTY and names[slot] != item_names[item]:
            if mode == IN_ORDER and registers[UNFINISHED] and not old[slot]:
                written = flush_old(rows, old, out, written)  # windows leave in order: everything older goes first
                registers[UNFINISHED] = 0
            written = put_out(slot, rows, out, written)
        if rows[slot] < log:  # empty, or not touched by this batch yet
            carried[instances] = rows[slot]
            if rows[slot] == EMPTY:
                names[slot], ends[slot], old[slot] = item_names[item], end, False
                registers[OLDEST] = min(registers[OLDEST], end)
            rows[slot] = log + instances
            instances += 1
        placed[row] = rows[slot] - log
    return instances, written
