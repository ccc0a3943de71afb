"""Random plans up to four operators deep over windows of any kind, however rows come, in every style."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
    Filter,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    RelationToStream,
    SemiJoin,
    Union,
)
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.labels import UpdatePattern, label
from panewise.planner.rewrites.closure import steps
from panewise.progress.timeline import Timeline
from relations.plans import COUNT_WINDOWS, PLACES, TIME_WINDOWS, Specs, columns, source, timelines, windows
from relations.running import assert_like_the_oracle, run_relation
from relations.test_group_aggregates import call

STREAMS = ("s", "t")
K = NamedScalar.column("k")
EVERY_WINDOW = TIME_WINDOWS | COUNT_WINDOWS


@st.composite
def relations(draw: st.DrawFn, depth: int, *, kinds: Specs = EVERY_WINDOW, bare: bool = True,
              leaves: st.SearchStrategy[Node] | None = None) -> Node:
    """A plan with the columns k and v over windows of these kinds, and if wanted over streams without a window.

    ``leaves`` are what it starts from instead.
    """
    if depth == 0 and leaves is not None:
        return draw(leaves)
    if depth == 0:
        stream = draw(st.sampled_from(STREAMS))
        if bare and draw(st.integers(0, 5)) == 0:
            return columns(source(stream), "k", "v")
        return columns(draw(windows(stream, kinds)), "k", "v")
    below = relations(depth - 1, kinds=kinds, bare=bare, leaves=leaves)
    other = relations(draw(st.integers(0, depth - 1)), kinds=kinds, bare=bare, leaves=leaves)
    one = draw(below)
    match draw(st.integers(0, 8)):
        case 0:
            return Filter(one, Scalar.parse("v <> 2"))
        case 1:
            return Project(one, (K, NamedScalar("v", Scalar.parse("v % 3"))))
        case 2:
            return Union((one, draw(other)))
        case 3:
            return Distinct(one, draw(st.sampled_from(["keep", "recent"])))
        case 4:
            on = Scalar.parse(draw(st.sampled_from(["`l.k` = `r.k`", "`l.k` = `r.k` AND `l.v` <> `r.v`"])))
            pairs = Join(Qualify(one, "l"), Qualify(draw(other), "r"), on)
            return Project(pairs, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.column("r.v"))))
        case 5:
            return BagDifference(one, draw(other))
        case 6 | 7:
            kind = draw(st.sampled_from([SemiJoin, AntiJoin]))
            on = Scalar.parse(draw(st.sampled_from(["k = `r.k`", "k = `r.k` AND v >= `r.v`"])))
            return kind(one, Qualify(draw(other), "r"), on)
        case _:
            value = draw(st.sampled_from([call("v", "sum", "v"), call("v", "count"), call("v", "max", "v")]))
            return GroupAggregate(one, (K,), (value,))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4).flatmap(relations), timelines(STREAMS, rows=16, times=10), PLACES, PLACES)
def test_every_plan_equals_its_definition_at_every_instant(plan: Node, timeline: Timeline, cuts: frozenset[int],
                                                           saves: frozenset[int]) -> None:
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3).flatmap(relations), st.sampled_from([Kind.ISTREAM, Kind.DSTREAM, Kind.RSTREAM]),
       timelines(STREAMS, rows=12, times=8), PLACES, PLACES)
def test_every_plan_as_a_stream(plan: Node, kind: Kind, timeline: Timeline, cuts: frozenset[int],
                                saves: frozenset[int]) -> None:
    assert_like_the_oracle(RelationToStream(plan, kind), timeline, cuts, saves)


def net(rows: list[dict[str, Any]]) -> dict[tuple[str, int], int]:
    """Copies that came and went by value and instant: which row represents a value may differ between styles."""
    found: Counter[tuple[str, int]] = Counter()
    for row in rows:
        value = repr([row[name] for name in ("k", "v")])
        found[value, row.get("valid_from", 0)] += row.get("change", 1)
        if row.get("expires_at") is not None:
            found[value, row["expires_at"]] -= 1
    return {key: count for key, count in found.items() if count}


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4).flatmap(relations), timelines(STREAMS, rows=16, times=10), PLACES, PLACES)
def test_all_styles_agree(plan: Node, timeline: Timeline, cuts: frozenset[int], saves: frozenset[int]) -> None:
    """Property 2 of Golab's list: negative tuples, direct and by update pattern put out the same."""
    expected = net(run_relation(plan, timeline)[0])
    for style in ("direct", "negative"):
        assert net(run_relation(plan, timeline, cuts, saves, style=style)[0]) == expected


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 4).flatmap(relations), timelines(STREAMS, rows=16, times=10), PLACES)
def test_equivalent_plans_put_out_the_same(plan: Node, timeline: Timeline, cuts: frozenset[int]) -> None:
    """Property 4, however rows come: one step of every rule that applies."""
    expected = net(run_relation(plan, timeline)[0])
    for step in islice(steps(plan), 4):
        assert net(run_relation(step.plan, timeline, cuts)[0]) == expected, step.by


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4).flatmap(relations), timelines(STREAMS, rows=16, times=10))
def test_results_leave_as_their_label_says_and_only_strict_edges_send_ends(plan: Node, timeline: Timeline) -> None:
    """Property 3: equal lives and first in, first out where promised; where ends are known, none is sent."""
    found, query = run_relation(plan, timeline)
    for stage in query._root.walk():
        assert stage.told.ends == 0 or stage.label.downgrade().pattern is UpdatePattern.STR
    promised = label(plan).output.downgrade()
    lives = sorted((row["valid_from"], row["expires_at"]) for row in found if "expires_at" in row
                   and row["expires_at"] is not None)
    if promised.pattern is UpdatePattern.MON:
        assert not lives
    if promised.pattern is UpdatePattern.WKS:
        assert all(one[1] <= other[1] for one, other in pairwise(lives))
        if promised.lifetime is not None:
            assert {end - since for since, end in lives} <= {promised.lifetime}
    assert promised.pattern is UpdatePattern.STR or not any("change" in row for row in found)
