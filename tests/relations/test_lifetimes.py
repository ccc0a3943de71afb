"""LIFETIME: a query stops some time after its first row, and what it told last stands."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from oracle.questions import Oracle
from panewise.core.join_kinds import JoinKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import BandJoin, Filter, Join, Lifetime, NamedScalar, Node, Project, Qualify, Union
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow
from relations.instants import assert_like_the_oracle_at_every_instant
from relations.operator_shapes import K, V
from relations.pair_plans import as_stream
from relations.plans import PLACES, columns, source, timelines, window
from relations.running import assert_like_the_oracle, run_relation

WINDOW = columns(window(source(), SlidingWindow.scoped(4)), "k", "v")


def row(ts: int, v: int = 0, stream: str = "s") -> Arrival:
    return Arrival(stream, {"ts": ts, "k": "a", "v": v})


def test_the_relation_of_a_query_that_has_stopped_stays_as_it_was() -> None:
    plan, items = Lifetime(WINDOW, 3), [row(5, 1), row(7, 2), row(8, 3)]
    oracle = Oracle(plan, items)
    assert [[r["v"] for r in oracle.relation_at(tau)] for tau in (4, 5, 7, 8, 20)] == [[], [1], [1, 2], [1, 2], [1, 2]]
    assert [(r["v"], r["expires_at"]) for r in oracle.results()] == [(1, None), (2, None)]
    assert_like_the_oracle_at_every_instant(plan, items)


def test_so_it_is_for_what_stands_above_it() -> None:
    other = columns(window(source("t"), SlidingWindow.scoped(3)), "k", "v")
    pairs = Join(Qualify(Lifetime(WINDOW, 3), "l"), Qualify(other, "r"), None)
    plan = Project(pairs, (NamedScalar("k", Scalar.column("l.v")), NamedScalar("v", Scalar.column("r.v"))))
    items = [row(5, 1), row(7, 2), row(8, 3), row(30, 9, "t")]
    assert_like_the_oracle_at_every_instant(plan, items)
    assert sorted(r["k"] for r in run_relation(plan, items)[0]) == [1, 2]


@pytest.mark.parametrize("batches", [[[5, 0, 3]], [[5], [0], [3]], [[5, 0], [3]]])
def test_a_stream_that_stops_waits_for_its_first_row_however_rows_are_cut(batches: list[list[int]]) -> None:
    """Row 5 is past the end of a life that begins at 0, which is known when 0 has come."""
    query = pw.open_query("SELECT ts FROM s LIFETIME 4", s="ts bigint")
    found = [r["ts"] for batch in batches for r in query.push("s", [{"ts": ts} for ts in batch]).to_pylist()]
    assert found == []
    assert [r["ts"] for r in query.finish().to_pylist()] == [0, 3]


def test_a_lifetime_begins_where_a_late_row_comes_in_if_that_is_the_first() -> None:
    plan = Lifetime(columns(source(), "v"), 3)
    items = [Arrival("s", Punctuation.below("ts", 4)), row(1, 1), row(5, 2), row(7, 3), row(8, 4)]
    assert [r["v"] for r in Oracle(plan, items).results()] == [1, 2]  # it comes in at 4, and the end is at 7
    assert [r["v"] for r in Oracle(plan, items, late="drop").results()] == [2, 3]
    assert [r["ts"] for r in Oracle(plan, items).late_rows()] == [1]
    assert_like_the_oracle(plan, items)
    assert_like_the_oracle(plan, items, late="drop")


@pytest.mark.parametrize("told_before", [True, False])
def test_the_end_does_not_depend_on_what_was_promised_before_the_first_row_in_time(told_before: bool) -> None:
    """Late row 0 comes in at 1 and is told with its end: which rows in time come after it must not change that."""
    plan, bound = Lifetime(WINDOW, 2), Arrival("s", Punctuation.below("ts", 2))
    items = [Arrival("s", Punctuation.below("ts", 1)), row(0, 1), *([bound] if told_before else []), row(2, 2), bound]
    assert_like_the_oracle_at_every_instant(plan, items)
    assert [r["v"] for r in run_relation(plan, items)[0]] == [1, 2]


PAIRS = as_stream(BandJoin(Qualify(source("s"), "l"), Qualify(source("t"), "r"), "l.ts", "r.ts", 2, 2, None,
                           kind=JoinKind.INNER), "l.ts", "l.k", "r.v")
STREAMS: dict[str, Node] = {
    "stream": columns(source(), "k", "v"),
    "some rows": Filter(columns(source(), "k", "v"), Scalar.parse("v > 0")),
    "two": Union((columns(source(), "k", "v"), columns(source("t"), "k", "v"))),
    "pairs": Project(PAIRS, (K, V)),
    "pairs beside a stream": Union((Project(PAIRS, (K, V)), columns(source("u"), "k", "v"))),
}


@pytest.mark.parametrize("name", STREAMS)
@settings(max_examples=15, deadline=None)
@given(timelines(("s", "t", "u"), least=4, rows=18), st.integers(1, 8), PLACES, PLACES)
def test_streams_stop_however_rows_come(name: str, items: Timeline, amount: int, cuts: frozenset[int],
                                        saves: frozenset[int]) -> None:
    assert_like_the_oracle(Lifetime(STREAMS[name], amount), items, cuts, saves)
