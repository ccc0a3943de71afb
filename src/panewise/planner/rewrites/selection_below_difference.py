"""σ(R − Q) = σ(R) − σ(Q): all copies of a value pass or fail together, on both sides; columns by position."""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import by_position
from panewise.planner.rewrites.scalars import movable, renamed


def apply(node: n.Node) -> list[n.Node]:
    """The difference of filtered sides."""
    match node:
        case n.Filter(input=n.BagDifference(left=left, right=right), predicate=predicate) if movable(predicate):
            names = by_position(n.Union((left, right)), right)
            if names is not None:
                return [n.BagDifference(n.Filter(left, predicate), n.Filter(right, renamed(predicate, names)))]
    return []


RULE = Rule("selection below difference", "relational", "σ(R − Q) = σ(R) − σ(Q)", apply, Role.SIMPLIFY)
