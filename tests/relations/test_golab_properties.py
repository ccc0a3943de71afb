"""Properties of continuous queries (Golab) that hold between queries, whatever an oracle says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracle.questions import Oracle
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.dataflow import open_plan
from panewise.kernels.relations.distinct.distinct import DistinctByEnd
from panewise.kernels.relations.edges.delta import FOREVER
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue, Fifo, Scanned
from panewise.plan.nodes import (
    Distinct,
    Node,
    Qualify,
    RelationToStream,
    RelationToStreamKind,
    Table,
    TableJoin,
    Window,
    WindowClause,
)
from panewise.planner.facts.labels import UpdatePattern, label
from panewise.progress.punctuation import END
from panewise.progress.timeline import Arrival, Timeline
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.sliding import SlidingWindow
from relations.plans import PLACES, TIME_WINDOWS, columns, source, window, windows
from relations.positive_plans import every_kind, internal, positive_cases
from relations.random_plans import POSITIVE, Drawn, cases
from relations.running import assert_like_the_oracle, bag, run_relation

Rows = list[dict[str, Any]]


def born(rows: Rows) -> Counter[str]:
    """Which values came when."""
    return Counter(repr([v for name, v in row.items() if name != "expires_at"]) for row in rows)


LENGTHS = st.integers(1, 8)
BATCHES = st.lists(st.tuples(st.lists(st.integers(1, 30), max_size=6), st.integers(0, 8)), max_size=8)


@given(BATCHES, st.sampled_from([Calendar, Scanned]))
def test_property_6_a_queue_gives_out_every_row_at_its_time_and_none_before(
        batches: list[tuple[list[int], int]], kind: type[ExpiryQueue]) -> None:
    queue, now, slots, waiting = kind(), 0, 0, {}
    for lives, forward in batches:
        expires = np.array([now + life if life < 30 else FOREVER for life in lives], np.int64)
        queue.insert(np.arange(slots, slots + len(lives)), expires, now)
        waiting |= dict(zip(range(slots, slots + len(lives)), expires.tolist(), strict=True))
        slots, now = slots + len(lives), now + forward
        due = {slot for slot, end in waiting.items() if end < now}
        assert set(queue.due(now).tolist()) == due
        waiting = {slot: end for slot, end in waiting.items() if slot not in due}


@given(BATCHES)
def test_property_20_first_in_first_out(batches: list[tuple[list[int], int]]) -> None:
    queue, now, slots, last, given_out = Fifo(), 0, 0, 0, 0
    for lives, forward in batches:
        ends = np.maximum.accumulate(np.array([last, *(now + life for life in lives)], np.int64))[1:]
        queue.insert(np.arange(slots, slots + len(lives)), ends, now)
        slots, now, last = slots + len(lives), now + forward, int(ends[-1]) if len(ends) else last
        due = queue.due(now).tolist()
        assert due == list(range(given_out, given_out + len(due)))
        given_out += len(due)


def in_time(stream: str) -> st.SearchStrategy[Window]:
    return windows(stream, TIME_WINDOWS)


def strict(plan: Node) -> bool:
    return label(plan).output.downgrade().pattern is UpdatePattern.STR


def not_strict(operator: str, **options: Any) -> st.SearchStrategy[Drawn]:
    """Plans over windows in time whose results leave when they said."""
    return cases(operator, depths=st.sampled_from([1, 2, 3, 4, 3, 4]), kinds=TIME_WINDOWS, operators=POSITIVE,
                 only=lambda plan: not strict(plan), times=14, **options)


every_positive = pytest.mark.parametrize("operator", POSITIVE)


@every_positive
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_property_5_delta_star_keeps_at_most_twice_its_output_at_any_time(operator: str, data: st.DataObject) -> None:
    below, timeline = data.draw(not_strict(operator))
    plan = Distinct(below)
    query, oracle = open_plan(plan), Oracle(plan, timeline)
    found: Rows = []
    for arrival in timeline:
        if arrival.stream in query.streams:
            found += query.push(arrival.stream, [arrival.item] if arrival.is_row else arrival.item).to_pylist()
        stage = query.relation.root
        assert isinstance(stage.operator, DistinctByEnd)
        if NO_BOUND < query.relation.reached < FOREVER:
            shown = len(oracle.relation_at(query.relation.reached - 1))
            assert shown <= stage.operator.counters()["rows"] <= 2 * shown
    found += query.finish().to_pylist()
    assert bag(found) == bag(oracle.results())


@every_kind
@settings(max_examples=7, deadline=None)
@given(st.data(), PLACES, PLACES)
def test_property_10_internal_windows_keep_all_that_external_ones_ever_put_out(kind: str, data: st.DataObject,
                                                                              cuts: frozenset[int],
                                                                              saves: frozenset[int]) -> None:
    plan, timeline = data.draw(positive_cases(in_time, top=kind))
    external, _ = run_relation(plan, timeline)
    kept, _ = run_relation(internal(plan), timeline, cuts, saves)
    assert [row for row in kept if row.get("expires_at") is not None] == []
    assert born(kept) == born(external)


@every_kind
@settings(max_examples=7, deadline=None)
@given(st.data(), LENGTHS)
def test_property_11_an_output_window_shows_at_least_what_is_there_and_just_that_where_lives_are_equal(
        kind: str, data: st.DataObject, length: int) -> None:
    plan, timeline = data.draw(positive_cases(
        lambda stream: st.just(window(source(stream), SlidingWindow.scoped(length))), top=kind))
    clause = WindowClause(SlidingWindow.scoped(length), "valid_from", OrdinalKind.INTEGER)

    def shown(plan: Node) -> Counter[tuple[str, int]]:
        rows, _ = run_relation(plan, timeline, late="drop")  # a late row has a shorter life than others
        return Counter((repr([row["k"], row["v"]]), at) for row in rows
                       for at in range(row["valid_from"], row["expires_at"]))

    kept = shown(RelationToStream(internal(plan), RelationToStreamKind.WSTREAM, output_window=clause))
    defined = shown(plan)
    assert defined <= kept
    if label(plan).output.pattern is UpdatePattern.WKS:
        assert defined == kept


TABLE_ROWS = st.lists(st.tuples(st.integers(-2, 8), st.sampled_from("ab")), min_size=2, max_size=5)


@every_positive
@settings(max_examples=6, deadline=None)
@given(st.data(), TABLE_ROWS, st.sampled_from([SourceKind.NRR, SourceKind.RELATION]), PLACES, PLACES)
def test_property_1_a_table_beside_any_plan_is_met_as_defined(operator: str, data: st.DataObject,
                                                              rows: list[tuple[int, str]], kind: SourceKind,
                                                              cuts: frozenset[int], saves: frozenset[int]) -> None:
    below, timeline = data.draw(not_strict(operator))
    assert_like_the_oracle(beside(below, kind), [*table_of(rows), *timeline], cuts, saves)


def table_of(rows: list[tuple[int, str]]) -> Timeline:
    return [Arrival("q", {"at": at, "k": key, "w": place}) for place, (at, key) in enumerate(sorted(rows))]


@every_positive
@settings(max_examples=9, deadline=None)
@given(st.data(), TABLE_ROWS, st.integers(0, 14), st.integers(0, 5))
def test_property_12_an_update_of_an_nrr_never_changes_past_results(operator: str, data: st.DataObject,
                                                                    rows: list[tuple[int, str]], place: int,
                                                                    deleted: int) -> None:
    """The update comes at the instant of some row and has its key; the row must not see it."""
    below, timeline = data.draw(not_strict(operator, bare=False))
    arrived: Rows = [dict(arrival.item) for arrival in timeline if arrival.is_row]  # type: ignore[call-overload]
    assume(arrived)
    at, key = (arrived[place % len(arrived)][name] for name in ("ts", "k"))
    known = [{"at": when, "k": k, "w": number} for number, (when, k) in enumerate(sorted(rows))]
    gone = [{**row, "at": at, "change": -1} for row in known[deleted:deleted + 1] if row["at"] <= at]
    updates = gone or [{"at": at, "k": key, "w": 9}]
    last = max([at, *(row["at"] for row in known)])
    assume(not gone or last == at)  # a key that was deleted may not come back

    def told(history: Rows) -> Rows:
        query = open_plan(beside(below, SourceKind.NRR))
        found = query.push("q", history).to_pylist() if history else []
        found += query.push("q", END).to_pylist()
        for arrival in timeline:
            if arrival.stream in query.streams:
                found += query.push(arrival.stream, [arrival.item] if arrival.is_row else arrival.item).to_pylist()
        return found + query.finish().to_pylist()

    before, after = told(known), told([*known, *updates])
    assert bag(row for row in after if row["valid_from"] <= at) == bag(row for row in before if row["valid_from"] <= at)


def beside(below: Node, kind: SourceKind) -> Node:
    names = {"at": pa.int64(), "k": pa.string(), "w": pa.int64()}
    table = Table("q", SourceSchema(names, time="at", kind=kind))
    return TableJoin(Qualify(below, "s"), Qualify(columns(table, "k", "w"), "q"), Scalar.parse("`s.k` = `q.k`"))
