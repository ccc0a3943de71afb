"""What a relational plan costs per unit of time: processing, state, and negatives (Golab 3.5.3 and 5.3).

The thesis prints formulas for the join only and asks for the rest; the other terms here are ours. One unit of cost is
one row looked at or moved. A plan's cost depends on its state structures, so they are part of the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

from panewise.plan import nodes as n
from panewise.planner.forms import is_retroactive
from panewise.planner.held import NOTHING, Style
from panewise.planner.labels import Labels, Path, label
from panewise.planner.relation_flow import Flow, Flows
from panewise.planner.relation_statistics import NOTHING_KNOWN, RelationStatistics
from panewise.planner.rewrites.scalars import equalities
from panewise.planner.structures import (
    Algorithm,
    Negatives,
    OperatorChoice,
    StateChoice,
    Structure,
    Structures,
    choose_structures,
    walk,
)

LAZY_PASSES = 20.0
"""Searches of a list per window length: a lazy interval of 5 % (Golab 2.3.3)."""
OPERATOR = 1.0
"""A row through an operator, whatever it does."""


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


def plan_cost(plan: n.Node, statistics: RelationStatistics = NOTHING_KNOWN, *, style: Style = "upa",
              labels: Labels | None = None, flows: Flows | None = None,
              structures: Structures | None = None) -> PlanCost:
    """What a plan costs per unit of time in one style."""
    labels = labels or label(plan)
    flows = flows or Flows(plan, statistics, labels)
    structures = structures or choose_structures(plan, style=style, labels=labels, flows=flows)
    sent = {path: negatives_sent(mode, flows[node]) for path, node, mode in structures.negatives}
    nodes = dict(walk(plan))
    processing = {path: _processing(path, node, nodes, flows, sent, structures) for path, node in nodes.items()}
    if style == "negative":
        for path, node in nodes.items():
            if isinstance(node, n.Window):
                processing[path] += 2 * flows[node].rate  # the window itself is kept and sends what it lets go
    state = {choice.path: _state(choice, flows[choice.node], style) for choice in structures.edges}
    rows = sum(flows[choice.node].size for choice in structures.edges if choice.held != NOTHING)
    return PlanCost(processing, state, rows)


def negatives_sent(mode: Negatives, flow: Flow) -> float:
    """Negatives per unit of time on an edge."""
    return {Negatives.NONE: 0.0, Negatives.EARLY: flow.early, Negatives.ALL: flow.expiries}[mode]


def _processing(path: Path, node: n.Node, nodes: Mapping[Path, n.Node], flows: Flows, sent: Mapping[Path, float],
                structures: Structures) -> float:
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
            return _distinct(structures.operator(path), flows[node.input], flow, arriving[0])
        case n.GroupAggregate():
            return OPERATOR * (arriving[0] + flows[node.input].expiries) + flow.rate
    return sum(arriving)


def _buckets(node: n.Join | n.BandJoin | n.TumblingJoin, left: Flow, right: Flow) -> float:
    """Values that a hash table keeps apart; 1 where the condition compares no columns."""
    found = 1.0
    for one, other in equalities(node.predicate):
        found *= max(left.values.get(one, right.value_count(one)), right.values.get(other, left.value_count(other)))
    return found


def _distinct(choice: OperatorChoice | None, below: Flow, flow: Flow, arriving: float) -> float:
    if choice is not None and choice.algorithm in (Algorithm.FIRST_ROW, Algorithm.NEWEST_ROW):
        return arriving
    if choice is not None and choice.algorithm is Algorithm.SEARCH:
        return naive_distinct(arriving, flow.expiries, below.size)
    return arriving + below.expiries  # delta* and counters look at every row twice, by hash


def naive_distinct(rate: float, expiries: float, rows: float) -> float:
    """Duplicate elimination that searches its stored input for a replacement (Golab 2.2.2); delta* does not.

    >>> naive_distinct(1, 1, 1000)
    1001
    """
    return rate + expiries * rows


def _state(choice: StateChoice, flow: Flow, style: Style) -> float:
    match choice.structure:
        case Structure.APPEND | Structure.GROUPS:
            return flow.rate
        case Structure.FIFO:
            return fifo(flow.rate)
        case Structure.CATALOGUE:
            return flow.rate * (2 + log2(1 + flow.size))
        case Structure.HASH:
            return hashed(flow.rate, flow.expiries)
        case Structure.LIST:
            span = flow.size / flow.rate if flow.rate else 1.0
            return arrival_list(flow.rate, flow.size, passes=LAZY_PASSES / max(span, 1e-9)) + flow.early * flow.size
        case Structure.CALENDAR:
            found = flow.early if choice.negatives is Negatives.EARLY else 0.0  # each by its number
            return calendar_by_arrival(flow.rate) + found
