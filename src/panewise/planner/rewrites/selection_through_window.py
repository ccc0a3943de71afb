"""L2: σ(W(S)) = W(σ(S)) for logical windows of any slide and lag.

For a partitioned window only if the condition looks at nothing but the partition columns: then a group is inside as a
whole or not at all. Never for a count window: of the values 5, 1, 2 the newest two hold nothing above 3, but the newest
two of those above 3 hold the 5.

A condition with several parts moves as far as its parts can. Rows that fail no longer reach the window, so they no
longer move it.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.scalars import conjunction, conjuncts, movable
from panewise.planner.rewrites.window_conditions import is_logical, is_partitioned


def apply(node: n.Node) -> list[n.Node]:
    """The window over the rows that pass."""
    if not isinstance(node, n.Filter) or not isinstance(node.input, n.Window):
        return []
    window, clause = node.input, node.input.clause
    if is_logical(clause):
        down = [part for part in conjuncts(node.predicate) if movable(part)]
    elif is_partitioned(clause):
        groups = set(clause.partition)
        down = [part for part in conjuncts(node.predicate) if part.columns and part.columns <= groups and movable(part)]
    else:
        return []
    below = conjunction(down)
    if below is None:
        return []
    rest = conjunction(part for part in conjuncts(node.predicate) if part not in down)
    moved = replace(window, input=n.Filter(window.input, below))
    return [moved if rest is None else n.Filter(moved, rest)]


RULE = Rule("selection through window", "L2", "σ(W(S)) = W(σ(S)) for logical windows, or on the partition columns",
            apply, Role.SIMPLIFY, keeps_instants=False)
