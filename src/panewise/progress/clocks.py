"""Generators that use the wall clock: timer with lull, heartbeat, idle source.

The clock is a value passed to ``tick`` in ordinals of the windowing attribute (microseconds for timestamps); nothing
here reads a clock or waits. Ticks are events between rows: where they fall matters, how rows are batched does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from panewise.core.errors import ProgressError
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.core.time import DAY, SECOND
from panewise.progress.generators import Extra, Generator, Observed, Wrapping
from panewise.progress.watermarks import NO_BOUND


class Timer(Wrapping):
    """Publishes what another generator knows at every ``interval`` of the wall clock, and goes on in a lull.

    When the newest value seen is more than ``lull`` behind the clock, the bound becomes ``now - lull``: a source
    without rows no longer blocks windows (Gigascope's rule, Li 8.1). With ``interval`` 0 the other generator's bound is
    in force at once and only the lull is added.

    >>> from panewise.progress.lateness import Ordered
    >>> timer = Timer(Ordered(), interval=1, lull=30)
    >>> timer.observe(np.array([100, 101])).before.tolist() == [NO_BOUND, NO_BOUND]
    True
    >>> timer.tick(102), timer.tick(131), timer.tick(150)
    (101, 101, 120)
    """

    kind: ClassVar[str] = "timer"
    saved: ClassVar[tuple[str, ...]] = ("newest", "published", "last_tick")

    def __init__(self, inner: Generator, *, interval: int = 0, lull: int | None = None) -> None:
        super().__init__(inner)
        if interval < 0:
            raise ProgressError(f"the timer's interval must not be negative, it was {interval}")
        if lull is not None and lull < 0:
            raise ProgressError(f"the lull threshold must not be negative, it was {lull}")
        self.interval, self.lull = interval, lull
        self.newest = NO_BOUND
        self.published = NO_BOUND
        self.last_tick: int | None = None

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        seen = self.inner.observe(values, extra)
        self.newest = max(self.newest, int(values.max(initial=NO_BOUND)))
        if self.interval:
            return Observed(np.full(len(values), self.published, np.int64), self.published)
        own = None if seen.own is None else np.maximum(seen.own, self.published)
        return Observed(np.maximum(seen.before, self.published), max(seen.after, self.published), own)

    def tick(self, now: int) -> int:
        """Publish, unless the interval has not passed yet."""
        if self.interval:
            if self.last_tick is not None and now - self.last_tick < self.interval:
                return self.bound
            self.last_tick = now
        known = self.inner.tick(now)
        # a guarded source measures the lull from the newest row it believes, or one poison row would hide every lull
        newest = self.newest if self.inner.guard is None else self.inner.guard.highest
        if self.lull is not None and now - newest > self.lull:
            known = max(known, now - self.lull)
        self.published = max(self.published, known)
        return self.bound

    def _bound(self) -> int:
        return self.published if self.interval else max(self.published, self.inner.bound)

    def describe(self) -> str:
        """With the interval and the lull threshold."""
        parts = [f"every {self.interval}"] if self.interval else []
        parts += [f"lull after {self.lull}"] if self.lull is not None else []
        return f"{self.inner.describe()}, {', '.join(parts)}" if parts else self.inner.describe()


class Heartbeat(Generator):
    """The bound follows the wall clock at a fixed distance, rows or not.

    The distance is the sum of what can delay a row: the skew of the source's clock, disorder at the source, and
    latency on the way (Srivastava and Widom). A source that sends heartbeats of its own passes them to ``supply``.

    >>> beat = Heartbeat(10)
    >>> beat.tick(100), beat.supply(95), beat.tick(101)
    (90, 95, 95)
    """

    kind: ClassVar[str] = "heartbeat"
    saved: ClassVar[tuple[str, ...]] = ("reached",)

    def __init__(self, distance: int) -> None:
        super().__init__()
        if distance < 0:
            raise ProgressError(f"the distance of a heartbeat must not be negative, it was {distance}")
        self.distance = distance
        self.reached = NO_BOUND

    def tick(self, now: int) -> int:
        """Follow the clock; a clock that was set back is waited for."""
        self.reached = max(self.reached, now - self.distance)
        return self.bound

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        return Observed(np.full(len(values), self.reached, np.int64), self.reached)

    def _bound(self) -> int:
        return self.reached

    def describe(self) -> str:
        """With the distance."""
        return f"heartbeat {self.distance} behind the clock"


class IdleSource(Wrapping):
    """Marks a source idle when no row came for ``timeout``, so that a Meld stops waiting for it; a row wakes it up.

    The bound itself does not move: silence promises nothing. Rows count as seen at the next tick.

    >>> from panewise.progress.lateness import Ordered
    >>> source = IdleSource(Ordered(), timeout=10)
    >>> _ = source.observe(np.array([5])), source.tick(100), source.tick(110)
    >>> source.idle, source.bound
    (True, 5)
    >>> _ = source.observe(np.array([6]))
    >>> source.idle
    False
    """

    kind: ClassVar[str] = "idle"
    saved: ClassVar[tuple[str, ...]] = ("idle", "last_active", "rows_since_tick")

    def __init__(self, inner: Generator, *, timeout: int) -> None:
        super().__init__(inner)
        if timeout <= 0:
            raise ProgressError(f"the idle timeout must be positive, not {timeout}")
        self.timeout = timeout
        self.last_active: int | None = None
        self.rows_since_tick = False

    def _observe(self, values: Ordinals, extra: Extra) -> Observed:
        if len(values):
            self.rows_since_tick, self.idle = True, False
        return self.inner.observe(values, extra)

    def tick(self, now: int) -> int:
        """Look at the clock: was there a row since the last look, and if not, for how long?"""
        self.inner.tick(now)
        if self.rows_since_tick or self.last_active is None:
            self.last_active, self.rows_since_tick = now, False
        else:
            self.idle = now - self.last_active >= self.timeout
        return self.bound

    def supply(self, bound: int) -> int:
        """A promise of the source is a sign of life, too."""
        self.rows_since_tick, self.idle = True, False
        return super().supply(bound)

    def _bound(self) -> int:
        return self.inner.bound

    def describe(self) -> str:
        """With the timeout."""
        return f"{self.inner.describe()}, idle after {self.timeout}"


# -- when to look at the clock

LONGEST_STEP, SHORTEST_STEP = SECOND, SECOND // 100


def clock_ordinal(now: int, kind: OrdinalKind) -> int:
    """The wall clock as a value of a windowing attribute: days for dates, seconds where the attribute is an integer."""
    return now // _unit(kind)


def clock_step(generators: Sequence[Generator], kind: OrdinalKind) -> int:
    """How often to tick, in microseconds: four times within the shortest time any policy waits for."""
    waits = [amount * _unit(kind) for generator in generators for clock in clocks_of(generator)
             for amount in _amounts(clock) if amount]
    return max(SHORTEST_STEP, min([LONGEST_STEP, *(wait // 4 for wait in waits)]))


def clocks_of(generator: Generator) -> Iterator[Generator]:
    """The parts of a policy that look at the wall clock."""
    if isinstance(generator, Timer | IdleSource):
        yield generator
        yield from clocks_of(generator.inner)
    elif isinstance(generator, Heartbeat):
        yield generator


def falls_silent(generator: Generator) -> bool:
    """Whether a policy stops others from waiting for a silent source."""
    return any(isinstance(clock, IdleSource) for clock in clocks_of(generator))


def _unit(kind: OrdinalKind) -> int:
    return {OrdinalKind.TIMESTAMP: 1, OrdinalKind.DATE: DAY}.get(kind, SECOND)


def _amounts(clock: Generator) -> Sequence[int]:
    match clock:
        case Timer():
            return [clock.interval, clock.lull or 0]
        case IdleSource():
            return [clock.timeout]
        case Heartbeat():
            return [clock.distance]
    return []
