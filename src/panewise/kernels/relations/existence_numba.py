"""Parts of lives in which a key is on or off: loops compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


FOREVER = np.iinfo(np.int64).max
BEFORE = np.iinfo(np.int64).min


@compiled
def shown_parts(codes: Ints, born: Ints, expires: Ints, old: Mask, turned: Ints, starts: Ints, turn_at: Ints,
                turn_on: Mask, counts: Ints, wanted: bool, rows: Ints, since: Ints, until: Ints, listing: bool) -> int:
    """The parts of rows' lives in which their key is as wanted; counted only, unless ``listing``.

    The turns of the key ``turned[i]`` are ``starts[i]`` to ``starts[i + 1]``; a key that does not turn is on if its
    count is positive. A part that began before the step starts at ``BEFORE``. A code below zero is never on.
    """
    found = 0
    for row in range(len(codes)):
        code = codes[row]
        on = code >= 0 and counts[code] > 0
        first = np.searchsorted(turned, code)
        turn, last = 0, 0
        if code >= 0 and first < len(turned) and turned[first] == code:
            turn, last = starts[first], starts[first + 1]
            on = not turn_on[turn]
        begin = BEFORE if old[row] else born[row]
        while True:
            finish = turn_at[turn] if turn < last else FOREVER
            if on == wanted:
                start = max(begin, born[row]) if begin != BEFORE else BEFORE
                stop = min(finish, expires[row])
                if start < stop:
                    if listing:
                        rows[found], since[found], until[found] = row, start, stop
                    found += 1
            if turn >= last or finish >= expires[row]:
                break
            begin = finish
            on = not on
            turn += 1
    return found


@compiled
def count_chained(wanted: Ints, heads: Ints, nexts: Ints, expires: Ints, below: int, gone: int) -> int:
    """How many rows in slots below ``below`` hang on these keys and are not gone."""
    found = 0
    for i in range(len(wanted)):
        if wanted[i] >= len(heads):
            continue
        slot = heads[wanted[i]]
        while slot >= 0:
            if slot < below and expires[slot] > gone:
                found += 1
            slot = nexts[slot]
    return found


@compiled
def list_chained(wanted: Ints, heads: Ints, nexts: Ints, expires: Ints, below: int, gone: int, slots: Ints) -> None:
    """The rows that ``count_chained`` counted."""
    found = 0
    for i in range(len(wanted)):
        if wanted[i] >= len(heads):
            continue
        slot = heads[wanted[i]]
        while slot >= 0:
            if slot < below and expires[slot] > gone:
                slots[found] = slot
                found += 1
            slot = nexts[slot]
