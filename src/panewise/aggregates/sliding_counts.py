"""Counts of values in windows that slide over pieces, without putting any window together.

A piece with its counted values is in some windows that follow each other. The count of a value is then a step function
of the window: up where a piece with it comes in, down where one goes out (the global counters of Golab's Algorithm 6,
for many windows at once). Only steps that rise above what is asked for somewhere are looked at window by window.
"""

from __future__ import annotations

import numpy as np

from panewise.aggregates.arrays import Ints


def above(values: Ints, counts: Ints, low: Ints, high: Ints, floor: Ints) -> tuple[Ints, Ints, Ints]:
    """Windows, values and counts where a value's count is above the floor of the window, by window and value.

    ``values`` are small numbers from 0; entry i counts in windows ``low[i]`` to ``high[i]``. No floor is negative.

    >>> above(np.array([0, 1, 0]), np.array([2, 1, 3]), np.array([0, 0, 1]), np.array([2, 2, 3]), np.array([1, 1, 3]))
    (array([0, 1]), array([0, 0]), array([2, 5]))
    """
    windows = len(floor)
    places = np.concatenate([values * (windows + 1) + low, values * (windows + 1) + high])
    steps, at = np.unique(places, return_inverse=True)
    change = np.zeros(len(steps), np.int64)
    np.add.at(change, at, np.concatenate([counts, -counts]))
    reached = np.cumsum(change)  # the last step of every value leads back to nothing
    value, first = np.divmod(steps, windows + 1)
    end = np.r_[first[1:], windows]
    kept = np.flatnonzero(reached > 0)
    kept = kept[reached[kept] > _least(floor, first[kept], end[kept])]
    lengths = end[kept] - first[kept]
    begins = np.cumsum(lengths) - lengths
    window = np.arange(int(lengths.sum())) + np.repeat(first[kept] - begins, lengths)
    value, count = np.repeat(value[kept], lengths), np.repeat(reached[kept], lengths)
    over = count > floor[window]
    window, value, count = window[over], value[over], count[over]
    order = np.lexsort((value, window))
    return window[order], value[order], count[order]


def running(amounts: Ints, low: Ints, high: Ints, windows: int) -> Ints:
    """Per window the sum of the amounts of the pieces in it."""
    change = np.zeros(windows + 1, np.int64)
    np.add.at(change, low, amounts)
    np.add.at(change, high, -amounts)
    summed: Ints = np.cumsum(change)[:-1]
    return summed


def _least(floor: Ints, first: Ints, end: Ints) -> Ints:
    """The smallest floor of each range that is not empty: of the two that cover it, each a power of two long."""
    longest = int((end - first).max(initial=1))
    levels = [floor]
    while 2 ** len(levels) <= longest:
        half = 2 ** (len(levels) - 1)
        levels.append(np.minimum(levels[-1][:-half], levels[-1][half:]))
    found = np.empty(len(first), np.int64)
    level = np.frexp((end - first).astype(np.float64))[1] - 1
    for number, least in enumerate(levels):
        mine = level == number
        found[mine] = np.minimum(least[first[mine]], least[end[mine] - 2**number])
    return found
