"""Label soundness (Golab, property 3): the oracle's results never behave worse than a plan's label promises."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.engines.oracle.definition import Definition
from panewise.plan import nodes as n
from panewise.planner.facts.labels import Labels, label
from panewise.progress.timeline import Arrival
from panewise.windows.base import WindowSpec
from panewise.windows.landmark import BandWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow
from planner.monotonicity import Event, observe
from planner.plans import check_legal, counted, in_time, projected, source, window

SPECS: tuple[WindowSpec, ...] = (
    SlidingWindow.scoped(4), SlidingWindow.scoped(7), SlidingWindow.scoped(5, 2), SlidingWindow(2, 5),
    TumblingWindow(4), TumblingWindow(4, disclosure=Disclosure.GROWING), BandWindow.since(3), NowWindow(),
)
EQUAL = Scalar.parse("`L.a` = `R.a`")


def answers(plan: n.Node, values: bool):  # type: ignore[no-untyped-def]
    """The oracle as a query; a result is a row of its own unless it replaces another (aggregates)."""
    def evaluate(arrived: Sequence[Event], tau: int) -> list[Hashable]:
        arrivals = [Arrival(e.stream, {"ts": e.at, "a": e.row[0], "k": str(e.row[1])}) for e in arrived]
        rows = Definition(arrivals).relation(plan, tau)
        return [tuple(r.values.items()) if values else r.key for r in rows]
    return evaluate


def assert_sound(plan: n.Node, labels: Labels) -> None:
    seen = observe(answers(plan, labels.output.replace), in_time("S", "R", runs=1, until=16))
    assert seen.agrees_with(labels.output), f"{labels.output}: {seen.evidence}"


def sides(left: WindowSpec, right: WindowSpec) -> tuple[n.Node, n.Node]:
    return n.Qualify(window(left, "S"), "L"), n.Qualify(window(right, "R"), "R")


BINARY = {
    "union": lambda a, b: n.Union((window(a, "S"), window(b, "R"))),
    "join": lambda a, b: n.Join(*sides(a, b), EQUAL),
    "exists": lambda a, b: n.SemiJoin(*sides(a, b), EQUAL),
    "not exists": lambda a, b: n.AntiJoin(*sides(a, b), EQUAL),
    "except": lambda a, b: n.BagDifference(projected(window(a, "S"), "a"), projected(window(b, "R"), "a")),
}
UNARY = {
    "window": window,
    "distinct": lambda a: n.Distinct(projected(window(a), "a")),
    "distinct by the newest": lambda a: n.Distinct(projected(window(a), "a"), "recent"),
    "count": lambda a: counted(window(a), "a"),
}


@pytest.mark.parametrize("operator", UNARY)
def test_one_window(operator: str) -> None:
    for spec in SPECS:
        plan = UNARY[operator](spec)
        assert_sound(plan, check_legal(plan))


@pytest.mark.parametrize("operator", BINARY)
def test_two_windows_of_every_mixture(operator: str) -> None:
    # every eleventh of the 64 pairs: each run is a full oracle evaluation per instant
    for left, right in list(product(SPECS, SPECS))[::11]:
        plan = BINARY[operator](left, right)
        assert_sound(plan, check_legal(plan))


def projected_join(left: n.Node, right: n.Node) -> n.Node:
    pairs = n.Join(n.Qualify(left, "L"), n.Qualify(right, "R"), EQUAL)
    return n.Project(pairs, (n.NamedScalar("a", Scalar.column("L.a")),))


RELATIONS = st.recursive(
    st.builds(lambda spec, stream: projected(window(spec, stream), "a"), st.sampled_from(SPECS), st.sampled_from("SR")),
    lambda below: st.one_of(
        st.builds(lambda x, y: n.Union((x, y)), below, below),
        st.builds(n.BagDifference, below, below),
        st.builds(n.Distinct, below),
        st.builds(projected_join, below, below),
    ), max_leaves=3)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(RELATIONS)
def test_operators_over_operators(plan: n.Node) -> None:
    assert_sound(plan, check_legal(plan))


def test_a_label_that_promises_too_much_is_caught() -> None:
    plan = n.Distinct(projected(window(SlidingWindow.scoped(4)), "a"), "recent")
    seen = observe(answers(plan, False), in_time(runs=1, until=16))
    assert not seen.agrees_with(label(n.Distinct(projected(window(SlidingWindow.scoped(4)), "a"))).output)
    assert label(source()).output.pattern < seen.pattern
