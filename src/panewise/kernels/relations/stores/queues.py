"""Which rows leave next: one structure per update pattern (Golab 3.5.2).

A queue holds slots by the end of their rows. Rows that were taken out before (negative tuples) may still be in it:
the store above the queue knows which slots are still taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import FOREVER, integers
from panewise.kernels.relations.stores.arena import Growing

Entries = tuple[Ordinals, Ordinals]
"""Slots, and the ends of their rows."""
DAYS = 10
"""Into how many days a calendar cuts the longest life seen."""
MANY_DAYS = 1024
"""So many may lie between entries that are put into days by counting; there are more when rows long gone are held."""


class ExpiryQueue(ABC):
    """Slots by the end of their rows; an end that is ``FOREVER`` is never due."""

    def __init__(self) -> None:
        self.clear()

    @abstractmethod
    def clear(self) -> None:
        """Hold nothing."""

    @abstractmethod
    def insert(self, slots: Ordinals, expires: Ordinals, now: int) -> None:
        """Some rows, at an instant."""

    @abstractmethod
    def passed(self, upto: int) -> Entries:
        """The rows that end below the bound; they are forgotten."""

    @abstractmethod
    def entries(self) -> Entries:
        """All rows that are held, those that leave together in the order they came."""

    def due(self, upto: int) -> Ordinals:
        """The slots of rows that end below the bound; they are forgotten."""
        return self.passed(upto)[0]

    def rebuild(self, expires: Ordinals, now: int) -> None:
        """Start again with the rows in slots 0, 1, 2, …"""
        self.clear()
        self.insert(np.arange(len(expires)), expires, now)


class Fifo(ExpiryQueue):
    """Rows leave in the order they came (WKS, MON): a place in a list.

    Only late rows leave sooner than rows that came before them; they are few, and are put in their place.
    """

    def clear(self) -> None:
        """Start again."""
        self._slots, self._expires = Growing(), Growing()
        self._head = 0

    def insert(self, slots: Ordinals, expires: Ordinals, now: int) -> None:
        """At the end."""
        if not len(expires):
            return
        behind = expires[0] < self._expires.values[-1] if self._expires.count else False
        self._slots.append(slots)
        self._expires.append(expires)
        if behind or (expires[1:] < expires[:-1]).any():
            self._sort()

    def _sort(self) -> None:
        slots, expires = self.entries()
        order = np.argsort(expires, kind="stable")
        self._slots, self._expires, self._head = Growing(slots[order]), Growing(expires[order]), 0

    def passed(self, upto: int) -> Entries:
        """From the head on."""
        expires = self._expires.values
        tail = self._head + int(np.searchsorted(expires[self._head :], min(upto, FOREVER)))
        found = self._slots.values[self._head : tail].copy(), expires[self._head : tail].copy()
        self._head = tail
        if 2 * tail > len(expires) + 1024:
            self._slots, self._expires = Growing(self._slots.values[tail:]), Growing(expires[tail:])
            self._head = 0
        return found

    def entries(self) -> Entries:
        """From the head on."""
        return self._slots.values[self._head :], self._expires.values[self._head :]


class Calendar(ExpiryQueue):
    """Rows leave at known moments in any order (WK): a list per day of the calendar.

    A day is a tenth of the longest life when the calendar was last empty, and grows once lives are more than four times
    as long. So rows that live lie in eleven days (Golab erratum E4: one more than the lives have), or in some forty
    while lives grow. Days are numbered without end, so two never share a list. A day that has begun is sorted once, so
    that short steps need not look through all of it.
    """

    def clear(self) -> None:
        """Start again."""
        self._width = 0
        self._days: dict[int, list[Entries]] = {}
        self._today: list[Entries] = []  # sorted, each at least twice as long as the next

    def insert(self, slots: Ordinals, expires: Ordinals, now: int) -> None:
        """Into the day of each row's end."""
        known, low, high = _extent(expires, FOREVER)
        if not known:
            return
        if known < len(slots):
            comes = expires != FOREVER
            slots, expires = slots[comes], expires[comes]
        longest = max(1, (high - max(now, low - 1)) // DAYS)
        if longest > self._width:
            if longest > 4 * self._width and self._days:  # much longer lives than before: the days were too short
                slots, expires = joined([(slots, expires), *(part for day in self._days.values() for part in day)])
                _, low, high = _extent(expires, FOREVER)
                self._days, self._width = {}, longest
            elif not self._days:
                self._width = longest
        for day, part in self._in_days(slots, expires, low // self._width, high // self._width):
            self._days.setdefault(day, []).append(part)

    def _in_days(self, slots: Ordinals, expires: Ordinals, first: int, last: int) -> Iterator[tuple[int, Entries]]:
        """Entries of every day that has some; copies, so that a long life does not hold the others of its step."""
        if first == last:
            yield first, (slots.copy(), expires.copy())
        elif last - first < MANY_DAYS:
            slots, expires, begins = _by_day(slots, expires, self._width, first, last - first + 1)
            for day, (begin, end) in enumerate(pairwise(begins.tolist()), first):
                if begin < end:
                    yield day, (slots[begin:end].copy(), expires[begin:end].copy())
        else:
            days = expires // self._width
            order = np.argsort(days, kind="stable")
            sorted_ = days[order]
            for part in np.split(order, np.flatnonzero(sorted_[1:] != sorted_[:-1]) + 1):
                yield int(days[part[0]]), (slots[part], expires[part])

    def passed(self, upto: int) -> Entries:
        """All of the days that have passed, and what has passed of today."""
        found: list[Entries] = []
        for day in sorted(d for d in self._days if d * self._width < upto):
            parts = self._days.pop(day)
            if (day + 1) * self._width <= upto:
                found += parts
            else:
                self._begin(parts)
        today, self._today = self._today, []
        for slots, expires in today:
            cut = int(expires.searchsorted(upto))
            if cut:
                found.append((slots[:cut], expires[:cut]))
            if cut < len(slots):
                self._today.append((slots[cut:], expires[cut:]))
        return joined(found)

    def entries(self) -> Entries:
        """Today, then day by day."""
        return joined([*self._today, *(part for day in sorted(self._days) for part in self._days[day])])

    def _begin(self, parts: list[Entries]) -> None:
        """Rows of the day that it is now."""
        while self._today and len(self._today[-1][0]) < 2 * sum(len(slots) for slots, _ in parts):
            parts = [self._today.pop(), *parts]
        slots, expires = joined(parts)
        order = np.argsort(expires, kind="stable")
        self._today.append((slots[order], expires[order]))


class Scanned(ExpiryQueue):
    """A list by arrival that is looked through at every step: the direct approach (Golab 2.3.3)."""

    def clear(self) -> None:
        """Start again."""
        self._slots, self._expires = Growing(), Growing()

    def insert(self, slots: Ordinals, expires: Ordinals, now: int) -> None:
        """At the end."""
        self._slots.append(slots)
        self._expires.append(expires)

    def passed(self, upto: int) -> Entries:
        """Every row is compared."""
        passed = self._expires.values < upto
        found = self._slots.values[passed], self._expires.values[passed]
        if passed.any():
            kept = self._slots.values[~passed], self._expires.values[~passed]
            self._slots, self._expires = map(Growing, kept)
        return found

    def entries(self) -> Entries:
        """As they came."""
        return self._slots.values, self._expires.values


class Unqueued(ExpiryQueue):
    """Nothing leaves unless an end says so (negative tuples): rows are found by their number."""

    def clear(self) -> None:
        """Nothing is held."""

    def insert(self, slots: Ordinals, expires: Ordinals, now: int) -> None:
        """Nothing to note."""

    def passed(self, upto: int) -> Entries:
        """No rows."""
        return integers(), integers()

    def entries(self) -> Entries:
        """No rows."""
        return integers(), integers()


def joined(parts: Sequence[Entries]) -> Entries:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    return (np.concatenate([integers(), *(slots for slots, _ in parts)]),
            np.concatenate([integers(), *(expires for _, expires in parts)]))


@compiled
def _extent(expires: Ints, never: int) -> tuple[int, int, int]:
    """How many ends there are that come, the first and the last of them."""
    count, low, high = 0, never, -never
    for end in expires:
        if end != never:
            count += 1
            low, high = min(low, end), max(high, end)
    return count, low, high


@compiled
def _by_day(slots: Ints, expires: Ints, width: int, first: int, days: int) -> tuple[Ints, Ints, Ints]:
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
