"""L11: aggregation, difference and join do not commute with windows, so no rewrite may move a window above one of them.

Counts over everything, seen through a window, are not counts over the window. For the difference: S1 has ``a`` at 1
and 6, S2 has ``a`` at 2; over RANGE 5 at 6 the difference of the windows is empty (the row of 2 is still inside), the
window of the difference holds the ``a`` of 6. A join moves only downwards, and only by L9.

`moved_above` finds such a step; the closure refuses any plan that has one.
"""

from __future__ import annotations

from collections import Counter

from panewise.plan import nodes as n

NEVER_BELOW_A_WINDOW = (n.GroupAggregate, n.BagDifference, n.AntiJoin, n.SemiJoin, n.Join)


def moved_above(before: n.Node, after: n.Node) -> list[n.Node]:
    """Windows of a rewritten plan that stand above an operator they did not stand above.

    A window over an internal aggregate or over a join of streams that the query itself asks for is no step.
    """
    over = [(window, operators) for window, operators in _over(after) if operators]
    if not over:
        return []
    asked = Counter(name for _, operators in _over(before) for name in operators.elements())
    return [window for window, operators in over if operators - asked]


def _over(plan: n.Node) -> list[tuple[n.Node, Counter[str]]]:
    """Every window with the operators below it."""
    return [(node, Counter(type(b).__name__ for b in node.input.walk() if isinstance(b, NEVER_BELOW_A_WINDOW)))
            for node in plan.walk() if isinstance(node, n.Window)]
