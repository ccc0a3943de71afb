"""Random plans that take nothing back: selections, projections, unions and joins over windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import Filter, Join, NamedScalar, Node, Project, Qualify, Union, Window
from relations.plans import columns

Windows = Callable[[str], st.SearchStrategy[Window]]


@st.composite
def positive(draw: st.DrawFn, windows: Windows, operators: int = 4, *, joins: bool = True) -> Node:
    """At most so many operators above the windows of two streams; columns k and v."""
    def build(budget: int) -> Node:
        if budget == 0:
            return columns(draw(windows(draw(st.sampled_from("st")))), "k", "v")
        kind = draw(st.sampled_from(["filter", "project", "union", *(["join"] * 3 if joins else [])]))
        if kind == "filter":
            return Filter(build(budget - 1), Scalar.parse("v <> 2"))
        if kind == "project":
            return Project(build(budget - 1), (NamedScalar.column("k"), NamedScalar("v", Scalar.parse("v + 1"))))
        left = draw(st.integers(0, budget - 1))
        one, other = build(left), build(budget - 1 - left)
        if kind == "union":
            return Union((one, other))
        pairs = Join(Qualify(one, "l"), Qualify(other, "r"), Scalar.parse("`l.k` = `r.k`"))
        both = Scalar.parse("4 * `l.v` + `r.v`")
        return Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", both)))

    return build(draw(st.integers(1, operators)))


def with_windows(plan: Node, change: Callable[[Window], Window]) -> Node:
    """The plan with every window changed."""
    if isinstance(plan, Window):
        return change(plan)
    return plan.with_inputs(*(with_windows(below, change) for below in plan.inputs)) if plan.inputs else plan


def internal(plan: Node) -> Node:
    """The plan over windows whose rows never leave."""
    return with_windows(plan, lambda w: replace(w, clause=replace(w.clause, internal=True)))
