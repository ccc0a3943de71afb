"""What ends a result: its expiry vector, component by component (rule U2; Patroumpas and Sellis 4.2, 4.4).

A result has a time component, if any window over time is below it, and an order component for every window by rows, and
for every other input that takes rows back: it leaves when the first is reached. Edges above joins carry the vector, so
that nobody sends an end for each result; consumers that cannot read it (LIFETIME, joins with tables, INTERNAL windows)
are sent negatives instead, which is what `Label.downgrade` says of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from panewise.plan import nodes as n
from panewise.planner.forms import is_retroactive, table_of
from panewise.planner.held import Style, maker_of, passed_on
from panewise.planner.labels import Edge, Labels
from panewise.planner.pattern_table import WindowShape
from panewise.planner.patterns import UpdatePattern, format_amount
from panewise.planner.shapes import Shape
from panewise.planner.working import has_internal

TAKEN_BACK = "until taken back"
READS = (n.Join, n.SemiJoin, n.AntiJoin, n.BagDifference, n.Distinct, n.GroupAggregate)
"""Operators that keep rows with their vectors."""


@dataclass(frozen=True)
class OrderComponent:
    """One component that is reached by arrivals, or when a row is taken back."""

    window: str
    """Whose rows end it; with the columns of its partitions, each of which has positions of its own."""
    life: str

    def __str__(self) -> str:
        return f"{self.window}: {self.life}"


@dataclass(frozen=True)
class ExpiryVector:
    """All components of the rows of one edge; of a union, those that any of its rows has."""

    time: Shape | bool = False
    """Whether there is a time component, and of which window."""
    order: tuple[OrderComponent, ...] = ()

    def __str__(self) -> str:
        known = [f"time: {_life(self.time)}"] if self.time else []
        return f"{{{', '.join([*known, *map(str, self.order)])}}}"

    @property
    def served(self) -> str:
        """What a store of such rows has for each component."""
        windows = ", ".join(component.window for component in self.order)
        catalogues = f"catalogue{'s' if len(self.order) > 1 else ''} of {windows}" if self.order else ""
        return ", ".join(part for part in ("calendar queue by time" if self.time else "", catalogues) if part)

    @property
    def catalogues(self) -> str:
        """The same for a store that skips what is gone by its time."""
        return replace(self, time=False).served


def _life(time: Shape | bool) -> str:
    if isinstance(time, bool) or time.lifetime is None:
        return "known"
    return format_amount(time.lifetime, time.unit)


def vector_of(node: n.Node, labels: Labels) -> ExpiryVector:
    """The expiry vector of the rows of a node's output.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.planner.labels import label
    >>> from panewise.windows.count import CountWindow, PartitionedCountWindow
    >>> from panewise.windows.sliding import SlidingWindow
    >>> specs = SlidingWindow.scoped(10), CountWindow(100), PartitionedCountWindow(5)
    >>> units, partitions = (OrdinalKind.INTEGER, *[OrdinalKind.ROWS] * 2), ((), (), ("k",))
    >>> a, b, c = (n.Window(n.Source(s, SourceSchema()), n.WindowClause(spec, "ts", unit, partition))
    ...            for s, spec, unit, partition in zip("abc", specs, units, partitions))
    >>> plan = n.Join(n.Join(a, b), c)
    >>> print(vector_of(plan, label(plan)))
    {time: 10, b: 100 rows, c by k: 5 rows}
    """
    edge = labels.edges[node]
    if edge.label.pattern is UpdatePattern.MON:
        return ExpiryVector()
    match node:
        case n.Window():
            return _of_window(node, edge)
        case n.Qualify():
            return _qualified(node, vector_of(node.input, labels))
        case n.Filter() | n.Project() | n.Explode() | n.Lifetime():
            return vector_of(node.input, labels)
        case n.Join() | n.Union():
            return _together([vector_of(below, labels) for below in node.inputs])
        case n.TableJoin() if is_retroactive(node):
            table = OrderComponent(table_of(node.table).name, "until it changes")
            return _together([vector_of(node.input, labels), ExpiryVector(order=(table,))])
        case n.TableJoin():
            return vector_of(node.input, labels)
    below = [vector_of(part, labels) for part in node.inputs if part in labels.edges]
    known = any(part.time for part in below) and not edge.label.replace
    if edge.label.downgrade().pattern is not UpdatePattern.STR:
        return ExpiryVector(time=True)
    life = "until replaced" if edge.label.replace else TAKEN_BACK
    return ExpiryVector(known, (OrderComponent(f"rows of {type(node).__name__}", life),))


def _of_window(node: n.Window, edge: Edge) -> ExpiryVector:
    shape = edge.shape
    if shape is None or shape.kind not in (WindowShape.COUNT, WindowShape.PARTITIONED, WindowShape.DATA_DRIVEN):
        return ExpiryVector(time=True if shape is None else shape)
    named = [below.name for below in node.walk() if isinstance(below, n.Named)]
    name = " and ".join(dict.fromkeys(named)) or type(node.input).__name__
    per = f" by {', '.join(node.clause.partition)}" if node.clause.partition else ""
    if shape.kind is WindowShape.DATA_DRIVEN:
        return ExpiryVector(order=(OrderComponent(name + per, "until a later row"),))
    rows = getattr(node.clause.spec, "n", None) or shape.lifetime
    life = "by its place" if rows is None else format_amount(rows, shape.unit)
    return ExpiryVector(order=(OrderComponent(name + per, life),))


def _qualified(node: n.Qualify, below: ExpiryVector) -> ExpiryVector:
    """A window goes by its alias."""
    if len(below.order) != 1 or not isinstance(maker_of(node.input), n.Window):
        return below
    _, by, columns = below.order[0].window.partition(" by ")
    return replace(below, order=(replace(below.order[0], window=f"{node.alias}{by}{columns}"),))


def _together(parts: Iterable[ExpiryVector]) -> ExpiryVector:
    """All components; of several windows over time the shortest counts."""
    parts = list(parts)
    times = [part.time for part in parts if part.time]
    lives = [(time.lifetime, place) for place, time in enumerate(times)
             if isinstance(time, Shape) and time.lifetime is not None]
    time = times[min(lives)[1]] if lives and len(lives) == len(times) else bool(times)
    return ExpiryVector(time, tuple(component for part in parts for component in part.order))


# -- who carries them, who reads them


def carries_vectors(node: n.Node, labels: Labels) -> bool:
    """Whether rows of an edge come with their vectors, if whoever reads them asks for it."""
    made = maker_of(node)
    if has_internal(node):
        return False
    if isinstance(made, n.Union):
        return any(carries_vectors(part, labels) for part in made.parts)
    if isinstance(made, n.TableJoin):
        return is_retroactive(made)
    return isinstance(made, n.Join) and any(labels[side].downgrade().pattern is UpdatePattern.STR
                                            for side in made.inputs)


def reads_vectors(consumer: n.Node | None, plan: n.Node, style: Style) -> bool:
    """Whether a consumer, or the result of a plan where it is None, has catalogues for the components of its rows."""
    if style != "upa":
        return False
    if consumer is None:
        return not any(isinstance(node, n.Lifetime) for node in _above_the_result(plan))
    return isinstance(consumer, READS)


def _above_the_result(plan: n.Node) -> list[n.Node]:
    """Nodes at the top that only report the relation below them."""
    found: list[n.Node] = []
    while isinstance(plan, n.Lifetime | n.RelationToStream):
        found.append(plan)
        plan = plan.input
    return [*found, *passed_on(plan)]
