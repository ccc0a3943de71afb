"""Windows over the results of windows: ``window.time``, ``window.start`` and ``window.end`` as what they go by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panewise.plan.nodes import WINDOW_COLUMN, WINDOW_TIMES, Filter, NamedScalar, Node, Project, WindowAggregate


def window_time(parts: Sequence[str]) -> str | None:
    """The time of a window that a dotted name means, whatever stands before it.

    >>> window_time(("q", "Window", "end")), window_time(("window", "id"))
    ('window.end', None)
    """
    name = ".".join(parts[-2:]).lower()
    return name if name in WINDOW_TIMES else None


def windows_below(node: Node) -> WindowAggregate | None:
    """The window aggregate whose results a node selects and projects; None where they are something else, or do not
    show their window."""
    while isinstance(node, Project | Filter):
        if WINDOW_COLUMN not in node.columns:
            return None
        node = node.input
    return node if isinstance(node, WindowAggregate) and node.window.has_time_range else None


def with_time(node: Node, name: str) -> Node:
    """The results with a time of their window as a column of its own."""
    if name in node.columns:
        return node
    if isinstance(node, WindowAggregate):
        return replace(node, times=(*node.times, name))
    assert isinstance(node, Project | Filter), node
    below = with_time(node.input, name)
    if isinstance(node, Project):
        return replace(node, input=below, items=(*node.items, NamedScalar.column(name)))
    return replace(node, input=below)
