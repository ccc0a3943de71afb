"""When the rows of a query come: as far apart as its windows are long, so that rows meet in them and leave them."""

from __future__ import annotations

from collections.abc import Iterator

from panewise.core.ordinals import OrdinalKind
from panewise.plan.nodes import BandJoin, Lifetime, Node, TumblingJoin
from panewise.windows.base import WindowSpec
from panewise.windows.calendar import CalendarWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tuple_slide import TupleSlideWindow
from sql.plan_parts import clauses, counts_results

GAPS = (0, 12, 0, 20, 7, 0, 31, 15, 58, 9, 0, 25, 60, 3, 40, 0, 100)
"""What lies between a row and the next, in sixtieths of a window: nothing, less than a window, one, more than one."""
RUN = 3
"""So many rows in turn go by the same window."""
MINUTE, DAY = 60_000_000, 86_400_000_000
START = {OrdinalKind.TIMESTAMP: 1_767_225_600_000_000, OrdinalKind.DATE: 20_454, OrdinalKind.INTEGER: 0}
"""The year 2026 begins."""
USUAL = {OrdinalKind.TIMESTAMP: 3 * MINUTE, OrdinalKind.DATE: 3, OrdinalKind.INTEGER: 3}
"""How long a window is where a plan has none."""


class Moments:
    """The instants of a plan's rows, on the clock of one kind of column."""

    def __init__(self, plan: Node, kind: OrdinalKind) -> None:
        specs = [clause.spec for clause in clauses(plan, kind)]
        self.lengths = sorted({length for length in _lengths(plan, kind) if length > 1}) or [USUAL[kind]]
        if counts_results(plan):  # nearly every row in a window of its own
            self.lengths = [5 * length // 2 for length in self.lengths]
        self.steps = [spec for spec in specs if isinstance(spec, SlidingWindow) and spec.slide > 1]
        self.start = min(_before_the_ends(specs, self.lengths[0]), default=START[kind])
        if any(isinstance(node, Lifetime) for node in plan.walk()):  # which begins with the first row
            self.start += self.lengths[0] // 2

    def instants(self, rows: int) -> Iterator[tuple[int, int]]:
        """So many instants, none before the one before it, each with the length of the window it goes by.

        Every third is the last instant of a window, where the plan has windows that move by steps, or, where these
        leave gaps, one early in a window.
        """
        at = self.start
        for place in range(rows):
            length = self.lengths[place // RUN % len(self.lengths)]
            at += length * GAPS[place % len(GAPS)] // 60
            if self.steps and place % 3 == 2:
                at = self._in_a_window(at, place)
            yield at, length

    def _in_a_window(self, at: int, place: int) -> int:
        spec = self.steps[place // 3 % len(self.steps)]
        last = (spec.extent(spec.closed_below(at)).end or 0) - 1
        early = spec.range * 3 // 4 if spec.slide > spec.range and place % 2 else 0
        return max(at, last - early)


def _before_the_ends(specs: list[WindowSpec], length: int) -> Iterator[int]:
    """Some rows come before a window with fixed ends begins, and many before it is over."""
    for spec in specs:
        if isinstance(spec, BandWindow) and spec.lower is not None:
            yield spec.lower - length
        elif isinstance(spec, BandWindow) and spec.upper is not None:
            yield spec.upper - 4 * length


def _lengths(plan: Node, kind: OrdinalKind) -> Iterator[int]:
    """How long everything in a plan lasts."""
    for spec in (clause.spec for clause in clauses(plan, kind)):
        match spec:
            case SlidingWindow():
                yield from (spec.range, spec.slide if spec.slide > spec.range else spec.range)
            case TupleSlideWindow():
                yield spec.range
            case SessionWindow():
                yield spec.gap
            case LandmarkWindow():
                yield 4 * spec.slide
            case CalendarWindow():
                yield 30 * spec.range * (1 if kind is OrdinalKind.DATE else DAY)
            case BandWindow(lower=int(), upper=int()):
                yield (spec.upper - spec.lower) // 2  # type: ignore[operator]
    for node in plan.walk() if kind is OrdinalKind.TIMESTAMP else ():
        match node:
            case BandJoin():
                yield from (abs(node.left_range), abs(node.right_range))
            case TumblingJoin():
                yield node.range
            case Lifetime():
                yield node.amount
