"""Relations over the pairs of stream joins: any operator, any order of arrival, any cuts and restarts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from panewise.core.errors import LateRowError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceKind, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import (
    Distinct,
    GroupAggregate,
    Lifetime,
    NamedScalar,
    Node,
    Qualify,
    RelationToStream,
    Source,
    TableJoin,
    Window,
    WindowAggregate,
    WindowClause,
)
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.stream_joins import missing_in
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Timeline
from panewise.sql import parse
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow
from relations.leaf_plans import relations
from relations.pair_plans import LEAVES, STREAMS, pair_windows, pairs
from relations.plans import COLUMNS, PLACES, TIME_WINDOWS, source, timelines
from relations.random_plans import is_legal
from relations.running import assert_like_the_oracle
from relations.test_group_aggregates import call
from relations.test_tables import TABLE_ROWS, table

ITEMS = timelines(STREAMS, rows=18, times=10)
OVER_PAIRS = st.integers(1, 3).flatmap(lambda depth: relations(depth, leaves=LEAVES))
K = NamedScalar.column("k")


@settings(max_examples=60, deadline=None)
@given(OVER_PAIRS, ITEMS, PLACES, PLACES, st.sampled_from(["drop", "side"]))
def test_every_relation_over_pairs_equals_its_definition(plan: Node, items: Timeline, cuts: frozenset[int],
                                                         saves: frozenset[int], late: str) -> None:
    assert_like_the_oracle(plan, items, cuts, saves, late=late)


@settings(max_examples=40, deadline=None)
@given(LEAVES, ITEMS, PLACES, PLACES)
def test_pairs_of_one_instant_are_ordered_by_the_arrival_of_their_rows(below: Node, items: Timeline,
                                                                      cuts: frozenset[int],
                                                                      saves: frozenset[int]) -> None:
    calls = call("n", "count"), call("first", "first", "v"), call("last", "last", "v")
    assert_like_the_oracle(Distinct(below), items, cuts, saves)
    grouped = GroupAggregate(below, (K,), calls)
    assume(is_legal(grouped))
    assert_like_the_oracle(grouped, items, cuts, saves)


@settings(max_examples=40, deadline=None)
@given(pair_windows() | pairs(), st.sampled_from([Kind.ISTREAM, Kind.DSTREAM, Kind.RSTREAM, Kind.WSTREAM]),
       st.sampled_from([None, CountWindow(3), SlidingWindow(3, 1)]), ITEMS, PLACES, PLACES)
def test_pairs_become_a_stream_again(below: Node, kind: Kind, spec: CountWindow | SlidingWindow | None, items: Timeline,
                                     cuts: frozenset[int], saves: frozenset[int]) -> None:
    output = None
    if kind is Kind.WSTREAM and spec is not None:
        ordinal = OrdinalKind.ROWS if isinstance(spec, CountWindow) else OrdinalKind.INTEGER
        output = WindowClause(spec, "", ordinal)
    plan = RelationToStream(below, kind, output_window=output)
    assume(is_legal(plan))
    assert_like_the_oracle(plan, items, cuts, saves)


@settings(max_examples=40, deadline=None)
@given(pairs() | pair_windows(TIME_WINDOWS), st.integers(0, 9), ITEMS, PLACES, PLACES)
def test_a_query_over_pairs_ends_after_its_lifetime(below: Node, amount: int, items: Timeline, cuts: frozenset[int],
                                                    saves: frozenset[int]) -> None:
    assert_like_the_oracle(Lifetime(below, amount), items, cuts, saves)
    assert_like_the_oracle(Lifetime(Distinct(below), amount), items, cuts, saves)


@settings(max_examples=40, deadline=None)
@given(pairs() | pair_windows(TIME_WINDOWS), st.sampled_from([SourceKind.NRR, SourceKind.RELATION]), st.booleans(),
       ITEMS, TABLE_ROWS, st.randoms(use_true_random=False), PLACES, PLACES)
def test_pairs_beside_a_table(below: Node, kind: SourceKind, timed: bool, items: Timeline, rows: Timeline,
                              random: Random, cuts: frozenset[int], saves: frozenset[int]) -> None:
    items = [arrival for arrival in items if arrival.stream != "t"]  # here the table's name
    mixed = [*items, *rows]
    random.shuffle(mixed)
    plan = TableJoin(Qualify(_without_t(below), "s"), table(kind, timed=timed), Scalar.parse("`s.k` = `t.k`"))
    assert_like_the_oracle(plan, mixed, cuts, saves)


def _without_t(plan: Node) -> Node:
    if isinstance(plan, Source):
        return source("u") if plan.name == "t" else plan
    return plan.with_inputs(*(_without_t(below) for below in plan.inputs))


@settings(max_examples=30, deadline=None)
@given(pairs(), st.integers(1, 6), st.integers(1, 4), ITEMS, PLACES, PLACES)
def test_a_window_over_a_window_aggregate_of_pairs(below: Node, size: int, slide: int, items: Timeline,
                                                   cuts: frozenset[int], saves: frozenset[int]) -> None:
    clause = WindowClause(SlidingWindow(size, slide), "ts", OrdinalKind.INTEGER)
    counted = WindowAggregate(below, clause, (K,), (call("n", "count"),))
    plan = Window(counted, WindowClause(SlidingWindow(3, 1), "", OrdinalKind.INTEGER))
    assume(missing_in(below, "ts") is None)
    assert_like_the_oracle(plan, items, cuts, saves)


def test_late_rows_of_joined_streams_are_shown_once() -> None:
    text = ("SELECT DISTINCT a.k FROM a [RANGE 3, WA ts], b [RANGE 2, WA ts] WHERE a.k = b.k AND NOT EXISTS "
            "(SELECT * FROM b AS c [RANGE 4] WHERE c.v > a.v)")
    catalog = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in "ab"})
    heard: list[dict[str, Any]] = []
    listened, query = (open_plan(parse(text, catalog), late="side") for _ in range(2))
    listened.on_late(lambda rows: heard.extend(rows.column("late").to_pylist()))
    for one in (listened, query):
        for stream in "ab":
            one.push(stream, Punctuation.below("ts", 10))
            one.push(stream, [{"ts": 4, "k": "x", "v": 1}, {"ts": 12, "k": "x", "v": 1}])
        assert one.late_count == 2
    assert [(late["stream"], late["by"]) for late in heard] == [("a", 6), ("b", 6)]
    assert listened.late_rows.num_rows == 0
    assert [row["ts"] for row in query.late_rows.to_pylist()] == [4, 4]
    assert sorted(row["late"]["stream"] for row in query.late_report.to_pylist()) == ["a", "b"]
    assert query.take_late_rows().num_rows == 2
    assert query.late_rows.num_rows == 0
    assert query.status()["joins"][0]["left_rows"] == 1


def test_a_row_that_is_refused_leaves_the_query_as_it_was() -> None:
    text = "SELECT DISTINCT a.k FROM a [RANGE 3, WA ts], b [RANGE 2, WA ts] WHERE a.k = b.k"
    catalog = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in "ab"})
    query = open_plan(parse(text, catalog), late="error")
    query.push("a", Punctuation.below("ts", 10))
    saved = query.snapshot()
    with pytest.raises(LateRowError, match="row 2 of a is late"):
        query.push("a", [{"ts": 12, "k": "x", "v": 1}, {"ts": 4, "k": "x", "v": 1}])
    assert query.snapshot() == saved
