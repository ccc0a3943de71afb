"""σ(δ(R)) = δ(σ(R)): equal rows pass or fail together."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.scalars import movable


def apply(node: n.Node) -> list[n.Node]:
    """The distinct rows of those that pass."""
    match node:
        case n.Filter(input=n.Distinct() as distinct, predicate=predicate) if movable(predicate):
            return [replace(distinct, input=n.Filter(distinct.input, predicate))]
    return []


RULE = Rule("selection below distinct", "relational", "σ(δ(R)) = δ(σ(R))", apply, Role.SIMPLIFY)
