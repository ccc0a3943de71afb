"""Windows that begin before ORIGIN can be left out: they reach into a time that the user did not mean.

A condition over the results says which, so that every engine leaves out the same.
"""

from __future__ import annotations

from sqlglot import exp

from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import Filter, Node, WindowAggregate, WindowClause
from panewise.windows.sliding import SlidingWindow


def without_partial(plan: Node) -> Node:
    """The plan without results of windows that begin before their ORIGIN (by default the epoch, zero, or row 1).

    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.plan.nodes import AggregateCall, Source
    >>> clause = WindowClause(SlidingWindow(10, 5, 3), "ts", OrdinalKind.INTEGER)
    >>> plan = WindowAggregate(Source("s", SourceSchema(open=True)), clause, (), (AggregateCall("n", "count"),))
    >>> print(without_partial(plan).predicate)
    `window`['start'] >= 3
    """
    found = _without(plan)
    if found is plan:
        raise PlanError("suppress_partial=True leaves out windows that begin before ORIGIN, and the query has no "
                        "windows with WA, RANGE and SLIDE: leave it out")
    return found


def _without(node: Node) -> Node:
    inputs = tuple(_without(child) for child in node.inputs)
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(*inputs)
    if isinstance(node, WindowAggregate) and isinstance(node.window.spec, SlidingWindow):
        return Filter(node, _begins_in_time(node.window, node.window_column))
    return node


def _begins_in_time(clause: WindowClause, column: str) -> Scalar:
    """That a window begins at its ORIGIN or after it."""
    spec = clause.spec
    assert isinstance(spec, SlidingWindow)
    named = exp.column(exp.to_identifier(column, quoted=True))
    if not clause.has_time_range:
        begins = spec.extent(0).start
        assert begins is not None
        first = -((begins - spec.origin) // spec.slide)
        return Scalar.of(exp.GTE(this=named, expression=exp.convert(first)))
    start = exp.Bracket(this=named, expressions=[exp.Literal.string("start")])
    return Scalar.of(exp.GTE(this=start, expression=_constant(clause.ordinal, spec.origin)))


def _constant(kind: OrdinalKind, origin: int) -> exp.Expr:
    if kind is OrdinalKind.TIMESTAMP:
        return exp.cast(exp.Literal.string(kind.text(origin)), "timestamp")
    if kind is OrdinalKind.DATE:
        return exp.cast(exp.Literal.string(kind.text(origin)), "date")
    return exp.convert(origin)
