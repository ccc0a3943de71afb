"""Results of mixed windows leave with the first component of their expiry vectors, as the oracle says (rule U2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.scalar import Scalar
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends, Lives, Uids, integers
from panewise.kernels.relations.edges.departures import Departures
from panewise.kernels.relations.joins.join import WindowJoin
from panewise.kernels.relations.joins.pairing import Match
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    RelationToStream,
    SemiJoin,
    Union,
    Window,
)
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.progress.timeline import Timeline
from relations.plans import COUNT_WINDOWS, PLACES, columns, timelines, windows
from relations.running import assert_like_the_oracle, run_relation
from relations.test_group_aggregates import call

K, V = NamedScalar.column("k"), NamedScalar.column("v")


def pairs(left: Node, right: Node, condition: str = "`l.k` = `r.k`") -> Project:
    joined = Join(Qualify(left, "l"), Qualify(right, "r"), Scalar.parse(condition))
    return Project(joined, (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.column("r.v"))))


CONSUMERS: dict[str, Any] = {
    "told": lambda p, w: p,
    "count": lambda p, w: GroupAggregate(p, (K,), (call("v", "count"),)),
    "largest": lambda p, w: GroupAggregate(p, (K,), (call("v", "max", "v"),)),
    "distinct": lambda p, w: Distinct(p, "keep"),
    "newest": lambda p, w: Distinct(p, "recent"),
    "union": lambda p, w: GroupAggregate(Union((p, columns(w, "k", "v"))), (K,), (call("v", "sum", "v"),)),
    "join of a union": lambda p, w: GroupAggregate(
        pairs(Union((p, columns(w, "k", "v"))), columns(w, "k", "v"), "`l.v` = `r.v`"), (K,), (call("v", "count"),)),
    "except": lambda p, w: BagDifference(columns(w, "k", "v"), p),
    "exists": lambda p, w: SemiJoin(columns(w, "k", "v"), Qualify(p, "r"), Scalar.parse("k = `r.k`")),
    "exists, by pairs": lambda p, w: SemiJoin(columns(w, "k", "v"), Qualify(p, "r"),
                                              Scalar.parse("k = `r.k` AND v <= `r.v`")),
    "without": lambda p, w: BagDifference(p, columns(w, "k", "v")),
    "with a match": lambda p, w: SemiJoin(p, Qualify(columns(w, "k", "v"), "r"), Scalar.parse("k = `r.k`")),
    "with a match, by pairs": lambda p, w: SemiJoin(p, Qualify(columns(w, "k", "v"), "r"),
                                                    Scalar.parse("k = `r.k` AND v <= `r.v`")),
    "nothing else, counted": lambda p, w: GroupAggregate(
        AntiJoin(p, Qualify(columns(w, "k", "v"), "r"), Scalar.parse("v = `r.v`")), (K,), (call("v", "count"),)),
    "three": lambda p, w: pairs(p, columns(w, "k", "v"), "`l.v` = `r.v`"),
    "three, counted": lambda p, w: GroupAggregate(pairs(p, columns(w, "k", "v"), "`l.v` = `r.v`"), (K,),
                                                  (call("v", "count"),)),
    "istream": lambda p, w: RelationToStream(p, Kind.ISTREAM),
    "dstream": lambda p, w: RelationToStream(p, Kind.DSTREAM),
    "rstream": lambda p, w: RelationToStream(p, Kind.RSTREAM),
}
MIXED = st.tuples(windows("s"), windows("t", COUNT_WINDOWS), windows("u"))


@pytest.mark.parametrize("consumer", CONSUMERS)
@settings(max_examples=12, deadline=None)
@given(MIXED, timelines(("s", "t", "u"), rows=24), PLACES, PLACES)
def test_mixed_joins_are_the_oracles_under_every_consumer(consumer: str, mixed: tuple[Window, Window, Window],
                                                          timeline: Timeline, cuts: frozenset[int],
                                                          saves: frozenset[int]) -> None:
    left, right, other = mixed
    plan = CONSUMERS[consumer](pairs(left, right), other)
    assert_like_the_oracle(plan, timeline, cuts, saves)


@settings(max_examples=20, deadline=None)
@given(MIXED, timelines(("s", "t"), rows=24), PLACES, PLACES, st.sampled_from(["auto", "at once"]))
def test_what_is_kept_to_be_read_is_what_changes_add_up_to(mixed: tuple[Window, Window, Window], timeline: Timeline,
                                                           cuts: frozenset[int], saves: frozenset[int],
                                                           joins: str) -> None:
    plan = pairs(*mixed[:2])
    assert_like_the_oracle(plan, timeline, cuts, saves, current=True, joins=joins)
    told, query = run_relation(plan, timeline, cuts, saves, current=True, joins=joins)
    if "change" in query.nothing().column_names:
        there: dict[tuple[Any, Any], int] = {}
        for row in told:
            there[row["k"], row["v"]] = there.get((row["k"], row["v"]), 0) + row["change"]
        assert sum(there.values()) == query.current().num_rows


# -- what is sent

ROW = pa.schema({"k": pa.int64()})
RIGHT = pa.schema({"r": pa.int64()})
EQUAL = Match([Scalar.column("k")], [Scalar.column("r")], pa.schema({"k0": pa.int64()}))


def rows(schema: pa.Schema, uid: list[int], born: list[int], expires: list[int]) -> Lives:
    count = len(uid)
    return Lives(pa.table([pa.array([7] * count)], schema=schema), np.array(uid), np.array(born), np.array(expires),
                 np.array([born, uid]))


def none(schema: pa.Schema) -> Delta:
    return Delta(Lives.none(schema))


def time_and_count(*, vectors: bool) -> tuple[WindowJoin, Lives]:
    """A row of a time window that ends at 10 with two rows of a count window, of which nobody knows the ends."""
    uids = Uids()
    uids.next = 100
    join = WindowJoin(ROW, RIGHT, EQUAL, uids, leave=(Departures.IN_ORDER, Departures.ALL),
                      tells=Departures.VECTORS if vectors else Departures.EARLY)
    first = join.step([Delta(rows(ROW, [1], [0], [10])), Delta(rows(RIGHT, [2, 3], [1, 2], [FOREVER] * 2))], 5)
    return join, first.lives


@pytest.mark.parametrize("vectors", [False, True])
def test_what_its_time_component_ends_is_not_sent(vectors: bool) -> None:
    join, told = time_and_count(vectors=vectors)
    assert told.expires.tolist() == [10, 10], "the time component is known when the pair is born"
    after = join.step([none(ROW), none(RIGHT)], 12)
    assert not len(after.ends)
    assert not len(after.reached)
    # the count window's row leaves after the time component has ended the pair: nothing is left to be said of it
    last = join.step([none(ROW), Delta(Lives.none(RIGHT), Ends(np.array([2]), np.array([13])))], 15)
    assert not len(last.ends)


def test_what_its_order_component_ends_is_sent_to_whoever_reads_no_vectors() -> None:
    join, told = time_and_count(vectors=False)
    assert told.order is None
    after = join.step([none(ROW), Delta(Lives.none(RIGHT), Ends(np.array([2]), np.array([6])))], 8)
    assert (after.ends.uid.tolist(), after.ends.at.tolist()) == (told.uid[told.born == 1].tolist(), [6])
    assert join.counters()["pairs"] == 2


def test_vectors_say_once_that_a_row_is_gone_and_nothing_is_kept_per_pair() -> None:
    join, told = time_and_count(vectors=True)
    assert told.order is not None
    assert sorted(told.order[0].tolist()) == [2, 3], "one order component, and none for the time window"
    after = join.step([none(ROW), Delta(Lives.none(RIGHT), Ends(np.array([2]), np.array([6])))], 8)
    assert not len(after.ends)
    assert (after.reached.uid.tolist(), after.reached.at.tolist()) == ([2], [6])
    assert join.counters()["pairs"] == 0


def operators(text_plan: Node, timeline: Timeline) -> list[dict[str, Any]]:
    _, query = run_relation(text_plan, timeline)
    assert query.relation is not None
    return [counters for counters in query.status()["operators"] if counters["operator"] == "Join"]


@settings(max_examples=15, deadline=None)
@given(MIXED, timelines(("s", "t", "u"), rows=24, least=12))
def test_joins_send_no_ends_to_consumers_that_read_vectors(mixed: tuple[Window, Window, Window],
                                                           timeline: Timeline) -> None:
    plan = CONSUMERS["three, counted"](pairs(*mixed[:2]), mixed[2])
    assert all(join["ends"] == 0 and join["pairs"] == 0 for join in operators(plan, timeline))


def test_vectors_of_no_rows_are_no_vectors() -> None:
    assert Lives.concat([Lives.none(ROW), Lives.none(ROW)]).order is None
    assert len(Ends.concat([Ends(integers(), integers())])) == 0
