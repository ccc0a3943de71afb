"""DISTINCT moved or left out."""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Forms, Role, rule
from panewise.planner.rewrites.columns import apart, columns_of, narrowed
from panewise.planner.rewrites.scalars import all_movable, columns_read
from panewise.planner.rewrites.window_conditions import reaches_now

NEUTRAL = (n.Filter, n.Project, n.Qualify)


def newest_row_is_enough(node: n.Distinct) -> bool:
    """L4: δ(W(S)) = W(δ(S)) for logical windows that reach up to now, if δ follows the newest row of a value.

    The right side is no plan of its own (the newest rows of a stream are no stream: each is replaced by the next), but
    a way to run the left side: the newest row of every value is all the state there is to keep, and a value leaves when
    its newest row does. The window itself need not be kept. This is the law's condition; the choice of state asks it.

    Without the guard a value is lost while it is still inside: if the first row is kept instead (RANGE 5, ``a`` at 1
    and 5: at 7 the window holds one, the kept row has left), or if the window does not reach up to now (SLIDE 5, ``a``
    at 5 and 7: at 7 the newest row is not visible yet). The values are the same for both policies, so with δ*'s choice
    of the row that stays longest the first kind is no loss (Golab erratum E8).
    """
    below = node.input
    while isinstance(below, NEUTRAL):
        below = below.input
    return node.policy == "recent" and isinstance(below, n.Window) and reaches_now(below.clause)


@rule("distinct twice", Role.SIMPLIFY, keeps_births=False)
def distinct_twice(node: n.Node) -> Forms:
    """δ(δ(R)) = δ(R), whatever neutral operators that keep all columns stand between: the inner one goes."""
    match node:
        case n.Distinct(input=n.Distinct(input=below)):
            yield replace(node, input=below)
        case n.Distinct(input=n.Filter(input=n.Distinct(input=below)) as middle):
            yield replace(node, input=replace(middle, input=below))


@rule("distinct below existence", Role.EXPLORE, keeps_births=False)
def distinct_below_existence(node: n.Node) -> Forms:
    """δ(R ▷ Q) = δ(R) ▷ Q, the same for ⋉: equal rows have a match or have none together.

    Read from right to left it pulls negation up, out of the way of δ*: what stands above NOT EXISTS must count its
    rows. Not for EXCEPT ALL, where the number of copies matters: of two copies on the left and one on the right one
    stays.
    """
    match node:
        case n.Distinct(input=n.SemiJoin() | n.AntiJoin() as exists) if all_movable(exists.predicate):
            yield replace(exists, left=replace(node, input=exists.left))
        case n.SemiJoin(left=n.Distinct() as distinct) | n.AntiJoin(left=n.Distinct() as distinct) if \
                all_movable(node.predicate):
            yield replace(distinct, input=replace(node, left=distinct.input))


@rule("distinct below join", Role.EXPLORE, keeps_births=False)
def distinct_below_join(node: n.Node) -> Forms:
    """δ(R ⋈ Q) = δ(R) ⋈ δ(Q); with a projection between, δ(π(R ⋈ Q)) = δ(π(δ(π1(R)) ⋈ δ(π2(Q)))), join columns kept.

    Equal pairs are pairs of equal rows, so nothing is lost by taking one of each first; with a projection between,
    pairs that differ become equal and the outer elimination stays. It pays where duplicates are many: the join then
    works on values instead of rows.
    """
    match node:
        case n.Distinct(input=n.Join() as join) if _fits(join):
            yield join.with_inputs(*(_distinct(side, node.policy) for side in join.inputs))
        case n.Distinct(input=n.Project(input=n.Join() as join) as shown) if _fits(join):
            needed = columns_read(join.predicate, *(item.scalar for item in shown.items))
            sides = [_values(side, needed, node.policy) for side in join.inputs]
            known = [side for side in sides if side is not None]
            if len(known) == len(sides) and known != list(join.inputs):
                yield replace(node, input=replace(shown, input=join.with_inputs(*known)))


def _fits(join: n.Join) -> bool:
    return apart(join.left, join.right) and all_movable(join.predicate)


def _distinct(side: n.Node, policy: str) -> n.Node:
    return side if isinstance(side, n.Distinct) else n.Distinct(side, policy)


def _values(side: n.Node, needed: frozenset[str], policy: str) -> n.Node | None:
    """The side's values in the columns that are needed; None where columns are not known or none is needed."""
    if isinstance(side, n.Distinct):
        return side
    return n.Distinct(narrowed(side, needed), policy) if needed.intersection(columns_of(side) or ()) else None


@rule("distinct below union", Role.EXPLORE, keeps_births=False)
def distinct_below_union(node: n.Node) -> Forms:
    """δ(R ∪ Q) = δ(δ(R) ∪ δ(Q)): duplicates of one part need not reach the union."""
    match node:
        case n.Distinct(input=n.Union(parts=parts)) if not all(isinstance(part, n.Distinct) for part in parts):
            yield replace(node, input=n.Union(tuple(_distinct(part, node.policy) for part in parts)))
