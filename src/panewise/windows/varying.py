"""Windows whose extent changes with time, such as a longer one at night (Patroumpas and Sellis 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import UNBOUNDED, Clock, Rows, WindowSpec, whole


@dataclass(frozen=True)
class VaryingWindow(WindowSpec):
    """A sliding window of ``range`` ticks that becomes another length at each of ``changes`` (instant, new range).

    Legal only while the lower end never moves back, else rows that have expired would have to return: a range can
    shrink at once but grow by one tick per tick only. ``gradual`` lets it grow so, with the lower end held where it
    is until the new range is filled; without it a specification that jumps up is refused.

    >>> window = VaryingWindow(3, changes=((10, 5),), gradual=True)
    >>> [str(window.scope(tau)) for tau in (9, 10, 11, 12)]
    ['[7, 10)', '[7, 11)', '[7, 12)', '[8, 13)']
    """

    range: int
    changes: tuple[tuple[int, int], ...] = ()
    slide: int = 1
    origin: int = 0
    gradual: bool = False

    kind: ClassVar[str] = "varying"
    clock: ClassVar[Clock | None] = Clock.TIME

    def __post_init__(self) -> None:
        whole("RANGE", self.range, least=1)
        whole("SLIDE", self.slide, least=1)
        whole("origin", self.origin)
        object.__setattr__(self, "changes", tuple((at, extent) for at, extent in self.changes))
        for at, extent in self.changes:
            whole("the instant of a change", at)
            whole("the RANGE after a change", extent, least=1)
        for (at, _), (later, _) in pairwise(self.changes):
            if later <= at:
                raise WindowSpecError(f"changes must be in the order of time: {later} comes after {at}")
        for before, (at, after) in zip((self.range, *(e for _, e in self.changes)), self.changes, strict=False):
            if after > before + 1 and not self.gradual:
                raise WindowSpecError(
                    f"at {at} the RANGE jumps from {before} to {after}, so the window would have to take back rows "
                    "that have expired: pass gradual=True to let it grow tick by tick"
                )

    @property
    def stretches(self) -> list[tuple[int, int, int]]:
        """The stretches of one extent: from, extent, until (exclusive)."""
        starts = [-UNBOUNDED, *(at for at, _ in self.changes)]
        extents = [self.range, *(extent for _, extent in self.changes)]
        return list(zip(starts, extents, [*starts[1:], UNBOUNDED], strict=True))

    def lower(self, tau: int) -> int:
        """The first instant inside at tau: the largest of all lower ends so far."""
        return max(min(tau, until - 1) - extent + 1 for start, extent, until in self.stretches if start <= tau)

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """From the lower end at the window's last instant to that instant."""
        end = self.origin + (wid + 1) * self.slide
        return Interval(self.lower(end - 1), end)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """From the first window that ends after the value to the first whose lower end has passed it."""
        return self._wids_of(rows.values)

    def _wids_of(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        first = (values - self.origin) // self.slide
        return first, np.maximum(first, -(-(self._passed(values) + 1 - self.origin) // self.slide) - 1)

    def _passed(self, values: Ordinals) -> Ordinals:
        """The first instant whose lower end is above the value; in a stretch of one extent that is value + extent."""
        passed = np.full_like(values, UNBOUNDED)
        for start, extent, until in self.stretches:
            candidate = np.maximum(values + extent, start)
            passed = np.minimum(passed, np.where(candidate < until, candidate, UNBOUNDED))
        return passed

    def closed_below(self, bound: int) -> int:
        """Window w is complete when its end is at or below the bound."""
        return (bound - self.origin) // self.slide

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Entry as with any sliding window; expiry depends on the changes still to come, which are known."""
        first, last = self._wids_of(values)
        return self.origin + (first + 1) * self.slide - 1, self.origin + (last + 1) * self.slide - 1

    def describe(self) -> str:
        """The first range, then every change."""
        changes = "".join(f", then {extent} from {at}" for at, extent in self.changes)
        slide = f", slide {self.slide}" if self.slide > 1 else ""
        return f"range {self.range}{changes}{slide}"
