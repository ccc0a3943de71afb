"""Calls of aggregates over panes: what the query adds to what was written (see ``Aggregate.of_panes``)."""

from __future__ import annotations

from dataclasses import replace

from panewise.aggregates.registry import BUILT_IN
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import AggregateCall, WindowClause
from panewise.windows.base import Clock
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
    if not isinstance(spec, SlidingWindow) or spec.clock is not Clock.TIME or clause.ordinal is OrdinalKind.ROWS:
        return f"{call.function} needs windows of panes of one length, and {spec.kind} windows have none"
    return None


def completed(call: AggregateCall, clause: WindowClause) -> AggregateCall:
    """The call with the windowing attribute, the length of a pane and where panes begin."""
    spec = clause.spec
    assert isinstance(spec, SlidingWindow)
    return replace(call, arguments=(*call.arguments, Scalar.column(clause.attribute)),
                   parameters=(*call.parameters, spec.pane, spec.origin - spec.lag))


def as_written(call: AggregateCall) -> AggregateCall:
    """The call without what was added."""
    if call.function not in NAMES:
        return call
    return replace(call, arguments=call.arguments[:1], parameters=call.parameters[:1])
