"""Joins of two windows whose results leave with their rows, as published and compiled: ORD and negative tuples.

Windows of any kind are given as a schedule of rows that come and leave, as the publication leaves the maintenance of
base windows out of its figures. Results are numbers of rows; nothing is put out.

*ORD* (Patroumpas and Sellis 4.2): a catalogue of results for each component of the expiry vector, by the row that ends
it, be that by its position, by its position in its partition, or by its time. A row that leaves takes its results out
of the table, and their entries out of the other catalogue (eager collection). *NT*, the baseline: a row that leaves
probes the other window again, and each negative tuple looks through the list of results of its join value.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
compiled = numba.njit(cache=True, nogil=True)


@dataclass(frozen=True)
class Windows:
    """Rows of two streams that come in turns, one a tick, with the tick at which each leaves its window."""

    values: tuple[Ints, Ints]
    """What is joined."""
    leaves: tuple[Ints, Ints]

    @property
    def rows(self) -> int:
        return len(self.values[0])

    def schedule(self, until: int) -> tuple[Ints, Ints, Ints, Ints]:
        """What happens before a tick: when, on which side, with which row, and 1 if it comes; leaving is first."""
        parts = []
        for side in (0, 1):
            came, row = ticks(self.rows, side), np.arange(self.rows)
            parts += [(came, row, side, 1), (self.leaves[side], row, side, 0)]
        at, row = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        side, comes = (np.repeat([p[i] for p in parts], [len(p[0]) for p in parts]) for i in (2, 3))
        order = np.lexsort((row, side, comes, at))
        order = order[at[order] < until]
        return at[order], side[order], row[order], comes[order]


def ticks(rows: int, side: int) -> Ints:
    """When the rows of a stream come."""
    return 2 * np.arange(rows) + side


def by_rows(rows: int, side: int, count: int) -> Ints:
    """When rows leave a window of so many."""
    return ticks(rows, side) + 2 * count


def by_time(rows: int, side: int, span: int) -> Ints:
    """When rows leave a window so long."""
    return ticks(rows, side) + span


def by_partition(partition: Ints, side: int, count: int) -> Ints:
    """When rows leave a window of so many of each partition; never is after everything."""
    leaves = np.full(len(partition), np.iinfo(np.int64).max)
    for one in np.unique(partition):
        mine = np.flatnonzero(partition == one)
        leaves[mine[:-count]] = 2 * mine[count:] + side
    return leaves


@dataclass(frozen=True)
class Run:
    """Seconds of the processor after the windows are full, and how many results came and went in all."""

    seconds: float
    came: int
    went: int


def with_catalogues(windows: Windows, full: int, until: int) -> Run:
    """ORD; time counts from tick ``full`` on."""
    return _run(_ord, windows, full, until, links=6)


def with_negatives(windows: Windows, full: int, until: int) -> Run:
    """NT."""
    return _run(_nt, windows, full, until, links=3)


def _run(algorithm, windows: Windows, full: int, until: int, links: int) -> Run:  # type: ignore[no-untyped-def]
    at, side, row, comes = windows.schedule(until)
    a, b = windows.values
    values = int(max(a.max(), b.max())) + 1
    room = most(side, row, comes, a, b, np.zeros((2, values), np.int64)) + 1
    state = (np.full((2, values), -1), np.full((2, values), -1), np.full((2, windows.rows), -1),
             np.full((2, windows.rows), -1), np.full((2, max(windows.rows, values)), -1),
             np.empty((links, room), np.int32), np.arange(room, dtype=np.int32)[::-1].copy(), np.array([room]))
    start = int(np.searchsorted(at, full))
    came, went = algorithm(*state, a, b, side, row, comes, 0, start)
    started = time.process_time()
    more, gone = algorithm(*state, a, b, side, row, comes, start, len(at))
    return Run(time.process_time() - started, int(came + more), int(went + gone))


@compiled
def most(side: Ints, row: Ints, comes: Ints, a: Ints, b: Ints, there: Ints) -> int:
    """The most results that are there at a time."""
    now, found = 0, 0
    for i in range(len(side)):
        mine = side[i]
        value = a[row[i]] if mine == 0 else b[row[i]]
        if comes[i]:
            now += there[1 - mine, value]
            there[mine, value] += 1
            found = max(found, now)
        else:
            now -= there[1 - mine, value]
            there[mine, value] -= 1
    return found


@compiled
def _insert(side: int, row: int, value: int, first: Ints, last: Ints, follows: Ints, leads: Ints) -> None:
    """A row at the end of the list of its value."""
    leads[side, row], follows[side, row] = last[side, value], -1
    if last[side, value] == -1:
        first[side, value] = row
    else:
        follows[side, last[side, value]] = row
    last[side, value] = row


@compiled
def _remove(side: int, row: int, value: int, first: Ints, last: Ints, follows: Ints, leads: Ints) -> None:
    """A row out of the list of its value, wherever it is: rows of partitions leave in any order."""
    before, after = leads[side, row], follows[side, row]
    if before == -1:
        first[side, value] = after
    else:
        follows[side, before] = after
    if after == -1:
        last[side, value] = before
    else:
        leads[side, after] = before


@compiled
def _ord(first: Ints, last: Ints, follows: Ints, leads: Ints, head: Ints, results: Small, free: Small, left: Ints,
         a: Ints, b: Ints, sides: Ints, rows: Ints, comes: Ints, start: int, end: int) -> tuple[int, int]:
    of, after, before = results[:2], results[2:4], results[4:]
    came, went = 0, 0
    for i in range(start, end):
        side, row, other = sides[i], rows[i], 1 - sides[i]
        value = a[row] if side == 0 else b[row]
        if not comes[i]:
            at = head[side, row]
            while at != -1:  # the entry of its catalogue: all results of the row that leaves
                one, next_, previous = of[other, at], after[other, at], before[other, at]
                if previous == -1:
                    head[other, one] = next_
                else:
                    after[other, previous] = next_
                if next_ != -1:
                    before[other, next_] = previous
                free[left[0]] = at
                left[0] += 1
                went += 1
                at = after[side, at]
            _remove(side, row, value, first, last, follows, leads)
            continue
        partner = first[other, value]
        while partner != -1:
            left[0] -= 1
            at = free[left[0]]
            for place, one in ((side, row), (other, partner)):
                of[place, at], before[place, at], after[place, at] = one, -1, head[place, one]
                if head[place, one] != -1:
                    before[place, head[place, one]] = at
                head[place, one] = at
            came += 1
            partner = follows[other, partner]
        _insert(side, row, value, first, last, follows, leads)
    return came, went


@compiled
def _nt(first: Ints, last: Ints, follows: Ints, leads: Ints, ends: Ints, results: Small, free: Small, left: Ints,
        a: Ints, b: Ints, sides: Ints, rows: Ints, comes: Ints, start: int, end: int) -> tuple[int, int]:
    one, two, after = results[0], results[1], results[2]
    head, tail = ends[0], ends[1]  # the list of results of every value
    came, went = 0, 0
    for i in range(start, end):
        side, row, other = sides[i], rows[i], 1 - sides[i]
        value = a[row] if side == 0 else b[row]
        partner = first[other, value]
        if not comes[i]:
            mine, theirs = (one, two) if side == 0 else (two, one)
            while partner != -1:  # a negative tuple for every result of the row
                before, at = -1, head[value]
                while mine[at] != row or theirs[at] != partner:
                    before, at = at, after[at]
                if before == -1:
                    head[value] = after[at]
                else:
                    after[before] = after[at]
                if tail[value] == at:
                    tail[value] = before
                free[left[0]] = at
                left[0] += 1
                went += 1
                partner = follows[other, partner]
            _remove(side, row, value, first, last, follows, leads)
            continue
        while partner != -1:
            left[0] -= 1
            at = free[left[0]]
            one[at], two[at] = (row, partner) if side == 0 else (partner, row)
            after[at] = -1
            if tail[value] == -1:
                head[value] = at
            else:
                after[tail[value]] = at
            tail[value] = at
            came += 1
            partner = follows[other, partner]
        _insert(side, row, value, first, last, follows, leads)
    return came, went
