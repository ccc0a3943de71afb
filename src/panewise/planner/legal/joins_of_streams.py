"""Plans with joins of streams that no engine runs while their inputs go on: orders and instants that there are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from panewise.core.join_kinds import JoinKind
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n
from panewise.planner.facts.stream_joins import (
    BELOW,
    OF_ARRIVAL,
    STREAM_JOINS,
    has_stream_join,
    is_birth,
    is_pairs,
    missing_in,
    tops,
)
from panewise.planner.legal import refusals
from panewise.planner.legal.refusals import Said


def stream_join_gaps(plan: n.Node, engine: str = "embedded") -> Iterator[Said]:
    """Why a plan with joins of streams cannot be run, from the root down."""
    for join in tops(plan):
        yield from _below(join)
    for node in plan.walk():
        if isinstance(node, n.WindowAggregate) and has_stream_join(node):
            yield from _in_order_of_arrival(node, engine)
    if not is_pairs(plan):
        yield from _dated(plan)


def _below(join: n.TimePairs) -> Iterator[Said]:
    for node in join.walk():
        if not isinstance(node, n.BandJoin | n.TumblingJoin):
            continue
        for side, time in ((node.left, node.left_time), (node.right, node.right_time)):
            if (outer := missing_in(side, time)) is not None:
                yield refusals.JOIN_ON_MISSING(time=time, kind=outer)


def _in_order_of_arrival(aggregate: n.WindowAggregate, engine: str) -> Iterator[Said]:
    by_arrival = aggregate.window.attribute in ROW_NUM_NAMES or aggregate.window.spec.kind == "slide by tuple"
    if by_arrival or any(call.function in OF_ARRIVAL for call in aggregate.aggregates):
        streams = Counter(node.name for node in aggregate.walk() if isinstance(node, n.Source))
        if max(streams.values()) > 1 or sum(isinstance(node, STREAM_JOINS) for node in aggregate.walk()) > 1:
            yield refusals.ORDER_OF_PAIRS()
        if any(isinstance(node, n.TimePairs) and node.kind is not JoinKind.INNER for node in aggregate.walk()):
            yield refusals.ORDER_OF_LONE_ROWS()
        if engine == "spark":
            yield refusals.ORDER_BETWEEN_STREAMS()


def _dated(plan: n.Node) -> Iterator[Said]:
    """A relation dates pairs by the times of their rows, which must be what the join promises about."""
    counted = {id(join) for node in plan.walk() if isinstance(node, n.WindowAggregate) for join in tops(node)}
    for join in tops(plan):
        if id(join) in counted or _passes(plan, join):  # results are dated by their windows, and rows are not dated
            continue
        for node in join.walk():
            if isinstance(node, STREAM_JOINS):
                for side, time in ((node.left, node.left_time), (node.right, node.right_time)):
                    if not is_birth(side, time):
                        yield refusals.PAIRS_WITHOUT_INSTANTS(time=time)


def _passes(node: n.Node, join: n.Node) -> bool:
    """Whether pairs pass from a join to the results as they are."""
    return node is join or (isinstance(node, BELOW) and any(_passes(below, join) for below in node.inputs))
