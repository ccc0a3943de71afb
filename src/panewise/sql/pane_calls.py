"""Calls of aggregates over panes: what the query adds to what was written (see ``Aggregate.of_panes``)."""

from __future__ import annotations

from dataclasses import replace

from panewise.aggregates.registry import BUILT_IN
from panewise.core.scalar import Scalar
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan.nodes import AggregateCall, WindowClause
from panewise.windows.base import Clock
from panewise.windows.rows import RowWindow
from panewise.windows.sliding import SlidingWindow

NAMES = frozenset(name for kind, names in BUILT_IN.items() if kind.of_panes for name in names)
"""The functions that want it."""


def problem(call: AggregateCall, clause: WindowClause | None) -> str | None:
    """Why a call as it was written cannot have panes."""
    if len(call.arguments) != 1 or len(call.parameters) != 1:
        return f"{call.function} takes a column and how many values a pane lists"
    if clause is None:
        return f"{call.function} needs windows with a result each, and here rows come and go one by one"
    spec = clause.spec
    by_rows = clause.attribute in ROW_NUM_NAMES
    if isinstance(spec, RowWindow) or (isinstance(spec, SlidingWindow) and spec.clock is Clock.TIME and not by_rows):
        return None
    return f"{call.function} needs windows of panes of one length, and {spec.kind} windows " \
           f"{'over positions ' * by_rows}have none"


def completed(call: AggregateCall, clause: WindowClause) -> AggregateCall:
    """The call with the windowing attribute, the length of a pane and where panes begin.

    Positions are no column: who counts the rows of a window adds them (see ``Aggregate.numbered``).
    """
    spec = clause.spec
    assert isinstance(spec, SlidingWindow)
    panes = (spec.pane, spec.origin - spec.lag)
    if isinstance(spec, RowWindow):
        return replace(call, parameters=(*call.parameters, *panes, True))
    return replace(call, arguments=(*call.arguments, Scalar.column(clause.attribute)),
                   parameters=(*call.parameters, *panes))


def as_written(call: AggregateCall) -> AggregateCall:
    """The call without what was added."""
    if call.function not in NAMES:
        return call
    return replace(call, arguments=call.arguments[:1], parameters=call.parameters[:1])
