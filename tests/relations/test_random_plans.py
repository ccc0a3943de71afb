"""Random plans up to four operators deep over windows of any kind, however rows come, in every style."""

from __future__ import annotations

from collections import Counter
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
from panewise.progress.timeline import Timeline
from relations.plans import PLACES, TIME_WINDOWS, columns, source, timelines, windows
from relations.running import assert_like_the_oracle, run_relation
from relations.test_group_aggregates import call

STREAMS = ("s", "t")
K = NamedScalar.column("k")


@st.composite
def relations(draw: st.DrawFn, depth: int, *, over_time: bool = False) -> Node:
    """A plan with the columns k and v."""
    if depth == 0:
        stream = draw(st.sampled_from(STREAMS))
        if draw(st.integers(0, 5)) == 0:
            return columns(source(stream), "k", "v")
        return columns(draw(windows(stream, TIME_WINDOWS) if over_time else windows(stream)), "k", "v")
    below = relations(depth - 1, over_time=over_time)
    other = relations(draw(st.integers(0, depth - 1)), over_time=over_time)
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
@given(st.integers(1, 3).flatmap(relations), timelines(STREAMS, rows=16, times=10), PLACES, PLACES)
def test_all_styles_agree(plan: Node, timeline: Timeline, cuts: frozenset[int], saves: frozenset[int]) -> None:
    """Property 2 of Golab's list: negative tuples, direct and by update pattern put out the same."""
    expected = net(run_relation(plan, timeline)[0])
    for style in ("direct", "negative"):
        assert net(run_relation(plan, timeline, cuts, saves, style=style)[0]) == expected


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3).flatmap(lambda depth: relations(depth, over_time=True)), timelines(STREAMS, rows=16, times=10))
def test_only_strict_edges_send_ends(plan: Node, timeline: Timeline) -> None:
    """Property 3: where the pattern says that ends are known, none is sent."""
    _, query = run_relation(plan, timeline)
    strict = label(plan).output.downgrade().pattern is UpdatePattern.STR
    sent = query.status()["operators"][-1].get("ends", 0)
    assert strict or sent == 0
