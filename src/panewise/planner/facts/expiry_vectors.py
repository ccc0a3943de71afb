"""What ends a result: its expiry vector, component by component (rule U2; Patroumpas and Sellis 4.2, 4.4).

A result has a time component, if any window over time is below it, and an order component for every window by rows, and
for every other input that takes rows back: it leaves when the first is reached. Edges above joins carry the vector, so
that no end is sent for each result; consumers that cannot read it (LIFETIME, joins with tables, INTERNAL windows)
are sent negatives instead, which is what `Label.downgrade` says of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from panewise.plan import nodes as n
from panewise.planner.facts.labels import Edge, Labels
from panewise.planner.facts.pattern_table import WindowShape
from panewise.planner.facts.patterns import UpdatePattern, format_amount
from panewise.planner.facts.result_forms import is_retroactive, table_of
from panewise.planner.facts.shapes import Shape

TAKEN_BACK = "until taken back"


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


def _life(time: Shape | bool) -> str:
    if isinstance(time, bool) or time.lifetime is None:
        return "known"
    return format_amount(time.lifetime, time.unit)


def vector_of(node: n.Node, labels: Labels) -> ExpiryVector:
    """The expiry vector of the rows of a node's output.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.planner.facts.labels import label
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


def maker_of(plan: n.Node) -> n.Node:
    """The operator that makes the rows of a plan, below those that only drop rows or show them in part."""
    while isinstance(plan, n.Filter | n.Project | n.Qualify):
        plan = plan.input
    return plan
