"""Panes cut only where a window begins or ends: at most two per slide, however small gcd(RANGE, SLIDE) is.

When SLIDE divides RANGE these are the panes of length gcd(RANGE, SLIDE); otherwise a slide has a long and a short
fragment (paired windows, Krishnamurthy et al. 2006) instead of SLIDE/gcd panes. Either way, window ``w`` is the panes
``[(w+1)·per_slide - per_window, (w+1)·per_slide)``, and pane ids count from the query's own origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from panewise.core.ordinals import Ordinals
from panewise.windows.sliding import SlidingWindow


@dataclass(frozen=True)
class PaneScheme:
    """How values fall into panes, and panes into windows.

    >>> ten = PaneScheme(SlidingWindow(10, 4))
    >>> ten.per_window, ten.per_slide, ten.ids(np.array([0, 1, 2, 3, 4])).tolist()
    (5, 2, [0, 0, 1, 1, 2])
    """

    window: SlidingWindow

    @property
    def whole(self) -> int:
        """How many whole slides a window has."""
        return self.window.range // self.window.slide

    @property
    def rest(self) -> int:
        """What remains of RANGE."""
        return self.window.range % self.window.slide

    @property
    def per_window(self) -> int:
        """Panes in a window."""
        return 2 * self.whole + 1 if self.rest else self.whole

    @property
    def per_slide(self) -> int:
        """Panes from one window to the next."""
        return 2 if self.rest else 1

    @property
    def base(self) -> int:
        """Where pane 0 begins."""
        return self.window.origin - self.window.lag

    def ids(self, values: Ordinals) -> Ordinals:
        """The pane of every value; its two ends, the ids of the first and past the last window, say which."""
        distance = values - self.base
        first = distance // self.window.slide
        return first + (distance + self.window.range) // self.window.slide - self.whole if self.rest else first

    def ends(self, panes: Ordinals) -> Ordinals:
        """The exclusive end of every pane."""
        if not self.rest:
            return (panes + 1) * self.window.slide + self.base
        slide_end = (panes // 2 + 1) * self.window.slide + self.base
        return np.where(panes % 2 == 0, slide_end - self.rest, slide_end)

    def column(self, ordinal: Column) -> Column:
        """The pane of a row in Spark SQL."""
        distance = ordinal - F.lit(self.base).cast("bigint")
        first = floor_division(distance, self.window.slide)
        if not self.rest:
            return first
        return first + floor_division(distance + F.lit(self.window.range), self.window.slide) - F.lit(self.whole)

    def first_window(self, pane: Column) -> Column:
        """The first window a pane is in, in Spark SQL; for the last pane of a window it is that window."""
        return pane if self.per_slide == 1 else floor_division(pane, self.per_slide)

    def describe(self) -> str:
        """For explain: lengths in steps of the attribute."""
        slide = self.window.slide
        if not self.rest:
            return f"panes of {slide}, {self.per_window} per window"
        return f"panes of {slide - self.rest} and {self.rest} in turn, {self.per_window} per window"


def floor_division(value: Column, size: int) -> Column:
    """Floor division also below zero, where SQL's ``div`` cuts towards zero."""
    divisor = F.lit(size).cast("bigint")
    if size == 1:
        return value
    return F.call_function("div", value - F.pmod(value, divisor), divisor)
