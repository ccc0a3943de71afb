"""L9: W(S1 ⋈ S2) = W(S1) ⋈ W(S2) for one logical window that reaches up to now, if a pair is dated by its older row.

The window stands over a projection that computes the date as ``least`` of both streams' own times. The pair is inside
as long as its older row is, and that is when the join of windows drops it. The left side keeps all rows of both streams
for ever, the right side two windows: this rewrite turns an unbounded plan into a bounded one.

Dated by its younger row (``greatest``) a pair outlives its older half: the left side holds more. A window that does not
reach up to now (a slide, a lag, a fixed end) would show a pair whose younger row is not visible yet.
"""

from __future__ import annotations

from dataclasses import replace

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.rewrites.base import Role, Rule
from panewise.planner.rewrites.columns import apart
from panewise.planner.rewrites.scalars import movable
from panewise.planner.rewrites.window_conditions import reaches_now


def apply(node: n.Node) -> list[n.Node]:
    """The join of windows, with the projection above it."""
    match node:
        case n.Window(input=n.Project(input=n.Join() as join) as shown, clause=clause):
            pass
        case _:
            return []
    if not reaches_now(clause) or clause.predicate is not None or clause.partition or clause.internal:
        return []
    if not apart(join.left, join.right) or (join.predicate is not None and not movable(join.predicate)):
        return []
    date = next((item.scalar for item in shown.items if item.name == clause.attribute), None)
    times = [_time(side) for side in (join.left, join.right)]
    if date is None or None in times or _older_of(date) != set(times):
        return []
    left, right = (_windowed(side, clause) for side in (join.left, join.right))
    return [replace(shown, input=replace(join, left=left, right=right))]


def _older_of(date: Scalar) -> set[str]:
    """The columns of ``least(a, b)``."""
    from sqlglot import exp

    tree = date.tree
    if not (isinstance(tree, exp.Anonymous) and tree.name.lower() == "least"):
        return set()
    arguments = tree.expressions
    return {a.name for a in arguments} if all(isinstance(a, exp.Column) for a in arguments) else set()


def _time(side: n.Node) -> str | None:
    """The column that orders the one stream below, by its name at the top."""
    match side:
        case n.Source():
            return side.schema.time
        case n.Filter():
            return _time(side.input)
        case n.Qualify():
            below = _time(side.input)
            return None if below is None else f"{side.alias}.{below}"
    return None


def _windowed(side: n.Node, clause: n.WindowClause) -> n.Node:
    """The window put on the stream itself, by the stream's own time."""
    if isinstance(side, n.Source):
        return n.Window(side, replace(clause, attribute=side.schema.time or clause.attribute))
    return side.with_inputs(_windowed(side.inputs[0], clause))


RULE = Rule("window of join", "L9", "W(S1 ⋈ S2) = W(S1) ⋈ W(S2), pairs dated by the older row, W up to now", apply,
            Role.SIMPLIFY, keeps_instants=False)
