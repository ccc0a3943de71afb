"""γ(R ▷ C) = γ(R) ▷ C if the condition looks at nothing of R but the group's key; the same for EXISTS.

A group has a match or has none as a whole. From left to right negation is pulled up: rows reach the aggregate without
negatives. From right to left the aggregate is pulled up: groups that do not show are not maintained. Both are
candidates.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, owns
from panewise.planner.rewrites.scalars import movable, renamed, substituted

Existence = n.SemiJoin | n.AntiJoin


def apply(node: n.Node) -> list[n.Node]:
    """The aggregate on the other side of the negation."""
    match node:
        case n.GroupAggregate(input=n.SemiJoin() | n.AntiJoin() as exists) if not node.internal:
            return _negation_up(node, exists)
        case n.SemiJoin(left=n.GroupAggregate() as groups) | n.AntiJoin(left=n.GroupAggregate() as groups):
            return _aggregate_up(node, groups) if not groups.internal else []
    return []


def _negation_up(groups: n.GroupAggregate, exists: Existence) -> list[n.Node]:
    names = {key.scalar.column_name: key.name for key in reversed(groups.keys) if key.scalar.column_name is not None}
    moved = replace(exists, left=replace(groups, input=exists.left))
    if exists.predicate is None or not movable(exists.predicate):
        return []
    outer = {c for c in exists.predicate.columns if not owns(exists.right, c)}
    if not outer or not outer <= names.keys() or not _apart(exists, moved):
        return []
    return [replace(moved, predicate=renamed(exists.predicate, {c: names[c] for c in outer}))]


def _aggregate_up(exists: Existence, groups: n.GroupAggregate) -> list[n.Node]:
    keys = {key.name: key.scalar for key in groups.keys}
    moved = replace(exists, left=groups.input)
    if exists.predicate is None or len(set(groups.columns)) != len(groups.columns):
        return []
    outer = {c for c in exists.predicate.columns if not owns(exists.right, c)}
    if not outer or not outer <= keys.keys() or not _apart(exists, moved):
        return []
    below = substituted(exists.predicate, {c: keys[c] for c in outer})
    return [replace(groups, input=replace(moved, predicate=below))] if movable(below) else []


def _apart(*sides: Existence) -> bool:
    """Whether the right side's names hide none of the left side's, before and after."""
    return all(apart(side.left, side.right) for side in sides)


RULE = Rule("negation above aggregate", "pattern", "γ(R ▷ C) = γ(R) ▷ C for conditions on the key, the same for ⋉",
            apply, Role.EXPLORE)
