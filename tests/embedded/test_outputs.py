"""What else comes out of a query: early results and corrections, late rows with reasons, window events, its status."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS, TEN_BY_FIVE, aggregate, bag, call, run_timeline, source
from embedded.test_embedded_query import items, places, policies, shapes, specs
from oracle.questions import Oracle
from panewise.core.errors import CheckpointError, PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.dataflow import Query, WindowEvent, open_plan
from panewise.dataflow.profile import Profile
from panewise.plan.nodes import Union
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival
from panewise.windows.sliding import SlidingWindow

ROW = {"ts": 1, "k": "a", "g": 0, "v": 1.0}
COUNT = (call("n", "count"),)


def summed(changes: list[dict[str, Any]]) -> Counter[str]:
    """The rows that are left when every correction is applied; nothing may be taken back that was never there."""
    left: Counter[str] = Counter()
    for row in changes:
        change = row.pop("change")
        key, = bag([row])
        left[key] += change
        assert left[key] in (0, 1), f"{change} for {row}"
    return +left


@settings(deadline=None, max_examples=75)
@given(shape=st.sampled_from(sorted(shapes(SlidingWindow(1, 1)))), spec=specs, late=policies, cuts=places, saves=places,
       emit=st.sampled_from(["change", "early:1", "early:4"]),
       arrivals=st.lists(st.tuples(st.sampled_from("sst"), items), max_size=15))
@example(shape="having", spec=SlidingWindow(10, 5), late="drop", cuts=frozenset({1, 2}), saves=frozenset({2}),
         emit="change", arrivals=[("s", ROW), ("s", ROW), ("s", ROW)])
def test_the_sum_of_all_changes_is_the_final_result(
        *, shape: str, spec: SlidingWindow, late: str, cuts: frozenset[int], saves: frozenset[int], emit: str,
        arrivals: list[tuple[str, Any]]) -> None:
    plan = shapes(spec)[shape]
    query = open_plan(plan, late=late, emit=emit)
    timeline = [Arrival(name, item) for name, item in arrivals if name in query.streams]
    found, _ = run_timeline(query, timeline, cuts, saves, late=late, emit=emit)
    assert summed(found) == bag(Oracle(plan, timeline, late=late).results())


@settings(deadline=None, max_examples=30)
@given(specs, st.lists(items, max_size=12))
def test_on_change_the_changes_so_far_are_what_holds_now(spec: SlidingWindow, some: list[Any]) -> None:
    plan = aggregate(source(), spec)
    query, final = open_plan(plan, emit="change"), open_plan(plan)
    changes: list[dict[str, Any]] = []
    closed: list[dict[str, Any]] = []
    for item in some:
        pushed = item if isinstance(item, Punctuation) else [item]
        changes += query.push("s", pushed).to_pylist()
        closed += final.push("s", pushed).to_pylist()
        assert summed([dict(c) for c in changes]) == bag([*closed, *final.peek().to_pylist()])


def test_an_early_result_is_corrected_when_it_changes_and_not_repeated_when_it_closes() -> None:
    query = open_plan(aggregate(source(), SlidingWindow(10, 10), calls=COUNT), emit="change")

    def seen(table: pa.Table) -> list[tuple[int, int]]:
        return [(row["n"], row["change"]) for row in table.to_pylist()]

    assert seen(query.push("s", [ROW])) == [(1, 1)]
    assert seen(query.push("s", [ROW, ROW])) == [(1, -1), (3, 1)]
    assert seen(query.push("s", Punctuation.below("ts", 10))) == [], "the final result was out already"
    assert seen(query.finish()) == []


def test_early_results_come_at_every_step_of_the_watermark_and_only_then() -> None:
    query = open_plan(aggregate(source(), SlidingWindow(100, 100), calls=COUNT), emit="early:10")
    out = []
    for ts in (3, 5, 12, 14, 30):
        out.append([(r["n"], r["change"]) for r in query.push("s", [ROW | {"ts": ts}]).to_pylist()])
        out.append([(r["n"], r["change"]) for r in query.push("s", Punctuation.below("ts", ts)).to_pylist()])
    assert out == [[], [(1, 1)], [], [], [], [(1, -1), (3, 1)], [], [], [], [(3, -1), (5, 1)]]


def test_early_results_by_the_wall_clock_come_with_ticks() -> None:
    query = open_plan(aggregate(source(), SlidingWindow(100, 100), calls=COUNT), emit="clock:5s")
    assert query.clock_step == 5_000_000
    query.push("s", [ROW])
    assert [query.tick(now * 1_000_000).num_rows for now in (10, 12, 15, 20)] == [1, 0, 0, 0]
    query.push("s", [ROW])
    assert [query.tick(now * 1_000_000).num_rows for now in (21, 25)] == [0, 2]


@pytest.mark.parametrize("emit", ["sometimes", "early", "early:", "early:0", "early:3 s", "final:3", "clock:5 rows"])
def test_an_emission_policy_that_says_nothing_is_refused(emit: str) -> None:
    with pytest.raises(PlanError, match="emission policy"):
        open_plan(aggregate(source()), emit=emit)


def test_a_result_column_named_change_and_a_checkpoint_of_another_policy_are_refused() -> None:
    with pytest.raises(PlanError, match="another name"):
        open_plan(aggregate(source(), calls=(call("change", "count"),)), emit="change")
    saved = open_plan(aggregate(source()), emit="change").snapshot()
    with pytest.raises(CheckpointError, match="emission policy 'change'"):
        open_plan(aggregate(source())).restore(saved)


# -- late rows


@pytest.mark.parametrize("policy", ["drop", "side"])
def test_late_rows_come_with_the_bound_they_missed(policy: str) -> None:
    query, keeping = (open_plan(aggregate(source()), late=policy) for _ in range(2))
    heard: list[pa.Table] = []
    query.on_late(heard.append)
    for one in (query, keeping):
        one.push("s", [ROW, ROW | {"ts": 20}])
        one.push("s", Punctuation.below("ts", 12))
        one.push("s", Punctuation.below("ts", 30, k="b"))
        one.push("s", [ROW | {"ts": 15}, ROW | {"ts": 9}, ROW | {"ts": 25, "k": "b"}])
    expected = [ROW | {"ts": 9, "late": {"stream": "s", "row": 4, "bound": 12, "by": 3}},
                ROW | {"ts": 25, "k": "b", "late": {"stream": "s", "row": 5, "bound": 30, "by": 5}}]
    assert [row for table in heard for row in table.to_pylist()] == expected
    assert query.late_report.num_rows == 0, "somebody listens: all have left"
    assert keeping.late_report.to_pylist() == (expected if policy == "side" else [])
    assert query.late_count == 2


def test_times_of_late_rows_are_times_and_the_end_of_a_group_is_no_time() -> None:
    plan = aggregate(source(columns=COLUMNS | {"ts": pa.timestamp("us", tz="UTC"), "late": pa.int64()}),
                     SlidingWindow(60_000_000, 60_000_000), ordinal=OrdinalKind.TIMESTAMP)
    query = open_plan(plan, late="side", progress="late:10s")
    for second in (30, 50, 35):
        query.push("s", [ROW | {"ts": datetime(2026, 1, 1, 0, 0, second), "late": 1}])
    query.push("s", END)
    query.push("s", [ROW | {"ts": datetime(2026, 1, 1, 0, 0, 59), "late": 1}])
    why = [row["_late"] for row in query.late_report.to_pylist()]
    assert why == [
        {"stream": "s", "row": 3, "bound": datetime(2026, 1, 1, 0, 0, 40, tzinfo=UTC), "by": timedelta(seconds=5)},
        {"stream": "s", "row": 4, "bound": None, "by": None}]
    again = open_plan(plan, late="side", progress="late:10s")
    again.restore(query.snapshot())
    assert again.late_report == query.late_report
    assert again.take_late_rows().column_names == [*COLUMNS, "late"]
    assert again.late_report.num_rows == 0


# -- window events


def test_openings_and_closings_are_told_as_they_happen() -> None:
    query = open_plan(aggregate(source(), SlidingWindow(10, 10), calls=COUNT))
    heard: list[WindowEvent] = []
    query.push("s", [ROW])
    query.on_window(heard.append)
    query.push("s", [ROW | {"ts": 15}])
    query.push("s", promise := Punctuation.below("ts", 12))
    assert [(e.kind, e.start, e.end, e.groups, e.by) for e in heard] == [
        ("opened", 10, 20, 0, None), ("closed", 0, 10, 1, promise)]
    assert list(query.events) == heard


# -- the wall clock


STAMPED = COLUMNS | {"ts": pa.timestamp("us", tz="UTC")}


def ticking(progress: Any) -> Query:
    union = Union((source("s", STAMPED), source("t", STAMPED)))
    return open_plan(aggregate(union, SlidingWindow(10_000_000, 10_000_000), calls=COUNT,
                                   ordinal=OrdinalKind.TIMESTAMP), progress=progress, late="drop")


def at(second: int) -> dict[str, Any]:
    return ROW | {"ts": datetime(1970, 1, 1, 0, 0, second)}


def test_a_silent_input_stops_holding_the_others_back_and_is_waited_for_again_when_it_wakes() -> None:
    query = ticking({"s": "ordered", "t": "ordered, idle=4s"})
    assert query.clock_step == 1_000_000
    query.push("t", [at(1)])
    query.tick(100_000_000)
    query.push("s", [at(2), at(25)])
    assert query.tick(103_000_000).num_rows == 0
    out = query.tick(104_000_000).to_pylist()
    assert [(r["window"]["end"].second, r["n"]) for r in out] == [(10, 2)]
    assert query.status()["streams"]["t"]["idle"]
    late: list[pa.Table] = []
    query.on_late(late.append)
    query.push("t", [at(24), at(26)])
    assert not query.status()["streams"]["t"]["idle"]
    assert query.push("s", [at(45)]).num_rows == 0, "t is waited for again"
    assert query.push("t", [at(31)]).num_rows == 1
    why, = (row["late"] for table in late for row in table.to_pylist())
    assert (why["bound"].second, why["by"]) == (25, timedelta(seconds=1)), "s had promised 25 while t was silent"


def test_a_promise_is_a_sign_of_life() -> None:
    query = ticking({"s": "ordered", "t": "ordered, idle=4s"})
    query.push("t", [at(1)])
    query.push("s", [at(25)])
    for now in range(100, 120, 3):
        query.push("t", Punctuation.below("ts", 1_000_000))
        assert query.tick(now * 1_000_000).num_rows == 0


def test_a_lull_and_a_heartbeat_follow_the_clock() -> None:
    query = ticking({"s": "ordered, lull=5s", "t": "heartbeat:2s"})
    query.push("s", [at(1)])
    query.push("t", [at(3)])
    assert query.tick(11_000_000).num_rows == 0
    out = query.tick(15_000_000).to_pylist()
    assert [r["n"] for r in out] == [2], "both are past 10 s: s by its lull, t by its heartbeat"
    assert query.status()["streams"]["s"]["watermark"] == "1970-01-01T00:00:10Z"


def test_ticks_do_nothing_where_no_policy_looks_at_the_clock() -> None:
    query = open_plan(aggregate(source()))
    query.push("s", [ROW])
    assert query.clock_step is None
    assert query.tick(10**15).num_rows == 0


# -- status and profile


def test_the_status_lists_open_windows_and_what_closes_them() -> None:
    query = open_plan(aggregate(source(), TEN_BY_FIVE))
    query.push("s", [ROW, ROW | {"ts": 7, "k": "b"}])
    query.push("s", Punctuation.below("ts", 6))
    status = query.status()
    assert status["windows"] == [
        {"wid": 1, "start": 0, "end": 10, "groups": 2, "closes_at": 10, "missing": 4},
        {"wid": 2, "start": 5, "end": 15, "groups": 1, "closes_at": 15, "missing": 9}]
    page = repr(status)
    assert "2 rows in, 0 late, watermark 6" in page
    assert "[0, 10)  2       10         4" in page
    assert "<td>[5, 15)</td><td>1</td>" in status._repr_html_()
    assert "1 oldest of 2" in repr(query.status(windows=1))
    assert query.status(windows=0)["windows"] == []
    query.finish()
    assert query.status()["windows"] == []


def test_time_per_operator_is_counted_where_asked_for() -> None:
    plan = shapes(SlidingWindow(10, 5))["union"]
    query = open_plan(plan)
    profile = Profile(query)
    found, _ = run_timeline(query, [Arrival("s", ROW), Arrival("t", ROW), Arrival("s", Punctuation.below("ts", 9))])
    selects = [spent for spent in profile.steps.values() if spent.name == "Filter"]
    [number] = profile.parts
    assert [spent.rows for spent in selects] == [1]
    assert profile.parts[number]["count"].calls == 2
    assert profile.steps[number].out == len(found)
    assert all(spent.seconds > 0 for spent in (*profile.steps.values(), *profile.parts[number].values()))
    plain, _ = run_timeline(open_plan(plan), [Arrival("s", ROW), Arrival("t", ROW)])
    assert bag(found) == bag(plain)
