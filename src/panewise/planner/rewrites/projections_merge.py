"""π(π(R)) = π(R), the outer expressions written in the inner ones; a projection that changes nothing is left out."""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import columns_of
from panewise.planner.rewrites.scalars import movable, substituted


def apply(node: n.Node) -> list[n.Node]:
    """One projection for two, or none for one."""
    if not isinstance(node, n.Project):
        return []
    if all(i.scalar.column_name == i.name for i in node.items) and columns_of(node.input) == node.columns:
        return [node.input]
    if not isinstance(node.input, n.Project):
        return []
    below = {item.name: item.scalar for item in node.input.items}
    if len(below) != len(node.input.items) or not all(movable(scalar) for scalar in below.values()):
        return []
    if not all(item.scalar.columns <= below.keys() for item in node.items):
        return []
    return [n.Project(node.input.input,
                      tuple(n.NamedScalar(i.name, substituted(i.scalar, below)) for i in node.items))]


RULE = Rule("projections merge", "relational", "π(π(R)) = π(R)", apply, Role.SIMPLIFY, with_internal=True)
