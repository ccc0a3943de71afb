"""Which window aggregates have results that something above numbers as they come, or of which it takes the first.

Their results stand by the end of their windows, then by window, then by group: on every engine, whatever closed them.
"""

from __future__ import annotations

from collections.abc import Iterator

from panewise.aggregates.registry import resolve
from panewise.core.schema import ROW_NUM_NAMES
from panewise.plan import nodes as n

PASSES = (n.Filter, n.Project, n.Explode, n.Qualify, n.Union)
"""What hands results on as they come."""


def asks_for_order(node: n.WindowAggregate) -> bool:
    """Whether what an aggregate says depends on the order in which its rows come."""
    return node.window.attribute in ROW_NUM_NAMES or node.window.spec.plain.by_arrival or any(
        resolve(call.function, call.parameters, call.distinct).needs_order for call in node.aggregates)


def ordered_results(plan: n.Node) -> frozenset[n.WindowAggregate]:
    """The window aggregates whose results another one reads in their order."""
    return frozenset(below for node in plan.walk() if isinstance(node, n.WindowAggregate) and asks_for_order(node)
                     for below in read_as_they_come(node.input) if isinstance(below, n.WindowAggregate))


def read_as_they_come(node: n.Node) -> Iterator[n.Node]:
    """What puts out the rows of a stream, and what passes them on."""
    yield node
    if isinstance(node, PASSES):
        for below in node.inputs:
            yield from read_as_they_come(below)
