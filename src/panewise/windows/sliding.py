"""Sliding windows with any RANGE/SLIDE ratio, tumbling when they are equal, gapped when RANGE < SLIDE (Li 5.1.2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import ClassVar

import numpy as np

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import ContextClass, Rows, WindowSpec


@dataclass(frozen=True)
class SlidingWindow(WindowSpec):
    """Window ``w`` ends at ``origin + (w+1)·slide`` and reaches ``range`` back; ``lag`` shifts it into the past.

    The printed formulas round up; rounding down is the dual of the extent (erratum E1). The origin is explicit
    (erratum E4): the default, 0, is where Spark aligns its windows.

    >>> window = SlidingWindow(600, 60)
    >>> window.extent(10), window.wids(Rows.of([5]))
    (Interval(start=60, end=660), (array([0]), array([10])))
    """

    range: int
    slide: int
    origin: int = 0
    lag: int = 0

    context_class: ClassVar[ContextClass] = ContextClass.CF
    kind: ClassVar[str] = "sliding"

    def __post_init__(self) -> None:
        if self.range <= 0:
            raise WindowSpecError(f"RANGE must be positive, not {self.range}")
        if self.slide <= 0:
            raise WindowSpecError(f"SLIDE must be positive, not {self.slide}")
        if self.lag < 0:
            raise WindowSpecError(f"LAG must not be negative, it was {self.lag}")

    @classmethod
    def scoped(cls, range: int, slide: int = 1, *, registered_at: int = 0, lag: int = 0) -> SlidingWindow:
        """The window of Patroumpas and Sellis whose states show at ``registered_at + k·slide`` (rule U1)."""
        return cls(range, slide, registered_at + 1 - slide, lag)

    @property
    def pane(self) -> int:
        """The largest piece from which every window can be put together."""
        return gcd(self.range, self.slide)

    @property
    def ratio(self) -> int:
        """The most windows one row can be in."""
        return -(-self.range // self.slide)

    def windows(self, rows: Rows) -> Ordinals:
        """All ids from any row's range; contiguous per row, so a union of ranges."""
        first, last = self.wids(rows)
        ids = [np.arange(a, b, dtype=np.int64) for a, b in zip(first, last, strict=True)]
        return np.unique(np.concatenate(ids)) if ids else np.empty(0, np.int64)

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """Equation 5.2, shifted by the lag."""
        end = self.origin + (wid + 1) * self.slide - self.lag
        return Interval(end - self.range, end)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """Equation 5.3 with floors (erratum E1)."""
        return self.wids_of(rows.values)

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
        first, last = self.wids_of(values)
        return self.origin + (first + 1) * self.slide - 1, self.origin + (last + 1) * self.slide - 1

    def describe(self) -> str:
        """RANGE, SLIDE and what differs from the defaults."""
        extra = "".join(f", {n} {v}" for n, v in (("origin", self.origin), ("lag", self.lag)) if v)
        return f"range {self.range}, slide {self.slide}{extra}"
