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


def two_clocks(plan: n.Node) -> Iterator[tuple[n.Node, tuple[str, str], tuple[str, str]]]:
    """Every node whose rows are there by times of two kinds, with one of each: its column and its kind."""
    for node in plan.walk():
        times = [(name, kind.value) for name, kind in clock_of(node).items()]
        other = next((time for time in times if time[1] != times[0][1]), None)
        if other is not None:
            yield node, times[0], other


def clock_of(node: n.Node) -> Times:
    """The times by which the rows of a node come and go."""
    match node:
        case n.Named():
            return {} if node.schema.time is None else traced(node, node.schema.time)
        case n.TimePairs():
            return traced(node.left, node.left_time) | traced(node.right, node.right_time)
        case n.Window() if _by_time(node.clause):
            return traced(node.input, node.clause.attribute)
        case n.WindowAggregate() if _by_time(node.window):
            return traced(node.input, node.window.attribute)
    return {name: kind for child in node.inputs for name, kind in clock_of(child).items()}


def traced(node: n.Node, column: str) -> Times:
    """The columns of inputs that a column is; none where it is computed, or nothing is known about it."""
    if isinstance(node, n.Named):
        data_type = node.schema.columns.get(column)
        try:
            return {} if data_type is None else {f"{node.name}.{column}": OrdinalKind.of(data_type, column)}
        except SchemaError:  # refused where it is read
            return {}
    return {name: kind for below, its in node.comes_from(column) for name, kind in traced(below, its).items()}


def _by_time(clause: n.WindowClause) -> bool:
    return clause.spec.clock is Clock.TIME and clause.ordinal is not OrdinalKind.ROWS \
        and clause.attribute not in ROW_NUM_NAMES
