"""Short ways to say the plans and timelines of the oracle's tests; time is an integer column ``ts``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM, SourceKind, SourceSchema
from panewise.plan.nodes import (
    AggregateCall,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    Source,
    Table,
    Window,
    WindowAggregate,
    WindowClause,
)
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow

INTEGER = OrdinalKind.INTEGER


def source(name: str = "s", **columns: pa.DataType) -> Source:
    """A stream ordered by the integer column ``ts``."""
    return Source(name, SourceSchema({"ts": pa.int64(), **columns}, time="ts"))


def table(name: str, kind: SourceKind, /, *key: str, **columns: pa.DataType) -> Table:
    return Table(name, SourceSchema(dict(columns), kind=kind, key=key))


def rows(*cells: Sequence[Any], columns: str = "ts v") -> list[dict[str, Any]]:
    """``rows((1, "a"), (2, "b"))`` are two rows with the columns ts and v."""
    return [dict(zip(columns.split(), cell, strict=True)) for cell in cells]


def arrivals(*items: tuple[str, Any]) -> Timeline:
    """``arrivals(("s", row), ("t", row))`` in this order."""
    return [Arrival(stream, item) for stream, item in items]


def by_time(**streams: Iterable[dict[str, Any]]) -> Timeline:
    """Rows of several streams in the order of their times."""
    found = [Arrival(name, row) for name, items in streams.items() for row in items]
    return sorted(found, key=lambda a: a.item["ts"])


def clause(spec: WindowSpec, **options: Any) -> WindowClause:
    return WindowClause(spec, "ts", INTEGER, **options)


def over_rows(spec: WindowSpec, *partition: str, **options: Any) -> WindowClause:
    return WindowClause(spec, ROW_NUM, OrdinalKind.ROWS, partition, **options)


def last(range: int, slide: int = 1, **options: Any) -> WindowClause:
    """The scope window of the last ``range`` ticks."""
    return clause(SlidingWindow.scoped(range, slide), **options)


def window(node: Node, bracket: WindowClause | int) -> Window:
    return Window(node, last(bracket) if isinstance(bracket, int) else bracket)


def internal(node: Window) -> Window:
    return replace(node, clause=replace(node.clause, internal=True))


def call(name: str, function: str, *arguments: str, **options: Any) -> AggregateCall:
    return AggregateCall(name, function, tuple(Scalar.parse(a) for a in arguments), **options)


def columns(*names: str) -> tuple[NamedScalar, ...]:
    return tuple(NamedScalar.column(name) for name in names)


def project(node: Node, *names: str) -> Project:
    return Project(node, columns(*names))


def per_window(node: Node, bracket: WindowClause, *calls: AggregateCall, keys: Sequence[str] = ()) -> WindowAggregate:
    return WindowAggregate(node, bracket, columns(*keys), calls)


def grouped(node: Node, *calls: AggregateCall, keys: Sequence[str] = (), **options: Any) -> GroupAggregate:
    return GroupAggregate(node, columns(*keys), calls, **options)


def joined(left: Node, right: Node, on: str, names: str = "l r") -> Join:
    """A join of two qualified inputs; the predicate names columns as `l.v`."""
    one, other = names.split()
    return Join(Qualify(left, one), Qualify(right, other), Scalar.parse(on))
