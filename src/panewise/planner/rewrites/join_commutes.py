"""L5: S1 ⋈ S2 = S2 ⋈ S1 over any windows, up to the order of columns, which a projection restores.

Both sides need different column names, or one side's value would hide the other's.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, columns_of, reordered
from panewise.planner.rewrites.scalars import movable


def apply(node: n.Node) -> list[n.Node]:
    """The join with its sides exchanged."""
    if not isinstance(node, n.Join) or (node.predicate is not None and not movable(node.predicate)):
        return []
    columns = columns_of(node)
    if columns is None or not apart(node.left, node.right):
        return []
    return [reordered(replace(node, left=node.right, right=node.left), columns)]


RULE = Rule("join commutes", "L5", "S1 ⋈ S2 = S2 ⋈ S1", apply, Role.LAW, with_internal=True)
