"""What a relational plan costs per unit of time: processing, state, and negatives (Golab 3.5.3 and 5.3).

The thesis prints formulas for the join only and asks for the rest; the other terms here are ours. One unit of cost is
one row looked at or moved. A plan's cost depends on its state structures, so they are part of the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

from panewise.plan import nodes as n
from panewise.plan.physical import (
    Algorithm,
    AtOnce,
    Departures,
    Layout,
    Path,
    PhysicalNode,
    RelationPlan,
    State,
    Structure,
    Style,
)
from panewise.planner.cost.relation_flow import Flow, Flows
from panewise.planner.facts.result_forms import is_retroactive
from panewise.planner.rewrites.scalars import equalities

LAZY_PASSES = 20.0
"""Searches of a list per window length: a lazy interval of 5 % (Golab 2.3.3)."""
OPERATOR = 1.0
"""A row through an operator, whatever it does."""
OF_OUTPUT = (Layout.LAST_ENDS,)
"""What has the size of the operator's output, and not of its input."""


# -- structures ----------------------------------------------------------------------------------------------------


def fifo(rate: float) -> float:
    """In at one end, out at the other: 2λ.

    >>> fifo(10)
    20
    """
    return 2 * rate


def calendar_by_arrival(rate: float) -> float:
    """Into a day at its end; whole days are dropped: 2λ."""
    return 2 * rate


def arrival_list(rate: float, size: float, *, passes: float) -> float:
    """Appended, and searched from end to end for what has left.

    >>> arrival_list(1, 100, passes=2)
    201
    """
    return rate + passes * size


def hashed(rate: float, negatives: float) -> float:
    """In, and out by a negative."""
    return rate + negatives


# -- a plan --------------------------------------------------------------------------------------------------------


def figure(value: float) -> str:
    """A cost or a number of rows as people read it.

    >>> figure(66791.4), figure(0.12345)
    ('66,791', '0.1235')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


@dataclass(frozen=True)
class PlanCost:
    """The cost of one plan, and where it comes from."""

    processing: Mapping[Path, float]
    state: Mapping[Path, float]
    rows: float
    """Rows kept in all structures."""

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.processing.values()) + sum(self.state.values())


def plan_cost(plan: RelationPlan, flows: Flows) -> PlanCost:
    """What a plan costs per unit of time as it runs."""
    nodes = dict(plan.running.paths())
    tops: dict[Path, PhysicalNode] = {}
    state: dict[Path, float] = defaultdict(float)
    rows = 0.0
    for found in plan.walk():
        tops[found.path] = found
        for below, kept in zip(found.inputs, found.keeps, strict=False):
            if kept is not None and not found.helps:
                flow = flows[nodes[found.path]] if kept.layout in OF_OUTPUT else flows[nodes[below.path]]
                state[below.path] += _state(below, kept, flow, plan.style)
                rows += flow.size
    if plan.result is not None:
        flow = flows[nodes[plan.root.path]]
        state[plan.root.path] += _state(plan.root, plan.result, flow, plan.style)
        rows += flow.size if plan.result.layout is not Layout.NOTHING else 0.0
    sent = {path: ends_sent(tops[path].departures, flows[node]) if path in tops else 0.0
            for path, node in nodes.items()}
    processing = {path: _processing(path, node, nodes, flows, sent, tops.get(path)) for path, node in nodes.items()}
    return PlanCost(processing, state, rows)


def ends_sent(told: Departures, flow: Flow) -> float:
    """Ends that are sent per unit of time on an edge."""
    return {Departures.EARLY: flow.early, Departures.NAMED: flow.early, Departures.ALL: flow.expiries}.get(told, 0.0)


def _processing(path: Path, node: n.Node, nodes: Mapping[Path, n.Node], flows: Flows, sent: Mapping[Path, float],
                runs: PhysicalNode | None) -> float:
    inputs = [(*path, i) for i in range(len(node.inputs))]
    arriving = [flows[nodes[p]].rate + sent[p] for p in inputs]
    flow = flows[node]
    match node:
        case n.Source() | n.Table() | n.Qualify() | n.Window() | n.Lifetime() | n.RelationToStream():
            return 0.0
        case n.Project() if all(item.scalar.column_name is not None for item in node.items):
            return 0.0  # columns are passed on by reference
        case n.Filter() | n.Project() | n.Union():
            return OPERATOR * sum(arriving)
        case n.Explode():
            return OPERATOR * (sum(arriving) + flow.rate)
        case n.Join() | n.BandJoin() | n.TumblingJoin():
            left, right = (flows[side] for side in node.inputs)
            buckets = _buckets(node, left, right)
            probes = arriving[0] * right.size / buckets + arriving[1] * left.size / buckets
            return OPERATOR * sum(arriving) + probes + flow.rate + sent[path]
        case n.TableJoin():
            table = flows[node.table]
            probe = max(1.0, table.size / max(1.0, *(table.value_count(c) for pair in equalities(node.predicate)
                                                     for c in pair if c in table.values), 1.0))
            scans = table.rate * flows[node.input].size if is_retroactive(node) else 0.0
            return arriving[0] * probe + scans
        case n.SemiJoin() | n.AntiJoin() | n.BagDifference():
            return OPERATOR * sum(arriving) + sum(flows[side].expiries for side in node.inputs) + flow.early
        case n.Distinct():
            return _distinct(None if runs is None else runs.algorithm, flows[node.input], flow, arriving[0])
        case n.GroupAggregate():
            return OPERATOR * (arriving[0] + flows[node.input].expiries) + flow.rate
    return sum(arriving)


def _buckets(node: n.Join | n.BandJoin | n.TumblingJoin, left: Flow, right: Flow) -> float:
    """Values that a hash table keeps apart; 1 where the condition compares no columns."""
    found = 1.0
    for one, other in equalities(node.predicate):
        found *= max(left.values.get(one, right.value_count(one)), right.values.get(other, left.value_count(other)))
    return found


def _distinct(algorithm: Algorithm | AtOnce | None, below: Flow, flow: Flow, arriving: float) -> float:
    if algorithm in (Algorithm.FIRST_ROW, Algorithm.NEWEST_ROW):
        return arriving
    if algorithm is Algorithm.SEARCH:
        return naive_distinct(arriving, flow.expiries, below.size)
    return arriving + below.expiries  # delta* and counters look at every row twice, by hash


def naive_distinct(rate: float, expiries: float, rows: float) -> float:
    """Duplicate elimination that searches its stored input for a replacement (Golab 2.2.2); delta* does not.

    >>> naive_distinct(1, 1, 1000)
    1001
    """
    return rate + expiries * rows


def _state(below: PhysicalNode, kept: State, flow: Flow, style: Style) -> float:
    """What it costs to hold the rows of an edge, by how they leave."""
    if kept.layout is Layout.TO_SEND:
        return 2 * flow.rate
    if kept.structure is Structure.LIST or (style is Style.DIRECT and below.timed):
        span = flow.size / flow.rate if flow.rate else 1.0
        return arrival_list(flow.rate, flow.size, passes=LAZY_PASSES / max(span, 1e-9)) + flow.early * flow.size
    match below.departures:
        case Departures.NEVER | Departures.REPLACED:
            return flow.rate
        case Departures.IN_ORDER:
            return fifo(flow.rate)
        case Departures.VECTORS:
            return flow.rate * (2 + log2(1 + flow.size))
        case Departures.ALL:
            return hashed(flow.rate, flow.expiries)
    found = 0.0 if below.departures is Departures.ANY_ORDER else flow.early  # each by its number
    return calendar_by_arrival(flow.rate) + found
