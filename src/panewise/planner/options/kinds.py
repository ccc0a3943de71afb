"""Which kind of plan a plan is, for options that only some kinds take."""

from __future__ import annotations

from panewise.plan.nodes import Node, WindowAggregate, below_selections
from panewise.planner.facts.stream_joins import BELOW, has_stream_join, is_pairs
from panewise.planner.legal.relational import is_nested, is_relational
from panewise.planner.options.declaring import PlanKind


def kind_of(plan: Node) -> PlanKind:
    """The kind of a plan by what its results are."""
    if has_stream_join(plan):
        if is_relational(plan) and not is_pairs(plan):
            return PlanKind.RELATION
        return PlanKind.NESTED if isinstance(below_selections(plan), WindowAggregate) else PlanKind.PAIRS
    if all(isinstance(node, BELOW) for node in plan.walk()):
        return PlanKind.ROWS
    if is_relational(plan):
        return PlanKind.RELATION
    return PlanKind.NESTED if is_nested(plan) else PlanKind.WINDOWS
