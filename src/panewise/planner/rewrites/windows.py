"""Windows moved below joins."""

from __future__ import annotations

from dataclasses import replace

from panewise.core.scalar import Scalar
from panewise.plan import nodes as n
from panewise.planner.facts.read_columns import time_column
from panewise.planner.rewrites.base import Forms, Role, rule
from panewise.planner.rewrites.columns import apart
from panewise.planner.rewrites.scalars import all_movable
from panewise.planner.rewrites.window_conditions import reaches_now


@rule("window of join", Role.SIMPLIFY, keeps_instants=False)
def window_of_join(node: n.Node) -> Forms:
    """L9: W(S1 ⋈ S2) = W(S1) ⋈ W(S2) for one logical window that reaches up to now, a pair dated by its older row.

    The window stands over a projection that computes the date as ``least`` of both streams' own times. The pair is
    inside as long as its older row is, and that is when the join of windows drops it. The left side keeps all rows of
    both streams for ever, the right side two windows: this rewrite turns an unbounded plan into a bounded one.

    Dated by its younger row (``greatest``) a pair outlives its older half: the left side holds more. A window that does
    not reach up to now (a slide, a lag, a fixed end) would show a pair whose younger row is not visible yet.
    """
    match node:
        case n.Window(input=n.Project(input=n.Join() as join) as shown, clause=clause) if \
                reaches_now(clause) and not (clause.predicate or clause.partition or clause.internal) and \
                apart(join.left, join.right) and all_movable(join.predicate):
            date = next((item.scalar for item in shown.items if item.name == clause.attribute), None)
            times = [time_column(side) if _is_stream(side) else None for side in join.inputs]
            if date is not None and None not in times and _older_of(date) == set(times):
                yield replace(shown, input=join.with_inputs(*(_windowed(side, clause) for side in join.inputs)))


def _older_of(date: Scalar) -> set[str]:
    """The columns of ``least(a, b)``."""
    from sqlglot import exp

    tree = date.tree
    if not (isinstance(tree, exp.Anonymous) and tree.name.lower() == "least"):
        return set()
    arguments = tree.expressions
    return {a.name for a in arguments} if all(isinstance(a, exp.Column) for a in arguments) else set()


def _is_stream(side: n.Node) -> bool:
    """Whether a side is a stream, or a selection of one, under whatever alias."""
    return all(isinstance(node, n.Source | n.Filter | n.Qualify) for node in side.walk())


def _windowed(side: n.Node, clause: n.WindowClause) -> n.Node:
    """The window put on the stream itself, by the stream's own time."""
    if isinstance(side, n.Source):
        return n.Window(side, replace(clause, attribute=side.schema.time or clause.attribute))
    return side.with_inputs(_windowed(side.inputs[0], clause))
