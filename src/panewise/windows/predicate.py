"""Predicate windows: any window over the rows that pass a condition (Patroumpas and Sellis 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import Rows, WindowSpec


@dataclass(frozen=True)
class PredicateWindow(WindowSpec):
    """The window ``spec`` over the rows for which ``Rows.qualifies`` is true.

    The condition filters *before* anything is counted: rows that fail take no position. Windows on values do not
    notice the difference, windows on positions do.

    >>> from panewise.windows.count import CountWindow
    >>> rows = Rows.of([5, 1, 2], qualifies=[True, False, False])
    >>> PredicateWindow(CountWindow(2)).members(0, rows)
    array([ True, False, False])
    """

    spec: WindowSpec

    kind: ClassVar[str] = "predicate"

    def __post_init__(self) -> None:
        # Filtering looks at one row at a time, so context and clock are those of the window inside.
        object.__setattr__(self, "context_class", self.spec.context_class)
        object.__setattr__(self, "clock", self.spec.clock)

    @property
    def plain(self) -> WindowSpec:
        """The window inside, or the one inside that."""
        return self.spec.plain

    @property
    def per_partition(self) -> bool:
        """As the window inside."""
        return self.spec.per_partition

    def admitted(self, rows: Rows) -> tuple[npt.NDArray[np.bool_], Rows]:
        """Which rows qualify, and what the window inside sees of them: a stream numbered from 1."""
        mask = np.ones(len(rows), np.bool_) if rows.qualifies is None else rows.qualifies
        return mask, rows.select(mask).renumbered()

    def windows(self, rows: Rows) -> Ordinals:
        """The windows of the rows that qualify."""
        return self.spec.windows(self.admitted(rows)[1])

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """As the window inside, in its coordinate."""
        return self.spec.extent(wid, None if rows is None else self.admitted(rows)[1])

    def coordinate(self, rows: Rows) -> Ordinals:
        """The coordinate of the window inside; rows that do not qualify have none and get 0."""
        mask, admitted = self.admitted(rows)
        at = np.zeros(len(rows), np.int64)
        at[mask] = self.spec.coordinate(admitted)
        return at

    def members(self, wid: int, rows: Rows) -> npt.NDArray[np.bool_]:
        """Members among the rows that qualify."""
        mask, admitted = self.admitted(rows)
        inside = np.zeros(len(rows), np.bool_)
        inside[mask] = self.spec.members(wid, admitted)
        return inside

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """The ids of the window inside; none for rows that do not qualify."""
        mask, admitted = self.admitted(rows)
        first, last = np.zeros((2, len(rows)), np.int64)
        first[mask], last[mask] = self.spec.wids(admitted)
        return first, last

    def closed_below(self, bound: int) -> int:
        """As the window inside."""
        return self.spec.closed_below(bound)

    def is_frozen(self, tau: int) -> bool:
        """As the window inside."""
        return self.spec.is_frozen(tau)

    def scope(self, tau: int) -> Interval:
        """As the window inside."""
        return self.spec.scope(tau)

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Of coordinates that qualify, as the window inside."""
        return self.spec.lifetime(values)

    def lifetimes(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """As the window inside; rows that do not qualify are never visible."""
        mask, admitted = self.admitted(rows)
        enter, expiry = np.zeros((2, len(rows)), np.int64)
        enter[mask], expiry[mask] = self.spec.lifetimes(admitted)
        return enter, expiry

    def describe(self) -> str:
        """The window inside, over some rows."""
        return f"{self.spec.kind}, {self.spec.describe()}, of the rows that qualify"
