"""L6: (S1 ⋈ S2) ⋈ S3 = S1 ⋈ (S2 ⋈ S3) over any windows, if only base streams are windowed.

Every part of the conditions goes to the lowest join that has its columns. A window between the two joins stops the
rule: it would give a pair a new life. With RANGE 10 the pair of rows 1 and 8 is gone at 11; dated by its younger row
and put in a window again it lives to 18 and meets a row of 12.
"""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart, belongs
from panewise.planner.rewrites.scalars import conjunction, conjuncts, movable


def apply(node: n.Node) -> list[n.Node]:
    """The join that leans the other way."""
    match node:
        case n.Join(left=n.Join(left=a, right=b, predicate=inner), right=c, predicate=outer):
            near, far = (b, c), a
        case n.Join(left=a, right=n.Join(left=b, right=c, predicate=inner), predicate=outer):
            near, far = (a, b), c
        case _:
            return []
    parts = [*conjuncts(inner), *conjuncts(outer)]
    if not apart(a, b, c) or not all(map(movable, parts)):
        return []
    pair = n.Join(*near)
    low = [part for part in parts if part.columns and belongs(part.columns, pair, far)]
    low_join = n.Join(*near, conjunction(low))
    high = conjunction(part for part in parts if part not in low)
    return [n.Join(far, low_join, high) if far is a else n.Join(low_join, far, high)]


RULE = Rule("join associates", "L6", "(S1 ⋈ S2) ⋈ S3 = S1 ⋈ (S2 ⋈ S3), windows only on base streams", apply, Role.LAW,
            with_internal=True)
