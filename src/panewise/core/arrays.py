"""Arrays of numbers: their types, and the few steps that nearly every columnar algorithm is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def run_starts(column: Ints) -> Ints:
    """Where each run of equal numbers begins.

    >>> run_starts(np.array([7, 7, 5, 7])).tolist()
    [0, 2, 3]
    """
    begins = np.ones(len(column), np.bool_)
    np.not_equal(column[1:], column[:-1], out=begins[1:])
    return np.flatnonzero(begins)


def counted_up(first: Ints, counts: Ints) -> Ints:
    """So many integers from each first one on.

    >>> counted_up(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    found: Ints = np.arange(int(counts.sum())) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    return found


def balance(runs: list[T], size: Callable[[T], int], merged: Callable[[list[T]], T]) -> None:
    """Keep every run at least twice as long as the next, by merging neighbours: an item is copied O(log n) times.

    >>> runs = ["abcd", "ef", "gh"]
    >>> balance(runs, len, "".join)
    >>> runs
    ['abcdefgh']
    """
    for at in range(len(runs) - 1, 0, -1):
        if size(runs[at - 1]) < 2 * size(runs[at]):
            runs[at - 1 : at + 1] = [merged(runs[at - 1 : at + 1])]


def of_each(function: Callable[[int], int], values: Ints) -> Ints:
    """What a function that is worked out one by one says of each value, where few values differ."""
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([function(value) for value in distinct.tolist()], np.int64)[places]


def highest_so_far(values: Ints, codes: Ints) -> Ints:
    """The running maximum, begun anew with each code; codes ascend.

    >>> highest_so_far(np.array([4, 2, 1, 3]), np.array([0, 0, 1, 1])).tolist()
    [4, 4, 1, 3]
    """
    distinct, ranks = np.unique(values, return_inverse=True)
    lift = codes * len(distinct)  # lifts the ranks of later codes above all others
    found: Ints = distinct[np.maximum.accumulate(lift + ranks) - lift]
    return found
