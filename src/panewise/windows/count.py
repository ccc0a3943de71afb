"""Count windows: the n newest rows, of the stream or of each partition (Patroumpas and Sellis 3.3).

Rows are taken by admission order, never by timestamp: a batch of equal timestamps at the boundary is cut by arrival
(erratum P4), and the window depends on the contents so far, not on a row and an instant alone (erratum P5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from panewise.core.intervals import Interval
from panewise.core.ordinals import Ordinals
from panewise.windows.base import ByPartition, Clock, Rows, WindowSpec, whole


@dataclass(frozen=True)
class CountWindow(WindowSpec):
    """The ``n`` newest rows, refreshed after every ``slide`` rows (more than one: a jumping window).

    Window ``w`` is the state after ``(w+1)·slide`` rows; the first states are half filled.

    >>> window = CountWindow(3)
    >>> str(window.extent(4)), str(window.scope(5)), window.lifetime(Rows.of([10, 10, 20]))
    ('[3, 6)', '[3, 6)', (array([1, 2, 3]), array([4, 5, 6])))
    """

    n: int
    slide: int = 1

    kind: ClassVar[str] = "count"
    clock: ClassVar[Clock | None] = Clock.ORDER

    def __post_init__(self) -> None:
        whole("ROWS", self.n, least=1)
        whole("SLIDE", self.slide, least=1)

    def coordinate(self, rows: Rows) -> Ordinals:
        """Admission order."""
        return rows.row_num

    def extent(self, wid: int, rows: Rows | None = None) -> Interval:
        """The n positions up to the (wid+1)·slide-th row."""
        end = (wid + 1) * self.slide + 1
        return Interval(max(1, end - self.n), end)

    def wids(self, rows: Rows) -> tuple[Ordinals, Ordinals]:
        """Equation 5.3 with floors (erratum E1) on positions, origin 1."""
        before = self.coordinate(rows) - 1
        return before // self.slide, (before + self.n) // self.slide

    def closed_below(self, bound: int) -> int:
        """The states that are final once every future row has at least this position."""
        return (bound - 1) // self.slide

    def scope(self, tau: int) -> Interval:
        """The positions visible when ``tau`` rows have been admitted."""
        shown = tau // self.slide * self.slide
        return Interval(max(1, shown - self.n + 1), shown + 1)

    def lifetime(self, values: Ordinals | Rows) -> tuple[Ordinals, Ordinals]:
        """(ρ, ρ+n) when every row slides the window, else both moved to the refresh that shows them.

        Takes rows, or bare positions.
        """
        rho = self.coordinate(values) if isinstance(values, Rows) else values
        return -(-rho // self.slide) * self.slide, -(-(rho + self.n) // self.slide) * self.slide

    def describe(self) -> str:
        """The count, and the slide if it is not one row."""
        return f"{self.n} newest rows" + (f", slide {self.slide} rows" if self.slide > 1 else "")


@dataclass(frozen=True)
class PartitionedCountWindow(ByPartition, CountWindow):
    """The ``n`` newest rows of each partition; a row expires with its own partition's arrivals only.

    >>> PartitionedCountWindow(2).lifetime(Rows.of([1, 2, 3], partition=["a", "b", "a"]))
    (array([1, 1, 2]), array([3, 3, 4]))
    """

    kind: ClassVar[str] = "partitioned count"

    def describe(self) -> str:
        """As the count window, for each partition."""
        return f"{super().describe()} of each partition"
