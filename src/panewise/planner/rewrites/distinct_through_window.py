"""L4: δ(W(S)) = W(δ(S)) for logical windows that reach up to now, if δ follows the newest row of a value.

The right side is no plan of its own (the newest rows of a stream are no stream: each is replaced by the next), but a
way to run the left side: the newest row of every value is all the state there is to keep, and a value leaves when its
newest row does. The window itself need not be kept. `newest_row_is_enough` is the law's condition; the choice of state
asks it.

Without the guard a value is lost while it is still inside: if the first row is kept instead (RANGE 5, ``a`` at 1 and 5:
at 7 the window holds one, the kept row has left), or if the window does not reach up to now (SLIDE 5, ``a`` at 5 and 7:
at 7 the newest row is not visible yet). The values are the same for both policies, so with δ*'s choice of the row that
stays longest the first kind is no loss (Golab erratum E8).
"""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.window_conditions import reaches_now

NEUTRAL = (n.Filter, n.Project, n.Qualify)


def newest_row_is_enough(node: n.Distinct) -> bool:
    """Whether a duplicate elimination by the newest row needs no window below it."""
    below = node.input
    while isinstance(below, NEUTRAL):
        below = below.input
    return node.policy == "recent" and isinstance(below, n.Window) and reaches_now(below.clause)


def apply(node: n.Node) -> list[n.Node]:
    """No other plan: the law is about state."""
    return []


RULE = Rule("distinct through window", "L4", "δ(W(S)) = W(δ(S)) for the newest row and windows that reach up to now",
            apply, Role.LAW)
