"""What the clocks of a plan are made of: the columns that say when a row is there, and of which kind they are.

Times are compared as ordinals, and an ordinal is a microsecond, a day or a step, by its column. So rows of several
inputs meet only if their times are of one kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from panewise.core.errors import SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.windows.base import Clock

Times = dict[str, OrdinalKind]
"""Columns of inputs, ``stream.column``, by kind."""


def two_clocks(plan: n.Node) -> Iterator[tuple[n.Node, str]]:
    """Every node whose rows are there by times of two kinds, and what is wrong with that."""
    for node in plan.walk():
        times = clock_of(node)
        first = next(iter(times.items()), None)
        other = next((item for item in times.items() if first is not None and item[1] is not first[1]), None)
        if first is not None and other is not None:
            yield node, (f"the times {first[0]} ({first[1].value}) and {other[0]} ({other[1].value}) are of two kinds, "
                         "and rows of both cannot meet by them: make one of the columns anew in the type of the other")


def clock_of(node: n.Node) -> Times:
    """The times by which the rows of a node come and go."""
    match node:
        case n.Named():
            return {} if node.schema.time is None else traced(node, node.schema.time)
        case n.BandJoin() | n.TumblingJoin():
            return traced(node.left, node.left_time) | traced(node.right, node.right_time)
        case n.Window() if _by_time(node.clause):
            return traced(node.input, node.clause.attribute)
        case n.WindowAggregate() if _by_time(node.window):
            return traced(node.input, node.window.attribute)
    return {name: kind for child in node.inputs for name, kind in clock_of(child).items()}


def traced(node: n.Node, column: str | None) -> Times:
    """The columns of inputs that a column is; none where it is computed, or nothing is known about it."""
    if column is None:
        return {}
    match node:
        case n.Named():
            data_type = node.schema.columns.get(column)
            try:
                return {} if data_type is None else {f"{node.name}.{column}": OrdinalKind.of(data_type, column)}
            except SchemaError:  # refused by whoever reads it
                return {}
        case n.Project():
            return traced(node.input, next((i.scalar.column_name for i in node.items if i.name == column), None))
        case n.Qualify():
            return traced(node.input, column.removeprefix(f"{node.alias}."))
        case n.Union():
            place = node.columns.index(column) if column in node.columns else None
            return {name: kind for part in node.parts if place is not None and place < len(part.columns)
                    for name, kind in traced(part, part.columns[place]).items()}
    return next((traced(child, column) for child in node.inputs if column in child.columns), {})


def _by_time(clause: n.WindowClause) -> bool:
    return clause.spec.clock is Clock.TIME and clause.ordinal is not OrdinalKind.ROWS \
        and clause.attribute not in ROW_NUM_NAMES
