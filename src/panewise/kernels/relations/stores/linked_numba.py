"""Queues that share one list: loops compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]



@compiled
def push_linked(queues: Ints, first: int, heads: Ints, tails: Ints, nexts: Ints) -> None:
    """Entries from ``first`` on, each behind the others of its queue."""
    for i in range(len(queues)):
        queue = queues[i]
        entry = first + i
        nexts[entry] = -1
        if heads[queue] < 0:
            heads[queue] = entry
        else:
            nexts[tails[queue]] = entry
        tails[queue] = entry


@compiled
def pop_linked(touched: Ints, reached: Ints, heads: Ints, nexts: Ints, targets: Ints, taken: Ints) -> int:
    """From each queue the entries at its head whose target is reached; how many."""
    found = 0
    for i in range(len(touched)):
        queue = touched[i]
        entry = heads[queue]
        while entry >= 0 and targets[entry] <= reached[i]:
            taken[found] = entry
            found += 1
            entry = nexts[entry]
        heads[queue] = entry
    return found
