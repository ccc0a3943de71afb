"""A selection goes below an alias or a projection, its columns replaced by what they are there.

Below a projection only if what the projection computes gives the same answer each time.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.scalars import movable, renamed, substituted


def apply(node: n.Node) -> list[n.Node]:
    """The alias or projection of the filtered rows."""
    match node:
        case n.Filter(input=n.Qualify() as named, predicate=predicate):
            prefix = f"{named.alias}."
            if not movable(predicate) or not all(c.startswith(prefix) for c in predicate.columns):
                return []
            below = renamed(predicate, {c: c.removeprefix(prefix) for c in predicate.columns})
            return [replace(named, input=n.Filter(named.input, below))]
        case n.Filter(input=n.Project() as shown, predicate=predicate):
            items = {item.name: item.scalar for item in shown.items}
            if not predicate.columns <= items.keys() or len(items) != len(shown.items):
                return []
            below = substituted(predicate, {c: items[c] for c in predicate.columns})
            return [replace(shown, input=n.Filter(shown.input, below))] if movable(below) else []
    return []


RULE = Rule("selection below names", "relational", "σ(π(R)) = π(σ(R)), by the names below", apply, Role.SIMPLIFY,
            with_internal=True)
