"""Whether a running plan is still the right one: statistics drift, and another plan may now be cheaper (Golab 3.5.3).

A proposal, not a switch: the user decides when to change over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from panewise.plan import nodes as n
from panewise.plan.physical import Path, PhysicalNode, Style
from panewise.planner.choose.optimizer import Candidate, candidate, optimize
from panewise.planner.cost.relation_cost import figure
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.rewrites.closure import Rewritten
from panewise.planner.rewrites.scalars import conjuncts
from panewise.planner.statistics.condition_names import TAKES_BACK, keys_of, resolved, spread, taking_back_key
from panewise.planner.statistics.relation_statistics import DRIFT, RelationStatistics

MARGIN = 0.2
"""How much cheaper another plan must be: changing over costs, too."""


@dataclass(frozen=True)
class Drift:
    """One figure that is no longer what it was."""

    what: str
    old: float
    new: float

    def __str__(self) -> str:
        return f"{self.what} was {figure(self.old)}, is {figure(self.new)}"


@dataclass(frozen=True)
class Proposal:
    """Another way to run a query from now on."""

    running: Candidate
    proposed: Candidate
    drifts: tuple[Drift, ...]
    reason: str
    moved: tuple[PhysicalNode, ...] = ()
    """Operators whose ends should be told otherwise, if the plan stays and only its state changes."""

    @property
    def plan(self) -> n.Node:
        """The proposed plan."""
        return self.proposed.plan


def drifts(old: RelationStatistics, new: RelationStatistics, *, factor: float = DRIFT) -> list[Drift]:
    """Figures known before and now that differ by more than the factor.

    >>> from panewise.planner.statistics.relation_statistics import InputStatistics
    >>> was, now = (RelationStatistics({"S": InputStatistics(rate, {"a": 50})}) for rate in (10.0, 40.0))
    >>> print(*drifts(was, now))
    rows of S per unit was 10, is 40
    """
    return [drift for drift in _pairs(old, new)
            if max(drift.old, drift.new) > factor * max(min(drift.old, drift.new), 1e-9)]


def _pairs(old: RelationStatistics, new: RelationStatistics) -> Iterator[Drift]:
    for name in sorted(old.inputs.keys() & new.inputs.keys()):
        was, now = old.inputs[name], new.inputs[name]
        yield Drift(f"rows of {name} per unit", was.rate, now.rate)
        yield from _shared(f"values of {name}.", was.values, now.values)
        if was.rows and now.rows:
            yield Drift(f"rows in {name}", was.rows, now.rows)
    yield from _shared("share that passes ", old.passing, new.passing)
    yield from _shared("share that leaves early by ", old.premature, new.premature)


def _shared(what: str, old: Mapping[str, float], new: Mapping[str, float]) -> Iterator[Drift]:
    for key in sorted(old.keys() & new.keys()):
        yield Drift(f"{what}{key}", old[key], new[key])


def assumed(plan: n.Node, statistics: RelationStatistics) -> RelationStatistics:
    """The statistics with the shares that a plan was costed with, known or guessed, as they are measured."""
    flows = Flows(plan, statistics)
    passing, premature = dict(statistics.passing), dict(statistics.premature)
    for node in plan.walk():
        if isinstance(node, n.Filter):
            share = flows.share(node.predicate, flows[node.input], node.input)
            passing |= spread(share, [keys_of(part, node.input) for part in conjuncts(node.predicate)])
        elif isinstance(node, TAKES_BACK):
            premature[taking_back_key(node)] = flows[node].premature
    return replace(statistics, passing=passing, premature=premature)


def propose_replan(plan: n.Node, old: RelationStatistics, new: RelationStatistics, *, style: Style | str = Style.UPA,
                   margin: float = MARGIN, written: n.Node | None = None) -> Proposal | None:
    """Another plan for a running one, if statistics have drifted and it would now be cheaper by the margin.

    ``old`` are the statistics the running plan was chosen by, ``new`` those collected since. ``written`` is the query
    as its user wrote it, from which other plans are found; the running plan if not given. The same plan with other
    state structures is a proposal as well.
    """
    old, new = resolved(written or plan, old), resolved(written or plan, new)
    seen = drifts(assumed(plan, old), new)
    if not seen:
        return None
    now = candidate(Rewritten(plan), new, style)
    best = optimize(written or plan, new, style=style).chosen
    was = candidate(Rewritten(plan), old, style)
    told = "; ".join(str(drift) for drift in seen[:3])
    if best.plan != plan and best.cost.total < (1 - margin) * now.cost.total:
        saved = 1 - best.cost.total / now.cost.total
        return Proposal(now, best, tuple(seen), f"{told}: {best.formula} would cost {saved:.0%} less "
                                                f"({figure(best.cost.total)} instead of {figure(now.cost.total)})")
    before = _told(was)
    moved = tuple(node for path, node in _told(now).items() if node.departures is not before[path].departures)
    if moved:
        first = moved[0]
        return Proposal(now, now, tuple(seen), f"{told}: tell the ends of {len(moved)} of {len(before)} operators "
                                               f"otherwise, such as {type(first.node).__name__}: "
                                               f"{first.departures.value} ({first.because})", moved)
    return None


def _told(found: Candidate) -> dict[Path, PhysicalNode]:
    """By path the topmost operator of each node."""
    return {node.path: node for node in found.physical.walk()}
