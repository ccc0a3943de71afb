"""The embedded engine answers as the definitions do, and says clearly what is wrong with an input."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS, aggregate, bag, call, run_timeline, source
from oracle.questions import Oracle
from panewise.core.errors import CheckpointError, EvaluationError, LateRowError, PlanError, SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import Filter, NamedScalar, Node, Project, Qualify, Union
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from panewise.storage import MemoryChunks
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import TumblingWindow

specs = st.one_of(
    st.builds(SlidingWindow, st.integers(1, 12), st.integers(1, 12), st.integers(-9, 9), st.integers(0, 7)),
    st.builds(TumblingWindow, st.integers(1, 9)))
rows = st.fixed_dictionaries({
    "ts": st.integers(-20, 20), "k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1),
    "v": st.sampled_from([None, -1.5, 0.0, 2.0, 7.25])})
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b"]), "g": st.integers(0, 1)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-15, 20), constants)
items = st.one_of(rows, rows, rows, promises)
places = st.frozensets(st.integers(0, 15), max_size=4)
policies = st.sampled_from(["drop", "side", "generous", "consistent"])


def columns(*names: str) -> tuple[NamedScalar, ...]:
    return tuple(NamedScalar.column(n) for n in names)


def shapes(spec: SlidingWindow) -> dict[str, Node]:
    s, positive = source(), Scalar.parse("v > -1 OR v IS NULL")
    doubled = Project(s, (NamedScalar("at", Scalar.column("ts")), *columns("k", "g"),
                          NamedScalar("v", Scalar.parse("v * 2"))))
    other = Project(source("t"), columns("ts", "g", "k", "v"))
    return {
        "one stream": aggregate(s, spec),
        "two keys": aggregate(s, spec, keys=("k", "g")),
        "no key": aggregate(s, spec, keys=()),
        "filtered": aggregate(Filter(s, positive), spec),
        "renamed": aggregate(doubled, spec, attribute="at"),
        "qualified": aggregate(Qualify(s, "S"), spec, keys=("S.k",), attribute="S.ts",
                               calls=(call("n", "count"), call("hi", "max", "`S.v`"))),
        "union": aggregate(Union((Filter(s, positive), Project(other, columns("ts", "k", "g", "v")))), spec,
                           keys=("k",), calls=(call("n", "count"), call("hi", "max", "v"))),
        "union with itself": aggregate(Union((s, Filter(s, positive))), spec, calls=(call("n", "count"),)),
        "computed attribute": aggregate(Project(s, (NamedScalar("at", Scalar.parse("ts + 1")), *columns("k", "v"))),
                                        spec, attribute="at"),
        "expression above": Project(aggregate(s, spec), (NamedScalar("twice", Scalar.parse("n * 2")),
                                                         *columns("k", "window"))),
        "having": Filter(aggregate(s, spec), Scalar.parse("n > 1")),
    }


@settings(deadline=None, max_examples=75)
@given(shape=st.sampled_from(sorted(shapes(SlidingWindow(1, 1)))), spec=specs, late=policies, cuts=places, saves=places,
       arrivals=st.lists(st.tuples(st.sampled_from("sst"), items), max_size=15))
def test_results_and_late_rows_equal_the_oracle(
        *, shape: str, spec: SlidingWindow, arrivals: list[tuple[str, Any]], late: str, cuts: frozenset[int],
        saves: frozenset[int]) -> None:
    plan = shapes(spec)[shape]
    query = open_plan(plan, late=late)
    timeline = [Arrival(name, item) for name, item in arrivals if name in query.streams]
    oracle = Oracle(plan, timeline, late=late)
    found, query = run_timeline(query, timeline, cuts, saves, late=late)
    assert bag(found) == bag(oracle.results())
    assert query.late_count == len(oracle.late_rows())
    if late != "drop":
        assert bag(query.late_rows.to_pylist()) == bag(oracle.late_rows())


@settings(deadline=None, max_examples=40)
@given(spec=specs, some=st.lists(rows, max_size=15), late=policies, cuts=places, saves=places,
       progress=st.sampled_from(["ordered", "late:3", "rows:2", "column:g"]))
def test_generated_progress_does_not_depend_on_batches_or_restarts(
        *, spec: SlidingWindow, some: list[dict[str, Any]], progress: str, late: str, cuts: frozenset[int],
        saves: frozenset[int]) -> None:
    plan = aggregate(source(), spec)
    timeline = [Arrival("s", row) for row in some]
    oracle = Oracle(plan, timeline, late=late, progress=progress)
    found, query = run_timeline(open_plan(plan, late=late, progress=progress), timeline, cuts, saves, late=late,
                                progress=progress)
    assert bag(found) == bag(oracle.results())
    assert query.late_count == len(oracle.late_rows())


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(["one stream", "two keys", "union"]), specs,
       st.lists(st.tuples(st.sampled_from("sst"), items), max_size=12))
def test_results_come_out_with_the_item_that_closes_their_window(
        shape: str, spec: SlidingWindow, arrivals: list[tuple[str, Any]]) -> None:
    plan = shapes(spec)[shape]
    query = open_plan(plan)
    timeline: Timeline = [Arrival(name, item) for name, item in arrivals if name in query.streams]
    oracle = Oracle(plan, timeline)
    out: list[dict[str, Any]] = []
    for place, arrival in enumerate(timeline):
        item: Any = arrival.item if isinstance(arrival.item, Punctuation) else [arrival.item]
        out += query.push(arrival.stream, item).to_pylist()
        assert bag(out) == bag(oracle.results_after(place))


def test_timestamps_and_dates_come_back_in_their_own_type() -> None:
    stamps = {"ts": pa.timestamp("us", tz="UTC"), "k": pa.string()}
    plan = aggregate(source(columns=stamps), SlidingWindow(60_000_000, 60_000_000), calls=(call("n", "count"),),
                     ordinal=OrdinalKind.TIMESTAMP)
    query = open_plan(plan)
    query.push("s", [{"ts": "2026-01-01T00:00:05Z", "k": "a"}, {"ts": datetime(2026, 1, 1, 0, 0, 6), "k": "a"}])
    result = query.finish()
    assert result.schema.field("window").type == pa.struct({"start": stamps["ts"], "end": stamps["ts"]})
    assert result.to_pylist() == [{"k": "a", "n": 2, "window": {
        "start": datetime(2026, 1, 1, tzinfo=UTC), "end": datetime(2026, 1, 1, 0, 1, tzinfo=UTC)}}]
    days = open_plan(aggregate(source(columns={"ts": pa.date32(), "k": pa.string()}), SlidingWindow(7, 7),
                                 calls=(call("n", "count"),), ordinal=OrdinalKind.DATE))
    days.push("s", [{"ts": date(1970, 1, 3), "k": "a"}])
    assert days.finish().to_pylist() == [{"k": "a", "window": {"start": date(1970, 1, 1), "end": date(1970, 1, 8)},
                                          "n": 1}]


def test_pf8_traffic_by_segment() -> None:
    minute = 60_000_000
    plan = aggregate(source(columns={"seg_id": pa.string(), "speed": pa.int64(), "ts": pa.timestamp("us", tz="UTC")}),
                     SlidingWindow(5 * minute, minute), keys=("seg_id",), ordinal=OrdinalKind.TIMESTAMP,
                     calls=(call("hi", "max", "speed"), call("lo", "min", "speed")))
    query = open_plan(plan, events=True)
    noon = 12 * 3600 * 1_000_000
    query.push("s", [{"seg_id": "s1", "speed": 55, "ts": "1970-01-01T12:00:10Z"},
                     {"seg_id": "s1", "speed": 62, "ts": "1970-01-01T12:00:40Z"},
                     {"seg_id": "s2", "speed": 50, "ts": "1970-01-01T12:00:50Z"}])
    promise = Punctuation.below("ts", noon + minute, seg_id="s1")
    out = query.push("s", promise).to_pylist()
    assert [(r["seg_id"], r["hi"], r["lo"]) for r in out] == [("s1", 62, 55)]
    assert query.status()["open_windows"] == 5
    assert [(e.kind, e.wid - 720, e.by) for e in query.events][-1] == ("closed", 0, promise)
    assert [e.wid - 720 for e in query.events if e.kind == "opened"] == [0, 1, 2, 3, 4]


def test_status_shows_rows_late_rows_watermark_and_state() -> None:
    query = open_plan(aggregate(source()), late="side")
    query.push("s", [{"ts": 3, "k": "a", "g": 0, "v": 1.0}, {"ts": 8, "k": "b", "g": 0, "v": 1.0}])
    query.push("s", Punctuation.below("ts", 6))
    query.push("s", [{"ts": 5, "k": "a", "g": 0, "v": 1.0}])
    status = query.status()
    assert {k: status[k] for k in ("rows", "late", "watermark", "open_windows")} == {
        "rows": 3, "late": 1, "watermark": "6", "open_windows": 2}
    assert status["state_bytes"] > 0
    assert query.take_late_rows().to_pylist() == [{"ts": 5, "k": "a", "g": 0, "v": 1.0}]
    assert query.take_late_rows().num_rows == 0
    query.finish()
    assert query.status()["partials"] == 0
    assert query.status()["watermark"] == "end"


def test_a_late_row_under_the_policy_error_names_its_row_and_leaves_the_query_as_it_was() -> None:
    query = open_plan(aggregate(source(), calls=(call("n", "count"),)), late="error", progress="ordered")
    query.push("s", [{"ts": 1, "k": "a", "g": 0, "v": None}, {"ts": 9, "k": "a", "g": 0, "v": None}])
    with pytest.raises(LateRowError, match="row 4 of s"):
        query.push("s", [{"ts": 9, "k": "a", "g": 0, "v": None}, {"ts": 4, "k": "a", "g": 0, "v": None}])
    query.push("s", [{"ts": 9, "k": "a", "g": 0, "v": None}])
    assert {r["window"]["start"]: r["n"] for r in query.finish().to_pylist()}[5] == 2


GOOD = {"ts": 1, "k": "a", "g": 0, "v": 1.0}


@pytest.mark.parametrize(("item", "message"), [
    ([GOOD, {"k": "a", "g": 0, "v": 1.0}], "row 2: 'ts' is null"),
    ([GOOD, GOOD | {"vv": 1.0}], "row 2: no column 'vv'; there are ts, k, g, v; did you mean 'v'?"),
    ([GOOD, GOOD, GOOD | {"ts": None}], "row 3: 'ts' is null"),
    ([GOOD, GOOD | {"ts": "yesterday"}], "row 2: 'ts' is 'yesterday', expected int64"),
    ([GOOD, GOOD | {"v": "much"}], "row 2: 'v' is 'much', expected double"),
    (pa.table({"ts": ["x"], "k": ["a"], "g": [0], "v": [1.0]}), "row 1: 'ts' is string, expected int64"),
    (pa.table({"ts": [1.5], "k": ["a"], "g": [0], "v": [1.0]}), "row 1: 'ts' is 1.5, expected int64"),
    (pa.table({"ts": [1], "k": ["a"]}), "row 1: no column 'v'; there are ts, k"),
    (pa.RecordBatch.from_pylist([GOOD, GOOD | {"ts": None}]), "row 2: 'ts' is null"),
])
def test_bad_rows_are_refused_with_the_row_and_the_column(item: Any, message: str) -> None:
    query = open_plan(aggregate(source()))
    with pytest.raises(SchemaError) as caught:
        query.push("s", item)
    assert message in str(caught.value)
    assert "stream 's'" in str(caught.value)
    query.push("s", [GOOD])
    assert query.status()["rows"] == 1


def test_text_where_a_time_belongs_is_refused() -> None:
    plan = aggregate(source(columns=COLUMNS | {"ts": pa.timestamp("us", tz="UTC")}), ordinal=OrdinalKind.TIMESTAMP)
    query = open_plan(plan)
    with pytest.raises(SchemaError, match="row 1: 'ts' is string, expected timestamp"):
        query.push("s", pa.table({"ts": ["2026-01-01"], "k": ["a"], "g": [0], "v": [1.0]}))
    with pytest.raises(SchemaError, match="row 2: 'ts' is 'soon'"):
        query.push("s", [GOOD | {"ts": "2026-01-01"}, GOOD | {"ts": "soon"}])


def test_rows_of_an_open_schema_are_understood_from_the_first_batch() -> None:
    plan = aggregate(source(columns={}), calls=(call("n", "count"), call("hi", "max", "v")))
    query = open_plan(plan)
    assert query.push("s", Punctuation.below("ts", -5)).num_rows == 0
    query.push("s", pa.table({"ts": [1, 2], "k": ["a", "a"], "v": [3, 4]}))
    assert {r["window"]["start"]: (r["n"], r["hi"]) for r in query.finish().to_pylist()} == {-5: (2, 4), 0: (2, 4)}


def test_unknown_streams_and_policies_are_refused() -> None:
    plan = aggregate(source())
    with pytest.raises(PlanError, match="does not read a stream 'x'"):
        open_plan(plan).push("x", END)
    with pytest.raises(PlanError, match="progress policy for 'x'"):
        open_plan(plan, progress={"x": "ordered"})
    with pytest.raises(SchemaError, match="no column 'nope'"):
        open_plan(aggregate(source(), calls=(call("m", "max", "nope"),)))


def test_a_batch_whose_expression_fails_leaves_the_query_as_it_was() -> None:
    plan = aggregate(source(), calls=(call("far", "max", "g * 9223372036854775807"), call("n", "count")))
    query = open_plan(plan, progress="ordered")
    query.push("s", [GOOD])
    with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
        query.push("s", [GOOD | {"ts": 90, "g": 2}])
    query.push("s", [GOOD | {"ts": 2}])
    assert {r["window"]["start"]: (r["n"], r["far"]) for r in query.finish().to_pylist()} == {-5: (2, 0), 0: (2, 0)}
    assert query.status()["rows"] == 2


def test_a_batch_that_fails_on_one_way_of_a_union_is_counted_on_none() -> None:
    s = source()
    twice = Project(s, (*columns("ts"), NamedScalar("g", Scalar.parse("g * 2"))))
    query = open_plan(aggregate(Union((Project(s, columns("ts", "g")), twice)), keys=(),
                                  calls=(call("far", "max", "g * 4611686018427387904"), call("n", "count"))))
    with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
        query.push("s", [GOOD | {"g": 1}])
    assert query.finish().num_rows == 0


def test_a_window_may_be_on_two_columns_of_one_stream() -> None:
    s = source()
    both = Union((Project(s, columns("ts", "k")), Project(s, (NamedScalar("ts", Scalar.column("g")), *columns("k")))))
    plan = aggregate(both, calls=(call("n", "count"),))
    arrivals = [Arrival("s", GOOD | {"ts": ts, "g": g}) for ts, g in ((1, 4), (9, 3), (2, 20), (14, 8))]
    found, _ = run_timeline(open_plan(plan), arrivals, cuts=frozenset([2]))
    assert bag(found) == bag(Oracle(plan, arrivals).results())


def test_nothing_in_gives_typed_nothing_out() -> None:
    query = open_plan(aggregate(source()))
    empty = query.push("s", [])
    assert empty.schema == query.finish().schema
    assert empty.column_names == ["k", "window", "n", "hi", "mean", "newest"]


def test_a_query_with_a_policy_per_stream_waits_for_the_slower_one() -> None:
    plan = aggregate(Union((source("s"), source("t"))), TumblingWindow(10), calls=(call("n", "count"),))
    query = open_plan(plan, progress={"s": "ordered"})
    query.push("s", [GOOD, GOOD | {"ts": 50}])
    assert query.push("t", [GOOD | {"ts": 2}]).num_rows == 0
    out = query.push("t", Punctuation.below("ts", 20)).to_pylist()
    assert [(r["window"]["start"], r["n"]) for r in out] == [(0, 2)]
    assert query.finish("t").num_rows == 0
    assert [r["window"]["start"] for r in query.finish("s").to_pylist()] == [50]


def test_the_state_of_a_query_is_a_chunk_of_its_own_and_one_for_each_operator_that_keeps_something() -> None:
    query, store = open_plan(parse("SELECT k, sum(v) [RANGE 10, SLIDE 5, WA ts] AS s FROM s WHERE v > 0 GROUP BY k",
                                   Catalog({"s": SourceSchema({"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()},
                                                              time="ts")}))), MemoryChunks()
    query.push("s", [{"ts": 1, "k": 1, "v": 2}])
    query.save(store)
    assert store.names() == ["1/state", "state"], "WHERE keeps nothing"
    again = open_plan(query.plan)
    again.load(store)
    assert again.finish().to_pylist() == query.finish().to_pylist() != []
    store.remove("1/state")
    with pytest.raises(CheckpointError, match="its part 'state' is missing"):
        open_plan(query.plan).load(store)
