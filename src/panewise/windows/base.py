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

from panewise.core.arrays import counted_up, highest_so_far, run_starts
from panewise.core.errors import TooManyWindowsError, WindowSpecError
from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals

MOST_WINDOWS = 10_000_000
"""More windows than this are never enumerated: a SLIDE that makes so many is a mistake, and memory would run out."""

UNBOUNDED = np.iinfo(np.int64).max
"""The exclusive end of a wid range that never ends (landmark windows)."""


class ContextClass(Enum):
    """What must be known of other rows to say which windows a row is in (Li 6.1.2; FCA split as in SIGMOD 2005)."""

    CF = "context free"                    # nothing: the row's own value decides
    FCF = "forward-context free"           # rows that came before (a count per partition)
    FCB = "forward-context bounded"        # which windows exist depends on the future, but is final at arrival
    FCU = "forward-context unbounded"      # a window may be withdrawn until a punctuation covers it


class Clock(Enum):
    """What a row's life in a window is counted in (rule U2): a label such as WKS holds in one clock only."""

    TIME = "time"                        # values of the windowing attribute
    ORDER = "order"                      # arrival positions of the stream
    PARTITION_ORDER = "partition order"  # arrival positions inside the row's partition


@dataclass(frozen=True)
class Rows:
    """Rows as windows see them: the windowing attribute, the arrival position (1-based), and the partition.

    ``partition`` holds dense integer codes of the partition key, or zeros when there is none.
    """

    values: Ordinals
    row_num: Ordinals
    partition: npt.NDArray[np.int64]
    qualifies: npt.NDArray[np.bool_] | None = None
    """Which rows pass the window's own predicate; ``None`` means all. Only predicate windows read it."""

    @classmethod
    def of(cls, values: Any, partition: Any = None, qualifies: Any = None) -> Rows:
        """From the values in arrival order.

        >>> Rows.of([10, 30, 20]).row_num
        array([1, 2, 3])
        """
        array = np.asarray(values, dtype=np.int64)
        codes = np.zeros(len(array), np.int64)
        if partition is not None and len(array):
            codes = np.unique(np.asarray(partition), return_inverse=True)[1].astype(np.int64)
        mask = None if qualifies is None else np.asarray(qualifies, np.bool_)
        return cls(array, np.arange(1, len(array) + 1, dtype=np.int64), codes, mask)

    def __len__(self) -> int:
        return len(self.values)

    def select(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """Some of the rows; they keep the positions at which they arrived."""
        kept = None if self.qualifies is None else self.qualifies[mask]
        return Rows(self.values[mask], self.row_num[mask], self.partition[mask], kept)

    def renumbered(self) -> Rows:
        """The same rows with positions 1, 2, 3, …: what an operator behind a filter counts."""
        position = np.empty(len(self), np.int64)
        position[np.argsort(self.row_num, kind="stable")] = np.arange(1, len(self) + 1)
        return Rows(self.values, position, self.partition, self.qualifies)

    def by_partition(self) -> list[Rows]:
        """The rows of each partition, in the order of their codes."""
        return [self.select(self.partition == code) for code in np.unique(self.partition)]

    @property
    def rank(self) -> Ordinals:
        """Arrival position inside the row's partition, 1-based."""
        order = np.lexsort((self.row_num, self.partition))
        sorted_codes = self.partition[order]
        starts = run_starts(sorted_codes)
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
    clock: ClassVar[Clock | None] = None
    """The clock of ``lifetime``; ``None`` for kinds that make no continuous relation."""
    shows_range: ClassVar[bool] = False
    """Whether results carry where their window starts and ends, as both are known of every window; else its id."""

    @property
    def plain(self) -> WindowSpec:
        """The window inside conditions; of other kinds the window itself."""
        return self

    @property
    def per_partition(self) -> bool:
        """Whether each partition has windows of its own, so that an id names one window per partition.

        ``windows`` and ``extent`` of such a kind are exact for the rows of one partition (``Rows.by_partition``).
        """
        return False

    @property
    def by_arrival(self) -> bool:
        """Whether which rows a window has depends on the order in which rows arrived."""
        return self.clock in (Clock.ORDER, Clock.PARTITION_ORDER)

    @property
    def of_all_rows(self) -> bool:
        """Whether the windows of one group depend on the rows of the others, so that groups cannot be told apart."""
        return self.by_arrival

    def windows(self, rows: Rows) -> Ordinals:
        """The ids of the windows these rows define that contain at least one of them, ascending.

        Kinds whose windows never end (landmark) give those up to the first that contains all rows.
        """
        return ids_in_ranges(*self.wids(rows))

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

    @property
    def takes_late_rows(self) -> bool:
        """Whether a row behind the bound can still be in windows that are open, as the late policy says."""
        try:
            self.closed_below(0)
        except NotImplementedError:
            return False
        return True

    def closed_below(self, bound: int) -> int:
        """All windows with an id below this are complete once every future value is at least ``bound``.

        Only for kinds with integer or value ids that a punctuation on the windowing attribute closes.
        """
        raise NotImplementedError(f"{self.kind} windows do not close by a bound")

    def is_frozen(self, tau: int) -> bool:
        """Whether nothing enters the window from the instant tau on, late rows neither: it has a fixed end."""
        del tau
        return False

    def scope(self, tau: int) -> Interval:
        """What is visible at the instant tau, after all rows of tau (Patroumpas and Sellis 3.2), half-open.

        Mostly the extent of the newest window that ends at or before tau, rows of tau included.
        """
        return self.extent(self.closed_below(tau + 1) - 1)

    def lifetime(self, values: Ordinals) -> tuple[Ordinals, Ordinals]:
        """For each coordinate when its row becomes visible and when it expires, in ``clock``; equal means never."""
        raise NotImplementedError(f"{self.kind} windows make no continuous relation")

    def lifetimes(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """``lifetime`` of rows, whatever coordinate the kind counts in."""
        return self.lifetime(self.coordinate(rows))

    def describe(self) -> str:
        """Parameters on one line, for explain."""
        return self.kind


@dataclass(frozen=True)
class ByPartition(WindowSpec):
    """Beside a kind that counts arrivals: each partition counts its own.

    The position of a row in its partition follows from the rows before it, hence forward-context free.
    """

    context_class: ClassVar[ContextClass] = ContextClass.FCF
    clock: ClassVar[Clock | None] = Clock.PARTITION_ORDER

    @property
    def per_partition(self) -> bool:
        """Every partition progresses by its own arrivals."""
        return True

    def coordinate(self, rows: Rows) -> Ordinals:
        """Arrival order inside the partition."""
        return rows.rank


def ids_in_ranges(first: Ordinals, last: Ordinals) -> Ordinals:
    """The union of the ranges ``first[i] <= id < last[i]``, ascending, without a loop over rows.

    >>> ids_in_ranges(np.array([0, 1, 7]), np.array([3, 2, 7]))
    array([0, 1, 2])
    """
    starts, lengths = disjoint_ranges(first, last)
    if int(lengths.sum()) > MOST_WINDOWS:
        raise TooManyWindowsError(f"these rows are in {int(lengths.sum()):,} windows, and at most {MOST_WINDOWS:,} can "
                                  "be listed: choose a longer SLIDE")
    return counted_up(starts, lengths)


def disjoint_ranges(first: Ordinals, last: Ordinals, codes: Ordinals | None = None) -> tuple[Ordinals, Ordinals]:
    """The same ids, no id twice: starts and lengths, ascending by start. With ``codes`` each code has ids of its own.

    The sum of the lengths counts ids without listing them.

    >>> disjoint_ranges(np.array([0, 2, 1]), np.array([3, 5, 2]))
    (array([0, 3, 3]), array([3, 0, 2]))
    """
    codes = np.zeros(len(first), np.int64) if codes is None else codes
    order = np.lexsort((first, codes))
    first, last, codes = first[order], last[order], codes[order]
    reached = highest_so_far(last, codes)
    starts = first.copy()
    starts[1:] = np.where(codes[1:] == codes[:-1], np.maximum(first[1:], reached[:-1]), first[1:])
    return starts, np.maximum(last - starts, 0)


def whole(name: str, value: Any, *, least: int | None = None) -> None:
    """Refuse a parameter that is not a whole number, is too small, or too large for 64-bit arithmetic.

    >>> whole("SLIDE", 2.5)
    Traceback (most recent call last):
    panewise.core.errors.WindowSpecError: SLIDE must be a whole number of ticks, not 2.5
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WindowSpecError(f"{name} must be a whole number of ticks, not {value!r}")
    if least is not None and value < least:
        expected = {0: "must not be negative", 1: "must be positive"}.get(least, f"must be at least {least}")
        raise WindowSpecError(f"{name} {expected}, not {value}")
    if abs(int(value)) >= 2**60:  # several of them are added to a value of up to 2**62
        raise WindowSpecError(f"{name} is {value}, which 64-bit arithmetic cannot hold: use less than 2**60")
