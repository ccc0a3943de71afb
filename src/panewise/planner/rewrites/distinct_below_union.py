"""δ(R ∪ Q) = δ(δ(R) ∪ δ(Q)): duplicates of one part need not reach the union."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule


def apply(node: n.Node) -> list[n.Node]:
    """The distinct rows of a union of distinct rows."""
    match node:
        case n.Distinct(input=n.Union(parts=parts)) if not all(isinstance(part, n.Distinct) for part in parts):
            below = tuple(part if isinstance(part, n.Distinct) else n.Distinct(part, node.policy) for part in parts)
            return [replace(node, input=n.Union(below))]
    return []


RULE = Rule("distinct below union", "relational", "δ(R ∪ Q) = δ(δ(R) ∪ δ(Q))", apply, Role.EXPLORE, keeps_births=False)
