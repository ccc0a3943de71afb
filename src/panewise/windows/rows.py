"""Windows over arrival positions: of the whole stream, or of each partition on its own (Li 5.1.2, 5.1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from panewise.core.ordinals import Ordinals
from panewise.windows.base import ByPartition, Clock, Rows
from panewise.windows.sliding import SlidingWindow


@dataclass(frozen=True)
class RowWindow(SlidingWindow):
    """A sliding window whose attribute is ``row-num``; positions are 1-based, so the origin is 1 (Li 5.1.2).

    >>> window = RowWindow(4, 2)
    >>> [str(window.extent(w)) for w in (0, 1, 2)]
    ['[-1, 3)', '[1, 5)', '[3, 7)']
    """

    origin: int = 1

    kind: ClassVar[str] = "row"
    shows_range: ClassVar[bool] = False
    clock: ClassVar[Clock | None] = Clock.ORDER

    def coordinate(self, rows: Rows) -> Ordinals:
        """Arrival positions."""
        return rows.row_num

    def describe(self) -> str:
        """RANGE, SLIDE and what differs from the defaults."""
        return f"range {self.range} rows, slide {self.slide} rows{self._moved()}"


@dataclass(frozen=True)
class PartitionedRowWindow(ByPartition, RowWindow):
    """A row window per partition; all partitions count from the same origin (equations 5.4 to 5.6, floor: E1).

    A window is a pair of an id and a partition.

    >>> PartitionedRowWindow(2, 1).wids(Rows.of([0, 0, 0], partition=["a", "b", "a"]))
    (array([0, 0, 1]), array([2, 2, 3]))
    """

    kind: ClassVar[str] = "partitioned row"
