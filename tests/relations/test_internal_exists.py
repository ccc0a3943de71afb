"""EXISTS over INTERNAL windows, and INTERNAL windows beside anything that takes rows back."""

from __future__ import annotations

from itertools import islice

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AntiJoin,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    RelationToStream,
    Window,
)
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.legal.legality import problems
from panewise.planner.rewrites.closure import steps
from panewise.progress.timeline import Timeline, timeline
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow
from relations.internal_plans import internals, matched, mixtures
from relations.plans import PLACES, columns, source, timelines, window
from relations.running import assert_like_the_oracle, run_relation
from relations.test_group_aggregates import call
from relations.test_random_plans import net

K = NamedScalar.column("k")

def row(ts: int, k: str, v: int = 0) -> dict[str, object]:
    return {"ts": ts, "k": k, "v": v}


def over(stream: str, length: int, *, internal: bool) -> Node:
    return columns(window(source(stream), SlidingWindow.scoped(length), internal=internal), "k", "v")


def lives(plan: Node, items: Timeline) -> list[tuple[object, ...]]:
    assert_like_the_oracle(plan, items)
    return [tuple(r[name] for name in ("k", "valid_from", "expires_at")) for r in run_relation(plan, items)[0]]


def changes(plan: Node, items: Timeline) -> list[tuple[object, ...]]:
    assert_like_the_oracle(plan, items)
    return [tuple(r[name] for name in ("k", "valid_from", "change")) for r in run_relation(plan, items)[0]]


def test_a_row_that_has_had_a_match_is_put_out_once_and_stays() -> None:
    """Two matches, with a pause between them."""
    plan = matched(over("s", 9, internal=True), over("t", 2, internal=True))
    items = timeline(s=[row(1, "a")], t=[row(3, "a"), row(7, "a")])
    assert lives(plan, items) == [("a", 3, None)]


def test_a_match_that_has_left_its_window_is_no_match() -> None:
    """State is that of external windows (Golab 3.3.2)."""
    plan = matched(over("s", 9, internal=True), over("t", 2, internal=True))
    assert lives(plan, timeline(s=[row(5, "a")], t=[row(3, "a")])) == []
    mixed = matched(over("s", 9, internal=False), over("t", 2, internal=True))
    assert lives(mixed, timeline(s=[row(5, "a"), row(4, "a")], t=[row(3, "a")])) == [("a", 4, 13)]


def test_a_row_of_an_internal_window_stays_while_one_of_its_external_matches_does() -> None:
    """The row is in its window until 4; the match of 5 comes too late, those of 2 and 3 stay until 12 and 13."""
    plan = matched(over("s", 3, internal=True), over("t", 10, internal=False))
    items = timeline(s=[row(1, "a")], t=[row(2, "a"), row(3, "a"), row(5, "a")])
    assert changes(plan, items) == [("a", 2, 1), ("a", 13, -1)]


def test_what_negation_takes_back_takes_the_results_of_internal_windows_with_it() -> None:
    """The row of u ends the row of t at 4, when that of s has left its window: the pair does not come again."""
    rows = AntiJoin(over("t", 9, internal=False), Qualify(over("u", 3, internal=False), "u"), Scalar.parse("k = `u.k`"))
    pairs = Join(Qualify(over("s", 3, internal=True), "l"), Qualify(rows, "r"), Scalar.parse("`l.k` = `r.k`"))
    plan = Project(pairs, (NamedScalar("k", Scalar.column("l.k")),))
    items = timeline(s=[row(1, "a")], t=[row(1, "a")], u=[row(4, "a")])
    assert changes(plan, items) == [("a", 1, 1), ("a", 4, -1)]


def test_a_pair_of_an_internal_window_stays_until_the_row_of_a_window_by_rows_is_pushed_out() -> None:
    newest = columns(Window(source("t"), window(source("t"), CountWindow(1)).clause), "k", "v")
    pairs = Join(Qualify(over("s", 2, internal=True), "l"), Qualify(newest, "r"), Scalar.parse("`l.k` = `r.k`"))
    plan = Project(pairs, (NamedScalar("k", Scalar.column("l.k")),))
    items = timeline(s=[row(1, "a")], t=[row(1, "a"), row(8, "b")])
    assert changes(plan, items) == [("a", 1, 1), ("a", 8, -1)]


def test_an_aggregate_beside_internal_windows_takes_its_values_back() -> None:
    counts = GroupAggregate(over("t", 9, internal=False), (K,), (call("n", "count"),))
    pairs = Join(Qualify(over("s", 2, internal=True), "l"), Qualify(counts, "r"), Scalar.parse("`l.k` = `r.k`"))
    plan = Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar.column("r.n")))
    items = timeline(s=[row(1, "a")], t=[row(1, "a"), row(5, "a")])
    assert changes(plan, items) == [("a", 1, 1), ("a", 5, -1)]


def shaped(plan: Node, shape: int) -> Node:
    if shape == 1:
        return GroupAggregate(plan, (K,), (call("n", "count"), call("last", "last", "v")), internal=True)
    return RelationToStream(plan, [Kind.WSTREAM, Kind.ISTREAM, Kind.RSTREAM][shape - 2]) if shape > 1 else plan


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3).flatmap(internals), st.integers(0, 4), timelines(("s", "t"), rows=16), PLACES, PLACES,
       st.sampled_from(["upa", "negative", "direct"]))
def test_exists_over_internal_windows_keeps_every_row_that_ever_had_a_match(plan: Node, shape: int, items: Timeline,
                                                                            cuts: frozenset[int],
                                                                            saves: frozenset[int], style: str) -> None:
    plan = shaped(plan, shape)
    assume(not any(problems(plan)))  # no first and last over DISTINCT, no Wstream over negation
    assert_like_the_oracle(plan, items, cuts, saves, style=style)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3).flatmap(mixtures), st.integers(0, 4), timelines(("s", "t"), rows=16), PLACES, PLACES,
       st.sampled_from(["upa", "negative", "direct"]))
def test_results_of_internal_windows_stay_with_external_rows_of_any_kind(plan: Node, shape: int, items: Timeline,
                                                                         cuts: frozenset[int],
                                                                         saves: frozenset[int], style: str) -> None:
    plan = shaped(plan, shape)
    assume(not any(problems(plan)))  # no first and last over DISTINCT, no Wstream over negation
    assert_like_the_oracle(plan, items, cuts, saves, style=style)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3).flatmap(internals) | st.integers(1, 3).flatmap(mixtures), timelines(("s", "t"), rows=16),
       PLACES)
def test_equivalent_plans_over_internal_windows_put_out_the_same(plan: Node, items: Timeline,
                                                                 cuts: frozenset[int]) -> None:
    expected = net(run_relation(plan, items)[0])
    for step in islice(steps(plan), 4):
        assert net(run_relation(step.plan, items, cuts)[0]) == expected, step.by
