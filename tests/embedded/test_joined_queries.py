"""A query with joins of streams as a user meets it: when results leave, what is promised, refused, late and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import panewise
from conformance.compare import assert_same_rows
from embedded.join_plans import stream
from oracle.questions import Oracle
from panewise.api.query import plan_of
from panewise.cli.main import main
from panewise.core.errors import (
    CheckpointError,
    EvaluationError,
    LateRowError,
    PlanError,
    SchemaError,
    UnsupportedError,
)
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.engines.embedded import run_embedded
from panewise.plan.nodes import (
    AggregateCall,
    BandJoin,
    NamedScalar,
    Node,
    Qualify,
    TumblingJoin,
    WindowAggregate,
    WindowClause,
)
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
SCHEMAS = {name: SourceSchema(dict(COLUMNS), time="ts") for name in ("a", "b")}
PAIRS = "SELECT a.ts AS x, b.ts AS y FROM a [RANGE 3, WA ts], b [RANGE 2, WA ts] WHERE a.k = b.k"


def row(ts: int, k: str = "a", v: int = 0) -> dict[str, Any]:
    return {"ts": ts, "k": k, "v": v}


def pairs(text: str = PAIRS, **options: Any) -> Query:
    query = open_plan(plan_of(text, SCHEMAS), **options)
    assert query.relation is None
    return query


def below(bound: int, **constants: Any) -> Punctuation:
    return Punctuation.below("ts", bound, **constants)


def test_a_pair_leaves_with_its_second_row_and_promises_follow() -> None:
    query = pairs()
    promises: list[str] = []
    query.on_punctuation(lambda p: promises.append(str(p)))
    assert query.push("a", [row(10)]).num_rows == 0
    assert query.push("b", [row(13), row(14), row(8)]).to_pylist() == [{"x": 10, "y": 13}, {"x": 10, "y": 8}]
    query.push("a", below(20))
    assert promises == []
    query.push("b", below(18))
    assert promises == ["(x < 15)", "(y < 18)", "(x < 20, y < 18)"]
    query.finish("a")
    assert promises[3:] == []  # the left has ended: what the right still sends is from 18 on, as was promised
    query.finish("b")
    assert promises[3:] == ["(*)"]
    assert query.status()["watermark"] == "end"


def test_the_state_of_a_join_shows_in_the_status() -> None:
    query = pairs()
    query.push("a", [row(t) for t in range(10)])
    query.push("b", below(9))
    status = query.status()
    assert status["rows"] == 10
    assert (status["joins"][0]["left"], status["joins"][0]["left_rows"]) == (4, 10)
    assert status["state_bytes"] > 0
    assert status["streams"]["b"]["watermark"] == "9"
    assert "10 rows in" in repr(status)


def test_late_rows_are_left_out_counted_and_explained() -> None:
    query = pairs(late="side")
    query.push("a", [row(10)])
    query.push("b", below(12))
    assert query.push("b", [row(11), row(12)]).to_pylist() == [{"x": 10, "y": 12}]
    assert query.late_rows.to_pylist() == [row(11)]
    assert query.late_report.column("late").to_pylist() == [
        {"stream": "b", "row": 1, "bound": 12, "by": 1}]
    assert query.status()["streams"]["b"]["late"] == 1


def test_under_the_policy_error_a_late_row_stops_the_run_and_nothing_of_its_batch_counts() -> None:
    query = pairs(late="error")
    query.push("a", [row(10)])
    query.push("b", below(12))
    with pytest.raises(LateRowError, match="row 2 of b is late"):
        query.push("b", [row(12), row(11)])
    assert query.push("b", [row(12)]).num_rows == 1


def test_a_refused_batch_leaves_the_query_as_it_was() -> None:
    text = PAIRS.replace("a.k = b.k", "a.k = b.k AND b.v * 9223372036854775807 > a.v")
    query = pairs(text)
    query.push("a", [row(10), row(11)])
    before = query.snapshot()
    with pytest.raises(EvaluationError, match=r"\[ARITHMETIC_OVERFLOW\] 2 \* 9223372036854775807"):
        query.push("b", [row(10, v=1), row(10, v=2)])
    assert query.snapshot() == before
    assert query.push("b", [row(10, v=1)]).num_rows == 2


def test_a_row_of_a_stream_joined_with_itself_meets_itself_once() -> None:
    plan = BandJoin(Qualify(stream("a"), "l"), Qualify(stream("a"), "r"), "l.ts", "r.ts", 1, 1)
    query = open_plan(plan)
    found = query.push("a", [{"ts": t, "k": "a", "v": 0, "x": 0.0} for t in (5, 6)]).to_pylist()
    assert sorted((r["l.ts"], r["r.ts"]) for r in found) == [(5, 5), (5, 6), (6, 5), (6, 6)]


# -- window aggregates over joins ------------------------------------------------------------------------------------


def counted(window: SlidingWindow | TumblingWindow, *keys: str, tumbling: int | None = None) -> Node:
    sides = Qualify(stream("a"), "l"), Qualify(stream("b"), "r")
    times = ("l.ts", "r.ts")
    joined = BandJoin(*sides, *times, 3, 2) if tumbling is None else TumblingJoin(*sides, *times, tumbling)
    return WindowAggregate(joined, WindowClause(window, "l.ts", OrdinalKind.INTEGER),
                           tuple(NamedScalar.column(k) for k in keys), (AggregateCall("n", "count"),))


def arrivals() -> Timeline:
    found: Timeline = []
    for t in range(30):
        for name in ("a", "b"):
            found.append(Arrival(name, {"ts": t, "k": "a", "v": 0, "x": 0.0}))
            found.append(Arrival(name, Punctuation.below("ts", t)))
    return found


@pytest.mark.parametrize("plan", [counted(TumblingWindow(5)), counted(SlidingWindow(7, 3)),
                                  counted(TumblingWindow(5), tumbling=4)], ids=["band", "sliding", "buckets"])
def test_windows_over_a_join_close_with_the_promise_the_definition_says(plan: Node) -> None:
    timeline, query = arrivals(), open_plan(plan)
    oracle = Oracle(plan, timeline)
    found: list[dict[str, Any]] = []
    for place, arrival in enumerate(timeline):
        item = arrival.item if isinstance(arrival.item, Punctuation) else [arrival.item]
        found += query.push(arrival.stream, item).to_pylist()
        assert_same_rows(found, oracle.results_after(place))
    assert len(found) > 3


def test_a_group_of_both_times_closes_with_a_box_before_any_slab_reaches_it() -> None:
    query = open_plan(counted(TumblingWindow(1), "r.ts"))
    for name in ("a", "b"):
        query.push(name, [{"ts": 10, "k": "a", "v": 0, "x": 0.0}])
    query.push("a", Punctuation.below("ts", 11))
    found = query.push("b", Punctuation.below("ts", 11)).to_pylist()
    assert found == [{"r.ts": 10, "window": {"start": 10, "end": 11}, "n": 1}]  # a slab would need 14


def test_windows_over_a_join_tell_their_life() -> None:
    query = open_plan(counted(TumblingWindow(5)), events=True)
    seen: list[tuple[str, int]] = []
    query.on_window(lambda event: seen.append((event.kind, event.wid)))
    for name in ("a", "b"):
        query.push(name, [{"ts": 3, "k": "a", "v": 0, "x": 0.0}])
    assert query.peek().column("n").to_pylist() == [1]
    query.finish()
    assert seen == [("opened", 0), ("closed", 0)]
    with pytest.raises(PlanError, match="on_punctuation"):
        pairs().on_window(print)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_run_says_so() -> None:
    with pytest.raises(PlanError, match="final when they are found"):
        pairs(emit="change")
    with pytest.raises(PlanError, match="does not read a stream 'z'"):
        pairs().push("z", [row(1)])
    with pytest.raises(PlanError, match="a progress policy for 'z'"):
        pairs(progress={"z": "ordered"})
    unknown = plan_of(PAIRS, None)
    with pytest.raises(SchemaError, match="must be known before it is read: declare them"):
        open_plan(unknown)
    last = "SELECT last(l.v) [RANGE 5, SLIDE 5, WA l.ts] AS n FROM a AS l [RANGE 1, WA ts], a AS r [RANGE 1, WA ts]"
    with pytest.raises(UnsupportedError, match=r"arrival order over several joins.*use engine='oracle'"):
        pairs(last)


# -- saving and whole runs ---------------------------------------------------------------------------------------------


def inputs() -> dict[str, list[Any]]:
    return {name: [item for t in range(0, 40, 4)
                   for item in ([row(t + i, "ab"[i % 2], i) for i in range(4)], below(t))] for name in ("a", "b")}


def test_a_run_with_a_checkpoint_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    plan = plan_of(PAIRS, SCHEMAS)
    everything = [r for t in run_embedded(plan, inputs()) for r in t.to_pylist()]
    started = run_embedded(plan, inputs(), checkpoint=tmp_path, checkpoint_rows=5, keep_results=True)
    for _ in range(6):
        next(started)
    started.close()
    again = [r for t in run_embedded(plan, inputs(), checkpoint=tmp_path, keep_results=True) for r in t.to_pylist()]
    assert_same_rows(again, everything)
    assert len(everything) > 20


def test_a_checkpoint_of_another_query_is_refused() -> None:
    saved = pairs().snapshot()
    with pytest.raises(CheckpointError, match="another query"):
        pairs(PAIRS.replace("RANGE 3", "RANGE 4")).restore(saved)
    with pytest.raises(CheckpointError, match="late policy"):
        pairs(late="side").restore(saved)


def test_sql_and_the_command_line_run_joins_in_process(tmp_path: Path) -> None:
    paths = {}
    for name, items in inputs().items():
        paths[name] = tmp_path / f"{name}.ndjson"
        lines = [line for item in items for line in
                 ([{"punctuation": {"ts": item.bound("ts")}}] if isinstance(item, Punctuation) else item)]
        paths[name].write_text("".join(json.dumps(line) + "\n" for line in lines))
    plan = plan_of(PAIRS, SCHEMAS)
    rows = {name: [r for item in items if isinstance(item, list) for r in item] for name, items in inputs().items()}
    expected = Oracle(plan, [Arrival(n, r) for n, items in rows.items() for r in items]).results()
    assert_same_rows(panewise.sql(PAIRS, **rows, engine="embedded").table.to_pylist(), expected)
    out = tmp_path / "out.ndjson"
    main(["run", PAIRS, *(f"--stream={n}={p}" for n, p in paths.items()), "--out", str(out), "--engine", "embedded"])
    assert_same_rows(map(json.loads, out.read_text().splitlines()), expected)


def test_explain_shows_a_join_and_measures_it() -> None:
    streams = {name: [row(t) for t in range(3)] for name in ("a", "b")}
    assert "b.ts at most 2 before and 3 after a.ts" in panewise.explain(PAIRS, **streams)
    assert "6 rows in, 9 out, at most 6 kept" in panewise.explain(PAIRS, **streams, analyze=True)


def test_the_end_of_everything_is_promised_once() -> None:
    query = pairs()
    promises: list[Punctuation] = []
    query.on_punctuation(promises.append)
    query.finish()
    query.finish()
    assert promises == [END]
