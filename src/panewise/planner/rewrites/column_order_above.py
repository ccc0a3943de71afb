"""A projection that only puts columns in another order goes above joins, EXISTS, NOT EXISTS and DISTINCT.

It is what remains of joins in another order. Above, it does not hide operators from each other, and several become one;
where no order is seen (below an aggregate, on the right of EXISTS) it is left out.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, columns_of, reordered, with_side


def apply(node: n.Node) -> list[n.Node]:
    """The operator without the projection, the projection above."""
    match node:
        case n.Join():
            for position, side in enumerate((node.left, node.right)):
                below, columns = _reordered(side), columns_of(node)
                if below is not None and columns is not None and apart(node.left, node.right):
                    return [reordered(with_side(node, position, below), columns)]
        case n.SemiJoin() | n.AntiJoin():
            right, left = _reordered(node.right), _reordered(node.left)
            if right is not None:
                return [replace(node, right=right)]
            if left is not None:
                return [reordered(replace(node, left=left), node.columns)]
        case n.Distinct() if (below := _reordered(node.input)) is not None:
            return [reordered(replace(node, input=below), node.columns)]
        case n.GroupAggregate() if (below := _reordered(node.input)) is not None:
            return [replace(node, input=below)]
    return []


def _reordered(node: n.Node) -> n.Node | None:
    """What a projection reads, if it shows all of its columns, each once, under its own name."""
    if not isinstance(node, n.Project) or not all(i.scalar.column_name == i.name for i in node.items):
        return None
    below = columns_of(node.input)
    same = below is not None and sorted(below) == sorted(node.columns) and len(set(below)) == len(below)
    return node.input if same else None


RULE = Rule("column order above", "relational", "π(R) ⋈ Q = π(R ⋈ Q) for a π that only reorders", apply, Role.SIMPLIFY,
            with_internal=True)
