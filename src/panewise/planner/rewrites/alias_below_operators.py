"""An alias goes below operators that only pass columns on: what is inside can then be exchanged with what is outside.

``(R ▷ C) AS r`` is ``R AS r ▷ C``; the same for EXISTS, DISTINCT, EXCEPT ALL, UNION and joins.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, owns
from panewise.planner.rewrites.scalars import renamed


def apply(node: n.Node) -> list[n.Node]:
    """The operator over qualified inputs."""
    if not isinstance(node, n.Qualify):
        return []
    alias = node.alias
    match node.input:
        case n.Distinct() as distinct:
            return [replace(distinct, input=n.Qualify(distinct.input, alias))]
        case n.BagDifference() as difference:
            return [replace(difference, left=n.Qualify(difference.left, alias))]
        case n.Union(parts=parts):
            return [n.Union(tuple(n.Qualify(part, alias) for part in parts))]
        case n.SemiJoin() | n.AntiJoin() as exists if apart(exists.left, exists.right):
            left = n.Qualify(exists.left, alias)
            if not apart(left, exists.right):
                return []
            outer = {c for c in (exists.predicate.columns if exists.predicate is not None else ())
                     if not owns(exists.right, c)}
            predicate = exists.predicate
            if predicate is not None:
                predicate = renamed(predicate, {c: f"{alias}.{c}" for c in outer})
            return [replace(exists, left=left, predicate=predicate)]
        case n.Join() as join:
            predicate = join.predicate
            if predicate is not None:
                predicate = renamed(predicate, {c: f"{alias}.{c}" for c in predicate.columns})
            return [n.Join(n.Qualify(join.left, alias), n.Qualify(join.right, alias), predicate)]
    return []


RULE = Rule("alias below operators", "relational", "(R ▷ C) AS r = R AS r ▷ C, and so on", apply, Role.SIMPLIFY)
