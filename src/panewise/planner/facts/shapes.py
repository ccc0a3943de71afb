"""What the labelling rules need to know of a window: its shape, its signature and how long its rows live."""

from __future__ import annotations

from dataclasses import dataclass

from panewise.core.ordinals import OrdinalKind
from panewise.plan.nodes import Node, WindowClause
from panewise.planner.facts.pattern_table import OBSERVED, OperatorKind, WindowShape
from panewise.planner.facts.patterns import Domain, Label
from panewise.planner.facts.read_columns import time_column
from panewise.windows.base import Clock, WindowSpec
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure
from panewise.windows.varying import VaryingWindow


@dataclass(frozen=True)
class Shape:
    """A window as the rules see it; two edges with equal shapes have windows of one signature."""

    kind: WindowShape
    signature: tuple[object, ...]
    """Everything that decides when rows come and go; what does not matter (a whole number of slides in the origin) is
    already divided out."""
    lifetime: int | None = None
    unit: OrdinalKind = OrdinalKind.TIMESTAMP
    lower: int | None = None
    """The first ordinal a landmark lets in."""
    upper: int | None = None
    """The end (exclusive) at which a landmark freezes."""

    def label(self, operator: OperatorKind = OperatorKind.NEUTRAL) -> Label:
        """The label of an operator over windows of this one signature."""
        cell = OBSERVED[operator, self.kind]
        lifetime = self.lifetime if cell.equal_lives else None
        return Label(cell.pattern, cell.domain, lifetime, cell.replace, self.unit)

    def survives(self, operator: OperatorKind) -> bool:
        """Whether the operator's result comes and goes as the window's own rows do."""
        return OBSERVED[operator, self.kind] == OBSERVED[OperatorKind.NEUTRAL, self.kind]


UNBOUNDED_STREAM = Shape(WindowShape.LANDMARK, ("stream",))
"""A stream without a window: nothing leaves, as over a landmark that reaches back for ever."""


def shape_of(clause: WindowClause, stream: Node) -> Shape:
    """The shape of a window over a stream.

    Rows of an order window leave by the arrivals of their own stream, so its signature includes the stream: two count
    windows of one size over two streams have nothing in common (erratum P11).
    """
    spec, unit = clause.spec.plain, clause.ordinal  # a condition inside decides what is counted, not for how long
    clock = spec.clock
    if isinstance(spec, SlidingWindow) and unit is OrdinalKind.ROWS and clock is Clock.TIME:
        clock = Clock.ORDER
    if clock in (Clock.ORDER, Clock.PARTITION_ORDER):
        per_partition = clock is Clock.PARTITION_ORDER or bool(clause.partition)
        kind = WindowShape.PARTITIONED if per_partition else WindowShape.COUNT
        return Shape(kind, (spec, stream, clause.partition, clause.predicate), _equal_life(spec), OrdinalKind.ROWS)
    if clock is None:  # what ends the window is a later row, so nothing is known in advance
        return Shape(WindowShape.DATA_DRIVEN, (spec, unit, stream), None, unit)
    if isinstance(spec, LandmarkWindow):
        return Shape(WindowShape.LANDMARK, (spec, unit), None, unit)
    if isinstance(spec, BandWindow):
        if time_column(stream) != clause.attribute:  # rows come in any order of it: nothing is complete at the border
            return Shape(WindowShape.LANDMARK, (spec, unit), None, unit)
        upper = None if spec.upper is None else spec.upper + 1
        return Shape(WindowShape.LANDMARK, (spec, unit), None, unit, spec.start, upper)
    return _time_shape(spec, unit)


def _time_shape(spec: WindowSpec, unit: OrdinalKind) -> Shape:
    disclosure = getattr(spec, "disclosure", None)
    if disclosure is Disclosure.GROWING:
        return Shape(WindowShape.GROWING, (_signature(spec), unit, disclosure), None, unit)
    if isinstance(spec, SlidingWindow):
        signature = (_signature(spec), unit)
        if spec.range <= spec.slide:  # every visible row shows at one refresh and leaves at the next (rule U5)
            return Shape(WindowShape.DISCLOSED, signature, spec.slide, unit)
        kind = WindowShape.UNEVEN if spec.range % spec.slide else WindowShape.SLIDING
        return Shape(kind, signature, _equal_life(spec), unit)
    if isinstance(spec, CalendarWindow) and spec.step == spec.range:  # periods of unequal length, such as months
        return Shape(WindowShape.DISCLOSED, (spec, unit), None, unit)
    if isinstance(spec, CalendarWindow | VaryingWindow):  # both ends only move forward
        return Shape(WindowShape.UNEVEN, (spec, unit), None, unit)
    return Shape(WindowShape.KNOWN_EXPIRY, (spec, unit), None, unit)


def _signature(spec: WindowSpec) -> object:
    if isinstance(spec, SlidingWindow):
        return spec.range, spec.slide, spec.origin % spec.slide, spec.lag
    return spec


def _equal_life(spec: WindowSpec) -> int | None:
    """The life every visible row has, if they all have the same (rule U3); uneven slides give two different ones."""
    match spec:
        case SlidingWindow(range=extent, slide=slide) | CountWindow(n=extent, slide=slide):
            if extent <= slide:
                return slide
            return None if extent % slide else extent
    return None


def domain_of(*labels: Label) -> Domain:
    """The clock of a result of several inputs: order as soon as one of them leaves by arrivals."""
    return "order" if any(label.domain == "order" for label in labels) else "time"
