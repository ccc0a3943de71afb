"""δ(R ⋈ Q) = δ(R) ⋈ δ(Q); with a projection between, δ(π(R ⋈ Q)) = δ(π(δ(π1(R)) ⋈ δ(π2(Q)))), join columns kept.

Equal pairs are pairs of equal rows, so nothing is lost by taking one of each first; with a projection between, pairs
that differ become equal and the outer elimination stays. It pays where duplicates are many: the join then works on
values instead of rows.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, columns_of, reordered
from panewise.planner.rewrites.scalars import movable


def apply(node: n.Node) -> list[n.Node]:
    """The join of distinct sides."""
    match node:
        case n.Distinct(input=n.Join() as join) if _fits(join):
            left, right = (_distinct(side, node.policy) for side in (join.left, join.right))
            return [replace(join, left=left, right=right)]
        case n.Distinct(input=n.Project(input=n.Join() as join) as shown) if _fits(join):
            needed = {c for item in shown.items for c in item.scalar.columns}
            needed |= join.predicate.columns if join.predicate is not None else set()
            sides = [_values(side, needed, node.policy) for side in (join.left, join.right)]
            if None not in sides and sides != [join.left, join.right]:
                left, right = (side for side in sides if side is not None)
                return [replace(node, input=replace(shown, input=replace(join, left=left, right=right)))]
    return []


def _fits(join: n.Join) -> bool:
    return apart(join.left, join.right) and (join.predicate is None or movable(join.predicate))


def _distinct(side: n.Node, policy: str) -> n.Node:
    return side if isinstance(side, n.Distinct) else n.Distinct(side, policy)


def _values(side: n.Node, needed: set[str], policy: str) -> n.Node | None:
    """The side's values in the columns that are needed; None where columns are not known or none is needed."""
    if isinstance(side, n.Distinct):
        return side
    columns = columns_of(side)
    kept = [c for c in columns or () if c in needed]
    if columns is None or not kept:
        return None
    return n.Distinct(side if len(kept) == len(columns) else reordered(side, kept), policy)


RULE = Rule("distinct below join", "relational", "δ(R ⋈ Q) = δ(R) ⋈ δ(Q)", apply, Role.EXPLORE, keeps_births=False)
