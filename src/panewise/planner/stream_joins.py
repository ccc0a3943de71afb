"""Plans with joins of streams: what the engine that runs them has, and what it has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n

STREAM_JOINS = (n.BandJoin, n.TumblingJoin)
AROUND = (n.Source, n.Filter, n.Project, n.Qualify, n.Union, n.WindowAggregate)
"""What may stand below and above a join of streams."""
OF_ARRIVAL = frozenset({"first", "last"})
"""Aggregates whose answer depends on the order in which rows come."""


def has_stream_join(plan: n.Node) -> bool:
    """Whether a plan joins streams by their times."""
    return any(isinstance(node, STREAM_JOINS) for node in plan.walk())


def stream_join_gaps(plan: n.Node) -> Iterator[str]:
    """Why a plan with joins of streams cannot be run, from the root down."""
    for node in plan.walk():
        if not isinstance(node, STREAM_JOINS + AROUND):
            yield f"{type(node).__name__} with a join of streams is not yet run"
    aggregates = [node for node in plan.walk() if isinstance(node, n.WindowAggregate)]
    if len(aggregates) > 1:
        yield "a window aggregate over another is not yet run"
    elif aggregates:
        yield from _over_joins(plan, aggregates[0])


def _over_joins(plan: n.Node, aggregate: n.WindowAggregate) -> Iterator[str]:
    node = plan
    while node is not aggregate:
        if not isinstance(node, n.Project | n.Filter):
            yield f"{type(node).__name__} over a window aggregate is not yet run"
            return
        node = node.inputs[0]
    by_arrival = aggregate.window.attribute in ROW_NUM_NAMES or aggregate.window.spec.kind == "slide by tuple"
    if by_arrival or any(call.function in OF_ARRIVAL for call in aggregate.aggregates):
        streams = Counter(node.name for node in aggregate.walk() if isinstance(node, n.Source))
        if max(streams.values()) > 1 or sum(isinstance(node, STREAM_JOINS) for node in aggregate.walk()) > 1:
            yield ("an aggregate of the arrival order over several joins, or over a stream joined with itself, is not "
                   "yet run")
