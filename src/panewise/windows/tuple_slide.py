"""Slide-by-tuple windows: RANGE on one attribute, one window per n rows (Li 5.1.5, equations 5.10 to 5.18)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import ContextClass, Rows, WindowSpec, whole


class SlideOrder(Enum):
    """How rows are counted to find those that define a window."""

    ARRIVAL = "arrival"  # SATTR row-num: a row's position never changes
    RANK = "rank"        # SATTR rank(RATTR): a late row moves all larger values up by one


@dataclass(frozen=True)
class TupleSlideWindow(WindowSpec):
    """Every ``every``-th row defines a window that ends *at* the row's value and reaches ``range`` back.

    A window's id is that value, so rows of equal value define one window. The bounds mirror those of sliding
    windows: the upper is inside, the lower is not. ``wids`` gives the range of possible ids; which of them exist
    depends on rows that may still come. By arrival a window is final when its row arrives (FCB); by rank a late row
    withdraws windows until a punctuation covers them (FCU). Ties of rank are broken by arrival.

    >>> window = TupleSlideWindow(100, every=2)
    >>> window.windows(Rows.of([10, 30, 50, 125, 20])), str(window.extent(30))
    (array([ 30, 125]), '[-69, 31)')
    >>> TupleSlideWindow(100, every=2, by="rank").windows(Rows.of([10, 30, 50, 125, 20]))
    array([20, 50])
    """

    range: int
    every: int = 1
    by: SlideOrder = SlideOrder.ARRIVAL
    partitioned: bool = False
    """Each partition counts its own rows and has its own windows."""

    context_class: ClassVar[ContextClass] = ContextClass.FCB
    kind: ClassVar[str] = "slide by tuple"

    def __post_init__(self) -> None:
        whole("RANGE", self.range, least=1)
        whole("SLIDE", self.every, least=1)
        try:
            object.__setattr__(self, "by", SlideOrder(self.by))
        except ValueError as error:
            raise WindowSpecError(f"rows are counted by 'arrival' or by 'rank', not {self.by!r}") from error
        if self.by is SlideOrder.RANK and self.every > 1:
            # With every row a window, ranks do not matter and the specification is as bounded as by arrival.
            object.__setattr__(self, "context_class", ContextClass.FCU)

    @property
    def per_partition(self) -> bool:
        """As declared."""
        return self.partitioned

    @property
    def by_arrival(self) -> bool:
        """Rows are counted as they arrive, and ranks of equal values go by arrival; every row needs no counting."""
        return self.every > 1

    @property
    def of_all_rows(self) -> bool:
        """Any row defines a window of all groups."""
        return True

    def defining(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which rows define a window."""
        partition = rows.partition if self.partitioned else np.zeros(len(rows), np.int64)
        if self.by is SlideOrder.RANK:
            # Position in the order of values, ties by arrival, is the rank of rows that arrive in that order.
            in_order = np.empty(len(rows), np.int64)
            in_order[np.lexsort((rows.row_num, rows.values))] = np.arange(1, len(rows) + 1)
            position = Rows(rows.values, in_order, partition).rank
        else:
            position = rows.rank if self.partitioned else rows.row_num
        return np.asarray(position % self.every == 0)

    def windows(self, rows: Rows) -> Ordinals:
        """The values of the rows that define windows (equations 5.10, 5.13, 5.16)."""
        return np.unique(rows.values[self.defining(rows)])

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """Values above ``wid - range``, up to and including ``wid`` (equation 5.11)."""
        return Interval(wid - self.range + 1, wid + 1)

    def members(self, wid: int, rows: Rows) -> npt.NDArray[np.bool_]:
        """The rows of the extent, in the partitions that have this window."""
        inside = super().members(wid, rows)
        if self.partitioned:
            owners = rows.partition[self.defining(rows) & (rows.values == wid)]
            inside &= np.isin(rows.partition, owners)
        return inside

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """Possible ids: ``[value, value + range)`` (equation 5.12)."""
        return rows.values, rows.values + self.range

    def closed_below(self, bound: int) -> int:
        """A window is complete, and its existence settled, when the bound has passed the value that names it."""
        return bound

    def describe(self) -> str:
        """RANGE, how many rows apart, counted how."""
        rows = "row" if self.every == 1 else f"{self.every} rows"
        per = ", per partition" if self.partitioned else ""
        return f"range {self.range}, a window every {rows} by {self.by.value}{per}"
