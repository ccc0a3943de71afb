"""Sliding windows with any RANGE/SLIDE ratio, tumbling when they are equal, gapped when RANGE < SLIDE (Li 5.1.2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import ClassVar

from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import Clock, Rows, WindowSpec, whole


@dataclass(frozen=True)
class SlidingWindow(WindowSpec):
    """Window ``w`` ends at ``origin + (w+1)·slide`` and reaches ``range`` back; ``lag`` shifts it into the past.

    The printed formulas round up; rounding down is the dual of the extent (erratum E1). The origin is explicit
    (erratum E4). Spark aligns the starts of its windows, so the default, 0, agrees with it when SLIDE divides RANGE.

    >>> window = SlidingWindow(600, 60)
    >>> window.extent(10), window.wids(Rows.of([5]))
    (Interval(start=60, end=660), (array([0]), array([10])))
    """

    range: int
    slide: int
    origin: int = 0
    lag: int = 0

    kind: ClassVar[str] = "sliding"
    clock: ClassVar[Clock | None] = Clock.TIME
    shows_range: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole("RANGE", self.range, least=1)
        whole("SLIDE", self.slide, least=1)
        whole("origin", self.origin)
        whole("LAG", self.lag, least=0)

    @classmethod
    def scoped(cls, range: int, slide: int = 1, *, registered_at: int = 0, lag: int = 0) -> SlidingWindow:
        """The window of Patroumpas and Sellis whose states show at ``registered_at + k·slide`` (rule U1)."""
        return SlidingWindow(range, slide, registered_at + 1 - slide, lag)

    @property
    def pane(self) -> int:
        """The largest piece from which every window can be put together."""
        return gcd(self.range, self.slide)

    @property
    def ratio(self) -> int:
        """The most windows one row can be in."""
        return -(-self.range // self.slide)

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """Equation 5.2, shifted by the lag."""
        end = self.origin + (wid + 1) * self.slide - self.lag
        return Interval(end - self.range, end)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """Equation 5.3 with floors (erratum E1)."""
        return self.wids_of(self.coordinate(rows))

    def wids_of(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """The same on bare ordinals: a context-free window needs nothing else."""
        distance = values - (self.origin - self.lag)
        return distance // self.slide, (distance + self.range) // self.slide

    def closed_below(self, bound: int) -> int:
        """Window w is complete when its end is at or below the bound."""
        return (bound + self.lag - self.origin) // self.slide

    def scope(self, tau: int) -> Interval:
        """The extent of the newest window that ends at or before tau, rows of tau included."""
        return self.extent((tau + 1 - self.origin) // self.slide - 1)

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """When each row becomes visible and when it expires; equal means never visible (papers 1.2)."""
        if self.slide == 1:  # as most changing relations have it, and division is slow
            enter = values + self.lag if self.lag else values
            return enter, enter + self.range
        first, last = self.wids_of(values)
        return self.origin + (first + 1) * self.slide - 1, self.origin + (last + 1) * self.slide - 1

    def describe(self) -> str:
        """RANGE, SLIDE and what differs from the defaults."""
        return f"range {self.range}, slide {self.slide}{self._moved()}"

    def _moved(self) -> str:
        """Origin and lag, where they differ from the defaults."""
        usual = type(self).origin
        return "".join(f", {name} {value}" for name, value, default in
                       (("origin", self.origin, usual), ("lag", self.lag, 0)) if value != default)
