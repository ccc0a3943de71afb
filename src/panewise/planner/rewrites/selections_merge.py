"""σ_F(σ_G(R)) = σ_(F ∧ G)(R): one pass, and one condition to take apart further down."""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import filtered
from panewise.planner.rewrites.scalars import conjunction, movable


def apply(node: n.Node) -> list[n.Node]:
    """One filter for two."""
    match node:
        case n.Filter(input=n.Filter(input=below, predicate=inner), predicate=outer):
            if movable(inner) and movable(outer):
                return [filtered(below, conjunction([inner, outer]))]
    return []


RULE = Rule("selections merge", "relational", "σ(σ(R)) = σ(R)", apply, Role.SIMPLIFY, with_internal=True)
