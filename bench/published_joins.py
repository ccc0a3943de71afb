"""Golab's algorithms 2 to 5 as published, compiled: joins of many windows, one tuple after the other.

Every window is a hash table of some buckets, each a queue in order of time; one bucket makes nested loops. A tuple, or
lazily a group of new tuples with one value, goes through the other windows in the global order and meets every tuple of
the bucket. Corrected as the errata say: what is restored must have been alive together (E6), removal is by end (E25).

Results are written, and a sum over them is kept, so that all algorithms do the same work for one and can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
ROOM = 1 << 12
"""Results that are remembered; older ones are written over."""
EVERY_ROW = 0


@dataclass(frozen=True)
class Arrivals:
    """Tuples in order of time: which stream each is of, and its value; its time is its place."""

    stream: Ints
    value: Ints
    ranges: Ints
    """How long tuples of every stream live."""

    @classmethod
    def drawn(cls, count: int, rates: list[float], values: list[int], ranges: list[int], seed: int) -> Arrivals:
        """One tuple at a time, of a stream by its rate, with a uniform value (Golab 5.4.1)."""
        rng = np.random.default_rng(seed)
        stream = rng.choice(len(rates), size=count, p=np.array(rates) / sum(rates))
        return cls(stream, rng.integers(0, np.array(values)[stream]), np.array(ranges))

    @property
    def count(self) -> int:
        return len(self.stream)


@dataclass(frozen=True)
class Found:
    """Results, a sum over them that does not depend on their order, and how many held at the refresh that told them."""

    results: int
    checksum: int
    holding: int


def joined(arrivals: Arrivals, order: tuple[int, ...], buckets: int, *, lazy: bool = False, every: int = EVERY_ROW,
           restore: bool = False) -> Found:
    """One run; ``every`` so often windows expire, or are evaluated where that is lazy."""
    room = np.zeros((ROOM, len(order)), np.int64)
    layout = _layout(arrivals, buckets)
    data = arrivals.stream, arrivals.value, arrivals.ranges, np.array(order), buckets, *layout, room
    if lazy:
        algorithm: Callable[..., Any] = _restoring if restore else _holding
        results, checksum, holding = algorithm(*data, every)
    else:
        results, checksum = _expiring(*data) if every == EVERY_ROW else _skipping(*data, every)
        holding = results
    return Found(int(results), int(checksum), int(holding))


def _layout(arrivals: Arrivals, buckets: int) -> tuple[Ints, Ints, Ints]:
    """Where the queue of every bucket begins in one long array, and that array for values and for times."""
    sizes = np.bincount(arrivals.stream * buckets + arrivals.value % buckets,
                        minlength=len(arrivals.ranges) * buckets)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return starts, np.empty(arrivals.count, np.int64), np.empty(arrivals.count, np.int64)


compiled = numba.njit(cache=True, nogil=True)
SPREAD = 0x9E3779B1


@compiled
def _expire(window: int, now: int, ranges: Ints, buckets: int, heads: Ints, tails: Ints, times: Ints) -> None:
    """Every bucket is looked at."""
    for at in range(window * buckets, (window + 1) * buckets):
        while heads[at] < tails[at] and times[heads[at]] + ranges[window] <= now:
            heads[at] += 1


@compiled
def _insert(window: int, value: int, now: int, buckets: int, tails: Ints, values: Ints, times: Ints) -> None:
    at = window * buckets + value % buckets
    values[tails[at]], times[tails[at]] = value, now
    tails[at] += 1


@compiled
def _others(window: int, order: Ints, found: Ints) -> None:
    count = 0
    for other in order:
        if other != window:
            found[count] = other
            count += 1


def _eager(skips: bool) -> Any:
    """J1, where windows are expired before each probe, or J2, where what is gone is skipped by its time."""

    @compiled
    def run(stream: Ints, value: Ints, ranges: Ints, order: Ints, buckets: int, starts: Ints, values: Ints,
            times: Ints, room: Ints, every: int = 0) -> tuple[int, int]:
        heads, tails = starts.copy(), starts.copy()
        depths = len(order) - 1
        others, places = np.empty(depths, np.int64), np.empty(depths, np.int64)
        sums = np.zeros(depths + 1, np.int64)
        results, checksum = 0, 0
        for now in range(len(stream)):
            window, key = stream[now], value[now]
            _insert(window, key, now, buckets, tails, values, times)
            _others(window, order, others)
            if not skips or now % every == 0:
                for other in others:
                    _expire(other, now, ranges, buckets, heads, tails, times)
            sums[0] = SPREAD * now
            depth = 0
            places[0] = heads[others[0] * buckets + key % buckets]
            while depth >= 0:
                other = others[depth]
                at, end = places[depth], tails[other * buckets + key % buckets]
                while at < end and (values[at] != key or (skips and times[at] + ranges[other] <= now)):
                    at += 1
                if at == end:
                    depth -= 1
                    continue
                places[depth] = at + 1
                sums[depth + 1] = sums[depth] + SPREAD * times[at]
                if depth == depths - 1:
                    row = room[results % ROOM]
                    row[window] = now
                    for d in range(depths):
                        row[others[d]] = places[d] - 1
                    results += 1
                    checksum += sums[depths] * sums[depths]
                else:
                    depth += 1
                    places[depth] = heads[others[depth] * buckets + key % buckets]
        return results, checksum

    return run


def _lazy(restores: bool) -> Any:
    """J3, where only what holds at a refresh is found, or J4, where also what lived since the last one is."""

    @compiled
    def run(stream: Ints, value: Ints, ranges: Ints, order: Ints, buckets: int, starts: Ints, values: Ints,
            times: Ints, room: Ints, every: int) -> tuple[int, int, int]:
        heads, tails = starts.copy(), starts.copy()
        depths = len(order) - 1
        others, places = np.empty(depths, np.int64), np.empty(depths, np.int64)
        sums = np.zeros(depths + 1, np.int64)
        latest, first = np.zeros(depths + 1, np.int64), np.zeros(depths + 1, np.int64)
        results, checksum, holding = 0, 0, 0
        for began in range(0, len(stream), every):
            ended, now = min(began + every, len(stream)), began + every - 1
            for window in range(len(order)):
                new = began + np.flatnonzero(stream[began:ended] == window)
                for at in new:
                    _insert(window, value[at], at, buckets, tails, values, times)
                new = new[np.argsort(value[new], kind="mergesort")]
                _others(window, order, others)
                low = 0
                while low < len(new):
                    key, high = value[new[low]], low + 1
                    while high < len(new) and value[new[high]] == key:
                        high += 1
                    depth, places[0] = 0, heads[others[0] * buckets + key % buckets]
                    latest[0], first[0] = 0, len(stream) + 1_000_000_000
                    while depth >= 0:
                        other = others[depth]
                        at, end = places[depth], tails[other * buckets + key % buckets]
                        # the group is in order of time, so its first is the oldest
                        while at < end and (values[at] != key or (restores and times[at] + ranges[other] <= new[low])):
                            at += 1
                        if at == end:
                            depth -= 1
                            continue
                        places[depth] = at + 1
                        sums[depth + 1] = sums[depth] + SPREAD * times[at]
                        if restores:
                            latest[depth + 1] = max(latest[depth], times[at])
                            first[depth + 1] = min(first[depth], times[at] + ranges[other])
                        if depth < depths - 1:
                            depth += 1
                            places[depth] = heads[others[depth] * buckets + key % buckets]
                            continue
                        for member in new[low:high]:
                            if restores:
                                end_of_all = min(first[depths], member + ranges[window])
                                if max(latest[depths], member) >= end_of_all:
                                    continue
                                holding += end_of_all > now
                            row = room[results % ROOM]
                            row[window] = member
                            for d in range(depths):
                                row[others[d]] = places[d] - 1
                            results += 1
                            whole = sums[depths] + SPREAD * member
                            checksum += whole * whole
                    low = high
            for window in range(len(order)):
                _expire(window, now if restores else now + every, ranges, buckets, heads, tails, times)
        return results, checksum, holding if restores else results

    return run


_expiring, _skipping, _holding, _restoring = _eager(False), _eager(True), _lazy(False), _lazy(True)
