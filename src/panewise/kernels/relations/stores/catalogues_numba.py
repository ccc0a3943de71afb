"""Expiry catalogues: chains of slots by the row they come from, in a hash table of rows; loops compiled by numba."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]
NO_ROW = 0
"""Numbers of rows begin with 1; a place of the table without a row has this one."""
SPREAD = 0x9E3779B97F4A7C15 - (1 << 64)



@compiled
def place(row: int, keys: Ints) -> int:
    """Where a row is in the table, or would be; tables are a power of two long, and never full."""
    mask = len(keys) - 1
    at = (row * SPREAD >> 20) & mask
    while keys[at] != row and keys[at] != NO_ROW:
        at = (at + 1) & mask
    return at


@compiled
def link_rows(rows: Ints, first: int, keys: Ints, heads: Ints, nexts: Ints) -> int:
    """Put the slots from ``first`` on into the chains of their rows; how many rows are new in the table."""
    new = 0
    for i in range(len(rows)):
        row = rows[i]
        if row == NO_ROW:
            nexts[first + i] = -1
            continue
        at = place(row, keys)
        if keys[at] == NO_ROW:
            keys[at] = row
            heads[at] = -1
            new += 1
        nexts[first + i] = heads[at]
        heads[at] = first + i
    return new


@compiled
def count_reached(rows: Ints, keys: Ints, heads: Ints, nexts: Ints) -> int:
    """How many slots hang on these rows."""
    found = 0
    for i in range(len(rows)):
        at = place(rows[i], keys)
        slot = heads[at] if keys[at] != NO_ROW else -1
        while slot >= 0:
            found += 1
            slot = nexts[slot]
    return found


@compiled
def list_reached(rows: Ints, instants: Ints, keys: Ints, heads: Ints, nexts: Ints, slots: Ints, at: Ints) -> None:
    """The slots that ``count_reached`` counted, each with the instant of its row; their chains are no more."""
    found = 0
    for i in range(len(rows)):
        here = place(rows[i], keys)
        if keys[here] == NO_ROW:
            continue
        slot = heads[here]
        while slot >= 0:
            slots[found] = slot
            at[found] = instants[i]
            found += 1
            slot = nexts[slot]
        heads[here] = -1


@compiled
def move(keys: Ints, heads: Ints, new_keys: Ints, new_heads: Ints) -> int:
    """Rows with a chain into another table; how many there are."""
    moved = 0
    for i in range(len(keys)):
        if keys[i] != NO_ROW and heads[i] >= 0:
            at = place(keys[i], new_keys)
            new_keys[at] = keys[i]
            new_heads[at] = heads[i]
            moved += 1
    return moved


@compiled
def count_chains(heads: Ints) -> int:
    """Rows of a table that have a chain."""
    found = 0
    for i in range(len(heads)):
        if heads[i] >= 0:
            found += 1
    return found


@compiled
def take_out(slots: Ints, at: Ints, there: Ints, expires: Ints, out: Ints) -> int:
    """Slots that are there and leave sooner than they said, each once: the first of its components counts."""
    count = 0
    for i in range(len(slots)):
        slot = slots[i]
        if at[i] < expires[slot]:
            expires[slot] = at[i]
            if there[slot] == 1:
                there[slot] = 0
                out[count] = slot
                count += 1
    return count
