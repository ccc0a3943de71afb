"""By which columns windows and joins of a plan order each of its streams."""

from __future__ import annotations

from collections.abc import Iterator

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n


def ordering_columns(plan: n.Node) -> dict[str, list[str]]:
    """For every stream the columns whose values some window or join asks for; its time column where none does.

    A computed time is no column of the stream, so a row that has none cannot be told before it is computed.
    """
    inputs = {node.name: node.schema.time for node in plan.walk() if isinstance(node, n.Named)}
    found: dict[str, dict[str, None]] = {name: {} for name in inputs}
    for node in reversed(list(plan.walk())):
        for below, column in _ordered(node):
            for stream, its in _in_streams(below, column):
                found[stream][its] = None
    return {name: list(found[name]) or ([] if time is None else [time]) for name, time in inputs.items()}


def _ordered(node: n.Node) -> list[tuple[n.Node, str]]:
    match node:
        case n.Window():
            return [(node.input, node.clause.attribute)]
        case n.WindowAggregate():
            return [(node.input, node.window.attribute)]
        case n.TimePairs():
            return [(node.left, node.left_time), (node.right, node.right_time)]
    return []


def _in_streams(node: n.Node, column: str) -> Iterator[tuple[str, str]]:
    """The columns of streams that a column is; positions of rows are in none."""
    if isinstance(node, n.Named) and column in node.columns and column not in ROW_NUM_NAMES:
        yield node.name, column
    for below, name in node.comes_from(column):
        yield from _in_streams(below, name)
