"""Counters over the events of a step: loops compiled by numba on first use and cached on disk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]



@compiled
def count_on(codes: Ints, at: Ints, signs: Ints, counts: Ints, change: Ints, turned: Ints, turned_at: Ints,
             on: Mask) -> int:
    """Let counters by code go through events, which are by instant; where they turn positive, or stop being so.

    What comes and goes at one instant is seen together. ``change`` is room by code, all zero before and after.
    """
    found, first = 0, 0
    while first < len(codes):
        end = first
        while end < len(codes) and at[end] == at[first]:
            change[codes[end]] += signs[end]
            end += 1
        for event in range(first, end):
            code = codes[event]
            before = counts[code]
            counts[code] += change[code]
            change[code] = 0  # so that other events of the code at this instant find nothing left to do
            if (before > 0) != (counts[code] > 0):
                turned[found], turned_at[found], on[found] = code, at[event], counts[code] > 0
                found += 1
        first = end
    return found
