"""σ_F(γ(R)) = γ(σ_F(R)) if F looks at nothing but the group's key: a group passes or fails as a whole.

Any other condition asks for the value of the aggregate, which needs all rows of the group. An aggregate without keys
has one group that every row belongs to: a condition without columns stays above it.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import filtered
from panewise.planner.rewrites.scalars import conjunction, conjuncts, movable, substituted


def apply(node: n.Node) -> list[n.Node]:
    """The aggregate over the rows of the groups that pass."""
    if not isinstance(node, n.Filter) or not isinstance(node.input, n.GroupAggregate) or node.input.internal:
        return []
    aggregate = node.input
    keys = {key.name: key.scalar for key in aggregate.keys}
    shown = list(aggregate.columns)
    if len(set(shown)) != len(shown):
        return []
    down = [part for part in conjuncts(node.predicate)
            if part.columns and part.columns <= keys.keys() and movable(substituted(part, keys))]
    below = conjunction(substituted(part, keys) for part in down)
    if below is None:
        return []
    rest = conjunction(part for part in conjuncts(node.predicate) if part not in down)
    return [filtered(replace(aggregate, input=n.Filter(aggregate.input, below)), rest)]


RULE = Rule("selection below aggregate", "relational", "σ(γ(R)) = γ(σ(R)) for conditions on the key", apply,
            Role.SIMPLIFY)
