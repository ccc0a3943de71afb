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
    return [window for window, operators in _over(after).items() if operators - _all(before)]


def _over(plan: n.Node) -> dict[n.Node, Counter[str]]:
    found: dict[n.Node, Counter[str]] = {}
    for node in plan.walk():
        if isinstance(node, n.Window):
            found[node] = Counter(type(b).__name__ for b in node.input.walk() if isinstance(b, NEVER_BELOW_A_WINDOW))
    return found


def _all(plan: n.Node) -> Counter[str]:
    """What stands below windows in the plan as asked for."""
    return Counter(name for operators in _over(plan).values() for name in operators.elements())
