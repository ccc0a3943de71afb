"""Results that go and come again, made of the same rows: what must be told once where results are kept."""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.planner.facts.refreshing import externalised
from panewise.planner.facts.result_forms import is_append_only

SINGLE_ROWS = (n.Filter, n.Project, n.Qualify, n.Union, n.Join, n.SemiJoin, n.Lifetime)
"""Operators whose results come from one row of each input."""


def recurs(node: n.Node) -> bool:
    """Whether the same rows may make a result that goes and comes again: EXISTS over matches that go."""
    if not isinstance(node, SINGLE_ROWS) or is_append_only(node):
        return False
    if not isinstance(node, n.SemiJoin):
        return any(recurs(below) for below in node.inputs)
    return matches_leave(node) or recurs(node.left)


def matches_leave(node: n.SemiJoin) -> bool:
    """Whether a match may go in the state, which is that of external windows (Golab 3.3.2)."""
    return label(externalised(node.right)).output.pattern is not UpdatePattern.MON


def asks_for_matches(node: n.Node) -> bool:
    """Whether EXISTS decides over results that come from single rows."""
    return isinstance(node, SINGLE_ROWS) and not is_append_only(node) and (
        isinstance(node, n.SemiJoin) or any(asks_for_matches(below) for below in node.inputs))
