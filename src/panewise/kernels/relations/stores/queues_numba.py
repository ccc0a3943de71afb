"""Entries of a calendar by day: loops compiled by numba on first use and cached on disk.

A step inserts a few hundred of them, for which a dozen calls of NumPy cost more than the work.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled

Ints = npt.NDArray[np.int64]



@compiled
def extent(expires: Ints, never: int) -> tuple[int, int, int]:
    """How many ends there are that come, the first and the last of them."""
    count, low, high = 0, never, -never
    for end in expires:
        if end != never:
            count += 1
            low, high = min(low, end), max(high, end)
    return count, low, high


@compiled
def by_day(slots: Ints, expires: Ints, width: int, first: int, days: int) -> tuple[Ints, Ints, Ints]:
    """Entries by the day of their end, those of a day as they came, and where each of some days begins."""
    begins = np.zeros(days + 1, np.int64)
    for end in expires:
        begins[end // width - first + 1] += 1
    for day in range(days):
        begins[day + 1] += begins[day]
    place, sorted_slots, sorted_expires = begins.copy(), np.empty_like(slots), np.empty_like(expires)
    for i in range(len(slots)):
        day = expires[i] // width - first
        sorted_slots[place[day]], sorted_expires[place[day]] = slots[i], expires[i]
        place[day] += 1
    return sorted_slots, sorted_expires, begins
