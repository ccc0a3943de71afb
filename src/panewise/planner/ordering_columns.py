"""By which columns windows and joins of a plan order each of its streams."""

from __future__ import annotations

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan.nodes import BandJoin, Named, Node, Project, Qualify, TumblingJoin, Union, Window, WindowAggregate


def ordering_columns(plan: Node) -> dict[str, list[str]]:
    """For every stream the columns whose values some window or join asks for; its time column where none does.

    A computed time is no column of the stream, so a row that has none cannot be told before it is computed.
    """
    found: dict[str, list[str]] = {}
    for node in plan.walk():
        if isinstance(node, Named):
            found.setdefault(node.name, [])
    _names(plan, found)
    for node in plan.walk():
        if isinstance(node, Named) and not found[node.name] and node.schema.time is not None:
            found[node.name] = [node.schema.time]
    return found


def _names(node: Node, found: dict[str, list[str]]) -> list[tuple[str, dict[str, str]]]:
    """For every stream below a node what its columns are called there; columns that are asked for are noted."""
    if isinstance(node, Named):
        return [(node.name, {c: c for c in node.columns})]
    below: list[tuple[str, dict[str, str]]] = []
    for part in node.inputs:
        for stream, names in _names(part, found):
            match node:
                case Qualify():
                    names = {f"{node.alias}.{new}": old for new, old in names.items()}  # noqa: PLW2901
                case Project():
                    names = {i.name: names[i.scalar.column_name] for i in node.items  # noqa: PLW2901
                             if i.scalar.column_name in names}
                case Union():
                    names = {new: names[old] for new, old in zip(node.columns, part.columns, strict=False)  # noqa: PLW2901
                             if old in names}
            below.append((stream, names))
    for column in _asked(node):
        for stream, names in below:
            if column in names and names[column] not in found[stream] and column not in ROW_NUM_NAMES:
                found[stream].append(names[column])
    return [] if isinstance(node, WindowAggregate) else below


def _asked(node: Node) -> list[str]:
    match node:
        case Window():
            return [node.clause.attribute]
        case WindowAggregate():
            return [node.window.attribute]
        case BandJoin() | TumblingJoin():
            return [node.left_time, node.right_time]
        case _:
            return []
