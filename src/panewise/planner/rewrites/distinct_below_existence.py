"""δ(R ▷ Q) = δ(R) ▷ Q, the same for ⋉: equal rows have a match or have none together.

Read from right to left it pulls negation up, out of the way of δ*: what stands above NOT EXISTS must count its rows.
Not for EXCEPT ALL, where the number of copies matters: of two copies on the left and one on the right one stays.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.scalars import movable


def apply(node: n.Node) -> list[n.Node]:
    """The elimination on the other side of the negation."""
    match node:
        case n.Distinct(input=n.SemiJoin() | n.AntiJoin() as exists) if _fits(exists):
            return [replace(exists, left=replace(node, input=exists.left))]
        case n.SemiJoin(left=n.Distinct() as distinct) | n.AntiJoin(left=n.Distinct() as distinct) if _fits(node):
            return [replace(distinct, input=replace(node, left=distinct.input))]
    return []


def _fits(exists: n.SemiJoin | n.AntiJoin) -> bool:
    return exists.predicate is None or movable(exists.predicate)


RULE = Rule("distinct below existence", "pattern", "δ(R ▷ Q) = δ(R) ▷ Q, the same for ⋉", apply, Role.EXPLORE,
            keeps_births=False)
