"""What a plan is made of: its nodes, windows and expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from panewise.core.ordinals import OrdinalKind
from panewise.plan.nodes import Filter, Node, RelationToStream, Window, WindowClause


def parts(value: Any) -> Iterator[Any]:
    """A plan's nodes, clauses and expressions."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def clauses(plan: Node, kind: OrdinalKind) -> list[WindowClause]:
    """The windows of a plan that count in this kind of steps."""
    return [part for part in parts(plan) if isinstance(part, WindowClause) and part.ordinal is kind]


def counts_results(plan: Node) -> bool:
    """Whether a window by rows counts the results of windows, of which there must be many."""
    windows = [node for node in plan.walk() if isinstance(node, Window) and node.clause.ordinal is OrdinalKind.ROWS]
    streams = [node for node in plan.walk() if isinstance(node, RelationToStream) and node.output_window is not None
               and node.output_window.ordinal is OrdinalKind.ROWS]
    return any(isinstance(part, WindowClause) for node in (*windows, *streams) for part in parts(node.input))


def counts_what_passes(plan: Node) -> bool:
    """Whether a window stands over a condition, so that it does not count all rows."""
    return any(isinstance(node, Window) and isinstance(node.input, Filter) for node in plan.walk())
