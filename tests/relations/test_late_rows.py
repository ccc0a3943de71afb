"""Late rows in relations: in from the bound that they came behind, for the rest of their life."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.kernels.relations.stores.queues import Fifo
from panewise.plan.nodes import (
    AggregateCall,
    BandJoin,
    Distinct,
    Filter,
    GroupAggregate,
    Join,
    Lifetime,
    NamedScalar,
    Node,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    SemiJoin,
    Table,
    TableJoin,
    Union,
    Window,
    WindowClause,
)
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow
from relations import plans
from relations.instants import assert_like_the_oracle_at_every_instant
from relations.leaf_plans import relations
from relations.pair_plans import LEAVES, STREAMS, joins, pair_windows, pairs
from relations.plans import PLACES, columns, source, timelines, window
from relations.random_plans import EVERYTHING, cases, is_legal
from relations.running import assert_like_the_oracle, run_relation

GROWING = Disclosure.GROWING


def row(ts: int, v: int, stream: str = "s") -> Arrival:
    return Arrival(stream, {"ts": ts, "k": "a", "v": v})


def below(bound: int, stream: str = "s") -> Arrival:
    return Arrival(stream, Punctuation.below("ts", bound))


def lives(plan: Node, items: Timeline, **options: Any) -> list[tuple[int, int, int | None]]:
    found, _ = run_relation(plan, items, **options)
    return sorted((r["v"], r["valid_from"], r["expires_at"]) for r in found)


@pytest.mark.parametrize(("spec", "life"), [
    (SlidingWindow.scoped(10), (8, 15)),              # in at the bound, out with the rows of its time
    (SlidingWindow.scoped(10, 5), (10, 15)),          # nothing changes between refreshes
    (SlidingWindow.scoped(10, lag=6), (11, 21)),      # it would have come in behind the bound anyway
    (SlidingWindow.scoped(3), None),                  # its life was over
    (TumblingWindow(20, disclosure=GROWING), (8, 20)),
    (TumblingWindow(5), None),                        # [5, 10) is shown from 9 to 14: 8 is in time
    (LandmarkWindow(1), (8, None)),
    (BandWindow(upper=20), (8, None)),
    (BandWindow(upper=7), None),                      # frozen behind its end
    (NowWindow(1), None),
])
def test_a_late_row_is_in_from_the_bound_on_for_the_rest_of_its_life(spec: WindowSpec,
                                                                     life: tuple[int, int | None] | None) -> None:
    plan = columns(window(source(), spec), "v")
    items = [below(8), row(5, 1)]
    if isinstance(spec, TumblingWindow) and spec.range == 5:
        assert lives(plan, items) == [(1, 9, 14)]
        items = [below(10), row(4, 1)]
    assert lives(plan, items) == ([] if life is None else [(1, *life)])
    assert_like_the_oracle_at_every_instant(plan, items)


@pytest.mark.parametrize("late", ["drop", "side", "consistent"])
def test_under_other_policies_it_is_left_out(late: str) -> None:
    plan = columns(window(source(), SlidingWindow.scoped(10)), "v")
    items = [below(8), row(5, 1), row(9, 2)]
    assert lives(plan, items, late=late) == [(2, 9, 19)]
    assert_like_the_oracle(plan, items, late=late)


def test_a_window_by_position_leaves_it_out_and_reports_it() -> None:
    plan = columns(Window(source(), WindowClause(CountWindow(2), "row-num", OrdinalKind.ROWS)), "v")
    items = [row(1, 1), below(8), row(5, 2), row(9, 3)]
    found, query = run_relation(plan, items)
    assert {r["v"] for r in found} == {1, 3}
    assert query.late_count == 1
    assert_like_the_oracle(plan, items)


@pytest.mark.parametrize(("plan", "told"), [
    (Distinct(columns(source(), "v")), [(1, 1), (2, 8), (3, 9)]),
    (SemiJoin(columns(source(), "v"), Qualify(window(source(), SlidingWindow.scoped(30)), "r")),
     [(1, 1), (2, 8), (3, 9)]),
    (columns(window(RelationToStream(columns(source(), "v"), RelationToStreamKind.ISTREAM), SlidingWindow.scoped(3)),
             "v"), [(1, 1), (2, 8), (3, 9)]),  # as a row of the instant at which it came in
    (Distinct(columns(source(), "v", "ts")), [(1, 1), (3, 9)]),  # the value of instant 5 was over
], ids=["distinct", "exists", "a stream again", "a value that is over"])
def test_in_a_stream_without_a_window_it_is_in_for_ever(plan: Node, told: list[tuple[int, int]]) -> None:
    items = [row(1, 1), below(8), row(5, 2), row(9, 3)]
    found, query = run_relation(plan, items)
    assert sorted((r["v"], r["valid_from"]) for r in found if r.get("change", 1) > 0) == told
    assert query.late_count == 1
    assert_like_the_oracle_at_every_instant(plan, items, saves=frozenset({2, 3}))
    assert_like_the_oracle(plan, items, late="drop")


@pytest.mark.parametrize(("keys", "counted"), [
    (("l.k",), [("a", 4)]),
    (("l.ts", "r.ts"), [(7, 4, 1), (7, 7, 1)]),  # the instants 6 and 7 of the late pairs have passed
    (("l.ts",), [(7, 2)]),                       # at 10 no pair in time can have 6 on the left: r reaches 3 back
    (("r.ts",), [(4, 2), (7, 2)]),               # and may have 4 on the right: l reaches 6 back
])
def test_a_pair_of_a_late_row_is_in_from_the_bound_on_but_in_no_group_that_is_over(
        keys: tuple[str, ...], counted: list[tuple[Any, ...]]) -> None:
    pairs = BandJoin(Qualify(source("s"), "l"), Qualify(source("t"), "r"), "l.ts", "r.ts", 3, 6)
    plan = GroupAggregate(pairs, tuple(NamedScalar.column(key) for key in keys), (AggregateCall("n", "count"),))
    items = [row(4, 1, "t"), row(7, 2, "t"), row(7, 3), below(10), row(6, 4)]
    found, query = run_relation(plan, items)
    told = [tuple(r.values()) for r in found if r["change"] > 0]
    assert [values[:-2] for values in told][-len(counted):] == counted
    assert {values[-2] for values in told} <= {7, 10}
    assert query.late_count == 1
    assert_like_the_oracle_at_every_instant(plan, items, saves=frozenset({3, 4}))


def test_its_life_follows_its_own_time_also_where_no_column_shows_it() -> None:
    plan = window(columns(source(), "v"), SlidingWindow.scoped(10))
    items = [below(8), row(5, 1), row(9, 2)]
    assert lives(plan, items) == [(1, 8, 15), (2, 9, 19)]
    assert_like_the_oracle_at_every_instant(plan, items, saves=frozenset({2}))


def test_a_lifetime_counts_from_where_it_comes_in() -> None:
    plan = Lifetime(columns(window(source(), SlidingWindow.scoped(20)), "v"), 4)
    items = [below(8), row(5, 1), row(10, 2), row(13, 3), row(14, 4)]
    assert [v for v, _, _ in lives(plan, items)] == [1, 2]
    assert_like_the_oracle_at_every_instant(plan, items)


def test_it_meets_a_table_as_it_was_at_the_bound() -> None:
    table = Table("r", SourceSchema({"at": pa.int64(), "name": pa.string()}, time="at", kind=SourceKind.NRR))
    plan = columns(window(TableJoin(source(), table), SlidingWindow.scoped(10)), "v", "name")
    items = [Arrival("r", {"at": 3, "name": "old"}), Arrival("r", {"at": 6, "name": "new"}), below(8), row(5, 1)]
    assert sorted(r["name"] for r in run_relation(plan, items)[0]) == ["new", "old"]  # in time it would meet one
    assert_like_the_oracle(plan, items)


def test_under_a_progress_policy_it_comes_in_at_the_bound_that_other_rows_made() -> None:
    query = pw.open_query("SELECT v FROM s [RANGE 10]", s="ts bigint, v bigint", progress="late:0")
    query.push("s", {"ts": 20, "v": 1})
    assert query.push("s", {"ts": 15, "v": 2}).num_rows == 0
    found = {r["v"]: (r["valid_from"], r["expires_at"]) for r in query.finish().to_pylist()}
    assert found == {1: (20, 30), 2: (20, 25)}
    assert query.late_count == 1


def test_late_rows_are_reported_also_where_no_refresh_looks_at_their_stream() -> None:
    """Rstream is told at refreshes, and the window that makes them never shows a row here."""
    pairs = Join(Qualify(columns(source("t"), "v"), "l"), Qualify(columns(window(source(), NowWindow(3)), "v"), "r"))
    plan = RelationToStream(pairs, RelationToStreamKind.RSTREAM)
    assert_like_the_oracle(plan, [below(3, "t"), row(0, 1, "t"), below(3)])


def test_a_queue_puts_what_leaves_sooner_in_its_place() -> None:
    queue = Fifo()
    queue.insert(np.array([0, 1]), np.array([10, 12]), 0)
    queue.insert(np.array([2, 3]), np.array([11, 15]), 0)
    assert queue.passed(12)[0].tolist() == [0, 2]
    assert queue.entries()[0].tolist() == [1, 3]


@pytest.mark.parametrize("operator", EVERYTHING)
@settings(max_examples=6, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_plans_over_many_late_rows_equal_their_definition(operator: str, data: st.DataObject, cuts: frozenset[int],
                                                          saves: frozenset[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "AHEAD", st.integers(-9, 6))
        plan, timeline = data.draw(cases(operator, calendar=True, tables=True, again=True))
    assert_like_the_oracle_at_every_instant(plan, timeline, cuts, saves)


KEYS = st.sampled_from([("k",), ("ts",), ("k", "ts"), ("v", "ts"), ()])


@st.composite
def over_streams(draw: st.DrawFn) -> Node:
    """Groups and values of a stream, of a union, or of pairs; some become a stream again, or stop."""
    bare = st.sampled_from([source("s"), Filter(source("t"), Scalar.parse("v > 0 OR k = 'a'")),
                            Union((source("s"), source("t")))])
    rows, keys = draw(bare | pairs()), draw(KEYS)
    calls = AggregateCall("n", "count"), AggregateCall("top", "max", (Scalar.column("v"),))
    plan: Node = draw(st.sampled_from([
        GroupAggregate(rows, tuple(NamedScalar.column(key) for key in keys), calls),
        Distinct(columns(rows, *keys or "k"), draw(st.sampled_from(["keep", "recent"]))), columns(rows, "k", "v")]))
    above = draw(st.sampled_from(["", "", "stream", "lifetime"]))
    if above == "stream":
        plan = RelationToStream(plan, draw(st.sampled_from(RelationToStreamKind)))
    return Lifetime(plan, draw(st.integers(2, 8))) if above == "lifetime" else plan


@st.composite
def groups_of_joins(draw: st.DrawFn) -> Node:
    """Groups of pairs by any of their times."""
    join = draw(joins())
    shown = [column for column in join.columns if column.endswith(".ts") or column == "l.k"]
    keys = draw(st.lists(st.sampled_from(shown), min_size=1, max_size=3, unique=True))
    return GroupAggregate(join, tuple(NamedScalar.column(key) for key in keys), (AggregateCall("n", "count"),))


PAIRED = st.integers(1, 2).flatmap(lambda depth: relations(depth, leaves=LEAVES))


@pytest.mark.parametrize("kind", [over_streams(), groups_of_joins(), pair_windows(), PAIRED],
                         ids=["without a window", "groups of joins", "windows over pairs", "over pairs"])
@settings(max_examples=20, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_streams_without_a_window_and_pairs_of_many_late_rows(kind: st.SearchStrategy[Node], data: st.DataObject,
                                                              cuts: frozenset[int], saves: frozenset[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "AHEAD", st.integers(-9, 6))
        plan, timeline = data.draw(kind), data.draw(timelines(STREAMS, rows=20))
    assume(is_legal(plan))
    assert_like_the_oracle_at_every_instant(plan, timeline, cuts, saves)
