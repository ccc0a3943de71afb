"""Every expression of a plan is bound before a row is read: what has no type is refused then."""

from __future__ import annotations

from panewise.core.scalar import Scalar
from panewise.engines.oracle.expressions import Expressions
from panewise.plan.nodes import (
    AntiJoin,
    Explode,
    Filter,
    GroupAggregate,
    Node,
    Pairs,
    Project,
    SemiJoin,
    TableJoin,
    Window,
    WindowAggregate,
)


def bind_plan(plan: Node, expressions: Expressions) -> None:
    """Refuse a plan with an expression that has no type."""
    for node in reversed(list(plan.walk())):
        for scalar in _computed(node):
            expressions.check(scalar, *node.inputs)
        condition = _condition(node)
        if condition is not None:
            expressions.check(condition, *node.inputs, condition=True)


def _computed(node: Node) -> list[Scalar]:
    match node:
        case Project():
            return [item.scalar for item in node.items]
        case Explode():
            return [node.collection]
        case WindowAggregate() | GroupAggregate():
            return [*(key.scalar for key in node.keys), *(a for call in node.aggregates for a in call.arguments)]
    return []


def _condition(node: Node) -> Scalar | None:
    match node:
        case Filter() | TableJoin() | SemiJoin() | AntiJoin():
            return node.predicate
        case Window():
            return node.clause.predicate
        case WindowAggregate():
            return node.window.predicate
        case Pairs():
            found: Scalar | None = getattr(node, "predicate", None)
            return found
    return None
