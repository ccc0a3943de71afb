"""Guarded equivalences between plans, one rule a file, and their closure.

``RULES`` is every law the planner knows, with its condition; ``never`` is what no rule may do. A rule is a pure
function of one node; `closure` applies them anywhere in a plan.
"""

from panewise.planner.rewrites import (
    alias_below_operators,
    column_order_above,
    difference_above_join,
    distinct_below_existence,
    distinct_below_join,
    distinct_below_union,
    distinct_through_window,
    distinct_twice,
    join_associates,
    join_commutes,
    join_reorders,
    negation_above_aggregate,
    negation_above_join,
    negation_above_table_join,
    negations_exchange,
    projection_below_aggregate,
    projection_below_existence,
    projection_below_join,
    projection_below_names,
    projection_below_union,
    projection_through_window,
    projections_merge,
    selection_below_aggregate,
    selection_below_difference,
    selection_below_distinct,
    selection_below_existence,
    selection_below_join,
    selection_below_names,
    selection_below_table_join,
    selection_below_union,
    selection_through_window,
    selections_merge,
    union_reorders,
    window_of_join,
    window_of_union,
)
from panewise.planner.rewrites.base import Role, Rule

__all__ = ["RULES", "Role", "Rule", "rules_of"]

RULES: tuple[Rule, ...] = (
    # the laws of Patroumpas and Sellis
    projection_through_window.RULE,
    selection_through_window.RULE,
    window_of_union.RULE,
    distinct_through_window.RULE,
    join_commutes.RULE,
    join_associates.RULE,
    selection_below_join.RULE,
    projection_below_join.RULE,
    window_of_join.RULE,
    union_reorders.RULE,
    selection_below_union.RULE,
    projection_below_union.RULE,
    # selections further down
    selections_merge.RULE,
    selection_below_names.RULE,
    selection_below_distinct.RULE,
    selection_below_difference.RULE,
    selection_below_existence.RULE,
    selection_below_aggregate.RULE,
    selection_below_table_join.RULE,
    projection_below_names.RULE,
    projection_below_existence.RULE,
    projection_below_aggregate.RULE,
    projections_merge.RULE,
    alias_below_operators.RULE,
    column_order_above.RULE,
    # fewer negatives
    negation_above_table_join.RULE,
    negation_above_join.RULE,
    difference_above_join.RULE,
    negation_above_aggregate.RULE,
    negations_exchange.RULE,
    # fewer rows
    distinct_twice.RULE,
    distinct_below_existence.RULE,
    distinct_below_join.RULE,
    distinct_below_union.RULE,
    join_reorders.RULE,
)


def rules_of(role: Role) -> tuple[Rule, ...]:
    """The rules with one role, in the order they are tried."""
    return tuple(rule for rule in RULES if rule.role is role)
