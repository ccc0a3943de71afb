"""Algorithms of Golab's thesis in executable form, with the printed slip and the correction side by side.

As in ``algorithms``: small models to be held against brute force and the oracle. A row is valid at every instant
``ts <= tau < exp``; in one tick rows expire before others arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import lcm


@dataclass(frozen=True)
class Row:
    """One row of a stream with its life."""

    ts: int
    exp: int
    value: str = ""
    stream: int = 0
    number: int = 0

    @classmethod
    def window(cls, times: Iterable[tuple[int, str]], length: int, stream: int = 0) -> list[Row]:
        """The rows of a sliding window, oldest first."""
        ordered = sorted(times, key=lambda t: t[0])
        return [cls(ts, ts + length, value, stream, number) for number, (ts, value) in enumerate(ordered)]

    @property
    def age(self) -> tuple[int, int]:
        """Sorts from oldest to youngest."""
        return self.ts, self.number


# -- joins (2.3.2, algorithms 3 and 5; errata G-E1, G-E6, G-E25) -------------------------------------------------------


def eager_join(left: list[Row], right: list[Row], *, printed: bool) -> list[tuple[int, int, int, int]]:
    """Every result as (left ts, right ts, born, gone). Printed: a partner still counts at the instant it expires."""
    found = []
    for one, other in product(left, right):
        born, gone = max(one.ts, other.ts), min(one.exp, other.exp)
        if one.value == other.value and (born <= gone if printed else born < gone):
            found.append((one.ts, other.ts, born, gone))
    return sorted(found)


def restore_join(streams: Sequence[list[Row]], every: int, until: int, *, only_with_the_new: bool = False,
                 upper_bound: bool = False) -> list[tuple[int, tuple[int, ...]]]:
    """Lazy join with restore: what each refresh reports, as (refresh, times of the constituents).

    ``only_with_the_new`` compares each partner with the newly arrived row alone, ``upper_bound`` also asks that it
    has expired by the refresh; both are printed.
    """
    state: list[list[Row]] = [[] for _ in streams]
    reported = []
    for now in range(0, until + every, every):
        for i, rows in enumerate(streams):
            arrived = [r for r in rows if now - every < r.ts <= now]
            state[i] += arrived
            others = [part for j, part in enumerate(state) if j != i]
            for new, *partners in product(arrived, *others):
                if any(p.value != new.value for p in partners):
                    continue
                together = all(p.exp > new.ts for p in partners)
                if not only_with_the_new:
                    everyone = (new, *partners)
                    together = max(r.ts for r in everyone) < min(r.exp for r in everyone)
                if together and not (upper_bound and any(p.exp > now for p in partners)):
                    times = [p.ts for p in partners]
                    reported.append((now, (*times[:i], new.ts, *times[i:])))
        state = [[r for r in part if r.exp > now] for part in state]
    return sorted(reported)


def after_refresh(state: list[Row], now: int, length: int, *, printed: bool) -> list[Row]:
    """What the last line of algorithm 5 leaves in a window: by age (printed), or by the end of each life."""
    return [r for r in state if (r.ts >= now - length if printed else r.exp > now)]


# -- state (calendar queue, 3.5.2; circular array, 7.2; errata G-E4, G-E5) ---------------------------------------------


@dataclass
class CalendarQueue:
    """Rows in days of ``width`` ticks by expiry, in ``slots`` slots; a day that has passed is dropped whole."""

    width: int
    slots: int
    days: dict[int, list[Row]] = field(default_factory=dict)
    passed: int = 0

    def insert(self, row: Row) -> None:
        """Into the slot of the day in which the row expires."""
        self.days.setdefault((-(-row.exp // self.width) - 1) % self.slots, []).append(row)

    def advance(self, now: int) -> None:
        """Drop the slots of the days that ended by now."""
        while (self.passed + 1) * self.width <= now:
            self.days.pop(self.passed % self.slots, None)
            self.passed += 1

    def alive(self, now: int) -> list[Row]:
        """The rows that are there and have not expired."""
        return sorted((r for day in self.days.values() for r in day if r.exp > now), key=lambda r: r.age)


def youngest_slots(newest: int, slots: int, count: int, *, printed: bool) -> list[int]:
    """The slots of the ``count`` youngest parts of a circular array, ``newest`` being the last one written."""
    step = 1 if printed else -1
    return [(newest + step * i) % slots for i in range(count)]


# -- duplicate elimination δ* (3.5.2; erratum G-E8) --------------------------------------------------------------------


def delta_star(rows: list[Row], until: int, *, printed: bool) -> list[set[str]]:
    """The distinct values at every tick; each value keeps one replacement: the youngest (printed) or longest-lived."""
    shown: dict[str, Row] = {}
    spare: dict[str, Row] = {}
    history = []
    for now in range(until):
        for value in [v for v, row in shown.items() if row.exp <= now]:
            shown.pop(value)
            successor = spare.pop(value, None)
            if successor is not None and successor.exp > now:
                shown[value] = successor
        for row in (r for r in rows if r.ts == now):
            current, waiting = shown.get(row.value), spare.get(row.value)
            if current is None:
                shown[row.value] = row
            elif printed or (row.exp > current.exp and (waiting is None or row.exp > waiting.exp)):
                spare[row.value] = row
        history.append(set(shown))
    return history


# -- negation by events (2.2.2; errata G-E9, G-E10) --------------------------------------------------------------------


def negation(left: list[Row], right: list[Row], until: int, *, at_least: bool = False,
             silent_expiry: bool = False) -> list[list[Row]]:
    """Bag difference of two windows, by events: the result at every tick.

    ``at_least`` is the printed condition when a right row expires, ``silent_expiry`` the printed handling of a left
    row that expires without being in the result.
    """
    ours: list[Row] = []
    theirs: list[Row] = []
    result: list[Row] = []
    history = []

    def copies(rows: list[Row], value: str) -> list[Row]:
        return sorted((r for r in rows if r.value == value), key=lambda r: r.age)

    def take_back(value: str) -> None:
        oldest = copies(result, value)[:1]
        for row in oldest:
            result.remove(row)

    for now in range(until):
        for row in [r for r in theirs if r.exp <= now]:
            theirs.remove(row)
            mine, rivals = copies(ours, row.value), copies(theirs, row.value)
            waiting = [r for r in mine if r not in result]
            if (len(mine) >= len(rivals) if at_least else len(mine) > len(rivals)) and waiting:
                result.append(waiting[-1])
        for row in [r for r in ours if r.exp <= now]:
            surplus = len(copies(ours, row.value)) > len(copies(theirs, row.value))
            ours.remove(row)
            if row in result:
                result.remove(row)
            elif surplus and not silent_expiry:
                take_back(row.value)
        for row in sorted((r for r in (*left, *right) if r.ts == now), key=lambda r: (r.stream, r.number)):
            if row.stream == 0:
                ours.append(row)
                if len(copies(ours, row.value)) > len(copies(theirs, row.value)):
                    result.append(row)
            else:
                theirs.append(row)
                if len(copies(theirs, row.value)) <= len(copies(ours, row.value)):
                    take_back(row.value)
        history.append(sorted(result, key=lambda r: r.age))
    return history


# -- refresh schedules (8.4; erratum G-E18) ----------------------------------------------------------------------------


def schedule_cost(blocks: Sequence[tuple[int, int]]) -> float:
    """Cost per tick of blocks (period, cost) that share their work whenever they fall on one tick."""
    cycle = lcm(*(period for period, _ in blocks))
    due = ([cost for period, cost in blocks if tick % period == 0] for tick in range(1, cycle + 1))
    return sum(max(costs, default=0) for costs in due) / cycle
