"""Guarded equivalences between plans, by what they move, and their closure.

``RULES`` is every law that some plan gains by, with its condition; ``never`` is what no rule may do. A rule is a pure
function of one node; `closure` applies them anywhere in a plan.
"""

from panewise.planner.rewrites import distinct, join_orders, negation, projections, selections, windows
from panewise.planner.rewrites.base import Role, Rule

__all__ = ["RULES", "Role", "Rule", "rules_of"]

RULES: tuple[Rule, ...] = (
    # the laws of Patroumpas and Sellis
    projections.projection_through_window,
    selections.selection_through_window,
    selections.selection_below_join,
    projections.projection_below_join,
    windows.window_of_join,
    selections.selection_below_union,
    projections.projection_below_union,
    # selections further down
    selections.selections_merge,
    selections.selection_below_names,
    selections.selection_below_distinct,
    selections.selection_below_difference,
    selections.selection_below_existence,
    selections.selection_below_aggregate,
    selections.selection_below_table_join,
    projections.projection_below_names,
    projections.projection_below_existence,
    projections.projection_below_aggregate,
    projections.projections_merge,
    projections.alias_below_operators,
    projections.column_order_above,
    # fewer negatives
    negation.negation_above_table_join,
    negation.negation_above_join,
    negation.difference_above_join,
    negation.negation_above_aggregate,
    negation.negations_exchange,
    # fewer rows
    distinct.distinct_twice,
    distinct.distinct_below_existence,
    distinct.distinct_below_join,
    distinct.distinct_below_union,
    join_orders.join_reorders,
)


def rules_of(role: Role) -> tuple[Rule, ...]:
    """The rules with one role, in the order they are tried."""
    return tuple(rule for rule in RULES if rule.role is role)
