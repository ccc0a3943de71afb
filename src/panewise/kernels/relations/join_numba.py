"""Chains of rows with one key: loops compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]



@compiled
def link(codes: Ints, first: int, heads: Ints, nexts: Ints) -> None:
    """Put the rows from slot ``first`` on before the others of their key; a code below zero has no chain."""
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            nexts[first + i] = heads[code]
            heads[code] = first + i
        else:
            nexts[first + i] = -1


@compiled
def list_pairs(codes: Ints, born: Ints, expires: Ints, heads: Ints, nexts: Ints, other_born: Ints,
               other_expires: Ints, below: int, in_order: bool, gone: int, rows: Ints, slots: Ints) -> int:
    """Rows of the chains, in slots below ``below``, that live together with the rows that ask, and how many there are.

    ``in_order``: rows leave in the order of their slots, so a chain may be left at the first that is gone. Where there
    are more than there is room for, only as many are listed.
    """
    found, room = 0, len(rows)
    for i in range(len(codes)):
        code = codes[i]
        if code < 0 or code >= len(heads):
            continue
        slot = heads[code]
        while slot >= 0:
            if other_expires[slot] <= gone:
                if in_order:
                    break
            elif slot < below and max(born[i], other_born[slot]) < min(expires[i], other_expires[slot]):
                if found < room:
                    rows[found] = i
                    slots[found] = slot
                found += 1
            slot = nexts[slot]
    return found


@compiled
def count_linked(slots: Ints, heads: Ints, nexts: Ints) -> int:
    """How many entries hang on these slots."""
    found = 0
    for i in range(len(slots)):
        entry = heads[slots[i]]
        while entry >= 0:
            found += 1
            entry = nexts[entry]
    return found


@compiled
def list_linked(slots: Ints, heads: Ints, nexts: Ints, entries: Ints) -> None:
    """The entries that ``count_linked`` counted."""
    found = 0
    for i in range(len(slots)):
        entry = heads[slots[i]]
        while entry >= 0:
            entries[found] = entry
            found += 1
            entry = nexts[entry]
