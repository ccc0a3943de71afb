"""Every expression of a plan has a type before a row is read; what has none is refused, and so are columns of a set
operation that have no common one."""

from __future__ import annotations

import pyarrow as pa

from panewise.core.errors import PanewiseError
from panewise.functions import check_condition, type_of
from panewise.functions.unions import united
from panewise.plan import nodes as n
from panewise.planner.facts.requests import operator_of, schema_of


def check_types(plan: n.Node) -> None:
    """Refuse the first expression without a type, where the columns it reads are known."""
    for node in plan.walk():
        below = _read(node)
        if below is None:
            continue
        for scalar in node.scalars if isinstance(node, n.Computed) else ():
            type_of(scalar, below)
        if node.condition is not None:
            check_condition(node.condition, below)


def check_set_operations(plan: n.Node) -> None:
    """Refuse the first set operation with columns that have no common type, where these are known."""
    for node in plan.walk():
        if isinstance(node, n.Union | n.BagDifference):
            parts = [_known(part) for part in node.inputs]
            united([part for part in parts if part is not None] or [pa.schema([])], operator_of(node))


def _known(node: n.Node) -> pa.Schema | None:
    """The columns of a node; None also where an expression has no type, which is refused at its own place."""
    try:
        return schema_of(node)
    except PanewiseError:
        return None


def _read(node: n.Node) -> pa.Schema | None:
    """The columns that expressions of a node may name: those of all its inputs."""
    if not node.inputs:
        return None
    parts = [schema_of(child) for child in (node.inputs[:1] if isinstance(node, n.Union) else node.inputs)]
    known = [part for part in parts if part is not None]
    return pa.schema([field for part in known for field in part]) if len(known) == len(parts) else None
