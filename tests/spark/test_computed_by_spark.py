"""Expressions on Spark: the JVM computes them before and behind the shards, with one meaning whatever the session says.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from conformance.cases import Case
from conformance.runners import spark_batch, spark_streaming, write_case
from panewise.core.errors import PanewiseError, PlanError, SqlError
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.lower import meaning
from panewise.engines.spark.lower.meaning import ANSI, ZONE, SessionMeaningWarning
from panewise.engines.spark.lower.progress import split_late
from panewise.engines.spark.session.failures import plain_errors
from panewise.progress.punctuation import Punctuation
from relations.running import bag

pytestmark = pytest.mark.spark

SITES = [f"<s><h>{host}.org</h><p>{path}</p></s>" for host, path in ("ax", "by", "az")]
COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}


@contextmanager
def saying(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """A session with another setting."""
    before = spark.conf.get(key)
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.set(key, str(before))


def days(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, date(2024, 2, 28)), (2, date(2024, 2, 29))], "ts long, d date")


def test_an_expression_means_the_same_with_a_window_and_without(spark: SparkSession) -> None:
    plain = pw.sql("SELECT dayofweek(d) AS day FROM s", s=days(spark)).collect()
    windowed = pw.sql("SELECT dayofweek(d) AS day FROM s [RANGE 5]", s=days(spark)).collect()
    assert [row.day for row in plain] == [row.day for row in windowed] == [4, 5]


@pytest.mark.parametrize("call", ["reflect('java.lang.Math', 'random')", "java_method('java.lang.Math', 'random')",
                                  "input_file_name()", "rand()", "uuid()"])
@pytest.mark.parametrize("source", ["s", "s [RANGE 5]"])
def test_what_is_no_function_of_the_row_is_refused_where_the_jvm_could_compute_it(call: str, source: str,
                                                                                  spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value AS ts", "timestamp AS d")
    for frame in (days(spark), stream):
        with pytest.raises(SqlError, match=r"column 8: \w+\(...\) cannot be part of a query"):
            pw.sql(f"SELECT {call} AS x FROM {source}", s=frame, progress="source")
        with pytest.raises(SqlError, match="cannot be part of a query"):
            pw.stream(frame, time="ts").where(f"{call} IS NOT NULL").window(range=5).plan(n="count(*)")


def test_explain_says_who_computes_what(spark: SparkSession) -> None:
    def doubled(ts: int) -> int:
        return 2 * ts

    plain = pw.explain("SELECT dayofweek(d) AS day FROM s", s=days(spark))
    assert "On Spark\nstrategy: columns and filters in the JVM" in plain
    assert "shard" not in plain
    windowed = pw.explain("SELECT dayofweek(d) AS day FROM s [RANGE 5]", s=days(spark))
    assert windowed.count("computed by") == 1
    assert "computed by Spark over the results: DAYOFWEEK(d)" in windowed
    own = pw.explain("SELECT doubled(ts) AS x FROM s [RANGE 5] WHERE dayofweek(d) > 1", s=days(spark),
                     functions={"doubled": doubled})
    assert "computed by Spark before the shuffle: s: DAYOFWEEK(d) > 1\n" in own
    assert "computed by Spark over the results: DOUBLED(ts) (in Python)" in own


def test_functions_that_only_spark_has_work_wherever_the_jvm_computes_them(spark: SparkSession) -> None:
    rows = spark.createDataFrame(list(enumerate(SITES, 1)), "ts long, k string")
    other = spark.createDataFrame([(2, "b.org")], "ts long, host string")
    query = "SELECT xpath_string(k, 's/h') AS host, count(*) AS n FROM s [RANGE 9] GROUP BY xpath_string(k, 's/h')"
    found = {(row.host, row.n) for row in pw.sql(query, s=rows).collect() if row.change == 1}
    assert found == {("a.org", 1), ("b.org", 1), ("a.org", 2)}
    joined = "SELECT xpath_string(s.k, 's/p') AS path FROM s [RANGE 9], o [RANGE 9] " \
             "WHERE xpath_string(s.k, 's/h') = o.host"
    assert [row.path for row in pw.sql(joined, s=rows, o=other).collect()] == ["y"]
    text = pw.explain(joined, s=rows, o=other)
    assert "computed by Spark before the shuffle: s: XPATH_STRING(k, 's/h')" in text
    assert "computed by Spark over the results: XPATH_STRING(`s.k`, 's/p')" in text
    assert "by hash of s.__pw_e0, o.host" in text


def test_what_only_spark_has_is_refused_at_its_place_where_panewise_would_compute_it(spark: SparkSession) -> None:
    rows = spark.createDataFrame(list(enumerate(SITES, 1)), "ts long, k string")
    query = "SELECT k, xpath_int(k, 's') + count(*) AS n FROM s [RANGE 9] GROUP BY k"
    for refusing in (pw.sql, pw.explain):
        with pytest.raises(SqlError, match=r"^line 1, column 11: the function xpath_int is not there in process"):
            refusing(query, s=rows)


def late_case(late: str) -> Case:
    """WHERE drops half of the rows, some of them late."""
    rows: list[Any] = [{"ts": ts, "k": "xy"[ts % 2], "v": ts} for ts in (1, 4, 2, 7, 8)]
    rows += [Punctuation.below("ts", 6), {"ts": 2, "k": "y", "v": 0}, {"ts": 3, "k": "x", "v": 4},
             {"ts": 9, "k": "x", "v": 5}, {"ts": 11, "k": "y", "v": 12}]
    query = "SELECT upper(k) AS u, v * 2 AS w FROM a [RANGE 4] WHERE v % 2 = 0 AND 10 / (v + 1) < 8"
    return Case("where", query, {"a": rows}, {"a": COLUMNS}, late=late)


def test_where_and_projections_in_the_jvm_give_the_oracles_answer(spark: SparkSession, tmp_path: Path) -> None:
    case = late_case("drop")
    assert bag(spark_batch(case, spark=spark, folder=tmp_path)) == bag(case.expected())
    assert bag(spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=5, shards=2)) == bag(case.expected())


def test_late_rows_are_reported_whatever_where_says_of_them(spark: SparkSession, tmp_path: Path) -> None:
    case = late_case("side")
    frames = {n: read_stream(spark, p, time="ts") for n, p in write_case(case, tmp_path).items()}
    kept: list[tuple[int, int]] = []

    def sink(batch: DataFrame, number: int) -> None:
        results, late = split_late(batch)
        kept.append((results.count(), late.count()))

    run_streaming(case.plan, frames, late="side").writeStream.foreachBatch(sink).trigger(availableNow=True) \
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    oracle = case.oracle()
    assert len(oracle.late_rows()) == 2
    assert [sum(counts) for counts in zip(*kept, strict=True)] == [len(oracle.results()), 2]


@pytest.mark.parametrize("source", ["s", "s [RANGE 5]"])
def test_a_session_without_ansi_gives_the_same_error_and_is_told(source: str, spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, 0)], "ts long, v long")
    with saying(spark, ANSI, "false"):
        with pytest.warns(SessionMeaningWarning, match="ansi.enabled=false; .* with spark.sql.ansi.enabled=true"):
            found = pw.sql(f"SELECT 10 / v AS q FROM {source}", s=rows)
        assert spark.conf.get(ANSI) == "false"
        with pytest.raises(PanewiseError, match="Division by zero"), plain_errors():
            found.collect()
        assert "ansi.enabled=false, expressions are computed with true" in pw.explain(
            "SELECT 10 / v AS q FROM s [RANGE 5]", s=rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is computed, so nothing could mean something else
            pw.sql("SELECT v FROM s [RANGE 5]", s=rows)


@pytest.mark.parametrize("query", [
    "SELECT hour(ts) AS h, cast('2024-01-01 00:00:00' AS timestamp) < ts AS after FROM s [RANGE 5 s]",
    "SELECT hour(ts) AS h, cast('2024-01-01 00:00:00' AS timestamp) < ts AS after, "
    "count(*) [RANGE 5 s, SLIDE 5 s, WA ts] AS n FROM s "
    "GROUP BY hour(ts), cast('2024-01-01 00:00:00' AS timestamp) < ts",
])
def test_hours_are_those_of_the_zone_a_query_was_built_in(query: str, spark: SparkSession) -> None:
    """The zone of the run is the session's; what the session says when results are asked for changes nothing."""
    rows = spark.createDataFrame([(1_704_070_800,)], "s long").selectExpr("timestamp_seconds(s) AS ts")  # 01:00 UTC
    with saying(spark, ZONE, "America/New_York"):
        found = pw.sql(query, s=rows)
    assert [(row.h, row.after) for row in found.collect()] == [(20, False)]


def test_on_connect_another_session_is_refused_with_the_remedy(spark: SparkSession,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "is_connect", lambda spark: True)  # a server would analyse the plan when it runs
    rows = spark.createDataFrame([(1, 0)], "ts long, v long")
    with saying(spark, ANSI, "false"):
        with pytest.raises(PlanError, match=r'Connect .*spark.conf.set\("spark.sql.ansi.enabled", "true"\)'):
            pw.sql("SELECT 10 / v AS q FROM s [RANGE 5]", s=rows)
        pw.sql("SELECT v FROM s [RANGE 5]", s=rows)


def test_results_that_are_late_rows_or_promises_compute_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Beside late rows all columns are null: an expression that fails on nulls must not see them."""
    rows: list[Any] = [{"ts": 1, "v": 1}, Punctuation.below("ts", 10), {"ts": 2, "v": 2}]
    query = "SELECT 10 / coalesce(n, 0) AS q FROM (SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s)"
    case = Case("late", query, {"s": rows}, {"s": {"ts": pa.int64(), "v": pa.int64()}}, late="side")
    assert [row["q"] for row in spark_streaming(case, spark=spark, folder=tmp_path) if row["q"] is not None] == [10.0]


def test_dates_without_a_zone_are_read_in_utc(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(datetime(2024, 3, 10, 2, 30),)], "ts timestamp_ntz")  # New York skips this hour
    with saying(spark, ZONE, "America/New_York"):
        found = pw.sql("SELECT count(*) [RANGE 1 h, SLIDE 1 h, WA ts] AS n FROM s", s=rows).collect()
    assert [(row.window.start, row.n) for row in found] == [(datetime(2024, 3, 10, 2), 1)]


def test_a_condition_of_thousands_of_terms_does_not_overflow_the_stack_of_the_jvm(spark: SparkSession) -> None:
    """Spark takes a condition apart and puts it together as one chain; this one does not reach it so."""
    rows = spark.createDataFrame([(1, 3), (12, 5_000)], "ts long, v long")
    text = "SELECT v FROM s WHERE " + " AND ".join(f"v <> {i}" for i in range(2_500))
    assert [row.v for row in pw.sql(text, s=rows).collect()] == [5_000]
