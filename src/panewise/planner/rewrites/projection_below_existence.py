"""π(R ▷ C) = π(π'(R) ▷ C), and R ▷ C = R ▷ π'(C): of each side only what is shown or compared; the same for EXISTS."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, narrowed


def apply(node: n.Node) -> list[n.Node]:
    """The sides with fewer columns."""
    match node:
        case n.Project(input=n.SemiJoin() | n.AntiJoin() as exists) if apart(exists.left, exists.right):
            compared = exists.predicate.columns if exists.predicate is not None else frozenset()
            left = narrowed(exists.left, {*compared, *(c for item in node.items for c in item.scalar.columns)})
            return [replace(node, input=replace(exists, left=left))] if left != exists.left else []
        case n.SemiJoin() | n.AntiJoin() if node.predicate is not None and apart(node.left, node.right):
            right = narrowed(node.right, set(node.predicate.columns))
            return [replace(node, right=right)] if right != node.right else []
    return []


RULE = Rule("projection below existence", "relational", "π(R ▷ C) = π(π'(R) ▷ π'(C)), compared columns kept", apply,
            Role.NARROW)
