"""The panes of :mod:`panewise.kernels.panes.pane_tables` as Spark columns.

Window ``w`` is the panes ``[(w+1)·per_slide - per_window, (w+1)·per_slide)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from panewise.kernels.panes.pane_tables import panes_per_slide, panes_per_window
from panewise.windows.sliding import SlidingWindow


@dataclass(frozen=True)
class PaneScheme:
    """How values fall into panes, and panes into windows.

    >>> ten = PaneScheme(SlidingWindow(10, 4))
    >>> ten.per_window, ten.per_slide, ten.describe()
    (5, 2, 'panes of 2 and 2 in turn, 5 per window')
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
        return panes_per_window(self.window)

    @property
    def per_slide(self) -> int:
        """Panes from one window to the next."""
        return panes_per_slide(self.window)

    @property
    def base(self) -> int:
        """Where pane 0 begins."""
        return self.window.origin - self.window.lag

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
