"""Random joins of two to four inputs on one column, and the manners in which they are run at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from itertools import product

from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import AntiJoin, BagDifference, Distinct, Join, Node, Qualify, SemiJoin
from panewise.plan.physical import AtOnce, PhysicalNode, RelationPlan
from panewise.planner.choose.join_manner import Joins
from panewise.planner.choose.physical import relation_plan
from panewise.windows.sliding import SlidingWindow
from relations.plans import COUNT_WINDOWS, TIME_WINDOWS, Specs, windows

STREAMS = ("s", "t", "u")
NAMES = "abcd"
MANNERS = [f"at once: {evaluation}, {expiry} expiry" for evaluation, expiry in product(["eager", "lazy"], repeat=2)]

Inputs = Callable[[str], st.SearchStrategy[Node]]


def in_time(stream: str, kinds: Specs = TIME_WINDOWS) -> st.SearchStrategy[Node]:
    """A window over time."""
    return windows(stream, kinds)


@st.composite
def any_input(draw: st.DrawFn, stream: str, kinds: Specs = TIME_WINDOWS | COUNT_WINDOWS) -> Node:
    """A window of some kind, or something whose rows may leave before they said."""
    left = draw(windows(stream, kinds))
    match draw(st.integers(0, 4)):
        case 0:
            right = draw(windows(draw(st.sampled_from(STREAMS)), kinds))
            kind = draw(st.sampled_from([AntiJoin, AntiJoin, SemiJoin]))
            return kind(left, Qualify(right, "r"), Scalar.parse(draw(st.sampled_from(["k = `r.k`", "v = `r.v`"]))))
        case 1:
            return BagDifference(left, draw(windows(draw(st.sampled_from(STREAMS)), kinds)))
        case 2:
            return Distinct(left)
    return left


@st.composite
def joins(draw: st.DrawFn, inputs: Inputs = in_time, least: int = 3) -> Node:
    """Windows on one column, in a tree of any shape."""
    count = draw(st.integers(least, 4))
    sides = [Qualify(draw(inputs(draw(st.sampled_from(STREAMS)))), NAMES[i]) for i in range(count)]
    if count == 4 and draw(st.booleans()):
        left, right = (Join(*sides[i:i + 2], on(i, i + 1)) for i in (0, 2))
        return Join(left, right, on(draw(st.sampled_from([0, 1])), draw(st.sampled_from([2, 3]))))
    return reduce(lambda left, i: Join(left, sides[i], on(draw(st.integers(0, i - 1)), i)), range(1, count), sides[0])


@st.composite
def refreshed(draw: st.DrawFn) -> Node:
    """Joins of inputs of any kind whose windows are refreshed together: rows come and go at refreshes only."""
    slide, origin = draw(st.integers(2, 5)), draw(st.integers(0, 3))
    kinds = st.builds(SlidingWindow, st.integers(1, 9), st.just(slide), st.just(origin), st.integers(0, 1))
    return draw(joins(lambda stream: any_input(stream, kinds), 2))


def on(one: int, other: int) -> Scalar:
    return Scalar.parse(f"`{NAMES[one]}.k` = `{NAMES[other]}.k`")


def decided(plan: Node, joins: str, order: list[int] | None = None) -> RelationPlan:
    """A plan as it is, its joins run in this manner and, if given, probing in this order."""
    found = relation_plan(plan, joins=Joins.parse(joins), generous=True)
    return found if order is None else replace(found, root=_probing(found.root, order))


def _probing(node: PhysicalNode, order: list[int]) -> PhysicalNode:
    node = replace(node, inputs=tuple(_probing(below, order) for below in node.inputs))
    if not isinstance(node.algorithm, AtOnce):
        return node
    manner = replace(node.algorithm.manner, order=tuple(i for i in order if i < len(node.inputs)))
    return replace(node, algorithm=replace(node.algorithm, manner=manner))
