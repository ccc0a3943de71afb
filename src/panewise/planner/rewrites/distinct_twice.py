"""δ(δ(R)) = δ(R), whatever neutral operators that keep all columns stand between."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule


def apply(node: n.Node) -> list[n.Node]:
    """Without the inner one."""
    match node:
        case n.Distinct(input=n.Distinct(input=below)):
            return [replace(node, input=below)]
        case n.Distinct(input=n.Filter(input=n.Distinct(input=below)) as middle):
            return [replace(node, input=replace(middle, input=below))]
    return []


RULE = Rule("distinct twice", "relational", "δ(δ(R)) = δ(R)", apply, Role.SIMPLIFY, keeps_births=False)
