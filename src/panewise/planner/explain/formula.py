"""A plan on one line, in the signs of the algebra."""

from __future__ import annotations

from panewise.plan import nodes as n


def formula(plan: n.Node) -> str:
    """The shape of a plan: σ selection, π projection, δ distinct, γ aggregate, ⋈ join, ⋉ EXISTS, ▷ NOT EXISTS, − EXCEPT
    ALL, ∪ union; a window is a bracket behind its stream.

    >>> from panewise.core.ordinals import OrdinalKind
    >>> from panewise.core.scalar import Scalar
    >>> from panewise.core.schema import SourceSchema
    >>> from panewise.windows.sliding import SlidingWindow
    >>> clause = n.WindowClause(SlidingWindow.scoped(60), "ts", OrdinalKind.INTEGER)
    >>> a, b, c = (n.Qualify(n.Window(n.Source(s, SourceSchema()), clause), s) for s in "abc")
    >>> print(formula(n.AntiJoin(n.Join(n.Filter(a, Scalar("x > 3")), b), c)))
    (σ(a[]) ⋈ b[]) ▷ c[]
    """
    match plan:
        case n.Named():
            return plan.name
        case n.Qualify() | n.Lifetime():
            return formula(plan.input)
        case n.Window():
            return f"{_part(plan.input)}[]"
        case n.Filter():
            return f"σ({formula(plan.input)})"
        case n.Project():
            return f"π({formula(plan.input)})"
        case n.Explode():
            return f"μ({formula(plan.input)})"
        case n.Distinct():
            return f"δ({formula(plan.input)})"
        case n.GroupAggregate() | n.WindowAggregate():
            return f"γ({formula(plan.input)})"
        case n.RelationToStream():
            return f"{plan.kind.value}({formula(plan.input)})"
        case n.Union():
            return " ∪ ".join(map(_part, plan.parts))
    sign = {n.SemiJoin: "⋉", n.AntiJoin: "▷", n.BagDifference: "−"}.get(type(plan), "⋈")
    return f" {sign} ".join(map(_part, plan.inputs))


def _part(node: n.Node) -> str:
    text = formula(node)
    return f"({text})" if len(node.inputs) > 1 or (isinstance(node, n.Qualify) and " " in text) else text
