"""DISTINCT over windows of any kind, with both policies."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import Distinct, Join, Qualify, Union, Window
from panewise.progress.timeline import Timeline
from relations.plans import PLACES, TIME_WINDOWS, columns, timelines, windows
from relations.running import assert_like_the_oracle, run_relation

POLICIES = st.sampled_from(["keep", "recent"])


@settings(max_examples=30, deadline=None)
@given(windows("s"), POLICIES, st.sampled_from([("k",), ("k", "v")]), timelines(("s",), rows=18), PLACES, PLACES)
def test_distinct_values_of_a_window(window: Window, policy: str, names: tuple[str, ...], timeline: Timeline,
                                     cuts: frozenset[int], saves: frozenset[int]) -> None:
    assert_like_the_oracle(Distinct(columns(window, *names), policy), timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t", TIME_WINDOWS), POLICIES, timelines(("s", "t"), rows=18), PLACES, PLACES)
def test_distinct_values_of_a_join(left: Window, right: Window, policy: str, timeline: Timeline,
                                   cuts: frozenset[int], saves: frozenset[int]) -> None:
    pairs = Join(Qualify(left, "l"), Qualify(right, "r"), Scalar.parse("`l.v` = `r.v`"))
    assert_like_the_oracle(Distinct(columns(pairs, "l.k", "r.k"), policy), timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(windows("s"), windows("t"), POLICIES, timelines(("s", "t"), rows=18), PLACES, PLACES)
def test_a_join_above_distinct_of_a_union(left: Window, right: Window, policy: str, timeline: Timeline,
                                          cuts: frozenset[int], saves: frozenset[int]) -> None:
    both = Distinct(Union((columns(left, "k"), columns(right, "k"))), policy)
    plan = Join(Qualify(both, "l"), Qualify(columns(right, "k", "v"), "r"), Scalar.parse("`l.k` = `r.k`"))
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=20, deadline=None)
@given(windows("s", TIME_WINDOWS), timelines(("s",), rows=18))
def test_delta_star_keeps_at_most_two_rows_per_value(window: Window, timeline: Timeline) -> None:
    _, query = run_relation(Distinct(columns(window, "k")), timeline)
    assert query.status()["operators"][-1]["rows"] <= 2 * 3
