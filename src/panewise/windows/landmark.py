"""Windows with a fixed end: landmark windows by id (``RANGE ALL``) and by scope (``UNBOUNDED START AT … END AT …``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import UNBOUNDED, Clock, Rows, WindowSpec, ids_in_ranges, whole


@dataclass(frozen=True)
class LandmarkWindow(WindowSpec):
    """``RANGE ALL``: window ``w`` holds everything before ``origin + (w+1)·slide`` (equations 5.7 to 5.9, floor: E1).

    A row never leaves, so the end of its ids is ``UNBOUNDED``.

    >>> window = LandmarkWindow(60)
    >>> str(window.extent(1)), window.wids(Rows.of([61]))[0], window.windows(Rows.of([5, 130]))
    ('(-∞, 120)', array([1]), array([0, 1, 2]))
    """

    slide: int
    origin: int = 0

    kind: ClassVar[str] = "landmark"
    clock: ClassVar[Clock | None] = Clock.TIME

    def __post_init__(self) -> None:
        whole("SLIDE", self.slide, least=1)
        whole("origin", self.origin)

    @property
    def of_all_rows(self) -> bool:
        """How many windows there are depends on the newest row of all."""
        return True

    def windows(self, rows: Rows) -> Ordinals:
        """From the first window with a row to the first with all of them; those after it add nothing."""
        first, _ = self.wids(rows)
        return ids_in_ranges(np.array([first.min()]), np.array([first.max() + 1])) if len(first) else first

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """Equation 5.8."""
        return Interval(None, self.origin + (wid + 1) * self.slide)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """Equation 5.9 with a floor (erratum E1)."""
        first = (self.coordinate(rows) - self.origin) // self.slide
        return first, np.full_like(first, UNBOUNDED)

    def closed_below(self, bound: int) -> int:
        """Window w is complete when its end is at or below the bound."""
        return (bound - self.origin) // self.slide

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """From the first refresh at or after the row's instant, for ever."""
        first = (values - self.origin) // self.slide
        return self.origin + (first + 1) * self.slide - 1, np.full_like(first, UNBOUNDED)

    def describe(self) -> str:
        """SLIDE and what differs from the defaults."""
        return f"range all, slide {self.slide}" + (f", origin {self.origin}" if self.origin else "")


@dataclass(frozen=True)
class BandWindow(WindowSpec):
    """One window with fixed ends, seen while it fills: lower landmark, upper landmark, or both (a fixed band).

    ``lower`` and ``upper`` are instants that belong to the window, as in Patroumpas and Sellis; the extent is
    ``[lower, upper + 1)`` (rule U1). The paper leaves a landmark before the registration undefined (erratum P12): the
    window reaches back to it when the history is kept, else to the registration.

    >>> str(BandWindow.since(7).scope(9)), str(BandWindow.until(9).scope(20)), str(BandWindow(7, 9).scope(6))
    ('[7, 10)', '(-∞, 10)', '[7, 7)')
    """

    lower: int | None = None
    upper: int | None = None
    registered_at: int | None = None
    keeps_history: bool = True

    kind: ClassVar[str] = "band"
    clock: ClassVar[Clock | None] = Clock.TIME

    def __post_init__(self) -> None:
        for name, value in (("START AT", self.lower), ("END AT", self.upper), ("registered_at", self.registered_at)):
            if value is not None:
                whole(name, value)
        if self.lower is not None and self.upper is not None and self.upper < self.lower:
            raise WindowSpecError(
                f"a window from {self.lower} to {self.upper} is empty: END AT must not precede START AT"
            )
        if not self.keeps_history and self.registered_at is None:
            raise WindowSpecError("without history the window starts at its registration: say registered_at")

    @classmethod
    def since(cls, lower: int) -> BandWindow:
        """The lower landmark: grows for ever."""
        return cls(lower=lower)

    @classmethod
    def until(cls, upper: int) -> BandWindow:
        """The upper landmark: grows until ``upper``, then stays as it is."""
        return cls(upper=upper)

    @property
    def start(self) -> int | None:
        """The first instant that can be inside."""
        if self.keeps_history or self.registered_at is None:
            return self.lower
        return self.registered_at if self.lower is None else max(self.lower, self.registered_at)

    def windows(self, rows: Rows) -> Ordinals:
        """The one window, id 0, if any row is inside."""
        return np.zeros(int(self.members(0, rows).any()), np.int64)

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """Everything that will ever be inside; no other window than 0 exists."""
        if wid != 0:
            return Interval(0, 0)
        return Interval(self.start, None if self.upper is None else self.upper + 1)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """[0, 1) inside, empty outside."""
        inside = self.members(0, rows).astype(np.int64)
        return np.zeros_like(inside), inside

    def closed_below(self, bound: int) -> int:
        """The window is complete once the bound has passed its upper end."""
        return int(self.upper is not None and bound > self.upper)

    def is_frozen(self, tau: int) -> bool:
        """Behind its upper end."""
        return self.upper is not None and tau > self.upper

    def scope(self, tau: int) -> Interval:
        """What of the window has passed at tau; frozen after the upper end."""
        if self.start is not None and tau < self.start:
            return Interval(self.start, self.start)
        return self.extent(0).intersect(Interval(None, tau + 1))

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """From the row's own instant for ever; a row outside never becomes visible."""
        inside = self.members(0, Rows(values, values, values))
        return values.copy(), np.where(inside, UNBOUNDED, values)

    def describe(self) -> str:
        """The ends there are."""
        ends = (("from", self.start), ("to", self.upper))
        return " ".join(f"{word} {at}" for word, at in ends if at is not None) or "unbounded"
