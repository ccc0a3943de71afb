"""Rows into the cells of panes: loops compiled by numba on first use and cached on disk.

Importing this module imports numba, which takes a second: only a kernel that has seen many rows does so. Cells of the
pane store are addressed by *slots*, row × stride + group code, into flat views of its state columns.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Slots = npt.NDArray[np.uint32]
"""Half the memory of int64, and an index that cannot be negative needs no look at its sign."""

LOW = (1 << 32) - 1



# -- groups --------------------------------------------------------------------------------------------------------


@compiled(inline="always")
def slot_of(key, slot_keys, slot_codes, mask):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Where a key is in an open hash table, or would be."""
    spread = key * np.int64(-7046029254386353131)
    slot = (spread ^ (spread >> np.int64(32))) & mask
    while slot_codes[slot] >= 0 and slot_keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def look_up(keys: Ints, slot_keys: Ints, slot_codes: Ints, codes: Ints) -> None:
    """Codes of keys by an open hash table, -1 for unknown ones."""
    for i in range(len(keys)):
        codes[i] = slot_codes[slot_of(keys[i], slot_keys, slot_codes, len(slot_keys) - 1)]


@compiled
def find_codes(keys: Ints, direct: Ints, low: int, slot_keys: Ints, slot_codes: Ints, known: Ints, count: int,
               codes: Ints) -> int:
    """Codes of keys by an open hash table; unknown keys get the next ones. Returns how many are known now.

    The table has room: a power of two of slots, at most half of them taken after this batch. Keys near each other, as
    most keys are, are also found directly: ``direct[key - low]`` is a code or -1. The high half of a product is folded
    into the low one, which does not depend on the high bits of a key: floats of few digits differ only there.
    """
    mask, room = len(slot_keys) - 1, np.uint64(len(direct))
    for i in range(len(keys)):
        key = keys[i]
        near = np.uint64(key - low)  # below the lowest is far above
        if near < room and direct[near] >= 0:
            codes[i] = direct[near]
            continue
        slot = slot_of(key, slot_keys, slot_codes, mask)
        if slot_codes[slot] < 0:
            slot_keys[slot] = key
            slot_codes[slot] = count
            known[count] = key
            count += 1
        codes[i] = slot_codes[slot]
        if near < room:
            direct[near] = slot_codes[slot]
    return count


# -- rows into panes -----------------------------------------------------------------------------------------------


@compiled
def any_below(values: Ints, bounds: Ints, floor: int) -> bool:
    """Whether a value is below its own bound or below the bound of all; without a branch, eight rows at a time."""
    below = 0
    for i in range(len(values)):
        below |= (values[i] < bounds[i]) | (values[i] < floor)
    return below != 0


@compiled
def pane_of(distance: int, length: int, slide: int, paired: bool) -> int:
    """The pane of a value at this distance from the origin: cut where a window begins, and where one ends."""
    pane = distance // slide
    if paired:
        pane = pane + (distance + length) // slide - length // slide
    return pane


@compiled
def row_of_pane(pane: int, row_of: Ints, first_pane: int, free: Ints, counts: Ints, fresh: Ints) -> int:
    """The row of a pane; one that has none yet gets a free one and is listed in ``fresh``. -1: no room.

    ``row_of[pane - first_pane]`` is the row or -1; ``counts`` are the numbers of free rows and of fresh panes.
    """
    at = pane - first_pane
    if at < 0 or at >= len(row_of):
        return -1
    if row_of[at] < 0 and counts[0] > 0:
        counts[0] -= 1
        row_of[at] = free[counts[0]]
        fresh[counts[1]] = pane
        counts[1] += 1
    return int(row_of[at])


@compiled
def place(values: Ints, codes: Ints, base: int, length: int, slide: int, paired: bool, row_of: Ints, first_pane: int,
          free: Ints, counts: Ints, stride: int, fresh: Ints, slots: Slots) -> int:
    """The slot of every row; a pane that has none yet gets a free row. Returns where it stopped for lack of room.

    Neighbouring values mostly share a pane, so the division is done only when a value leaves the last one.
    """
    low, high, row = 1, 0, -1
    for i in range(len(values)):
        distance = values[i] - base
        if distance < low or distance >= high:
            pane = pane_of(distance, length, slide, paired)
            row = row_of_pane(pane, row_of, first_pane, free, counts, fresh)
            if row < 0:
                return i
            low, high = (distance, distance + 1) if paired else (pane * slide, pane * slide + slide)
        slots[i] = row * stride + codes[i]
    return len(values)


@compiled
def admit(values: Ints, bounds: Ints, bound: int, delay: int, floor: int, keys: Ints, direct: Ints, low: int,
          base: int, length: int, slide: int, paired: bool, row_of: Ints, first_pane: int, free: Ints, counts: Ints,
          stride: int, fresh: Ints, slots: Slots) -> bool:
    """``any_below``, ``find_codes`` and ``place`` in one pass; False when a row needs more than that.

    That is a late row, a key not seen before or far from the others, or a pane without room. What was given to new
    panes stays given; the rows are then taken the long way. The bound before each row is in ``bounds``, or when that
    is empty ``bound`` follows the values with a ``delay``; with a negative delay it stays.
    """
    start: Any = np.int64(0)  # the pane of the last row,
    row: Any = np.int64(-1)
    other_start, other_row, width = start, row, np.uint64(0)  # and the one before: rows out of order go to and fro
    given, follows, reach = len(bounds) > 0, delay >= 0, np.uint64(len(direct))
    for i in range(len(values)):
        value, near = values[i], np.uint64(keys[i] - low)  # a key below the lowest is far above it then
        if given:
            bound = bounds[i]
        if value < bound or value < floor or near >= reach:
            return False
        if follows:
            bound = max(bound, value - delay)
        code = direct[near]
        if code < 0:
            return False
        distance = value - base
        if np.uint64(distance - start) >= width:
            start, other_start, row, other_row = other_start, start, other_row, row
            if row < 0 or np.uint64(distance - start) >= width:
                pane = pane_of(distance, length, slide, paired)
                row = row_of_pane(pane, row_of, first_pane, free, counts, fresh)
                if row < 0:
                    return False
                start, width = (distance, np.uint64(1)) if paired else (pane * slide, np.uint64(slide))
                row *= stride
        slots[i] = row + code
    return True


# -- rows into states ----------------------------------------------------------------------------------------------


@compiled
def fold_count(count: Ints, slots: Slots) -> None:
    """One more each."""
    for i in range(len(slots)):
        count[slots[i]] += 1


@compiled
def fold_int_sum(count: Ints, high: Ints, low: Ints, slots: Slots, values: Ints) -> None:
    """Halves of 32 bits, each of which sums two thousand million rows without overflow."""
    for i in range(len(slots)):
        at = slots[i]
        count[at] += 1
        high[at] += values[i] >> 32
        low[at] += values[i] & LOW


@compiled
def fold_int_extreme(seen: Ints, best: Ints, slots: Slots, values: Ints, level: int, largest: bool) -> None:
    """The larger, or the smaller; ``seen`` says that there was a value."""
    for i in range(len(slots)):
        at = slots[i]
        seen[at] = level
        best[at] = max(best[at], values[i]) if largest else min(best[at], values[i])


@compiled
def fold_float_extreme(seen: Ints, best: Floats, slots: Slots, values: Floats, level: int, largest: bool) -> None:
    """The larger, or the smaller; NaN is the largest of all, noted in ``seen`` as the other level.

    Without branches, which a new extreme would send the wrong way every few rows.
    """
    for i in range(len(slots)):
        at, value = slots[i], values[i]
        before = best[at]
        best[at] = value + 0.0 if (value > before if largest else value < before) else before
        noted = 3 - level if np.isnan(value) else level
        if seen[at] < noted:  # noqa: PLR1730 (hardly ever: a store less)
            seen[at] = noted


@compiled
def clear_row(ints: Any, floats: Any, row: int, int_initial: Ints, float_initial: Floats) -> None:
    """One row as if nothing had come."""
    for c in range(len(int_initial)):
        ints[c, row, :] = int_initial[c]
    for c in range(len(float_initial)):
        floats[c, row, :] = float_initial[c]


@compiled
def clear_rows(ints: Any, floats: Any, int_initial: Ints, float_initial: Floats, rows: Ints) -> None:
    """Rows as if nothing had come."""
    for j in range(len(rows)):
        clear_row(ints, floats, rows[j], int_initial, float_initial)


@cache
def load() -> None:
    """Load the loops that a stream may need after a while: it should not have to wait for them in its course.

    Columns of Arrow batches cannot be written to, which makes them arguments of another type.
    """
    none, slots, ints, floats = np.empty(0, np.int64), np.empty(0, np.uint32), np.zeros((1, 1, 1), np.int64), np.zeros(
        (1, 1, 1))
    column = none.view()
    column.flags.writeable = False
    any_below(column, none, 0)
    find_codes(column, none, 0, none, none, none, 0, none)
    place(column, none, 0, 1, 1, False, none, 0, none, none, 1, none, slots)
    clear_rows(ints, floats, none, np.empty(0, np.float64), none)
