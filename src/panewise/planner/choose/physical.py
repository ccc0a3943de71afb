"""The physical plan of a relation: what was chosen for it, its operators, and how its results are shown."""

from __future__ import annotations

from panewise.core.errors import PlanError
from panewise.plan import nodes as n
from panewise.plan.physical import (
    NOT_KEPT,
    Departures,
    Layout,
    PhysicalNode,
    RelationPlan,
    State,
    Structure,
    Style,
)
from panewise.planner.choose.join_manner import AUTO, Joins
from panewise.planner.choose.joins_at_once import joined_at_once
from panewise.planner.choose.relation_plan import RelationPlanner
from panewise.planner.cost.relation_flow import Flows
from panewise.planner.facts.result_forms import Form, form_of, stops
from panewise.planner.statistics.relation_statistics import RelationStatistics


def relation_plan(plan: n.Node, running: n.Node | None = None, known: RelationStatistics | None = None, *,
                  style: Style | str = Style.UPA, joins: Joins = AUTO, generous: bool = False, inside: bool = False,
                  current: bool = False) -> RelationPlan:
    """How a relation runs.

    ``running`` is the logical plan that answers ``plan``, where another was chosen; ``known`` what is known of the
    inputs. ``inside``: something above reads its rows; ``current``: the relation as it is now is kept.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.windows.sliding import SlidingWindow
    >>> clause = n.WindowClause(SlidingWindow.scoped(60), "ts", OrdinalKind.INTEGER)
    >>> left, right = (n.Window(n.Source(s, SourceSchema()), clause) for s in "ab")
    >>> found = relation_plan(n.Join(left, right)).root
    >>> print(found.kernel, *found.keeps, found.departures.value, sep="; ")
    WindowJoin; chains by key; chains by key; ends known at birth, in any order
    """
    running, style = plan if running is None else running, Style.parse(style)
    known = known if style is Style.UPA else None
    flows = None if known is None else Flows(running, known)
    planner = RelationPlanner(running, style, generous=generous, flows=flows,
                              at_once=joined_at_once(running, known, joins))
    form = Form.EVENTS if inside else form_of(plan)
    told = Departures.ALL
    if form is Form.CHANGES and style is Style.UPA:
        told = Departures.VECTORS if current else Departures.NAMED
    root = planner.root(form, told)
    shown, result = _results(planner, root, form, current=current)
    guarded = form is not Form.STREAM or stops(plan)
    # a lifetime counts from the first row of a join's streams, which may come after pairs are found
    ends = any(isinstance(node, n.Lifetime) for node in plan.walk())
    waits = guarded or (ends and any(isinstance(node.node, n.TimePairs) for node in root.walk()))
    return RelationPlan(plan, running, style, root, shown, result, inside, current, guarded, waits)


def _results(planner: RelationPlanner, root: PhysicalNode, form: Form, *, current: bool) -> tuple[str, State | None]:
    """Who shows results, and what is kept for that alone."""
    kept = State(Layout.ROWS, planner.store(root), planner.catalogues(root))
    if form is Form.CHANGES:
        return ("NamedChangesForm", NOT_KEPT) if root.departures is Departures.NAMED else ("ChangesForm", kept)
    if form is Form.LIVES and planner.style is Style.NEGATIVE:
        return "EndedLivesForm", State(Layout.ROWS, Structure.NUMBERS)
    if form is Form.LIVES:
        return ("CurrentLivesForm", kept) if current else ("LivesForm", NOT_KEPT)
    if current:
        raise PlanError("current=True keeps a relation over windows as it is now; this query gives a stream, of which "
                        "nothing is kept: leave it out")
    return ("EventsForm" if form is Form.EVENTS else "StreamForm"), None
