"""Tumbling windows, and NOW, the smallest of all windows.

Both are sliding windows with one parameter fixed, so whatever runs sliding windows runs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.sliding import SlidingWindow


class Disclosure(Enum):
    """When the members of a tumbling window can be seen (rule U5); which rows belong together is the same."""

    DISCLOSED = "disclosed"  # all at once, when the window has closed, until the next one closes
    GROWING = "growing"      # each at its own instant; all dropped together when the next window begins


@dataclass(frozen=True)
class TumblingWindow(SlidingWindow):
    """Windows that touch: every row is in exactly one.

    The scope function of Patroumpas and Sellis yields the disclosed reading, their prose the growing one.

    >>> disclosed, growing = TumblingWindow(10), TumblingWindow(10, disclosure=Disclosure.GROWING)
    >>> str(disclosed.scope(14)), str(growing.scope(14))
    ('[0, 10)', '[10, 15)')
    """

    slide: int = field(init=False)
    disclosure: Disclosure = Disclosure.DISCLOSED

    kind: ClassVar[str] = "tumbling"

    def __post_init__(self) -> None:
        object.__setattr__(self, "slide", self.range)
        super().__post_init__()
        try:
            object.__setattr__(self, "disclosure", Disclosure(self.disclosure))
        except ValueError as error:
            raise WindowSpecError(
                f"a tumbling window is 'disclosed' or 'growing', not {self.disclosure!r}"
            ) from error

    @classmethod
    def registered(cls, range: int, *, at: int = 0, lag: int = 0,
                   disclosure: Disclosure = Disclosure.DISCLOSED) -> TumblingWindow:
        """The tumbling window whose states show at ``at + k·range`` (rule U1); the first is the single instant."""
        return TumblingWindow(range, at + 1 - range, lag, disclosure)

    def scope(self, tau: int) -> Interval:
        """The last closed window, or the current one up to and including tau."""
        if self.disclosure is Disclosure.DISCLOSED:
            return super().scope(tau)
        current = self.extent((tau - self.origin) // self.slide)
        return current.intersect(Interval(None, tau + 1 - self.lag))

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Disclosed: one period after the close. Growing: from the row's instant to the start of the next window."""
        if self.disclosure is Disclosure.DISCLOSED:
            return super().lifetime(values)
        first, _ = self.wids_of(values)
        return values + self.lag, self.origin + (first + 1) * self.slide

    def describe(self) -> str:
        """RANGE, disclosure and what differs from the defaults."""
        return f"range {self.range}, {self.disclosure.value}{self._moved()}"


@dataclass(frozen=True)
class NowWindow(SlidingWindow):
    """The rows of one instant, refreshed every ``slide`` ticks: a sliding window of RANGE 1 tick.

    >>> str(NowWindow().scope(7)), str(NowWindow(slide=60, origin=1).scope(130))
    ('[7, 8)', '[120, 121)')
    """

    range: int = field(init=False)
    slide: int = 1

    kind: ClassVar[str] = "now"
    shows_range: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "range", 1)
        super().__post_init__()

    @classmethod
    def registered(cls, slide: int = 1, *, at: int = 0, lag: int = 0) -> NowWindow:
        """The window that shows the instants ``at + k·slide`` (rule U1)."""
        return NowWindow(slide, at + 1 - slide, lag)

    def describe(self) -> str:
        """SLIDE and what differs from the defaults."""
        return f"slide {self.slide}{self._moved()}"
