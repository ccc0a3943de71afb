"""What all operators of a relation have in common: how departures are told, what is kept of an edge, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa

from panewise.aggregates.count import Count
from panewise.aggregates.moments import VarSamp
from panewise.aggregates.registry import resolve
from panewise.aggregates.sums import Sum
from panewise.kernels.relations.aggregates.merging import is_subtractable
from panewise.plan import nodes as n
from panewise.plan.physical import Asked, Clock, Departures, Layout, Path, PhysicalNode, State, Structure, Style
from panewise.planner.choose.departures import because_of, leaving_early, prefers_calendar
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.facts.expiry_vectors import vector_of
from panewise.planner.facts.labels import Edge, Labels, label
from panewise.planner.facts.patterns import UpdatePattern
from panewise.planner.facts.requests import bound_aggregates, schema_of

MON, WKS, WK, STR = UpdatePattern
PATTERNS = {MON: Departures.NEVER, WKS: Departures.IN_ORDER, WK: Departures.ANY_ORDER}


class NodeMaker:
    """Makes physical nodes with their properties; ``flows`` is what is known of the rows."""

    def __init__(self, running: n.Node, style: Style, flows: Flows | None) -> None:
        self.running, self.style, self.flows = running, style, flows
        self.asked = Asked()
        self.clocks = 0
        self._written = dict(running.paths())
        self._edges: dict[n.Node, Edge] = {}

    @contextmanager
    def asking(self, asked: Asked) -> Iterator[None]:
        """While something else is asked of what is below."""
        before, self.asked = self.asked, asked
        try:
            yield
        finally:
            self.asked = before

    def clock(self, beside: Clock | None = None) -> Clock:
        """One more."""
        self.clocks += 1
        return Clock(self.clocks, beside)

    @property
    def vectors(self) -> Departures:
        """What an operator asks for that reads expiry vectors; negative tuples and lists know none."""
        return Departures.VECTORS if self.style is Style.UPA else Departures.ALL

    # -- nodes

    def made(self, kernel: str, node: n.Node, path: Path, *inputs: PhysicalNode, timed: bool | None = None,
             departures: Departures | None = None, because: str = "", **fields: Any) -> PhysicalNode:
        """An operator of the plan, with what it says about its rows; every end is sent above it where that pays."""
        pattern = self.seen(node)
        if pattern is not STR:
            timed = pattern is not MON
        elif timed is None:
            timed = any(below.timed for below in inputs)
        if departures is None:
            departures = PATTERNS.get(pattern) or self._sent(node, timed)
        found = PhysicalNode(kernel, node, path, inputs, self._pattern(node), departures, timed=timed,
                             asked=self.asked, title=type(node).__name__, **fields)
        found = replace(found, because=because or because_of(found, self.style))
        if isinstance(node, n.Window | n.Join | n.TableJoin):
            vector = vector_of(node, Labels(node, self._edges))
            found = replace(found, expiry=str(vector) if vector.order else "")
        flow = None if self.flows is None else self.flows[self._written[path]]
        share = leaving_early(found, self.edge(node), flow) if self.style is Style.UPA else None
        if share is None:
            return found
        why = f"{share:.0%} leave early"
        if prefers_calendar(share, len(path) + 1):  # a queue by expiry in every structure above
            return replace(found, because=why) if found.departures is Departures.EARLY else found
        return self.announced(found, why)  # unless nearly all results leave early anyway

    def _sent(self, node: n.Node, timed: bool) -> Departures:
        if self.edge(node).label.replace and not timed:
            return Departures.REPLACED
        return Departures.EARLY if timed else Departures.ALL

    def helper(self, kernel: str, below: PhysicalNode, title: str = "hidden", **fields: Any) -> PhysicalNode:
        """An operator that the plan has no node for; rows pass it as they are."""
        return replace(below, kernel=kernel, inputs=(below,), title=title, asked=self.asked, algorithm=None, why="",
                       **{"keeps": (None,), "options": {}, **fields})

    def announced(self, below: PhysicalNode, why: str) -> PhysicalNode:
        """Above this every end is sent."""
        return self.helper("AnnouncedEnds", below, "announced ends", departures=Departures.ALL, timed=False,
                           because=why, keeps=(State(Layout.ROWS, Structure.CALENDAR),))

    def one_zero(self, below: PhysicalNode) -> PhysicalNode:
        """The input of an operator that compares whole rows; only floats have two zeros."""
        schema = schema_of(below.node)
        if schema is not None and not any(pa.types.is_floating(field.type) for field in schema):
            return below
        return self.helper("OneZero", below)

    def edge(self, node: n.Node) -> Edge:
        """The label of a node as it runs, and why."""
        if node not in self._edges:
            self._edges |= label(node).edges
        return self._edges[node]

    def seen(self, node: n.Node) -> UpdatePattern:
        """The pattern of an edge as the kernels see it: in time, and strict throughout where negatives are sent."""
        pattern = self.edge(node).label.downgrade().pattern
        return STR if self.style is Style.NEGATIVE and pattern is not MON else pattern

    def _pattern(self, node: n.Node) -> str:
        found = self.edge(node).label.downgrade()
        if self.style is Style.NEGATIVE and found.pattern is not MON:
            found = replace(found, pattern=STR, lifetime=None)
        return str(found)

    def catalogues(self, below: PhysicalNode) -> tuple[str, ...]:
        """Of rows that come with expiry vectors, what ends them beside their time."""
        if below.departures is not Departures.VECTORS:
            return ()
        self.edge(below.node)
        return tuple(part.window for part in vector_of(below.node, Labels(below.node, self._edges)).order)

    def chains(self, below: PhysicalNode) -> State:
        """Rows that are found by key: which leaves next is not asked."""
        return State(Layout.CHAINS, None, self.catalogues(below))

    def store(self, below: PhysicalNode) -> Structure:
        """The structure that knows which rows of an edge leave next."""
        if below.departures is Departures.NEVER:
            return Structure.GROWING
        if not below.timed:
            return Structure.NUMBERS
        if self.style is Style.DIRECT:
            return Structure.LIST
        return Structure.FIFO if below.departures is Departures.IN_ORDER else Structure.CALENDAR


def merges_states(node: n.GroupAggregate) -> bool:
    """Whether what is left of a group is put together again when rows leave, instead of subtracting them.

    Where types are not known sums are taken to be of integers.

    >>> stream = n.Source("s", n.SourceSchema())
    >>> [merges_states(n.GroupAggregate(stream, (), (n.AggregateCall(f, f, ()),))) for f in ("count", "max", "sum")]
    [False, True, False]
    """
    bound = bound_aggregates(node)
    if bound is not None:
        return not all(is_subtractable(aggregate) for aggregate in bound)
    functions = [resolve(call.function, call.parameters, call.distinct) for call in node.aggregates]
    return not all(isinstance(function, Count | Sum | VarSamp) for function in functions)
