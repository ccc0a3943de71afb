"""L10, second part: σ(S1 ∪ S2) = σ(S1) ∪ σ(S2), columns by position.

That the selection goes on, below the windows of the parts, is L2: not for count windows.
"""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import by_position
from panewise.planner.rewrites.scalars import movable, renamed


def apply(node: n.Node) -> list[n.Node]:
    """The union of filtered parts."""
    if not isinstance(node, n.Filter) or not isinstance(node.input, n.Union) or not movable(node.predicate):
        return []
    parts: list[n.Node] = []
    for part in node.input.parts:
        names = by_position(node.input, part)
        if names is None:
            return []
        parts.append(n.Filter(part, renamed(node.predicate, names)))
    return [n.Union(tuple(parts))]


RULE = Rule("selection below union", "L10", "σ(S1 ∪ S2) = σ(S1) ∪ σ(S2)", apply, Role.SIMPLIFY, with_internal=True)
