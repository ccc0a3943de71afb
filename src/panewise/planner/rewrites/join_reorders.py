"""Joins of several inputs in another order (L5 and L6 together): left-deep plans, each part of the condition at the
lowest join that has its columns.

All orders up to four inputs; for more the optimizer asks the heuristic of `join_order`, which needs statistics, and
here only neighbours are exchanged. Orders that would pair inputs with no condition between them are left out unless the
query itself has such a pair.
"""

from __future__ import annotations

from itertools import permutations

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, columns_of, owns, reordered
from panewise.planner.rewrites.scalars import conjunction, conjuncts, movable

ALL_ORDERS = 4


def apply(node: n.Node) -> list[n.Node]:
    """The joins in every other order."""
    if not isinstance(node, n.Join):
        return []
    inputs, parts = flattened(node)
    columns = columns_of(node)
    if len(inputs) < 3 or columns is None or not apart(*inputs) or not all(map(movable, parts)):
        return []
    crossing = _crossings(inputs, parts)
    found: list[n.Node] = []
    for order in _orders(len(inputs)):
        if order[0] > order[1]:  # the first two commute
            continue
        plan = left_deep([inputs[i] for i in order], parts)
        if plan is not None and _crossings([inputs[i] for i in order], parts) <= crossing:
            found.append(plan if columns_of(plan) == columns else reordered(plan, columns))
    return [plan for plan in found if plan != node]


def flattened(node: n.Node) -> tuple[list[n.Node], list[Scalar]]:
    """The inputs of a tree of joins from left to right, and all parts of its conditions."""
    if not isinstance(node, n.Join):
        return [node], []
    (left, over_left), (right, over_right) = flattened(node.left), flattened(node.right)
    return [*left, *right], [*over_left, *over_right, *conjuncts(node.predicate)]


def left_deep(inputs: list[n.Node], parts: list[Scalar]) -> n.Node | None:
    """The inputs joined in this order; None if a part has a column that no input has."""
    plan, remaining = inputs[0], list(parts)
    for side in inputs[1:]:
        pair = n.Join(plan, side)
        here = [part for part in remaining if all(owns(pair, c) for c in part.columns)]
        remaining = [part for part in remaining if part not in here]
        plan = n.Join(plan, side, conjunction(here))
    return None if remaining else plan


def _orders(count: int) -> list[tuple[int, ...]]:
    if count <= ALL_ORDERS:
        return list(permutations(range(count)))
    base = tuple(range(count))
    return [(*base[:i], base[i + 1], base[i], *base[i + 2:]) for i in range(count - 1)]


def _crossings(inputs: list[n.Node], parts: list[Scalar]) -> int:
    """Steps that pair inputs without a condition between them."""
    count = 0
    for i in range(1, len(inputs)):
        before, side = inputs[:i], inputs[i]
        linked = any(any(owns(side, c) for c in part.columns) and any(owns(b, c) for b in before for c in part.columns)
                     for part in parts if all(any(owns(x, c) for x in inputs[:i + 1]) for c in part.columns))
        count += not linked
    return count


RULE = Rule("join reorders", "L5, L6", "S1 ⋈ S2 ⋈ S3 in any order", apply, Role.EXPLORE)
