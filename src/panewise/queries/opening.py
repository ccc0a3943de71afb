"""The query class that runs a plan in process: chosen by what the plan is."""

from __future__ import annotations

from typing import TypeAlias

from panewise.core.ages import first_of_stream, numbered
from panewise.core.errors import PlanError
from panewise.plan.nodes import Node
from panewise.plan.written import refuses_at_place
from panewise.planner.capabilities import check
from panewise.planner.choices import Stats
from panewise.planner.join_manner import AUTO, Joins
from panewise.planner.relation_statistics import check_statistics
from panewise.planner.relational import is_relational
from panewise.planner.statistics import parse_statistics
from panewise.planner.stream_joins import is_pairs, unused_statistics
from panewise.planner.typing import check_types
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.queries.admission import InputRules
from panewise.queries.joined import JoinedQuery
from panewise.queries.query import Progress, WindowQuery
from panewise.queries.relations import RelationQuery

RunningQuery: TypeAlias = WindowQuery | JoinedQuery | RelationQuery


@refuses_at_place
def open_plan(plan: Node, *, late: str | LatePolicy = DEFAULT_LATE, progress: Progress = "source", events: bool = False,
              strategy: str = "auto", stats: Stats | str = None, emit: str = "final",
              empty_windows: bool = False, current: bool = False, joins: str = "auto",
              rules: InputRules | None = None) -> RunningQuery:
    """A running query of any plan the engine has.

    ``strategy`` names the kernel of a window aggregate, or the style of a continuous relation (``upa``, ``negative``,
    ``direct``). ``current`` keeps a continuous relation as it is now, for ``current()`` to show. ``joins`` says how its
    windows are joined: ``by twos`` or ``at once``. ``rules`` say what becomes of rows that cannot be used.
    """
    check(plan, "embedded")
    check_types(plan)
    stats = parse_statistics(stats) if isinstance(stats, str) else stats
    unused = unused_statistics(plan, stats)
    if unused is not None:
        raise PlanError(f"stats= chooses nothing here: {unused}; leave it out")
    if Joins.parse(joins) != AUTO and (is_pairs(plan) or not is_relational(plan)):
        raise PlanError("joins= says how the windows of a relation are joined, and this query joins none: leave it out")
    if current and (is_pairs(plan) or not is_relational(plan)):
        raise PlanError("current=True keeps a continuous relation as it is now, and the results of this query are no "
                        "relation but come once, for ever: leave it out")
    if is_relational(plan) and not is_pairs(plan):
        check_statistics(plan, stats)
    if is_pairs(plan):
        return JoinedQuery(plan, late=late, progress=progress, events=events, strategy=strategy, stats=stats, emit=emit,
                           empty_windows=empty_windows, rules=rules)
    if not is_relational(plan):
        return WindowQuery(plan, late=late, progress=progress, events=events, strategy=strategy, stats=stats,
                           emit=emit, empty_windows=empty_windows, rules=rules)
    if empty_windows or events:
        wanted = "empty_windows" if empty_windows else "events"
        raise PlanError(f"{wanted} is for window aggregates: the windows of this query are relations, which neither "
                        "open nor close; leave it out")
    return RelationQuery(plan, late=late, progress=progress, emit=emit, stats=stats, current=current, joins=joins,
                         style="upa" if strategy == "auto" else strategy, rules=rules)


def ordered_by_stream(query: RunningQuery) -> RunningQuery:
    """The query, in which rows of different streams that have one instant are ordered by the names of the streams.

    Only then by arrival, as if the streams came one after the other: for queries that hear rows of one stream in their
    order, but not which of two rows of different streams came first.
    """
    numbers = numbered(source.name for source in query.sources)
    for source in query.sources:
        source.after = first_of_stream(numbers[source.name])
    return query


def ordering_columns(query: RunningQuery) -> dict[str, str | None]:
    """The column that orders each input of a query and that promises about it name; None where arrival does."""
    return {source.name: source.attribute for source in reversed(query.sources)}


def knows_late_rows(query: RunningQuery, stream: str) -> bool:
    """Whether a row of a stream can be too late for a query; a plan that is nothing but a stream passes on what comes,
    but for what it joins or counts on the way."""
    return not isinstance(query, RelationQuery) or query.guarded or query.reads_inside(stream)
