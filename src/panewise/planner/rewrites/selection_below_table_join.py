"""σ(R ⋈ T) = σ(R) ⋈ T for what speaks of the stream's side only; T is a table, R keeps the moment it meets it."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, divided, filtered
from panewise.planner.rewrites.scalars import conjunction, conjuncts


def apply(node: n.Node) -> list[n.Node]:
    """The selection on the stream's side, before the table is looked at."""
    match node:
        case n.Filter(input=n.TableJoin() as join, predicate=predicate) if apart(join.input, join.table):
            (own, _), _ = divided(predicate, join.input, join.table)
            if own:
                rest = conjunction(part for part in conjuncts(predicate) if part not in own)
                return [filtered(replace(join, input=filtered(join.input, conjunction(own))), rest)]
    return []


RULE = Rule("selection below table join", "relational", "σ(R ⋈ T) = σ(R) ⋈ T on the stream's columns", apply,
            Role.SIMPLIFY)
