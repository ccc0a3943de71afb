"""γ(R) = γ(π(R)), if π keeps the keys and the arguments of the aggregates; where there are neither, all stay."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import narrowed


def apply(node: n.Node) -> list[n.Node]:
    """The aggregate over fewer columns."""
    if not isinstance(node, n.GroupAggregate):
        return []
    needed = {c for key in node.keys for c in key.scalar.columns}
    needed |= {c for call in node.aggregates for argument in call.arguments for c in argument.columns}
    below = narrowed(node.input, needed)
    return [replace(node, input=below)] if below != node.input else []


RULE = Rule("projection below aggregate", "relational", "γ(R) = γ(π(R)), keys and arguments kept", apply, Role.NARROW)
