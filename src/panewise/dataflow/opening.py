"""The running query of a plan: what a user asks for is checked against what the plan is."""

from __future__ import annotations

from typing import Any

from panewise.core.errors import PlanError
from panewise.dataflow.query import Query
from panewise.plan.nodes import Node
from panewise.plan.physical import RelationPlan
from panewise.plan.written import refuses_at_place
from panewise.planner.choose.choices import Choices
from panewise.planner.facts.stream_joins import unused_statistics
from panewise.planner.legal.capabilities import check
from panewise.planner.legal.typing import check_types
from panewise.planner.options import Mode, PlanKind, RunOptions, kind_of
from panewise.planner.statistics.declared import given_statistics
from panewise.planner.statistics.relation_statistics import check_statistics


@refuses_at_place
def open_plan(plan: Node, options: RunOptions | None = None, *, decided: RelationPlan | None = None,
              **given: Any) -> Query:
    """A running query of any plan the engine has; options may also be given as keywords.

    ``decided`` is how a relation runs, where that was chosen before.
    """
    options = RunOptions(**given) if options is None else options
    check(plan, "embedded")
    check_types(plan)
    stats = given_statistics(options.stats)
    if (unused := unused_statistics(plan, stats)) is not None:
        raise PlanError(f"stats= chooses nothing here: {unused}; leave it out")
    options.refuse_for(plan, Mode.EMBEDDED)
    if kind_of(plan) in {PlanKind.RELATION, PlanKind.ROWS}:
        check_statistics(plan, stats)
    return Query(plan, Choices(options, stats, decided))
