"""(R ▷ C) ⋈ T = (R ⋈ T) ▷ C for a table T: negation goes above the join with a table; the same for EXISTS.

A join with a table may not follow a negation: what is taken back would have to be joined again with a table that may
have changed (Golab 3.3.1). Exchanged, the plan is legal, and it means the same: a row meets the table when it arrives,
and whether it is shown is decided afterwards. The reverse would make a legal plan illegal and is never done.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart
from panewise.planner.rewrites.scalars import movable


def apply(node: n.Node) -> list[n.Node]:
    """The negation above the table join."""
    match node:
        case n.TableJoin(input=n.SemiJoin() | n.AntiJoin() as exists):
            free = all(e.predicate is None or movable(e.predicate) for e in (node, exists))
            if free and apart(exists.left, node.table, exists.right):
                return [replace(exists, left=replace(node, input=exists.left))]
    return []


RULE = Rule("negation above table join", "pattern", "(R ▷ C) ⋈ T = (R ⋈ T) ▷ C, the same for ⋉", apply, Role.SIMPLIFY)
