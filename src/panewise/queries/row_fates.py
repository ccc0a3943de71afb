"""Whether a row would come to a window at all: what the conditions of a plan say of it on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.join_kinds import JoinKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    BandJoin,
    Distinct,
    Explode,
    Filter,
    Join,
    Lifetime,
    Named,
    Node,
    Project,
    Qualify,
    SemiJoin,
    TableJoin,
    TumblingJoin,
    Union,
    Window,
    WindowAggregate,
)
from panewise.planner.rewrites.scalars import conjunction, conjuncts, substituted
from panewise.progress.watermarks import NO_BOUND
from panewise.queries.chunks import Chunk
from panewise.queries.operators import Apply, Exploding, Passing, Prefix, Rename, Select


@dataclass(frozen=True)
class Way:
    """What happens to rows of one stream on their way up."""

    stream: str
    columns: frozenset[str]
    """What its rows are called by; none are known of a stream without a schema."""
    operators: tuple[Passing, ...] = ()
    open: bool = True
    """Whether a row still stands for itself: what aggregates put out is another."""

    def meets(self, *predicates: Scalar | None) -> Way:
        """Conditions; those that look at other rows, too, say nothing of one."""
        parts = [part for predicate in predicates for part in conjuncts(predicate)]
        return self.then([Select(part) for part in parts if part.columns <= self.columns or not self.columns])

    def then(self, operators: Sequence[Passing], columns: Iterable[str] | None = None) -> Way:
        """A longer way, as long as it is open."""
        if not self.open:
            return self
        names = self.columns if columns is None else frozenset(columns)
        return replace(self, operators=(*self.operators, *operators), columns=names)


    def condition(self, columns: Iterable[str]) -> Scalar | None:
        """What must hold of a row of the stream, in its own columns, to come to the end of the way; None: nothing."""
        names = {c: Scalar.column(c) for c in columns}
        found: list[Scalar | None] = []
        for operator in self.operators:
            match operator:
                case Select():
                    if operator.predicate.columns <= names.keys():  # else it looks at other rows, too
                        found.append(substituted(operator.predicate, names))
                case Apply():
                    names = {item.name: substituted(item.scalar, names) for item in operator.items
                             if item.scalar.columns <= names.keys()}
                case Prefix():
                    names = {f"{operator.alias}.{c}": scalar for c, scalar in names.items()}
                case Rename():
                    names = {new: names[old] for old, new in zip(operator.before, operator.names, strict=True)
                             if old in names}
                case _:  # what is made of elements says nothing of the row
                    break
        return conjunction(found)


class RowFates:
    """The conditions that rows of each stream meet, among those that look at one row alone."""

    def __init__(self, plan: Node) -> None:
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
        places = np.arange(table.num_rows)
        bounds = np.full(table.num_rows, NO_BOUND, np.int64)
        for way in self._ways:
            if way.stream == stream:
                chunk = Chunk(table, stream, places, places, bounds)
                for operator in way.operators:
                    chunk = operator.process(chunk)
                reached[chunk.rows] = True
        return reached


def _ways(node: Node) -> list[Way]:
    """From every stream as far up as its rows stand for themselves."""
    below = [way for part in node.inputs for way in _ways(part)]
    match node:
        case Named():
            return [Way(node.name, frozenset(node.columns))]
        case Filter():
            return [way.meets(node.predicate) for way in below]
        case Qualify():
            return [way.then([Prefix(node.alias)], (f"{node.alias}.{c}" for c in way.columns)) for way in below]
        case Project():
            return [_projected(node, way) for way in below]
        case Explode():
            own = [way for way in below if node.collection.columns <= way.columns or not way.columns]
            return [way.then([Exploding(node)], {*way.columns, *node.names}) for way in own] + \
                [replace(way, open=False) for way in below if way not in own]
        case Window():
            return [way.meets(node.clause.predicate) for way in below]
        case WindowAggregate():
            return [replace(way.meets(node.window.predicate), open=False) for way in below]
        case Union():
            return [way.then([Rename(node.columns, part.columns)] if part.columns != node.columns else [], node.columns)
                    for part in node.parts for way in _ways(part)]
        case Join() | SemiJoin() | TableJoin():
            return [way.meets(node.predicate) for way in below]
        case BandJoin() | TumblingJoin() if node.kind is JoinKind.INNER:
            return [way.meets(node.predicate) for way in below]
        case Distinct() | Lifetime():
            return below
        case _:
            return [replace(way, open=False) for way in below]


def _projected(node: Project, way: Way) -> Way:
    """Computed columns, as far as they are made of this row's own."""
    items = [item for item in node.items if item.scalar.columns <= way.columns or not way.columns]
    if not items:
        return replace(way, open=False)
    return way.then([Apply(items)], (item.name for item in items))
