"""Random plans that take nothing back: selections, projections, unions and joins over windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import Filter, Join, NamedScalar, Node, Project, Qualify, Source, Union, Window
from relations.operator_shapes import conditions
from relations.plans import columns, timelines
from relations.random_plans import Drawn

Windows = Callable[[str], st.SearchStrategy[Window]]


KEPT = conditions("v <> 2", "v <> 2", "k = 'a' OR v > 1", "k IS NULL OR v <> 2")
MET = conditions("`l.k` = `r.k`", "`l.k` = `r.k`", "`l.k` = `r.k` OR `l.v` = `r.v`", "`l.v` < `r.v`",
                 "`l.k` = `r.k` AND (`l.v` < 3 OR `r.v` > 1)")
KINDS = ("filter", "project", "union", "join")
every_kind = pytest.mark.parametrize("kind", KINDS)


@st.composite
def positive(draw: st.DrawFn, windows: Windows, operators: int = 4, *, joins: bool = True,
             top: str | None = None) -> Node:
    """At most so many operators above the windows of two streams, ``top`` the last; columns k and v."""
    def build(budget: int, top: str | None = None) -> Node:
        if budget == 0:
            return columns(draw(windows(draw(st.sampled_from("st")))), "k", "v")
        kind = top or draw(st.sampled_from(["filter", "project", "union", *(["join"] * 3 if joins else [])]))
        if kind == "filter":
            return Filter(build(budget - 1), draw(KEPT))
        if kind == "project":
            return Project(build(budget - 1), (NamedScalar.column("k"), NamedScalar("v", Scalar.parse("v + 1"))))
        left = draw(st.integers(0, budget - 1))
        one, other = build(left), build(budget - 1 - left)
        if kind == "union":
            return Union((one, other, *(build(0) for _ in range(draw(st.sampled_from([0, 0, 1, 2]))))))
        pairs = Join(Qualify(one, "l"), Qualify(other, "r"), draw(MET))
        both = Scalar.parse("4 * `l.v` + `r.v`")
        return Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", both)))

    return build(draw(st.sampled_from([*range(1, operators + 1), operators, operators])), top)


@st.composite
def positive_cases(draw: st.DrawFn, windows: Windows, **options: Any) -> Drawn:
    """Such a plan, with rows for the streams it reads."""
    plan = draw(positive(windows, **options))
    streams = tuple(sorted({node.name for node in plan.walk() if isinstance(node, Source)}))
    return Drawn(plan, draw(timelines(streams, least=3 * len(streams), rows=6 + 6 * len(streams))))


def with_windows(plan: Node, change: Callable[[Window], Window]) -> Node:
    """The plan with every window changed."""
    if isinstance(plan, Window):
        return change(plan)
    return plan.with_inputs(*(with_windows(below, change) for below in plan.inputs)) if plan.inputs else plan


def internal(plan: Node) -> Node:
    """The plan over windows whose rows never leave."""
    return with_windows(plan, lambda w: replace(w, clause=replace(w.clause, internal=True)))
