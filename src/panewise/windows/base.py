"""The contract every window kind answers (Li 5.1.1): ``windows``, ``extent`` and ``wids``, over integer ordinals.

``extent`` is the definition, ``wids`` its dual: a row is in ``extent(w)`` exactly when ``w`` is in ``wids(row)``. One
generic property test holds every kind to it; a new kind needs nothing more than these functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals

UNBOUNDED = np.iinfo(np.int64).max
"""The exclusive end of a wid range that never ends (landmark windows)."""


class ContextClass(Enum):
    """What must be known of other rows to say which windows a row is in (Li 6.1.2; FCA split as in SIGMOD 2005)."""

    CF = "context free"                    # nothing: the row's own value decides
    FCF = "forward-context free"           # rows that came before (a count per partition)
    FCB = "forward-context bounded"        # which windows exist depends on the future, but is final at arrival
    FCU = "forward-context unbounded"      # a window may be withdrawn until a punctuation covers it


@dataclass(frozen=True)
class Rows:
    """Rows as windows see them: the windowing attribute, the arrival position (1-based), and the partition.

    ``partition`` holds dense integer codes of the partition key, or zeros when there is none.
    """

    values: Ordinals
    row_num: Ordinals
    partition: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Any, partition: Any = None) -> Rows:
        """From the values in arrival order.

        >>> Rows.of([10, 30, 20]).row_num
        array([1, 2, 3])
        """
        array = np.asarray(values, dtype=np.int64)
        codes = np.zeros(len(array), np.int64)
        if partition is not None and len(array):
            codes = np.unique(np.asarray(partition), return_inverse=True)[1].astype(np.int64)
        return cls(array, np.arange(1, len(array) + 1, dtype=np.int64), codes)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def rank(self) -> Ordinals:
        """Arrival position inside the row's partition, 1-based."""
        order = np.lexsort((self.row_num, self.partition))
        sorted_codes = self.partition[order]
        starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
        counts = np.diff(np.r_[starts, len(order)])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(1, len(order) + 1) - np.repeat(starts, counts)
        return rank


@dataclass(frozen=True)
class WindowSpec(ABC):
    """A window specification, validated at construction; every parameter is an ordinal amount."""

    context_class: ClassVar[ContextClass] = ContextClass.CF
    kind: ClassVar[str] = ""
    """The name used in messages, explain and the engine table."""

    @abstractmethod
    def windows(self, rows: Rows) -> Ordinals:
        """The ids of the windows these rows define that contain at least one of them, ascending.

        Kinds whose windows never end (landmark) give those up to the first that contains all rows.
        """

    @abstractmethod
    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """The interval of the windowing coordinate that belongs to the window.

        ``rows`` is needed only by kinds whose extents depend on the data (sessions).
        """

    @abstractmethod
    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """For every row the first window id and the end (exclusive) of its ids; equal means no window.

        For forward-context-aware kinds this is the range of *possible* ids; ``windows`` says which exist.
        """

    def coordinate(self, rows: Rows) -> Ordinals:
        """The integers ``extent`` speaks about; the windowing attribute unless the kind counts positions."""
        return rows.values

    def members(self, wid: int, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which rows are in the window, straight from ``extent``."""
        extent = self.extent(wid, rows)
        at = self.coordinate(rows)
        inside = np.ones(len(at), np.bool_)
        if extent.start is not None:
            inside &= at >= extent.start
        if extent.end is not None:
            inside &= at < extent.end
        return inside

    def closed_below(self, bound: int) -> int:
        """All windows with an id below this are complete once every future value is at least ``bound``.

        Only for kinds with integer or value ids that a punctuation on the windowing attribute closes.
        """
        raise NotImplementedError(f"{self.kind} windows do not close by a bound")

    def scope(self, tau: int) -> Interval:
        """What is visible at the instant tau, after all rows of tau (Patroumpas and Sellis 3.2), half-open."""
        raise NotImplementedError(f"{self.kind} windows have no scope")

    def describe(self) -> str:
        """Parameters on one line, for explain."""
        return self.kind
