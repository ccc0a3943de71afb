"""Rows of one instant from the oldest to the youngest: only those are compared, never rows of different instants."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals

FEW = 16
"""So many rows are sorted by insertion, more by merging pieces of so many."""


UNSORTED, ASCENDING, SORTED, STRICT = 0, 1, 2, 3


@compiled
def order_of(first: Ordinals, age: npt.NDArray[np.int64]) -> int:
    """How far rows are in order: not at all, by ``first`` alone, those of one instant also by age, or each younger
    than the one before it."""
    found, ties = STRICT, 0
    for row in range(1, len(first)):  # without a branch, several rows at a time
        ties += first[row] <= first[row - 1]
    if not ties:
        return found
    for row in range(1, len(first)):
        if first[row] <= first[row - 1]:
            if first[row] < first[row - 1]:
                return UNSORTED
            if found != ASCENDING and not _older(age, row - 1, row):
                found = ASCENDING if _older(age, row, row - 1) else SORTED
    return found


@compiled
def sort_ties(first: Ordinals, age: npt.NDArray[np.int64], order: Ordinals) -> None:
    """Put places of equal ``first`` in the order of their ages.

    ``order`` holds the places by ``first``, and is changed.
    """
    count, start = len(order), 0
    spare = np.empty(count, np.int64)
    while start < count:
        end, sorted_ = start + 1, True
        while end < count and first[order[end]] == first[order[start]]:
            sorted_ = sorted_ and not _older(age, order[end], order[end - 1])
            end += 1
        if not sorted_:
            _sort(age, order, spare, start, end)
        start = end


@compiled
def _older(age: npt.NDArray[np.int64], one: int, other: int) -> bool:
    for part in range(age.shape[0]):
        if age[part, one] != age[part, other]:
            return bool(age[part, one] < age[part, other])
    return False


@compiled
def _sort(age: npt.NDArray[np.int64], order: Ordinals, spare: Ordinals, start: int, end: int) -> None:
    for low in range(start, end, FEW):
        for at in range(low + 1, min(low + FEW, end)):
            row, to = order[at], at
            while to > low and _older(age, row, order[to - 1]):
                order[to] = order[to - 1]
                to -= 1
            order[to] = row
    width = FEW
    while width < end - start:
        for low in range(start, end, 2 * width):
            middle, high = min(low + width, end), min(low + 2 * width, end)
            if middle == high or not _older(age, order[middle], order[middle - 1]):
                continue
            spare[low:middle] = order[low:middle]
            left, right = low, middle
            for to in range(low, high):
                if left == middle:
                    break
                if right < high and _older(age, order[right], spare[left]):
                    order[to] = order[right]
                    right += 1
                else:
                    order[to] = spare[left]
                    left += 1
        width *= 2


@compiled
def sort_newest_first(arrivals: npt.NDArray[np.int64]) -> None:
    """Each column for itself: a few arrivals, in place, without sorting rows of millions."""
    for i in range(arrivals.shape[1]):
        for j in range(1, arrivals.shape[0]):
            value, k = arrivals[j, i], j
            while k > 0 and arrivals[k - 1, i] < value:
                arrivals[k, i] = arrivals[k - 1, i]
                k -= 1
            arrivals[k, i] = value
