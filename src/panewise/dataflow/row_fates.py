"""Whether a row would come to a window at all: what the conditions of a plan say of it on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.join_kinds import JoinKind
from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.plan.row_steps import mapped
from panewise.planner.rewrites.scalars import conjunction, conjuncts, substituted


@dataclass(frozen=True)
class Way:
    """What happens to rows of one stream on their way up."""

    stream: str
    columns: frozenset[str]
    """What its rows are called by; none are known of a stream without a schema."""
    steps: tuple[n.Node, ...] = ()
    open: bool = True
    """Whether a row still stands for itself: what aggregates put out is another."""

    def meets(self, node: n.Node) -> Way:
        """The condition of a node; parts that look at other rows, too, say nothing of one."""
        parts = [part for part in conjuncts(node.condition) if part.columns <= self.columns or not self.columns]
        return self.then(*(n.Filter(node, part) for part in parts), columns=self.columns)

    def then(self, *steps: n.Node, columns: Iterable[str]) -> Way:
        """A longer way, as long as it is open."""
        return replace(self, steps=(*self.steps, *steps), columns=frozenset(columns)) if self.open else self

    def condition(self, columns: Iterable[str]) -> Scalar | None:
        """What must hold of a row of the stream, in its own columns, to come to the end of the way; None: nothing."""
        names = {c: Scalar.column(c) for c in columns}
        found: list[Scalar | None] = []
        for step in self.steps:
            match step:
                case n.Filter(predicate=predicate):
                    if predicate.columns <= names.keys():  # else it looks at other rows, too
                        found.append(substituted(predicate, names))
                case n.Project(items=items):
                    names = {item.name: substituted(item.scalar, names) for item in items
                             if item.scalar.columns <= names.keys()}
                case n.Qualify(alias=alias):
                    names = {f"{alias}.{c}": scalar for c, scalar in names.items()}
                case _:  # what is made of elements says nothing of the row
                    break
        return conjunction(found)

    def places(self, table: pa.Table) -> npt.NDArray[np.int64]:
        """Which rows of the stream come to the end of the way."""
        places = np.arange(table.num_rows)
        for step in self.steps:
            made = mapped(step, table)
            table, places = made.table, places if made.parents is None else places[made.parents]
        return places


class RowFates:
    """The conditions that rows of each stream meet, among those that look at one row alone."""

    def __init__(self, plan: n.Node) -> None:
        self.plan = plan

    @cached_property
    def _ways(self) -> list[Way]:
        return _ways(self.plan)

    def conditions(self, stream: str, columns: Iterable[str]) -> list[Scalar]:
        """Of which one must hold of a row of a stream, so that some window or join would see it; none: all do."""
        names = list(columns)
        found = [way.condition(names) for way in self._ways if way.stream == stream]
        return [] if None in found else [scalar for scalar in found if scalar is not None]

    def reach_a_window(self, stream: str, table: pa.Table) -> npt.NDArray[np.bool_]:
        """Which rows some window or join would see."""
        reached = np.zeros(table.num_rows, np.bool_)
        for way in self._ways:
            if way.stream == stream:
                reached[way.places(table)] = True
        return reached


def _ways(node: n.Node) -> list[Way]:
    """From every stream as far up as its rows stand for themselves."""
    below = [way for part in node.inputs for way in _ways(part)]
    match node:
        case n.Named():
            return [Way(node.name, frozenset(node.columns))]
        case n.Filter() | n.Window() | n.Join() | n.SemiJoin() | n.TableJoin():
            return [way.meets(node) for way in below]
        case n.BandJoin() | n.TumblingJoin() if node.kind is JoinKind.INNER:
            return [way.meets(node) for way in below]
        case n.WindowAggregate():
            return [replace(way.meets(node), open=False) for way in below]
        case n.Qualify():
            return [way.then(node, columns=(f"{node.alias}.{c}" for c in way.columns)) for way in below]
        case n.Project():
            return [_projected(node, node.items, way) for way in below]
        case n.Explode():
            return [way.then(node, columns={*way.columns, *node.names})
                    if node.collection.columns <= way.columns or not way.columns else replace(way, open=False)
                    for way in below]
        case n.Union():
            return [way if part.columns == node.columns else _projected(part, _renamed(node, part), way)
                    for part in node.parts for way in _ways(part)]
        case n.Distinct() | n.Lifetime():
            return below
        case _:
            return [replace(way, open=False) for way in below]


def _projected(node: n.Node, shown: Iterable[n.NamedScalar], way: Way) -> Way:
    """Computed columns, as far as they are made of this row's own."""
    items = tuple(item for item in shown if item.scalar.columns <= way.columns or not way.columns)
    if not items:
        return replace(way, open=False)
    return way.then(n.Project(node, items), columns=(item.name for item in items))


def _renamed(union: n.Union, part: n.Node) -> list[n.NamedScalar]:
    """The columns of a part under the names of the union, by position."""
    return [n.NamedScalar(new, Scalar.column(old)) for new, old in zip(union.columns, part.columns, strict=False)]
