"""L10, third part: π(S1 ∪ S2) = π(S1) ∪ π(S2), columns by position."""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import by_position
from panewise.planner.rewrites.scalars import movable, renamed


def apply(node: n.Node) -> list[n.Node]:
    """The union of projected parts."""
    if not isinstance(node, n.Project) or not isinstance(node.input, n.Union):
        return []
    if not all(movable(item.scalar) for item in node.items):
        return []
    parts: list[n.Node] = []
    for part in node.input.parts:
        names = by_position(node.input, part)
        if names is None:
            return []
        parts.append(n.Project(part, tuple(n.NamedScalar(i.name, renamed(i.scalar, names)) for i in node.items)))
    return [n.Union(tuple(parts))]


RULE = Rule("projection below union", "L10", "π(S1 ∪ S2) = π(S1) ∪ π(S2)", apply, Role.NARROW, with_internal=True)
