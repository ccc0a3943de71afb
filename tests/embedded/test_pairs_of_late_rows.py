"""Pairs of late rows: what they count in, and what they meet, above the join that makes them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from conformance.compare import assert_same_rows
from embedded.join_plans import aggregated, join, joined, rows_out, run, side, timeline
from oracle.questions import Oracle
from panewise.core.join_kinds import JoinKind
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.plan.nodes import AggregateCall, NamedScalar, Node, WindowAggregate, WindowClause
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.tuple_slide import TupleSlideWindow

randoms = st.randoms(use_true_random=False)
places = st.frozensets(st.integers(0, 50), max_size=8)
COUNT = "SELECT count(*) [RANGE TUMBLING 10, WA {}] AS n FROM a, b WHERE b.ts BETWEEN a.ts - 2 AND a.ts + 3"


def counts(text: str, *arrivals: tuple[str, Any], streams: str = "ab") -> dict[int, int]:
    query = pw.open_query(text, **dict.fromkeys(streams, "ts bigint"))
    found = [row for stream, item in arrivals
             for row in query.push(stream, {"ts": item} if isinstance(item, int) else item).to_pylist()]
    return {row["window"]["start"]: row["n"] for row in found + query.finish().to_pylist()}


def below(bound: int) -> pw.Punctuation:
    return pw.Punctuation.below("ts", bound)


def test_a_pair_is_late_by_the_row_of_the_side_that_the_window_goes_by() -> None:
    rows = ("a", 9), ("a", 11), ("b", 11), ("b", below(12)), ("b", 10)
    # b's row at 10 is late by 12, and meets from a what 12 could meet: 9 and 11
    assert counts(COUNT.format("a.ts"), *rows) == {0: 2, 10: 2}      # rows of a are in time, and so are the pairs
    assert counts(COUNT.format("b.ts"), *rows) == {10: 4}
    assert counts(COUNT.format("b.ts"), *rows[:-1], ("b", 9)) == {10: 2}  # [0, 10) of b was closed at 12


def test_what_the_other_stream_has_promised_does_not_matter() -> None:
    """The window [0, 10) is open while b holds the join back; whether it does no engine need know."""
    rows = ("a", 8), ("b", 8), ("a", below(12)), ("a", 9)
    assert counts(COUNT.format("a.ts"), *rows) == {0: 1}
    ahead = ("b", 8), ("b", below(11)), ("a", 8), ("a", below(12)), ("a", 9)
    assert counts(COUNT.format("a.ts"), *ahead) == counts(COUNT.format("a.ts"), *rows)


def test_a_late_pair_meets_what_a_row_at_its_bound_could_meet() -> None:
    text = "SELECT a.ts AS at, b.ts AS bt, c.ts AS ct FROM a, b, c WHERE b.ts BETWEEN a.ts - 5 AND a.ts + 5 " \
           "AND c.ts BETWEEN a.ts - 3 AND a.ts + 3"
    query = pw.open_query(text, a="ts bigint", b="ts bigint", c="ts bigint")
    for stream, items in (("c", [4, 6, 9]), ("b", [3, 6]), ("a", [below(9)])):
        for item in items:
            query.push(stream, {"ts": item} if isinstance(item, int) else item)
    found = query.push("a", {"ts": 7}).to_pylist()  # at 9 it could meet b from 4 on and c from 6 on
    assert [(row["bt"], row["ct"]) for row in found] == [(6, 6), (6, 9)]
    assert query.late_count == 1
    assert query.finish().num_rows == 0


def test_a_group_by_the_time_of_the_late_row_is_over() -> None:
    text = "SELECT b.ts AS bt, count(*) [RANGE TUMBLING 10, WA a.ts] AS n FROM a, b " \
           "WHERE b.ts BETWEEN a.ts - 2 AND a.ts + 3 GROUP BY b.ts"
    query = pw.open_query(text, a="ts bigint", b="ts bigint")
    for stream, item in (("a", {"ts": 11}), ("b", below(12)), ("b", {"ts": 11}), ("b", {"ts": 12})):
        query.push(stream, item)
    assert [(row["bt"], row["n"]) for row in query.finish().to_pylist()] == [(12, 1)]


def check(plan: Node, random: Random, cuts: frozenset[int], saves: frozenset[int]) -> None:
    arrivals = timeline(random, plan, honest=False)
    options = {"late": "generous", "progress": random.choice(("source", "source", "ordered", "late:4", "rows:2"))}
    oracle = Oracle(plan, arrivals, **options)
    found, query = run(plan, arrivals, cuts, saves, **options)
    assert_same_rows(found, oracle.results())
    assert query.late_count == len(oracle.late_rows())
    assert query.status(windows=0)["buffered"] == 0


@settings(max_examples=60, deadline=None)
@given(randoms, places, places)
def test_joins_over_late_rows_equal_their_definition(random: Random, cuts: frozenset[int],
                                                     saves: frozenset[int]) -> None:
    check(rows_out(random), random, cuts, saves)


@settings(max_examples=60, deadline=None)
@given(randoms, places, places)
def test_aggregates_over_pairs_of_late_rows_equal_their_definition(random: Random, cuts: frozenset[int],
                                                                   saves: frozenset[int]) -> None:
    check(aggregated(random), random, cuts, saves)


def counted(below: Node, spec: WindowSpec, attribute: str, *keys: str) -> WindowAggregate:
    ordinal = OrdinalKind.ROWS if attribute == "row-num" else OrdinalKind.INTEGER
    return WindowAggregate(below, WindowClause(spec, attribute, ordinal),
                           tuple(NamedScalar("key", Scalar.column(key)) for key in keys),
                           (AggregateCall("n", "count"), AggregateCall("s", "sum", (Scalar.column("r.v"),))))


@pytest.mark.parametrize("spec", [SessionWindow(3), LandmarkWindow(4)], ids=["session", "landmark"])
@settings(max_examples=40, deadline=None)
@given(randoms, places, places)
def test_other_windows_over_pairs_of_late_rows(spec: WindowSpec, random: Random, cuts: frozenset[int],
                                               saves: frozenset[int]) -> None:
    kind = random.choice([JoinKind.INNER, JoinKind.LEFT])
    keys = random.choice(((), ("l.k",), ("r.ts",))) if kind is JoinKind.INNER else ()
    check(counted(joined(random, kind), spec, "l.ts", *keys), random, cuts, saves)


@pytest.mark.parametrize(("spec", "attribute"), [
    (TupleSlideWindow(6, 2), "l.ts"), (RowWindow(3, 2), "row-num"), (CountWindow(2), "row-num"),
], ids=["slide by tuple", "rows", "count"])
@settings(max_examples=40, deadline=None)
@given(randoms, places, places)
def test_windows_of_the_order_of_arrival_over_pairs_of_late_rows(spec: WindowSpec, attribute: str, random: Random,
                                                                 cuts: frozenset[int], saves: frozenset[int]) -> None:
    pairs = join(random, side(random, ("a",), "l"), side(random, ("b",), "r"), ("l", "r"))
    keys = random.choice(((), ("l.k",), ("r.ts",)))
    check(counted(pairs, spec, attribute, *keys), random, cuts, saves)
