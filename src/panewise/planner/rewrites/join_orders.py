"""Joins of several inputs in every order."""

from __future__ import annotations

from itertools import permutations

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Forms, Role, rule
from panewise.planner.rewrites.columns import apart, columns_of, filtered, only_leaves_out, reordered, type_of
from panewise.planner.rewrites.scalars import all_movable, conjunction, conjuncts, equalities

ALL_ORDERS = 4


@rule("join reorders", Role.EXPLORE, with_internal=True)
def join_reorders(node: n.Node) -> Forms:
    """Joins of several inputs in another order (L5 and L6 together): left-deep plans, each part of the condition at the
    lowest join that has its columns.

    All orders up to four inputs; for more the optimizer asks the heuristic of `join_order`, which needs statistics, and
    here only neighbours are exchanged. Orders that would pair inputs with no condition between them are left out unless
    the query itself has such a pair.
    """
    if not isinstance(node, n.Join):
        return
    inputs, parts = flattened(node)
    columns = columns_of(node)
    if len(inputs) < 3 or columns is None or not apart(*inputs) or not all_movable(*parts):
        return
    crossing = _crossings(node)
    names = [min(side.columns) for side in inputs]
    for order in _orders(len(inputs)):
        if names[order[0]] > names[order[1]]:  # the first two commute: once is enough, by name
            continue
        plan = left_deep([inputs[i] for i in order], parts)
        if plan is not None and plan != node and _crossings(plan) <= crossing:
            yield plan if columns_of(plan) == columns else reordered(plan, columns)


def flattened(node: n.Node, *, narrowed: bool = False) -> tuple[list[n.Node], list[Scalar]]:
    """The inputs of a tree of joins from left to right, and all parts of its conditions.

    ``narrowed`` says that columns may have been left out between the joins.
    """
    if narrowed and isinstance(node, n.Project) and only_leaves_out(node):
        below = flattened(node.input, narrowed=True)
        return below if len(below[0]) > 1 else ([node], [])
    if not isinstance(node, n.Join):
        return [node], []
    (left, over_left), (right, over_right) = (flattened(side, narrowed=narrowed) for side in node.inputs)
    return [*left, *right], [*over_left, *over_right, *conjuncts(node.predicate)]


def widened(plan: n.Node) -> n.Node:
    """The plan with the columns back that were left out between joins: so that joins can be put in another order."""
    inputs = [widened(below) for below in plan.inputs]
    if isinstance(plan, n.Join):
        inputs = [below.input if isinstance(below, n.Project) and isinstance(below.input, n.Join)
                  and only_leaves_out(below) else below for below in inputs]
    return plan.with_inputs(*inputs) if inputs else plan


def left_deep(inputs: list[n.Node], parts: list[Scalar]) -> n.Node | None:
    """The inputs joined in this order; None if a part has a column that no input has.

    Columns that are equal to a third are equal: each step compares what it adds with what is there already.
    """
    classes = equal_columns(inputs, parts)
    remaining = [part for part in parts if not follows(part, classes)]
    plan = filtered(inputs[0], conjunction(_links(inputs[0], [], classes)))
    for i, side in enumerate(inputs[1:], start=1):
        pair = n.Join(plan, side)
        here = [part for part in remaining if all(pair.has(c) for c in part.columns)]
        remaining = [part for part in remaining if part not in here]
        plan = n.Join(plan, side, conjunction([*_links(side, inputs[:i], classes), *here]))
    return None if remaining else plan


def equal_columns(inputs: list[n.Node], parts: list[Scalar]) -> list[list[str]]:
    """Columns that the conditions make equal, as far as they are of one known type: others may compare as anything."""
    classes: list[list[str]] = []
    for one, other in (pair for part in parts for pair in equalities(part)):
        if one == other:  # only says that it is not null
            continue
        kinds = {type_of(side, c) for c in (one, other) for side in inputs if side.has(c)}
        if None in kinds or len(kinds) != 1:
            continue
        joined = [group for group in classes if one in group or other in group]
        merged = list(dict.fromkeys([c for group in joined for c in group] + [one, other]))
        classes = [group for group in classes if group not in joined] + [merged]
    return classes


def follows(part: Scalar, classes: list[list[str]]) -> bool:
    """Whether a condition holds where the columns of every class are equal: it is such an equality, and nothing else.

    Not every condition on two equal columns is: ``a.x + b.x > 3`` says more than ``a.x = b.x``.
    """
    return any({one, other} <= set(group) for one, other in equalities(part) for group in classes)


def _links(side: n.Node, before: list[n.Node], classes: list[list[str]]) -> list[Scalar]:
    """What makes the side's columns equal to those that are there, or to each other."""
    found: list[Scalar] = []
    for group in classes:
        mine = [c for c in group if side.has(c)]
        there = next((c for node in before for c in group if node.has(c)), None)
        first = there if there is not None else (mine[0] if mine else None)
        found += [Scalar.parse(f"{Scalar.column(first).sql} = {Scalar.column(c).sql}")
                  for c in mine if first is not None and c != first]
    return found


def _orders(count: int) -> list[tuple[int, ...]]:
    if count <= ALL_ORDERS:
        return list(permutations(range(count)))
    base = tuple(range(count))
    return [(*base[:i], base[i + 1], base[i], *base[i + 2:]) for i in range(count - 1)]


def _crossings(plan: n.Node) -> int:
    """Joins that pair inputs without a condition between them."""
    return sum(isinstance(node, n.Join) and node.predicate is None for node in plan.walk())
