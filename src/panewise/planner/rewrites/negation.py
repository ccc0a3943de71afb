"""NOT EXISTS and EXCEPT ALL moved."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Forms, Role, rule
from panewise.planner.rewrites.columns import apart, belongs, by_position, cast_columns
from panewise.planner.rewrites.scalars import all_movable, columns_read, movable, renamed, substituted

Existence = n.SemiJoin | n.AntiJoin


def of_left(exists: Existence) -> frozenset[str]:
    """The columns of the left side that the condition of EXISTS or NOT EXISTS looks at."""
    return frozenset(c for c in columns_read(exists.predicate) if not exists.right.has(c))


def with_side(join: n.Join, position: int, side: n.Node) -> n.Join:
    """The join with another left (0) or right (1) side."""
    return replace(join, right=side) if position else replace(join, left=side)


@rule("negation above table join", Role.SIMPLIFY)
def negation_above_table_join(node: n.Node) -> Forms:
    """(R ▷ C) ⋈ T = (R ⋈ T) ▷ C for a table T: negation goes above the join with a table; the same for EXISTS.

    A join with a table may not follow a negation: what is taken back would have to be joined again with a table that
    may have changed (Golab 3.3.1). Exchanged, the plan is legal, and it means the same: a row meets the table when it
    arrives, and whether it is shown is decided afterwards. The reverse would make a legal plan illegal and is never
    done.
    """
    match node:
        case n.TableJoin(input=n.SemiJoin() | n.AntiJoin() as exists) if \
                all_movable(node.predicate, exists.predicate) and apart(exists.left, node.table, exists.right):
            yield replace(exists, left=replace(node, input=exists.left))


@rule("negation above join", Role.EXPLORE)
def negation_above_join(node: n.Node) -> Forms:
    """(R ▷ C) ⋈ Q = (R ⋈ Q) ▷ C: negation pulled above a join, or pushed below it; the same for EXISTS.

    Pulled up, the join sees rows whose life is known and only the result is taken back by negatives (Golab 3.5.3). It
    is a candidate, not a rule: a selective negation below a join that makes many pairs saves more than negatives cost.

    The condition must speak of one side of the join and of C only. Names of C must not hide names of the join.
    """
    match node:
        case n.Join() if all_movable(node.predicate):
            for position, side in enumerate(node.inputs):
                if isinstance(side, Existence) and all_movable(side.predicate) and apart(*node.inputs, side.right):
                    yield replace(side, left=with_side(node, position, side.left))
        case n.SemiJoin(left=n.Join() as join) | n.AntiJoin(left=n.Join() as join) if \
                all_movable(node.predicate) and apart(*join.inputs, node.right):
            for position, side in enumerate(join.inputs):
                if belongs(of_left(node), side, join.inputs[1 - position]):
                    yield with_side(join, position, replace(node, left=side))


@rule("difference above join", Role.EXPLORE)
def difference_above_join(node: n.Node) -> Forms:
    """(R − C) ⋈ Q = (R ⋈ Q) − (C ⋈ Q): EXCEPT ALL pulled above a join, as a bag: k1 − k2 copies meet m partners.

    It costs a second join, so it pays only where the difference takes much back and C is small. The condition of the
    second join is the first one's with C's names.
    """
    if not isinstance(node, n.Join) or not all_movable(node.predicate) or not apart(*node.inputs):
        return
    for position, side in enumerate(node.inputs):
        if isinstance(side, n.BagDifference) and apart(side.right, node.inputs[1 - position]):
            names = by_position(n.Union(side.inputs), side.right)
            if names is not None and not cast_columns(side):
                predicate = None if node.predicate is None else renamed(node.predicate, names)
                yield n.BagDifference(with_side(node, position, side.left),
                                      replace(with_side(node, position, side.right), predicate=predicate))


@rule("negation above aggregate", Role.EXPLORE)
def negation_above_aggregate(node: n.Node) -> Forms:
    """γ(R ▷ C) = γ(R) ▷ C if the condition looks at nothing of R but the group's key; the same for EXISTS.

    A group has a match or has none as a whole. From left to right negation is pulled up: rows reach the aggregate
    without negatives. From right to left the aggregate is pulled up: groups that do not show are not maintained. Both
    are candidates.
    """
    match node:
        case n.GroupAggregate(internal=False, input=n.SemiJoin() | n.AntiJoin() as exists):
            names = {item.scalar.column_name: item.name for item in reversed(node.keys) if item.scalar.column_name}
            moved, outer = replace(exists, left=replace(node, input=exists.left)), of_left(exists)
            if exists.predicate is not None and movable(exists.predicate) and outer and outer <= names.keys() and \
                    _apart(exists, moved):
                yield replace(moved, predicate=renamed(exists.predicate, {c: names[c] for c in outer}))
        case n.SemiJoin(left=n.GroupAggregate(internal=False) as groups) | n.AntiJoin(
                left=n.GroupAggregate(internal=False) as groups) if node.predicate is not None:
            keys, outer = {key.name: key.scalar for key in groups.keys}, of_left(node)
            moved = replace(node, left=groups.input)
            if len(set(groups.columns)) == len(groups.columns) and outer and outer <= keys.keys() and \
                    _apart(node, moved):
                below = substituted(node.predicate, {c: keys[c] for c in outer})
                if movable(below):
                    yield replace(groups, input=replace(moved, predicate=below))


def _apart(*sides: Existence) -> bool:
    """Whether the right side's names hide none of the left side's, before and after."""
    return all(apart(side.left, side.right) for side in sides)


@rule("negations exchange", Role.EXPLORE)
def negations_exchange(node: n.Node) -> Forms:
    """(R ▷ C) ▷ D = (R ▷ D) ▷ C, also with EXISTS for either: the one that removes more, or takes less back, first."""
    match node:
        case n.SemiJoin(left=n.SemiJoin() | n.AntiJoin() as inner) | n.AntiJoin(
                left=n.SemiJoin() | n.AntiJoin() as inner):
            if all_movable(node.predicate, inner.predicate) and _apart(inner) and apart(inner.left, node.right):
                yield replace(inner, left=replace(node, left=inner.left))
