"""The Spark type of every column of a plan: declared by the sources, followed upwards by definition.

Types are known before a row is read, so an expression that has none is refused then. A stream that declares no columns
has the types of the values that arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from panewise.aggregates.registry import resolve
from panewise.core.errors import SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.trees import deep_stack
from panewise.engines.oracle.scalar import Evaluator
from panewise.engines.oracle.scalar.coercion import widest
from panewise.engines.oracle.scalar.types import (
    DATE,
    DOUBLE,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    Struct,
    Type,
    from_arrow,
    inferred,
    is_numeric,
    to_arrow,
)
from panewise.engines.oracle.tables import TableChange
from panewise.plan.nodes import (
    POSITION_COLUMN,
    WINDOW_COLUMN,
    AggregateCall,
    AntiJoin,
    BagDifference,
    Explode,
    GroupAggregate,
    Named,
    NamedScalar,
    Node,
    Pairs,
    Project,
    Qualify,
    SemiJoin,
    TableJoin,
    TimePairs,
    Union,
    Window,
    WindowAggregate,
)
from panewise.progress.timeline import Timeline

Types = dict[str, Type]


class ColumnTypes:
    """The types of the columns of plan nodes over one timeline."""

    def __init__(self, timeline: Timeline = (), tables: Mapping[str, Sequence[TableChange]] | None = None) -> None:  # type: ignore[assignment]
        self._timeline, self._tables = timeline, dict(tables or {})
        self._known: dict[int, Types] = {}
        self._kept: list[Node] = []  # what is known is known by id: keep the nodes it belongs to alive

    def of(self, *nodes: Node) -> Types:
        """The columns of rows that stand side by side; of two equal names the first counts."""
        found: Types = {}
        for node in reversed(nodes):
            found |= self._of(node)
        return found

    def _of(self, node: Node) -> Types:
        if id(node) not in self._known:
            self._kept.append(node)
            self._known[id(node)] = self._typed(node)
        return self._known[id(node)]

    def _typed(self, node: Node) -> Types:
        match node:
            case Named():
                return {name: from_arrow(kind) for name, kind in node.schema.columns.items()} or self._seen(node)
            case Qualify():
                return {f"{node.alias}.{name}": kind for name, kind in self._of(node.input).items()}
            case Project():
                return self._computed(node.items, node.input)
            case Explode():
                types = self._of(node.input)
                fields = node.generator.fields(to_arrow(type_of(node.collection, types)))
                return types | {name: from_arrow(field.type) for name, field in zip(node.names, fields, strict=False)}
            case Window():
                counted = {POSITION_COLUMN: LONG} if node.clause.numbered else {}
                return self._of(node.input) | counted
            case Union():
                return self._union(node)
            case WindowAggregate():
                extent = {node.window_column: self._extent(node)}
                return self._computed(node.keys, node.input) | extent | self._results(node.aggregates, node.input)
            case GroupAggregate():
                return self._computed(node.keys, node.input) | self._results(node.aggregates, node.input)
            case SemiJoin() | AntiJoin() | BagDifference():
                return self._of(node.left)
            case TimePairs() if node.kind.left_only:
                return self._of(node.left)
            case Pairs():
                return self.of(node.left, node.right)
            case TableJoin():
                return self.of(node.input, node.table)
        return self._of(node.inputs[0])

    def _computed(self, items: Sequence[NamedScalar], below: Node) -> Types:
        types = self._of(below)
        return {item.name: type_of(item.scalar, types) for item in items}

    def _results(self, calls: Sequence[AggregateCall], below: Node) -> Types:
        types, found = self._of(below), Types()
        for call in calls:
            inputs = [to_arrow(type_of(scalar, types)) for scalar in call.arguments]
            function = resolve(call.function, call.parameters, call.distinct)
            found[call.name] = from_arrow(function.result_type(inputs))
        return found

    def _extent(self, node: WindowAggregate) -> Type:
        if node.window_column != WINDOW_COLUMN:
            return LONG
        declared = self._of(node.input).get(node.window.attribute)
        kind = {OrdinalKind.TIMESTAMP: TIMESTAMP, OrdinalKind.DATE: DATE}.get(node.window.ordinal, LONG)
        if declared is not None and node.window.ordinal is not OrdinalKind.INTEGER:
            kind = declared
        return Struct(fields=(("start", kind), ("end", kind)))

    def _union(self, node: Union) -> Types:
        parts = [list(self._of(part).values()) for part in node.parts]
        names = node.columns or tuple(self._of(node.parts[0]))
        found = {}
        for name, kinds in zip(names, zip(*parts, strict=False), strict=False):
            common = reduce(_widened, kinds)
            if common is None:
                raise SchemaError(f"the inputs of a UNION differ in their types: column {name!r} is "
                                  f"{' and '.join(dict.fromkeys(map(str, kinds)))}")
            found[name] = common
        return found

    def _seen(self, node: Named) -> Types:
        rows: list[Mapping[str, Any]] = [a.item for a in self._timeline if a.stream == node.name and a.is_row]  # type: ignore[misc]
        rows += [change.row for change in self._tables.get(node.name, ())]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: observed(row.get(name) for row in rows) for name in names}


def type_of(scalar: Scalar, types: Mapping[str, Type]) -> Type:
    """The type of an expression over columns of these types."""
    name = scalar.column_name
    return types[name] if name is not None and name in types else evaluator(scalar, types).type


def evaluator(scalar: Scalar, types: Mapping[str, Type]) -> Evaluator:
    """The expression, bound to the columns it reads; all there are where a name is missing, for the message."""
    names = scalar.columns
    read = {name: types[name] for name in sorted(names)} if names <= types.keys() else types
    with deep_stack():
        return Evaluator(scalar.sql, read)


def _widened(one: Type | None, other: Type | None) -> Type | None:
    """The common type of two parts of a UNION; text and something else have none."""
    if one is None or other is None or (STRING in (one, other) and NULL not in (one, other) and one != other):
        return None
    return widest(one, other)


def observed(values: Iterable[Any]) -> Type:
    """The type of a column that declares none, by its values.

    >>> str(observed([None, 1, 2.5])), str(observed([]))
    ('double', 'void')
    """
    kinds = list(dict.fromkeys(inferred(value) for value in values if value is not None))
    if len(kinds) > 1 and all(map(is_numeric, kinds)):
        return DOUBLE
    return kinds[0] if kinds else NULL
