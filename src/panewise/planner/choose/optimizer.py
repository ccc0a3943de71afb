"""Choose a plan: rewrites to a bounded closure, labels, refusals, costs, the minimum (Golab 3.5.3).

Without statistics only what is always better is done; with them every candidate has a cost and the cheapest wins, if it
is clearly cheaper than the query as written. The same question always has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from panewise.core.errors import PlanError
from panewise.plan import nodes as n
from panewise.plan.physical import RelationPlan, Style
from panewise.planner.choose.join_manner import BY_TWOS
from panewise.planner.choose.join_order import Stream, best_order
from panewise.planner.choose.physical import relation_plan
from panewise.planner.cost.relation_cost import PlanCost, figure, plan_cost
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.explain.formula import formula
from panewise.planner.facts.labels import Label, UpdatePattern, label
from panewise.planner.facts.result_forms import form_of, is_append_only
from panewise.planner.legal.legality import problems
from panewise.planner.rewrites import Role
from panewise.planner.rewrites.closure import LIMIT, Rewritten, closure, simplified
from panewise.planner.rewrites.columns import apart, columns_of, reordered
from panewise.planner.rewrites.join_orders import flattened, left_deep
from panewise.planner.rewrites.scalars import equalities, movable
from panewise.planner.statistics.condition_names import resolved
from panewise.planner.statistics.relation_statistics import NOTHING_KNOWN, RelationStatistics

MARGIN = 0.1
"""How much cheaper than the query as written a plan must be: less is within what estimates are off."""
RELATIONAL = (n.Join, n.SemiJoin, n.AntiJoin, n.BagDifference, n.Distinct, n.GroupAggregate, n.Union, n.TableJoin)


@dataclass(frozen=True)
class Candidate:
    """One way to run the query."""

    plan: n.Node
    by: tuple[str, ...]
    """The rules that led to it; none for the query as written."""
    label: Label
    """The pattern of the relation it reports."""
    strict: int
    """Edges on which results may be taken back."""
    physical: RelationPlan
    """How it would run; joins are done at once only when a plan is chosen."""
    cost: PlanCost

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return ", ".join(self.by) or "as written"

    @property
    def formula(self) -> str:
        """The plan on one line."""
        return formula(self.plan)


@dataclass(frozen=True)
class Refused:
    """A rewriting that may not be run, and why."""

    plan: n.Node
    by: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Optimized:
    """The chosen plan with everything it was chosen from."""

    written: n.Node
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    """Cheapest first, the chosen one among them."""
    refused: tuple[Refused, ...]
    statistics: RelationStatistics | None
    style: Style
    reason: str

    @property
    def plan(self) -> n.Node:
        """The plan to run: the chosen one without columns that nothing reads."""
        return simplified(self.chosen.plan, Role.NARROW).plan


def is_relational(plan: n.Node) -> bool:
    """Whether there is anything to choose: operators on relations that change, and not only on streams."""
    return not is_append_only(plan) and any(isinstance(node, RELATIONAL) for node in plan.walk())


def optimize(plan: n.Node, statistics: RelationStatistics | None = None, *, style: Style | str = Style.UPA,
             limit: int = LIMIT) -> Optimized:
    """The cheapest legal plan of a query.

    An illegal query is refused, unless a rewriting of it is legal (a join with a table above a negation).
    """
    statistics, style = None if statistics is None else resolved(plan, statistics), Style.parse(style)
    known = statistics or NOTHING_KNOWN
    found: list[Candidate] = []
    refused: list[Refused] = []
    form = form_of(plan)
    estimated: dict[n.Node, Candidate] = {}

    def costed(rewritten: Rewritten) -> Candidate:
        if rewritten.plan not in estimated:
            estimated[rewritten.plan] = candidate(rewritten, statistics, style)
        return replace(estimated[rewritten.plan], by=rewritten.by)

    def cost(rewritten: n.Node) -> float:
        return costed(Rewritten(rewritten)).cost.total

    for rewritten in _rewritings(plan, known, limit, None if statistics is None else cost):
        message: str | None = next((problem.message for problem in problems(rewritten.plan)), None)
        if message is None and form_of(rewritten.plan) is not form:
            message = f"its results would be shown as {form_of(rewritten.plan).value}, not as {form.value}"
        if message is not None:
            refused.append(Refused(rewritten.plan, rewritten.by, message))
            continue
        found.append(costed(rewritten))
    if not found:
        raise PlanError(refused[0].message)
    if statistics is None:  # nothing is known that could tell candidates apart: the last is the simplest
        chosen = found[-1]
        return Optimized(plan, chosen, tuple(found), tuple(refused), None, style,
                         "no statistics: only what is better whatever the data" if chosen.by else "as written")
    ranked = sorted(found, key=lambda c: c.cost.total)  # stable: the query as written first among equals
    written = next((c for c in found if not c.by), None)
    chosen = ranked[0]
    if written is not None and chosen.cost.total > (1 - MARGIN) * written.cost.total:
        chosen = written
    return Optimized(plan, chosen, tuple(ranked), tuple(refused), statistics, style, _why(chosen, ranked, written))


def chosen_before(plan: n.Node, written: n.Node, statistics: RelationStatistics) -> Optimized:
    """A plan that was chosen elsewhere, with what it was chosen by: to be watched where it runs."""
    running = candidate(Rewritten(plan), statistics)
    return Optimized(written, running, (running,), (), statistics, Style.UPA, "chosen before")


def candidate(rewritten: Rewritten, statistics: RelationStatistics | None, style: Style | str = Style.UPA) -> Candidate:
    """A plan with its labels, structures and cost; without statistics structures are chosen by rule."""
    labels = label(rewritten.plan)
    flows = Flows(rewritten.plan, statistics or NOTHING_KNOWN, labels)
    physical = relation_plan(rewritten.plan, rewritten.plan, statistics, style=style, joins=BY_TWOS)
    strict = sum(labels[node].pattern is UpdatePattern.STR for _, node in rewritten.plan.paths()
                 if not isinstance(node, n.Table))
    output = labels[result_of(rewritten.plan)]
    return Candidate(rewritten.plan, rewritten.by, output, strict, physical, plan_cost(physical, flows))


def result_of(plan: n.Node) -> n.Node:
    """The relation that a plan reports: below Istream, Dstream, Rstream and LIFETIME."""
    while isinstance(plan, n.Lifetime) or (isinstance(plan, n.RelationToStream) and plan.output_window is None):
        plan = plan.input
    return plan


def _rewritings(plan: n.Node, statistics: RelationStatistics, limit: int,
                cost: Callable[[n.Node], float] | None) -> list[Rewritten]:
    if cost is None:
        first = simplified(plan)
        return [Rewritten(plan), *([first] if first.plan != plan else [])]
    found = closure(plan, limit=limit, cost=cost)
    seen = {rewritten.plan for rewritten in found}
    best = found[1] if len(found) > 1 else found[0]
    for ordered in _by_heuristic(best.plan, statistics):
        step = simplified(ordered)
        if step.plan not in seen:
            found.append(Rewritten(step.plan, (*best.by, "join order by heuristic", *step.by)))
    return found


def _by_heuristic(plan: n.Node, statistics: RelationStatistics) -> Iterator[n.Node]:
    """The plan with each join of three or more inputs on one attribute in the order of Golab 5.3.2."""
    flows = Flows(plan, statistics)

    def visit(node: n.Node) -> n.Node:
        if isinstance(node, n.Join):
            inputs, parts = flattened(node)
            columns = columns_of(node)
            if len(inputs) > 2 and columns is not None and apart(*inputs) and all(map(movable, parts)):
                order = best_order([_as_stream(side, node, flows) for side in inputs])
                ordered = left_deep([visit(inputs[i]) for i in order], parts)
                if ordered is not None:
                    return ordered if columns_of(ordered) == columns else reordered(ordered, columns)
        return node.with_inputs(*map(visit, node.inputs)) if node.inputs else node

    found = visit(plan)
    if found != plan:
        yield found


def _as_stream(side: n.Node, join: n.Node, flows: Flows) -> Stream:
    flow = flows[side]
    columns = [c for below in join.walk() if isinstance(below, n.Join) for pair in equalities(below.predicate)
               for c in pair if side.has(c)]
    values = max((flow.value_count(c) for c in columns), default=1.0)
    return Stream(flow.rate, flow.size / flow.rate if flow.rate else 0.0, values, values)


def _why(chosen: Candidate, ranked: list[Candidate], written: Candidate | None) -> str:
    """Why one won: its distance from the query as written, and what is dearest in both."""
    if written is None:
        return f"the query as written may not be run; of those that may this is the cheapest, {_dearest(chosen)}"
    if len(ranked) == 1:
        return "there is no other plan to choose from"
    if chosen is written:
        return f"as written: no other plan is cheaper by {MARGIN:.0%}; {_dearest(chosen)}"
    saved = 1 - chosen.cost.total / written.cost.total if written.cost.total else 0.0
    return f"{saved:.0%} below the query as written, where {_dearest(written)}; here {_dearest(chosen)}"


def _dearest(found: Candidate) -> str:
    nodes = dict(found.plan.paths())
    sums = dict(found.cost.processing)
    for path, cost in found.cost.state.items():
        sums[path[:-1]] += cost  # state is the consumer's
    path = max(sums, key=lambda p: (sums[p], p))
    return f"the dearest step is {type(nodes[path]).__name__} with {figure(sums[path])} of {figure(found.cost.total)}"
