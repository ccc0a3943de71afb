"""(R ▷ C) ▷ D = (R ▷ D) ▷ C, also with EXISTS for either: the one that removes more, or takes less back, goes first."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart
from panewise.planner.rewrites.scalars import movable


def apply(node: n.Node) -> list[n.Node]:
    """The two in the other order."""
    match node:
        case n.SemiJoin(left=n.SemiJoin() | n.AntiJoin() as inner) | n.AntiJoin(
                left=n.SemiJoin() | n.AntiJoin() as inner):
            free = all(e.predicate is None or movable(e.predicate) for e in (node, inner))
            if free and apart(inner.left, inner.right) and apart(inner.left, node.right):
                return [replace(inner, left=replace(node, left=inner.left))]
    return []


RULE = Rule("negations exchange", "pattern", "(R ▷ C) ▷ D = (R ▷ D) ▷ C", apply, Role.EXPLORE)
