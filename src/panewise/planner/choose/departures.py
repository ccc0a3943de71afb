"""Why departures are told as they are, and where every end is sent although it is known (Golab 3.5.2)."""

from __future__ import annotations

from panewise.plan import nodes as n
from panewise.plan.physical import Departures, PhysicalNode, Style
from panewise.planner.cost.relation_flow import Flow
from panewise.planner.facts.labels import Edge, UpdatePattern

KEEP, EXPIRE, FIND, SEND = 1.0, 0.7, 0.8, 4.0
"""What it costs to put a row into a calendar, to take it out on its day, to find it by its number, and to send an end
through one operator. Only ratios matter: the first three are round figures of what ``bench/negation_crossover.py``
prints, the last is a guess by how much dearer negative tuples make whole queries."""
MAY_ANNOUNCE = (n.AntiJoin, n.BagDifference, n.SemiJoin, n.TableJoin)
"""Operators that take results back before their time, and know the ends of the others."""
REASONS = {Departures.NEVER: "nothing leaves", Departures.IN_ORDER: "rows leave in the order they came",
           Departures.ANY_ORDER: "rows leave at known moments in any order",
           Departures.REPLACED: "a new row of a group replaces the old one",
           Departures.NAMED: "a row that leaves meets the other side once more",
           Departures.EARLY: "what leaves early is found by its number"}


def because_of(found: PhysicalNode, style: Style) -> str:
    """Why departures are told so: what takes rows back says it, and all above pass it on."""
    told = found.departures
    if style is Style.DIRECT and told in {Departures.IN_ORDER, Departures.ANY_ORDER}:
        return "style: searched for what has left"
    if not told.strict or told in {Departures.REPLACED, Departures.NAMED}:
        return REASONS[told]
    if style is Style.NEGATIVE:
        return "style: every expiry is sent"
    if style is Style.DIRECT and told is Departures.EARLY:
        return "style: only what leaves early is sent"
    if isinstance(found.node, n.Window):
        return "rows leave by arrivals of their window"
    strict = [below for below in found.inputs if below.departures.strict]
    for below in strict:
        if below.departures is not Departures.EARLY or not isinstance(found.node, MAY_ANNOUNCE):
            return below.because
    return REASONS[Departures.EARLY]


def leaving_early(found: PhysicalNode, edge: Edge, flow: Flow | None) -> float | None:
    """The share of an operator's rows that leave before they said, where that decides whether every end is sent."""
    seen = edge.label
    if flow is None or not isinstance(found.node, MAY_ANNOUNCE) or seen.pattern is not UpdatePattern.STR:
        return None
    sent = any(below.departures.strict and not below.timed and below.kernel != "TableRows" for below in found.inputs)
    if seen.domain == "order" or sent or not found.timed:
        return None
    return flow.premature


def prefers_calendar(premature: float, above: int) -> bool:
    """Whether a calendar in each of the structures above costs less than one below them and an end sent for every row.

    Rows that leave early are found by their numbers in either case, so their number does not matter, only their share.

    >>> prefers_calendar(0.4, 3), prefers_calendar(0.99, 1), prefers_calendar(0.99, 3)
    (True, True, False)
    """
    calendars = above * (KEEP + (1 - premature) * EXPIRE + premature * (FIND + SEND))
    announced = KEEP + EXPIRE + above * (FIND + SEND)
    return calendars <= announced
