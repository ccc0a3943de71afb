"""Random plans over internal windows: with EXISTS, and beside external windows and whatever is made of those."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import Filter, Join, NamedScalar, Node, Project, Qualify, SemiJoin, Union
from relations.leaf_plans import relations
from relations.operator_shapes import conditions
from relations.plans import columns, windows
from relations.positive_plans import internal

K = NamedScalar.column("k")
CONDITIONS = st.sampled_from(["k = `r.k`", "k = `r.k` AND v >= `r.v`", "v < `r.v`", "k = `r.k` OR v = `r.v`"])
MET = conditions("`l.k` = `r.k`", "`l.k` = `r.k`", "`l.k` = `r.k` OR `l.v` = `r.v`", "`l.v` < `r.v`")


LEAVES = st.sampled_from("st").flatmap(windows).map(lambda window: internal(columns(window, "k", "v")))


def matched(left: Node, right: Node, on: str = "k = `r.k`") -> Node:
    return SemiJoin(left, Qualify(right, "r"), Scalar.parse(on))


@st.composite
def internals(draw: st.DrawFn, depth: int) -> Node:
    """Selections, unions, joins and EXISTS over internal windows of any kind."""
    if depth == 0:
        return internal(columns(draw(windows(draw(st.sampled_from("st")))), "k", "v"))
    one, other = draw(internals(depth - 1)), draw(internals(draw(st.integers(0, depth - 1))))
    match draw(st.sampled_from(["exists", "exists", "join", "union", "filter", "project"])):
        case "exists":
            return matched(one, other, draw(CONDITIONS))
        case "join":
            pairs = Join(Qualify(one, "l"), Qualify(other, "r"), draw(MET))
            return Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.column("r.v"))))
        case "union":
            return Union((one, other, *draw(st.lists(LEAVES, max_size=1))))
        case "filter":
            return Filter(one, Scalar.parse("v <> 2"))
        case _:
            return Project(one, (K, NamedScalar("v", Scalar.parse("v % 2"))))


@st.composite
def mixtures(draw: st.DrawFn, depth: int) -> Node:
    """Internal windows beside external ones and whatever is made of those."""
    if depth == 0:
        if draw(st.booleans()):
            return draw(st.integers(0, 1).flatmap(internals))
        return draw(st.integers(0, 2).flatmap(partial(relations, bare=False)))
    one, other = draw(mixtures(depth - 1)), draw(mixtures(draw(st.integers(0, depth - 1))))
    match draw(st.sampled_from(["exists", "join", "join", "union", "filter"])):
        case "exists":
            return matched(one, other, draw(CONDITIONS))
        case "join":
            pairs = Join(Qualify(one, "l"), Qualify(other, "r"), draw(MET))
            return Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.column("r.v"))))
        case "union":
            return Union((one, other, *draw(st.lists(LEAVES, max_size=1))))
        case _:
            return Filter(one, Scalar.parse("v <> 2"))
