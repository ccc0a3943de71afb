"""(R ▷ C) ⋈ Q = (R ⋈ Q) ▷ C: negation pulled above a join, or pushed below it; the same for EXISTS.

Pulled up, the join sees rows whose life is known and only the result is taken back by negatives (Golab 3.5.3). It is a
candidate, not a rule: a selective negation below a join that makes many pairs saves more than negatives cost.

The condition must speak of one side of the join and of C only. Names of C must not hide names of the join.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, belongs, owns, with_side
from panewise.planner.rewrites.scalars import movable

Existence = n.SemiJoin | n.AntiJoin


def apply(node: n.Node) -> list[n.Node]:
    """Every way to exchange a join with a negation next to it."""
    if isinstance(node, n.Join):
        return _pulled(node)
    if isinstance(node, Existence) and isinstance(node.left, n.Join):
        return _pushed(node, node.left)
    return []


def _pulled(join: n.Join) -> list[n.Node]:
    if join.predicate is not None and not movable(join.predicate):
        return []
    found: list[n.Node] = []
    for position, side in enumerate((join.left, join.right)):
        if isinstance(side, Existence) and _free(side) and apart(join.left, join.right, side.right):
            found.append(replace(side, left=with_side(join, position, side.left)))
    return found


def _pushed(exists: Existence, join: n.Join) -> list[n.Node]:
    if not _free(exists) or not apart(join.left, join.right, exists.right):
        return []
    outer = {c for c in (exists.predicate.columns if exists.predicate is not None else ())
             if not owns(exists.right, c)}
    found: list[n.Node] = []
    for position, (side, other) in enumerate(((join.left, join.right), (join.right, join.left))):
        if belongs(outer, side, other):
            found.append(with_side(join, position, replace(exists, left=side)))
    return found


def _free(exists: Existence) -> bool:
    return exists.predicate is None or movable(exists.predicate)


RULE = Rule("negation above join", "pattern", "(R ▷ C) ⋈ Q = (R ⋈ Q) ▷ C, the same for ⋉", apply, Role.EXPLORE)
