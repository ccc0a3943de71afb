"""Session windows: rows with no pause longer than the gap between them, per partition.

No paper of window ids defines them; they plug in with nothing but the functions of the contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from panewise.core.errors import WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import ContextClass, Rows, WindowSpec, whole


@dataclass(frozen=True)
class SessionWindow(WindowSpec):
    """A session starts at its first row and ends ``gap`` after its last; its id is its start.

    Rows exactly ``gap`` apart share a session, as in Spark's ``session_window``. A row can join two sessions into
    one, so a session is final only when a punctuation has passed its end: forward-context unbounded.

    >>> window, rows = SessionWindow(10), Rows.of([21, 0, 30, 10])
    >>> window.windows(rows), [str(window.extent(w, rows)) for w in (0, 21)]
    (array([ 0, 21]), ['[0, 20)', '[21, 40)'])
    """

    gap: int

    context_class: ClassVar[ContextClass] = ContextClass.FCU
    kind: ClassVar[str] = "session"
    shows_range: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole("the session gap", self.gap, least=1)

    @property
    def per_partition(self) -> bool:
        """A pause is a pause of one key."""
        return True

    @property
    def takes_late_rows(self) -> bool:
        """A late row that touches an open session is in it."""
        return True

    def spans(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """For every row the start and the end (exclusive) of its session."""
        order = np.lexsort((rows.values, rows.partition))
        values, partition = rows.values[order], rows.partition[order]
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = (partition[1:] != partition[:-1]) | (values[1:] - values[:-1] > self.gap)
        first = np.flatnonzero(begins)
        sizes = np.diff(first, append=len(rows))
        start, end = np.empty((2, len(rows)), np.int64)
        start[order] = np.repeat(values[first], sizes)
        end[order] = np.repeat(values[first + sizes - 1] + self.gap, sizes)
        return start, end

    def windows(self, rows: Rows) -> Ordinals:
        """The starts of all sessions."""
        return np.unique(self.spans(rows)[0])

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """The session that starts at ``wid``, which only the rows can tell."""
        if rows is None:
            raise WindowSpecError("a session's extent depends on its rows: pass them to extent()")
        start, end = self.spans(rows)
        ends = np.unique(end[start == wid])
        if len(ends) > 1:
            raise WindowSpecError(
                f"{len(ends)} partitions have a session that starts at {wid} and they end differently: "
                "pass the rows of one partition (Rows.by_partition)"
            )
        return Interval(wid, int(ends[0])) if len(ends) else Interval(wid, wid)

    def members(self, wid: int, rows: Rows) -> npt.NDArray[np.bool_]:
        """The rows of the sessions that start at ``wid``, of every partition that has one."""
        return np.asarray(self.spans(rows)[0] == wid)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """The one session each row is in, given all the rows."""
        start, _ = self.spans(rows)
        return start, start + 1

    def complete(self, rows: Rows, bound: int) -> npt.NDArray[np.bool_]:
        """Whether each row's session is final once every future value is at least ``bound``.

        Strict, because a row at the very end of a session still prolongs it.
        """
        return np.asarray(self.spans(rows)[1] < bound)

    def describe(self) -> str:
        """The gap."""
        return f"gap {self.gap}"
