"""Calls of aggregates over panes: what the query adds to what was written (see ``Aggregate.of_panes``).

Panes are pieces of windows with a result each, or of a window by rows as a relation: there rows leave in the order in
which they came, so a pane is there as a whole or not at all. Over any other relation that is not so, and it is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import gcd

from panewise.aggregates.registry import BUILT_IN
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan.nodes import POSITION_COLUMN, AggregateCall, Filter, Node, Window, WindowClause
from panewise.windows.base import Clock
from panewise.windows.count import CountWindow
from panewise.windows.rows import RowWindow
from panewise.windows.sliding import SlidingWindow

NAMES = frozenset(name for kind, names in BUILT_IN.items() if kind.of_panes for name in names)
"""The functions that want it."""


def completed(call: AggregateCall, clause: WindowClause) -> AggregateCall | str:
    """The call with the windowing attribute, the length of a pane and where panes begin, or why it cannot have panes.

    Positions are no column: an operator that counts the rows of a window adds them (see ``Aggregate.numbered``).
    """
    if len(call.arguments) != 1 or len(call.parameters) != 1:
        return f"{call.function} takes a column and how many values a pane lists"
    spec = clause.spec
    by_rows = clause.attribute in ROW_NUM_NAMES
    if not isinstance(spec, SlidingWindow) or (by_rows and not isinstance(spec, RowWindow)) or (
            not by_rows and spec.clock is not Clock.TIME):
        return f"{call.function} needs windows of panes of one length, and {spec.kind} windows " \
               f"{'over positions ' * by_rows}have none"
    panes = (spec.pane, spec.origin - spec.lag)
    if by_rows:
        return replace(call, parameters=(*call.parameters, *panes, True))
    return replace(call, arguments=(*call.arguments, Scalar.column(clause.attribute)),
                   parameters=(*call.parameters, *panes))


def completed_in_relation(call: AggregateCall, node: Node, keys: Collection[str | None]) -> AggregateCall | str:
    """The same over a relation that is grouped by the columns ``keys``.

    The call gets the positions of rows, which the window below then shows, and the length of a pane.
    """
    if len(call.arguments) != 1 or len(call.parameters) != 1:
        return f"{call.function} takes a column and how many values a pane lists"
    while isinstance(node, Filter):  # the window whose rows a relation shows, all or some of them
        node = node.input
    spec = node.clause.spec if isinstance(node, Window) and not node.clause.internal else None
    if not isinstance(node, Window) or not isinstance(spec, CountWindow):
        return f"{call.function} needs windows with a result each, or [ROWS n SLIDE b] itself, whose rows leave in " \
               "the order in which they came; here rows come and go one by one"
    apart = [column for column in node.clause.partition if column not in keys]
    if apart:
        return f"{call.function} needs panes of one partition each, and rows of every {', '.join(apart)} come together"
    return replace(call, arguments=(*call.arguments, Scalar.column(POSITION_COLUMN)),
                   parameters=(*call.parameters, gcd(spec.n, spec.slide), 1))


def numbered(node: Node) -> Node:
    """The relation with the positions of its rows."""
    if isinstance(node, Window):
        return replace(node, clause=replace(node.clause, numbered=True))
    return node.with_inputs(numbered(node.inputs[0]))


def as_written(call: AggregateCall) -> AggregateCall:
    """The call without what was added."""
    if call.function not in NAMES:
        return call
    return replace(call, arguments=call.arguments[:1], parameters=call.parameters[:1])
