"""Laws that hold for any data: how answers evolve, what restore and internal windows keep, what disorder may change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.building import (
    by_time,
    call,
    clause,
    grouped,
    internal,
    joined,
    last,
    over_rows,
    per_window,
    project,
    source,
)
from oracle.questions import Oracle
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.engines.oracle import TableChange
from panewise.engines.oracle.tuples import value_of
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
    Filter,
    Lifetime,
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
from panewise.planner.facts.result_forms import Form, form_of
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline, timeline
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, TumblingWindow
from panewise.windows.tuple_slide import TupleSlideWindow

A, B = (source(name, v=pa.string()) for name in "ab")
EQUAL = "`l.v` = `r.v`"
few = settings(max_examples=12, deadline=None)

rows_of = st.lists(st.builds(lambda ts, v: {"ts": ts, "v": v}, st.integers(0, 20), st.sampled_from("xyz")), max_size=6)
two_streams = st.builds(lambda a, b: by_time(a=a, b=b), rows_of, rows_of)
brackets = st.sampled_from([
    last(4), last(5, 3), clause(TumblingWindow(4, disclosure=Disclosure.GROWING)), clause(TumblingWindow.registered(4)),
    clause(BandWindow.since(3)), clause(BandWindow(2, 9)), over_rows(CountWindow(2)), over_rows(CountWindow(3, 2)),
    over_rows(PartitionedCountWindow(1), "v"), last(3, 2, predicate=Scalar.parse("v <> 'x'")),
])

PLANS: dict[str, Callable[[Window, Window], Node]] = {
    "filter": lambda a, b: Filter(a, Scalar.parse("v <> 'y'")),
    "union": lambda a, b: Union((a, b)),
    "join": lambda a, b: joined(a, b, EQUAL),
    "distinct": lambda a, b: Distinct(project(a, "v")),
    "recent": lambda a, b: Distinct(project(a, "v"), policy="recent"),
    "difference": lambda a, b: BagDifference(project(a, "v"), project(b, "v")),
    "not exists": lambda a, b: AntiJoin(Qualify(a, "l"), Qualify(b, "r"), Scalar.parse(EQUAL)),
    "exists": lambda a, b: SemiJoin(Qualify(a, "l"), Qualify(b, "r"), Scalar.parse(EQUAL)),
    "groups": lambda a, b: grouped(a, call("n", "count"), call("m", "max", "ts"), keys=["v"]),
    "join of distinct": lambda a, b: joined(Distinct(project(a, "v")), b, EQUAL),
}


def bag(rows: list[dict[str, Any]]) -> Counter[object]:
    return Counter(value_of(row) for row in rows)


@few
@given(plan=st.sampled_from(sorted(PLANS)), items=two_streams, left=brackets, right=brackets)
def test_the_answer_evolves_by_what_is_produced_and_what_expires(
        plan: str, items: Timeline, left: WindowClause, right: WindowClause):
    oracle = Oracle(PLANS[plan](Window(A, left), Window(B, right)), items)
    changes, current = oracle.changes(), Counter[object]()
    for tau in range(-1, 32):  # at every tick, not only where the oracle says that something can change
        for change in changes:
            if change.tau == tau:
                current[value_of(change.row)] += change.sign
        assert +current == bag(oracle.relation_at(tau))
        assert not [value for value, copies in current.items() if copies < 0]


@few
@given(plan=st.sampled_from(sorted(PLANS)), items=two_streams, left=brackets, right=brackets)
def test_reported_lives_show_exactly_the_relation(plan: str, items: Timeline, left: WindowClause, right: WindowClause):
    node = PLANS[plan](Window(A, left), Window(B, right))
    oracle = Oracle(node, items)
    results = oracle.results()
    if form_of(node) is Form.LIVES:
        for tau in range(32):
            alive = [row for row in results if row["valid_from"] <= tau and (row["expires_at"] or 99) > tau]
            shown = [{k: v for k, v in row.items() if k not in {"valid_from", "expires_at"}} for row in alive]
            assert bag(shown) == bag(oracle.relation_at(tau))
        known = {t.key: t.expiry for tau in oracle.instants() for t in oracle._definition.relation(node, tau)}
        assert Counter(known.values()) == Counter(row["expires_at"] for row in results)  # known at birth, and kept


@few
@given(items=two_streams, range=st.integers(2, 9), slide=st.integers(1, 5))
def test_restoring_reports_every_result_of_continuous_evaluation(items: Timeline, range: int, slide: int):
    periodic = joined(Window(A, last(range, slide)), Window(B, last(range, slide)), EQUAL)
    restored = Oracle(RelationToStream(periodic, RelationToStreamKind.ISTREAM, restore=True), items).results()
    lives = [(a.item, b.item) for a in items if a.stream == "a" for b in items if b.stream == "b"]
    met = [(x, y) for x, y in lives if x["v"] == y["v"] and abs(x["ts"] - y["ts"]) < range]
    reported = Counter((row["l.ts"], row["l.v"], row["r.ts"]) for row in restored)
    assert reported == Counter((x["ts"], x["v"], y["ts"]) for x, y in met)
    assert all(row["valid_from"] % slide == 0 for row in restored)
    assert all(0 <= row["valid_from"] - max(row["l.ts"], row["r.ts"]) < slide for row in restored)


@few
@given(items=two_streams, range=st.integers(2, 9), slide=st.integers(1, 5))
def test_without_restore_a_refresh_loses_what_no_refresh_saw(items: Timeline, range: int, slide: int):
    periodic = joined(Window(A, last(range, slide)), Window(B, last(range, slide)), EQUAL)
    kinds = RelationToStreamKind
    plain, restored = (Oracle(RelationToStream(periodic, kinds.RSTREAM, r), items).results() for r in (False, True))
    seen = [row for row in restored if row["valid_from"] < min(row["l.ts"], row["r.ts"]) + range]
    assert bag(plain) == bag(seen)


@few
@given(items=two_streams, left=brackets, right=brackets)
def test_internal_output_is_the_union_of_all_external_outputs(items: Timeline, left: WindowClause, right: WindowClause):
    windows = Window(A, left), Window(B, right)
    external = Oracle(joined(*windows, EQUAL), items)
    kept = Oracle(joined(*(internal(w) for w in windows), EQUAL), items)
    ever: dict[object, object] = {}
    for tau in range(32):
        ever |= {t.key: value_of(t.values) for t in external._definition.relation(external.plan, tau)}
        assert bag(kept.relation_at(tau)) == Counter(ever.values())


def in_window(row: dict[str, Any], tau: int, range: int) -> bool:
    return bool(tau - range < row["ts"] <= tau)


@few
@given(items=two_streams, left=st.integers(1, 9), right=st.integers(1, 9))
def test_difference_and_negation_are_those_of_plain_bags(items: Timeline, left: int, right: int):
    one, other = Window(A, last(left)), Window(B, last(right))
    difference, anti, semi = (Oracle(PLANS[name](one, other), items) for name in ("difference", "not exists", "exists"))
    for tau in range(32):
        ours = [a.item for a in items if a.stream == "a" and in_window(a.item, tau, left)]
        theirs = [a.item["v"] for a in items if a.stream == "b" and in_window(a.item, tau, right)]
        expected = Counter((row["v"],) for row in ours) - Counter((v,) for v in theirs)
        assert bag(difference.relation_at(tau)) == expected
        assert bag(anti.relation_at(tau)) == Counter((r["ts"], r["v"]) for r in ours if r["v"] not in theirs)
        assert bag(semi.relation_at(tau)) == Counter((r["ts"], r["v"]) for r in ours if r["v"] in theirs)


@few
@given(items=two_streams, bracket=brackets)
def test_both_policies_of_distinct_show_the_same_values(items: Timeline, bracket: WindowClause):
    one, other = Window(A, bracket), Window(B, bracket)
    keep, recent = (Oracle(PLANS[name](one, other), items) for name in ("distinct", "recent"))
    plain = Oracle(project(Window(A, bracket), "v"), items)
    for tau in range(32):
        assert keep.relation_at(tau) == recent.relation_at(tau)
        assert bag(keep.relation_at(tau)) == Counter(set(bag(plain.relation_at(tau))))


# -- disorder ------------------------------------------------------------------------------------------------------

VALUE_WINDOWS = [SlidingWindow(10, 4), SlidingWindow(3, 5), TumblingWindow(6), LandmarkWindow(5), SessionWindow(3),
                 TupleSlideWindow(7), TupleSlideWindow(7, every=2, by="rank")]


@st.composite
def punctuated_blocks(draw: st.DrawFn) -> tuple[Timeline, Timeline]:
    """One input twice: rows between two punctuations in two orders, none crossing a punctuation that covers it."""
    orders: tuple[list[Any], list[Any]] = ([], [])
    for bound in (8, 16, 24):
        values = draw(st.lists(st.integers(bound - 8, 30), max_size=5))
        block = [{"ts": ts, "v": draw(st.sampled_from("xy"))} for ts in values]
        for items, order in zip(orders, (block, draw(st.permutations(block))), strict=True):
            items.extend([*order, Punctuation.below("ts", bound)])
    first, second = (timeline(a=items) for items in orders)
    return first, second


@pytest.mark.parametrize("spec", VALUE_WINDOWS, ids=lambda s: s.describe())
@few
@given(orders=punctuated_blocks())
def test_no_permutation_that_respects_punctuation_changes_a_result(spec: Any, orders: tuple[Timeline, Timeline]):
    plan = per_window(A, clause(spec), call("n", "count"), call("m", "min", "ts"), keys=["v"])
    first, second = (Oracle(plan, items) for items in orders)
    assert first.results() == second.results()
    assert first.late_rows() == second.late_rows() == []


@few
@given(orders=punctuated_blocks())
def test_punctuation_changes_when_windows_close_and_nothing_else(orders: tuple[Timeline, Timeline]):
    punctuated, _ = orders
    bare = [a for a in punctuated if a.is_row]
    plan = per_window(A, clause(SlidingWindow(10, 4)), call("n", "count"), keys=["v"])
    with_bounds, without = Oracle(plan, punctuated), Oracle(plan, bare)
    assert with_bounds.results() == without.results()
    assert {c.place for c in without.closings()} <= {len(bare)}
    for place in range(len(punctuated) + 1):
        emitted = with_bounds.results_after(place)
        assert all(row in with_bounds.results() for row in emitted)
        # What is out is final: no row still to come belongs to a window that was reported.
        to_come = [a.item["ts"] for a in punctuated[place + 1:] if a.is_row]
        assert all(ts >= row["window"]["end"] or ts < row["window"]["start"] for row in emitted for ts in to_come)


@few
@given(data=st.lists(st.integers(0, 40), max_size=10), slack=st.integers(0, 10))
def test_generous_slack_counts_at_least_what_consistent_slack_counts(data: list[int], slack: int):
    plan = per_window(A, clause(SlidingWindow(10, 4)), call("n", "count"))
    items = [Arrival("a", {"ts": ts, "v": "x"}) for ts in data]
    found = {}
    for policy in ("drop", "consistent", "generous"):
        oracle = Oracle(plan, items, late=policy, progress=f"late:{slack}")
        found[policy] = {row["window"]["end"]: row["n"] for row in oracle.results()}
    for end, n in found["drop"].items():
        assert n <= found["consistent"][end]
    for end, n in found["consistent"].items():
        assert n <= found["generous"][end]
    if all(later >= max(data[:i], default=0) - slack for i, later in enumerate(data)):
        assert found["drop"] == found["generous"]


# -- relations beside streams, and output windows --------------------------------------------------------------------


@few
@given(items=two_streams, at=st.integers(0, 20), insert=st.booleans())
def test_an_update_of_a_non_retroactive_relation_changes_no_result_of_rows_that_came_before(
        items: Timeline, at: int, insert: bool):
    symbols = Table("t", SourceSchema({"k": pa.string(), "n": pa.int64()}, kind=SourceKind.NRR))
    plan = TableJoin(A, symbols, Scalar.parse("v = k"))
    history = [TableChange(-1, {"k": "x", "n": 1})]
    update = TableChange(at, {"k": "y", "n": 2}) if insert else TableChange(at, {"k": "x"}, insert=False)
    before, after = (Oracle(plan, items, tables={"t": rows}).results() for rows in (history, [*history, update]))
    assert [row for row in before if row["ts"] <= at] == [row for row in after if row["ts"] <= at]
    assert all(row["k"] == ("y" if insert else "x") for row in after if row not in before)


@few
@given(items=two_streams, range=st.integers(1, 9))
def test_an_output_window_as_long_as_the_input_window_is_the_window_itself(items: Timeline, range: int):
    shown = Filter(Window(A, last(range)), Scalar.parse("v <> 'y'"))
    output = RelationToStream(shown, RelationToStreamKind.WSTREAM, output_window=last(range))
    now, kept = Oracle(shown, items), Oracle(output, items)
    assert now.changes() == kept.changes()


@few
@given(items=two_streams, stop=st.integers(0, 25))
def test_a_lifetime_cuts_the_answer_and_changes_nothing_before(items: Timeline, stop: int):
    plan = PLANS["groups"](Window(A, last(4)), Window(B, last(4)))
    whole, cut = Oracle(plan, items).changes(), Oracle(Lifetime(plan, stop), items, registered_at=0).changes()
    assert cut == [change for change in whole if change.tau < stop]
