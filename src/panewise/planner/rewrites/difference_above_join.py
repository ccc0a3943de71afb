"""(R − C) ⋈ Q = (R ⋈ Q) − (C ⋈ Q): EXCEPT ALL pulled above a join, as a bag: k1 − k2 copies meet m partners.

It costs a second join, so it pays only where the difference takes much back and C is small. The condition of the second
join is the first one's with C's names.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, by_position, with_side
from panewise.planner.rewrites.scalars import movable, renamed


def apply(node: n.Node) -> list[n.Node]:
    """The difference of two joins."""
    if not isinstance(node, n.Join) or (node.predicate is not None and not movable(node.predicate)):
        return []
    found: list[n.Node] = []
    for position, (side, other) in enumerate(((node.left, node.right), (node.right, node.left))):
        if not isinstance(side, n.BagDifference) or not apart(node.left, node.right) or not apart(side.right, other):
            continue
        names = by_position(n.Union((side.left, side.right)), side.right)
        if names is None:
            continue
        predicate = None if node.predicate is None else renamed(node.predicate, names)
        minus = replace(with_side(node, position, side.right), predicate=predicate)
        found.append(n.BagDifference(with_side(node, position, side.left), minus))
    return found


RULE = Rule("difference above join", "pattern", "(R − C) ⋈ Q = (R ⋈ Q) − (C ⋈ Q)", apply, Role.EXPLORE)
