"""Spark batch: windows from panes equal the definition, and Spark's own ``window()`` where that exists."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.compare import assert_same_rows
from oracle.questions import Oracle
from panewise.core.errors import PanewiseError, PlanError, SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import Catalog, SourceSchema
from panewise.core.time import MINUTE
from panewise.engines.spark import explain_frames
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.io.sources import read_batch
from panewise.engines.spark.lower.progress import arrival, split_late
from panewise.engines.spark.session.failures import plain_errors
from panewise.plan.nodes import (
    AggregateCall,
    Filter,
    NamedScalar,
    Project,
    Qualify,
    Union,
    WindowAggregate,
    WindowClause,
)
from panewise.progress.timeline import timeline
from panewise.sql import parse
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.sliding import SlidingWindow
from spark.cases import ARGUMENT, COUNT_MAX_AVG, SCHEMA, by_definition, plan, rows_of, source, write_ndjson

pytestmark = pytest.mark.spark

DDL = "k string, t bigint, v bigint"
WINDOWS = [
    SlidingWindow(30, 10), SlidingWindow(10, 10), SlidingWindow(30, 7, 3, 5), SlidingWindow(5, 12, -4),
    SlidingWindow(7, 3, 1, 2), SlidingWindow(1, 1), SlidingWindow(100, 3),
]
row = st.fixed_dictionaries({"k": st.sampled_from(["a", "b", None]), "t": st.integers(-200, 200),
                             "v": st.integers(-9, 9) | st.none()})


def frame_of(spark: SparkSession, rows: list[dict[str, Any]], ddl: str = DDL) -> DataFrame:
    names = [part.split()[0] for part in ddl.split(",")]
    return spark.createDataFrame([tuple(r[n] for n in names) for r in rows], ddl)


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: w.describe())
def test_any_window_over_any_rows_has_the_answer_of_its_definition(spark: SparkSession, window: SlidingWindow) -> None:
    cases: list[list[dict[str, Any]]] = []

    @settings(max_examples=15, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(row, max_size=15))
    def collect(rows: list[dict[str, Any]]) -> None:
        cases.append(rows)

    collect()
    rows = [{**r, "trial": i} for i, found in enumerate(cases) for r in found]  # many cases, one Spark job
    schema = pa.schema([pa.field("trial", pa.int64()), *SCHEMA])
    query = plan(window, keys=("trial", "k"), below=source(schema))
    assert rows_of(run_batch(query, {"s": frame_of(spark, rows, f"trial bigint, {DDL}")})) == \
        by_definition(rows, window, ("trial", "k"))


ROWS = [{"k": k, "t": t, "v": v} for k, t, v in
        [("a", -31, 1), ("a", -1, 2), ("b", 0, None), ("a", 3, 5), (None, 25, -7), ("b", 26, 4), ("a", 90, 0)]]


def test_without_group_by_there_is_one_group(spark: SparkSession) -> None:
    window = SlidingWindow(40, 15)
    found = run_batch(plan(window, keys=()), {"s": frame_of(spark, ROWS)})
    assert rows_of(found) == by_definition(ROWS, window, ())


def test_timestamps_give_what_window_gives(spark: SparkSession) -> None:
    start = datetime(2026, 3, 28, 23, 0, tzinfo=UTC)
    rows = [("ab"[i % 2], start + timedelta(seconds=i * i * 7 % 9000, microseconds=i), i) for i in range(80)]
    frame = spark.createDataFrame(rows, "k string, t timestamp, v bigint")
    schema = pa.schema({"k": pa.string(), "t": pa.timestamp("us", tz="UTC"), "v": pa.int64()})
    for minutes, slide in ((12, 4), (10, 4)):
        # window() aligns the starts of windows to the epoch, this window kind their ends
        window = SlidingWindow(minutes * MINUTE, slide * MINUTE, minutes % slide * MINUTE)
        found = run_batch(plan(window, below=source(schema), kind=OrdinalKind.TIMESTAMP), {"s": frame})
        native = frame.groupBy("k", F.window("t", f"{minutes} minutes", f"{slide} minutes"))
        assert found.schema["window"].dataType.simpleString() == "struct<start:timestamp,end:timestamp>"
        assert rows_of(found) == rows_of(native.agg(F.count("*"), F.max("v"), F.avg("v")))


def test_dates_are_windowed_by_days(spark: SparkSession) -> None:
    first = date(1969, 12, 30)
    rows = [("a", first + timedelta(days=d), d) for d in (0, 1, 5)]
    frame = spark.createDataFrame(rows, "k string, t date, v bigint")
    schema = pa.schema({"k": pa.string(), "t": pa.date32(), "v": pa.int64()})
    query = plan(SlidingWindow(2, 2), below=source(schema), kind=OrdinalKind.DATE, aggregates=COUNT_MAX_AVG[:1])
    assert rows_of(run_batch(query, {"s": frame})) == Counter([
        ("a", date(1969, 12, 30), date(1970, 1, 1), 2), ("a", date(1970, 1, 3), date(1970, 1, 5), 1)])


def test_aggregates_spark_cannot_merge_run_in_kernels(spark: SparkSession) -> None:
    window = SlidingWindow(30, 20)
    calls = [AggregateCall("mid", "median", ARGUMENT), AggregateCall("kinds", "count", ARGUMENT, distinct=True),
             AggregateCall("spread", "var_pop", ARGUMENT), AggregateCall("n", "count")]
    rows = [{"k": "ab"[i % 2], "t": i * 3 - 40, "v": i % 4 if i % 5 else None} for i in range(40)]
    found = run_batch(plan(window, aggregates=calls), {"s": frame_of(spark, rows)})
    assert "kernels" in explain_frames(plan(window, aggregates=calls), {"s": frame_of(spark, rows)})
    expected: Counter[Any] = Counter()
    for key, start, end, *_ in by_definition(rows, window):
        values = [r["v"] for r in rows if r["k"] == key and start <= r["t"] < end]
        known = sorted(v for v in values if v is not None)
        mean = Fraction(sum(known), len(known))
        middle = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
        spread = float(sum((v - mean) ** 2 for v in known) / len(known))
        expected[key, start, end, middle, len(set(known)), spread, len(values)] += 1
    assert rows_of(found) == expected


def test_frequent_items_of_timestamps_have_the_oracles_answer(spark: SparkSession) -> None:
    start = datetime(2026, 3, 28, 23, 0, tzinfo=UTC)
    rows = [{"k": "ab"[i % 2], "t": start + timedelta(seconds=i * i * 7 % 900), "v": i * i % 7} for i in range(120)]
    schema = SourceSchema({"k": pa.string(), "t": pa.timestamp("us", tz="UTC"), "v": pa.int64()}, time="t")
    query = parse("SELECT k, frequent_items(v, 2) AS f FROM s [RANGE 5 min, SLIDE 2 min, WA t] GROUP BY k",
                  Catalog({"s": schema}))
    frame = frame_of(spark, rows, "k string, t timestamp, v bigint")
    found = [row.asDict(recursive=True) for row in run_batch(query, {"s": frame}).collect()]
    for row in found:
        row["window"] = {end: at.astimezone(UTC) for end, at in row["window"].items()}
    expected = Oracle(query, timeline(s=rows)).results()
    assert any(len(row["f"]) > 1 for row in expected)
    assert_same_rows(found, expected)


def test_frequent_items_of_rows_have_the_oracles_answer(spark: SparkSession) -> None:
    rows = [{"k": "ab"[i % 3 == 0], "t": 0, "v": i * i % 7} for i in range(120)]
    schema = SourceSchema({"k": pa.string(), "t": pa.int64(), "v": pa.int64()}, time="t")
    numbered = [{**row, "place": place} for place, row in enumerate(rows)]
    frame = arrival(frame_of(spark, numbered, "k string, t bigint, v bigint, place bigint"), "place")
    for bracket in ("RANGE 18 rows, SLIDE 12 rows, WA row-num, PA k", "RANGE 50 rows, SLIDE 20 rows, WA row-num"):
        query = parse(f"SELECT k, frequent_items(v, 3) AS f FROM s [{bracket}] GROUP BY k", Catalog({"s": schema}))
        expected = Oracle(query, timeline(s=rows)).results()
        assert any(row["f"] for row in expected)
        found = [row.asDict(recursive=True) for row in run_batch(query, {"s": frame}).collect()]
        assert_same_rows(found, expected)


def test_filters_names_unions_and_projections_stand_below_and_above(spark: SparkSession) -> None:
    window = SlidingWindow(30, 10)
    kept = Filter(source(), Scalar.parse("v > 0"))
    items = [NamedScalar("k", Scalar.parse("upper(`S.k`)")), NamedScalar("t", Scalar.column("S.t")),
             NamedScalar("v", Scalar.column("S.v"))]
    renamed = Project(Qualify(kept, "S"), tuple(items))
    query = plan(window, below=Union((renamed, source(name="r"))))
    above = Project(Filter(query, Scalar.parse("n > 1")), (NamedScalar("k", Scalar.column("k")),
                                                          NamedScalar("from", Scalar.parse("window.start")),
                                                          NamedScalar("twice", Scalar.parse("n * 2"))))
    left = [{**r, "k": r["k"].upper()} for r in ROWS if r["v"] is not None and r["v"] > 0]
    expected = Counter((k, start, n * 2) for k, start, _, n, *_ in by_definition(left + ROWS, window) if n > 1)
    frame = frame_of(spark, ROWS)
    assert rows_of(run_batch(above, {"s": frame, "r": frame})) == expected


def test_an_empty_input_has_no_windows(spark: SparkSession) -> None:
    assert run_batch(plan(SlidingWindow(30, 10)), {"s": frame_of(spark, [])}).collect() == []


def test_late_rows_come_beside_the_results_under_the_policy_side(spark: SparkSession, tmp_path: Path) -> None:
    window = SlidingWindow(10, 10)
    items: list[dict[str, Any]] = [{"k": "a", "t": 5, "v": 1}, {"k": "b", "t": 12, "v": 2}, {"punctuation": {"t": 10}},
                                   {"k": "a", "t": 7, "v": 9}, {"k": "a", "t": 11, "v": 3}]
    folder = write_ndjson(tmp_path / "in", [items])
    frame = read_batch(spark, folder, time="t")
    results, late = split_late(run_batch(plan(window), {"s": frame}, late="side"))
    on_time = [items[0], items[1], items[4]]
    assert rows_of(results) == by_definition(on_time, window)
    assert [json.loads(r.late) for r in late.collect()] == [{"k": "a", "t": 7, "v": 9}]


def test_a_key_with_most_of_the_rows_is_reduced_to_panes_before_any_row_is_moved(
        spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    run_batch(plan(SlidingWindow(60, 1)), {"s": frame_of(spark, ROWS)}).explain()
    stages = capsys.readouterr().out.split("Exchange ")  # the last one printed is the first to run
    assert len(stages) > 1
    assert "HashAggregate" in stages[-1]
    assert "partial_count" in stages[-1]
    assert all("__pw_a" not in stage.split("HashAggregate")[0] for stage in stages[1:]), "no argument is shuffled"


# -- what is refused, and how


def test_a_null_windowing_attribute_is_an_error_without_a_stack(spark: SparkSession) -> None:
    frame = frame_of(spark, [*ROWS, {"k": "a", "t": None, "v": 1}])
    with pytest.raises(SchemaError, match=r"^'t' is null in a row; every row needs a value"), plain_errors():
        run_batch(plan(SlidingWindow(30, 10)), {"s": frame}).collect()


def test_columns_that_are_missing_or_cannot_order_are_refused_before_anything_runs(spark: SparkSession) -> None:
    query, frame = plan(SlidingWindow(30, 10)), frame_of(spark, ROWS)
    with pytest.raises(SchemaError, match="no column 'v'; there are k, t"):
        run_batch(query, {"s": frame.drop("v")})
    with pytest.raises(SchemaError, match="'t' is string and cannot order a window"):
        run_batch(query, {"s": frame.withColumn("t", F.col("t").cast("string"))})
    with pytest.raises(SchemaError, match="no stream named 's'; the streams given are: x"):
        run_batch(query, {"x": frame})


def test_what_spark_does_not_run_is_refused(spark: SparkSession) -> None:
    frame = frame_of(spark, ROWS)
    found = run_batch(source(), {"s": frame})  # a stream as it is
    assert sorted(map(str, found.collect())) == sorted(map(str, frame.select(found.columns).collect()))
    rows = WindowAggregate(source(), plan(SlidingWindow(30, 10)).window, (), ())
    nested = plan(SlidingWindow(30, 10), below=rows)
    with pytest.raises(PanewiseError, match="no column 'k'; there are window"):
        run_batch(nested, {"s": frame})
    with pytest.raises(PlanError, match="run_batch takes bounded ones"):
        run_streaming(plan(SlidingWindow(30, 10)), {"s": frame})


def test_explain_names_panes_and_copies(spark: SparkSession) -> None:
    text = explain_frames(plan(SlidingWindow(60, 1)), {"s": frame_of(spark, ROWS)})
    assert "panes of 1, 60 per window" in text
    assert "59 more of every row" in text


@pytest.mark.parametrize(("window", "partition", "where"), [
    (PartitionedRowWindow(4, 2), ("k",), "by group"),
    (RowWindow(4, 2), (), "in one task, because its windows are of the whole stream"),
])
def test_explain_says_how_many_tasks_share_row_windows(
        spark: SparkSession, window: RowWindow, partition: tuple[str, ...], where: str) -> None:
    clause = WindowClause(window, "row-num", OrdinalKind.ROWS, partition=partition)
    query = WindowAggregate(source(), clause, (NamedScalar.column("k"),), COUNT_MAX_AVG)
    frame = arrival(frame_of(spark, ROWS), "t")
    assert where in explain_frames(query, {"s": frame})
