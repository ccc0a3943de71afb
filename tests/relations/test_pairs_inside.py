"""Relations over the pairs of stream joins: any operator, any order of arrival, any cuts and restarts."""

from __future__ import annotations

from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind
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
from panewise.planner.stream_joins import missing_in
from panewise.progress.timeline import Timeline
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow
from relations.pair_plans import LEAVES, STREAMS, pair_windows, pairs
from relations.plans import PLACES, TIME_WINDOWS, source, timelines
from relations.running import assert_like_the_oracle
from relations.test_group_aggregates import call
from relations.test_random_plans import relations
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
    assert_like_the_oracle(GroupAggregate(below, (K,), calls), items, cuts, saves)
    assert_like_the_oracle(Distinct(below), items, cuts, saves)


@settings(max_examples=40, deadline=None)
@given(pair_windows() | pairs(), st.sampled_from([Kind.ISTREAM, Kind.DSTREAM, Kind.RSTREAM, Kind.WSTREAM]),
       st.sampled_from([None, CountWindow(3), SlidingWindow(3, 1)]), ITEMS, PLACES, PLACES)
def test_pairs_become_a_stream_again(below: Node, kind: Kind, spec: CountWindow | SlidingWindow | None, items: Timeline,
                                     cuts: frozenset[int], saves: frozenset[int]) -> None:
    output = None
    if kind is Kind.WSTREAM and spec is not None:
        ordinal = OrdinalKind.ROWS if isinstance(spec, CountWindow) else OrdinalKind.INTEGER
        output = WindowClause(spec, "", ordinal)
    assert_like_the_oracle(RelationToStream(below, kind, output_window=output), items, cuts, saves)


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
