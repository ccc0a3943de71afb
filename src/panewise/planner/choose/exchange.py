"""Where a plan is cut in two: the operators below keep rows together by another column than those above.

The upper part reads the changing relation of the lower one as an input (:class:`Relayed`), whose rows can go anywhere.
It is worth it only for what keeps pairs, groups or values of its own below; a bare window is sent as the rows it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.core.schema import SourceSchema
from panewise.plan import nodes as n
from panewise.planner.choose.partitioning import placement
from panewise.planner.facts.result_forms import CHANGE, EXPIRES_AT, VALID_FROM, Form, always_there, form_of
from panewise.planner.facts.stream_joins import has_stream_join
from panewise.planner.facts.working_labels import has_internal
from panewise.planner.legal.relational import is_nested

ABOVE = (n.Filter, n.Project, n.Explode, n.Qualify, n.Union, n.Join, n.SemiJoin, n.AntiJoin, n.BagDifference,
         n.Distinct, n.GroupAggregate)
"""Operators that ask nothing of the relations below them but which rows are there at every instant."""
CHANGES = (n.RelationToStreamKind.ISTREAM, n.RelationToStreamKind.DSTREAM)
STATEFUL = (n.Join, n.SemiJoin, n.AntiJoin, n.BagDifference, n.Distinct, n.GroupAggregate)

Columns = Callable[[n.Node], Mapping[str, pa.DataType]]
"""The names and types of a plan's results."""


def exchanged(plan: n.Node, results: Columns) -> n.Node:
    """The plan with its lower parts as inputs of their own, where it cannot be split as a whole and they can."""
    if placement(plan) is not None or has_stream_join(plan) or has_internal(plan) or is_nested(plan):
        return plan  # windows with ids come out when they are complete, which a part above would have to know
    parts = [node for node in _candidates(plan) if _can_be_cut(plan, node)]
    topmost = _outermost(parts)
    for chosen in [*([part] for part in parts), topmost]:
        above = _over(plan, chosen, results)
        if chosen and placement(above) is not None:
            return above
    return _over(plan, topmost, results)


def relayed(plan: n.Node) -> list[n.Relayed]:
    """The parts of a plan that run elsewhere."""
    return [node for node in plan.walk() if isinstance(node, n.Relayed)]


def _candidates(plan: n.Node) -> Iterator[n.Node]:
    """What a cut could be under, from the top.

    Istream and Dstream at the top take what changed at each instant, copies that come and go at once left out; that
    asks nothing but which rows are there, if equal ones are at one place. Within a plan their rows have an order of
    arrival, which a window by rows would miss.
    """
    if isinstance(plan, n.RelationToStream) and plan.kind in CHANGES and not plan.restore:
        yield plan.input
        yield from _relations(plan.input, form_of(plan))
    else:
        yield from _relations(plan, form_of(plan))


def _relations(plan: n.Node, told: Form) -> Iterator[n.Node]:
    """What a cut could be under, from the top."""
    if not isinstance(plan, ABOVE) or _by_arrival(plan, told):
        return
    for below in plan.inputs:
        yield below
        yield from _relations(below, told)


def _by_arrival(node: n.Node, told: Form) -> bool:
    """Whether results tell in which order rows came, which a relayed relation does not know.

    Some aggregates do, and DISTINCT where lives are told: of rows that come at one instant, the first is shown, until
    its end. Changes are the same whichever it is.
    """
    if isinstance(node, n.GroupAggregate):
        return any(resolve(call.function, call.parameters, call.distinct).needs_order for call in node.aggregates)
    return isinstance(node, n.Distinct) and told is Form.LIVES


def _can_be_cut(plan: n.Node, part: n.Node) -> bool:
    if not any(isinstance(node, STATEFUL) for node in part.walk()) or placement(part) is None:
        return False
    if form_of(part) not in (Form.LIVES, Form.CHANGES) or {VALID_FROM, EXPIRES_AT, CHANGE} & set(part.columns):
        return False
    if always_there(part) is not None:  # such rows have no instant to be sent on with
        return False
    inside = [node.name for node in part.walk() if isinstance(node, n.Named)]  # a stream is read, and judged, once
    return sum(isinstance(node, n.Named) and node.name in inside for node in plan.walk()) == len(inside)


def _outermost(parts: Sequence[n.Node]) -> list[n.Node]:
    inside: set[int] = set()
    found = []
    for part in parts:  # parents come first
        if id(part) not in inside:
            found.append(part)
        inside |= {id(node) for node in part.walk()}
    return found


def _over(plan: n.Node, parts: Sequence[n.Node], results: Columns) -> n.Node:
    numbers = {id(part): number for number, part in enumerate(parts, 1)}

    def visit(node: n.Node) -> n.Node:
        if id(node) in numbers:
            schema = SourceSchema(dict(results(node)), time=VALID_FROM, zone=n.zone_of(node))
            return n.Relayed(f"<relation {numbers[id(node)]}>", schema, node)
        return node.with_inputs(*(visit(below) for below in node.inputs)) if node.inputs else node

    return visit(plan)
