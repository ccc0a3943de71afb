"""σ(R ⋉ Q) = σ(R) ⋉ Q and σ(R ▷ Q) = σ(R) ▷ Q: EXISTS and NOT EXISTS show rows of the left side as they are.

Parts of the condition between the sides that speak of the right side only filter the right side.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, divided, filtered
from panewise.planner.rewrites.scalars import conjunction, conjuncts, movable


def apply(node: n.Node) -> list[n.Node]:
    """The selection on the left side; of the condition, what is the right side's on the right."""
    match node:
        case n.Filter(input=n.SemiJoin() | n.AntiJoin() as exists, predicate=predicate) if movable(predicate):
            return [replace(exists, left=n.Filter(exists.left, predicate))]
        case n.SemiJoin() | n.AntiJoin() if apart(node.left, node.right):
            (_, right), _ = divided(node.predicate, node.left, node.right)
            if right:
                rest = conjunction(p for p in conjuncts(node.predicate) if p not in right)
                return [replace(node, right=filtered(node.right, conjunction(right)), predicate=rest)]
    return []


RULE = Rule("selection below existence", "relational", "σ(R ⋉ Q) = σ(R) ⋉ Q, the same for ▷", apply, Role.SIMPLIFY)
