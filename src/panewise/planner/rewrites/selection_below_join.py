"""L7: σ_F(S1 ⋈ S2) = σ_F1(S1) ⋈ σ_F2(S2) for F = F1 ∧ F2 ∧ F12, F12 being what needs both sides.

F12 becomes part of the join. The sides are window contents here, so this half of the law holds over any windows; that
a condition goes on, below a window, is L2 with its own guard.

The printed form filters both sides by all of F: it loses pairs whenever F speaks of one side only, or is F1 ∨ F2.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, divided, filtered
from panewise.planner.rewrites.scalars import conjunction, movable


def apply(node: n.Node) -> list[n.Node]:
    """The join of filtered sides."""
    if not isinstance(node, n.Filter) or not isinstance(node.input, n.Join):
        return []
    join = node.input
    if not apart(join.left, join.right):
        return []
    (left, right), rest = divided(node.predicate, join.left, join.right)
    crossing = [part for part in rest if part.columns and movable(part)]
    above = conjunction(part for part in rest if part not in crossing)
    if not left and not right and not crossing:
        return []
    moved = replace(join, left=filtered(join.left, conjunction(left)), right=filtered(join.right, conjunction(right)),
                    predicate=conjunction([join.predicate, *crossing]))
    return [filtered(moved, above)]


RULE = Rule("selection below join", "L7", "σ(S1 ⋈ S2) = σ1(S1) ⋈ σ2(S2), each part where its columns are", apply,
            Role.SIMPLIFY, with_internal=True)
