"""The Spark type of every column of a plan: declared by the sources, followed upwards by definition.

Types are known before a row is read, so an expression that has none is refused then. A stream that declares no columns
has the types of the values that arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from panewise.aggregates.registry import resolve
from panewise.core.errors import SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.trees import deep_stack
from panewise.engines.oracle.operators import shown
from panewise.engines.oracle.scalar import Evaluator
from panewise.engines.oracle.scalar import types as T
from panewise.engines.oracle.scalar.coercion import compared, united
from panewise.engines.oracle.tables import TableChange
from panewise.plan import nodes as n
from panewise.progress.timeline import Timeline

Types = dict[str, T.Type]


class ColumnTypes:
    """The types of the columns of plan nodes over one timeline."""

    def __init__(self, timeline: Timeline = (), tables: Mapping[str, Sequence[TableChange]] | None = None) -> None:  # type: ignore[assignment]
        self._timeline, self._tables = timeline, dict(tables or {})
        self._known: dict[int, Types] = {}
        self._kept: list[n.Node] = []  # what is known is known by id: keep the nodes it belongs to alive

    def of(self, *nodes: n.Node) -> Types:
        """The columns of rows that stand side by side; of two equal names the first counts."""
        found: Types = {}
        for node in nodes:
            found = found | {name: kind for name, kind in self._of(node).items() if name not in found}
        return found

    def _of(self, node: n.Node) -> Types:
        if id(node) not in self._known:
            self._kept.append(node)
            self._known[id(node)] = self._typed(node)
        return self._known[id(node)]

    def _typed(self, node: n.Node) -> Types:
        match node:
            case n.Named():
                return {name: T.from_arrow(kind) for name, kind in node.schema.columns.items()} or self._seen(node)
            case n.Project():
                return self._computed(node.items, node.input)
            case n.Explode():
                types = self._of(node.input)
                fields = node.generator.fields(T.to_arrow(type_of(node.collection, types)))
                return types | {name: T.from_arrow(field.type) for name, field in zip(node.names, fields, strict=False)}
            case n.Window():
                counted = {n.POSITION_COLUMN: T.LONG} if node.clause.numbered else {}
                return self._of(node.input) | counted
            case n.Union():
                return self._met(node, node.columns, node.parts)
            case n.BagDifference():
                return self._met(node, tuple(self._of(node.left)), (node.left, node.right))
            case n.WindowAggregate():
                extent = {node.window_column: self._extent(node)}
                times = dict.fromkeys(node.times, self._instant(node))
                results = self._results(node.aggregates, node.input)
                return self._computed(node.keys, node.input) | extent | results | times
            case n.GroupAggregate():
                return self._computed(node.keys, node.input) | self._results(node.aggregates, node.input)
        found: Types = shown(node, self.of(*node.passes))
        return found

    def _computed(self, items: Sequence[n.NamedScalar], below: n.Node) -> Types:
        types = self._of(below)
        return {item.name: type_of(item.scalar, types) for item in items}

    def _results(self, calls: Sequence[n.AggregateCall], below: n.Node) -> Types:
        types, found = self._of(below), Types()
        for call in calls:
            inputs = [T.to_arrow(type_of(scalar, types)) for scalar in call.arguments]
            function = resolve(call.function, call.parameters, call.distinct)
            found[call.name] = T.from_arrow(function.result_type(inputs))
        return found

    def _extent(self, node: n.WindowAggregate) -> T.Type:
        if node.window_column != n.WINDOW_COLUMN:
            return T.LONG
        kind = self._instant(node)
        return T.Struct(fields=(("start", kind), ("end", kind)))

    def _instant(self, node: n.WindowAggregate) -> T.Type:
        """What the times of a window are."""
        declared = self._of(node.input).get(node.window.attribute)
        kind = {OrdinalKind.TIMESTAMP: T.TIMESTAMP, OrdinalKind.DATE: T.DATE}.get(node.window.ordinal, T.LONG)
        if declared is not None and node.window.ordinal is not OrdinalKind.INTEGER:
            return declared
        return kind

    def _met(self, node: n.Node, columns: Sequence[str], inputs: Sequence[n.Node]) -> Types:
        parts = [list(self._of(part).values()) for part in inputs]
        names = columns or tuple(self._of(inputs[0]))
        operator, meet = ("UNION", united) if isinstance(node, n.Union) else ("EXCEPT ALL", compared)
        found = {}
        for name, kinds in zip(names, zip(*parts, strict=False), strict=False):
            common = reduce(partial(_widened, meet), kinds)
            if common is None:
                raise SchemaError(f"the inputs of {operator} differ in their types: column {name!r} is "
                                  f"{' and '.join(dict.fromkeys(map(str, kinds)))}")
            found[name] = common
        return found

    def _seen(self, node: n.Named) -> Types:
        rows: list[Mapping[str, Any]] = [a.item for a in self._timeline if a.stream == node.name and a.is_row]  # type: ignore[misc]
        rows += [change.row for change in self._tables.get(node.name, ())]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: observed(row.get(name) for row in rows) for name in names}


def type_of(scalar: Scalar, types: Mapping[str, T.Type]) -> T.Type:
    """The type of an expression over columns of these types."""
    name = scalar.column_name
    return types[name] if name is not None and name in types else evaluator(scalar, types).type


def evaluator(scalar: Scalar, types: Mapping[str, T.Type]) -> Evaluator:
    """The expression, bound to the columns it reads; all there are where a name is missing, for the message."""
    names = scalar.columns
    read = {name: types[name] for name in sorted(names)} if names <= types.keys() else types
    with deep_stack():
        return Evaluator(scalar.sql, read)


def _widened(meet: Callable[[T.Type, T.Type], T.Type | None], one: T.Type | None,
             other: T.Type | None) -> T.Type | None:
    return None if one is None or other is None else meet(one, other)


def observed(values: Iterable[Any]) -> T.Type:
    """The type of a column that declares none, by its values.

    >>> str(observed([None, 1, 2.5])), str(observed([]))
    ('double', 'void')
    """
    kinds = list(dict.fromkeys(T.inferred(value) for value in values if value is not None))
    if len(kinds) > 1 and all(map(T.is_numeric, kinds)):
        return T.DOUBLE
    return kinds[0] if kinds else T.NULL
