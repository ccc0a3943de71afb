"""L8: π_L(S1 ⋈ S2) = π_L(π_L1(S1) ⋈ π_L2(S2)) over any windows, if L1 and L2 hold L and the columns of the condition.

A side that would keep all its columns is left alone. Without a column of the condition there would be nothing to join.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, narrowed

NARROWABLE = (n.Join, n.BandJoin, n.TumblingJoin)


def apply(node: n.Node) -> list[n.Node]:
    """The join of sides that keep only what is needed."""
    if not isinstance(node, n.Project) or not isinstance(node.input, NARROWABLE):
        return []
    join = node.input
    if not apart(join.left, join.right):
        return []
    needed = {c for item in node.items for c in item.scalar.columns}
    needed |= join.predicate.columns if join.predicate is not None else set()
    if isinstance(join, n.BandJoin | n.TumblingJoin):
        needed |= {join.left_time, join.right_time}
    sides = [narrowed(side, needed) for side in (join.left, join.right)]
    if sides == [join.left, join.right]:
        return []
    return [replace(node, input=replace(join, left=sides[0], right=sides[1]))]


RULE = Rule("projection below join", "L8", "π(S1 ⋈ S2) = π(π1(S1) ⋈ π2(S2)), join columns kept", apply, Role.NARROW,
            with_internal=True)
