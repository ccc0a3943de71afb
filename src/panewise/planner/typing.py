"""Every expression of a plan has a type before a row is read; what has none is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from panewise.core.scalar import Scalar
from panewise.functions import check_condition, type_of
from panewise.plan import nodes as n
from panewise.planner.requests import schema_of


def check_types(plan: n.Node) -> None:
    """Refuse the first expression without a type, where the columns it reads are known."""
    for node in plan.walk():
        below = _read(node)
        if below is None:
            continue
        for scalar in _computed(node):
            type_of(scalar, below)
        for predicate in _conditions(node):
            check_condition(predicate, below)


def _read(node: n.Node) -> pa.Schema | None:
    """The columns that expressions of a node may name: those of all its inputs."""
    if not node.inputs:
        return None
    parts = [schema_of(child) for child in (node.inputs[:1] if isinstance(node, n.Union) else node.inputs)]
    known = [part for part in parts if part is not None]
    return pa.schema([field for part in known for field in part]) if len(known) == len(parts) else None


def _computed(node: n.Node) -> Iterator[Scalar]:
    match node:
        case n.Project():
            yield from (item.scalar for item in node.items)
        case n.WindowAggregate() | n.GroupAggregate():
            yield from (key.scalar for key in node.keys)
            yield from (argument for call in node.aggregates for argument in call.arguments)
        case _:
            return


def _conditions(node: n.Node) -> Iterator[Scalar]:
    predicate = getattr(node, "predicate", None)
    if isinstance(predicate, Scalar):
        yield predicate
    clause = node.clause if isinstance(node, n.Window) else node.window if isinstance(node, n.WindowAggregate) else None
    if clause is not None and clause.predicate is not None:
        yield clause.predicate
