"""Joins and changing relations on Spark: batch and streaming give the oracle's answer, also after a failure."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import panewise as pw
from conformance.cases import Case
from conformance.runners import spark_batch, spark_streaming, write_case
from panewise.api.query import plan_of
from panewise.core.errors import CheckpointError, LateRowError, PlanError, UnsupportedError
from panewise.dataflow import open_plan
from panewise.engines.spark import explain_frames
from panewise.engines.spark.engine import run, run_batch, run_streaming
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.lower.progress import split_late
from panewise.engines.spark.lower.stateless_steps import source_schema
from panewise.engines.spark.observe.status import query_status
from panewise.engines.spark.session.failures import translate
from panewise.plan.nodes import AntiJoin
from panewise.progress.punctuation import Punctuation
from relations.running import bag
from spark.cases import run_to_end, write_ndjson

pytestmark = pytest.mark.spark

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
QUERIES = {
    "join": "SELECT * FROM a [RANGE 10], b [RANGE 6] WHERE a.k = b.k AND a.v <= b.v",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 7]",
    "distinct recent": "SELECT DISTINCT RECENT k FROM a [RANGE 3]",
    "not exists": "SELECT k, v FROM a [RANGE 8] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)",
    "except": "SELECT k FROM a [RANGE 9] EXCEPT ALL SELECT k FROM b [RANGE 4]",
    "groups": "SELECT k, count(*) AS n, sum(v) AS total FROM a [ROWS 3 PARTITION BY k] GROUP BY k",
    "in one piece": "SELECT count(*) AS n FROM a [RANGE 6], b [RANGE 6] WHERE a.v < b.v",
    "cut in two": "SELECT b.v, count(*) AS n FROM a [RANGE 6], b [RANGE 9] WHERE a.k = b.k GROUP BY b.v",
    "istream": "SELECT Istream(k, v) FROM a [RANGE 6]",
    "istream, cut in two": "SELECT Istream(b.v) FROM a [RANGE 6], b [RANGE 9] WHERE a.k = b.k",
    "dstream": "SELECT Dstream(k, v) FROM a [RANGE 6] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)",
    "stream": "SELECT k, v + 1 AS more FROM a WHERE v > 0",
    "rstream": "SELECT Rstream(k, v) FROM a [RANGE 5 SLIDE 5]",
    "restore": "SELECT Rstream-restore(a.k, b.v) FROM a [RANGE 6 SLIDE 3], b [RANGE 4 SLIDE 3] WHERE a.k = b.k",
    "join of streams": "SELECT * FROM a [WA ts, RANGE 3], b [WA ts, RANGE 2] WHERE a.k = b.k",
    "band after":
        "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND b.ts > a.ts + 1 AND b.ts - a.ts <= 6",
    "aggregate over a join of streams":
        "SELECT a.k, count(*) [RANGE 10, SLIDE 10, WA a.ts] AS n FROM a [RANGE 3, WA ts], b [RANGE 3, WA ts] "
        "WHERE a.k = b.k GROUP BY a.k",
}


def case(name: str, *, rows: int = 28, late: str = "drop") -> Case:
    """Rows out of order, promises that some of them break."""
    random = Random(name)
    streams: dict[str, list[Any]] = {}
    for stream in ("a", "b"):
        if f"{stream} [" not in QUERIES[name] and f" {stream} " not in QUERIES[name]:
            continue
        items: list[Any] = []
        for place in range(rows):
            ts = place + random.randint(0, 6)
            items.append({"ts": ts, "k": random.choice("xyz"), "v": random.randint(0, 3)})
            if place % 7 == 6:
                items.append(Punctuation.below("ts", place + 3))
        streams[stream] = items
    return Case(name, QUERIES[name], streams, dict.fromkeys(streams, COLUMNS), late=late)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_over_bounded_inputs_gives_the_oracles_answer(name: str, spark: SparkSession, tmp_path: Path) -> None:
    given = case(name)
    assert bag(spark_batch(given, spark=spark, folder=tmp_path)) == bag(given.expected())


@pytest.mark.parametrize("name", ["join", "cut in two", "stream", "band after", "aggregate over a join of streams",
                                  "distinct", "except", "istream", "istream, cut in two", "dstream", "rstream",
                                  "restore"])
def test_a_streaming_query_that_failed_in_the_middle_gives_it_too(name: str, spark: SparkSession,
                                                                  tmp_path: Path) -> None:
    given = case(name, rows=20)  # two micro-batches
    assert given.expected()
    found = spark_streaming(given, spark=spark, folder=tmp_path, batch_rows=12, shards=2, fail_at=1)
    assert bag(found) == bag(given.expected())


def test_a_stream_meets_a_table_that_is_a_static_frame(spark: SparkSession, tmp_path: Path) -> None:
    names = spark.createDataFrame([("x", "ex"), ("y", "why")], "k string, name string")
    rows = tmp_path / "rows"
    spark.createDataFrame([(1, "x"), (2, "z"), (3, "y"), (4, "x")], "ts long, k string").write.parquet(str(rows))
    stream = spark.readStream.schema("ts long, k string").parquet(str(rows))
    query = "SELECT s.ts, n.name FROM s, n WHERE s.k = n.k"
    found = pw.sql(query, s=stream, n=pw.table(names), progress="ordered")
    assert sorted(collected(found, tmp_path)) == [(1, "ex"), (3, "why"), (4, "ex")]


STREAM = [{"ts": ts, "k": "xyz"[ts % 3], "v": ts % 5} for ts in range(24)]
TABLE = [{"change": 1} | row for row in (
    {"ts": 0, "k": "x", "top": 1}, {"ts": 0, "k": "y", "top": 3}, {"ts": 7, "k": "x", "top": 1, "change": -1},
    {"ts": 8, "k": "z", "top": 0}, {"ts": 15, "k": "z", "top": 2}, {"ts": 18, "k": "y", "top": 3, "change": -1},
)]


WINDOW_BESIDE = "SELECT s.ts, s.k, l.top FROM s [RANGE 6], l WHERE s.k = l.k AND s.v >= l.top"
STREAM_BESIDE = "SELECT s.ts, s.k, l.top FROM s, l WHERE s.k = l.k"
WITHOUT_ROWS = "SELECT k, top FROM l WHERE NOT EXISTS (SELECT * FROM s [RANGE 2] WHERE s.k = l.k)"


@pytest.mark.parametrize(("query", "retroactive"), [
    (WINDOW_BESIDE, False), (WINDOW_BESIDE, True), (STREAM_BESIDE, False), (STREAM_BESIDE, True), (WITHOUT_ROWS, True),
])
def test_a_table_that_is_a_stream_of_changes(query: str, retroactive: bool, spark: SparkSession,
                                             tmp_path: Path) -> None:
    """Rows of the table come and go while the stream runs; the query is stopped and goes on."""
    frames = {}
    for name, rows, column in (("s", STREAM, "v"), ("l", TABLE, "top")):
        files: list[list[dict[str, Any]]] = [[], [], []]
        for row in rows:
            files[min(row["ts"] // 8, 2)].append(row)
        for number, lines in enumerate(files, 1):
            lines.append({"punctuation": {} if number == len(files) else {"ts": 8 * number}})
        home = write_ndjson(tmp_path / name, files)
        schema = f"ts long, k string, {column} long, punctuation string" + (", change int" if name == "l" else "")
        frames[name] = pw.punctuated(spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(home)))
    changing = pw.table(TABLE, time="ts", retroactive=retroactive)
    expected = pw.sql(query, s=STREAM, l=changing, time="ts", engine="oracle")
    result = pw.sql(query, s=frames["s"], l=pw.table(frames["l"], time="ts", retroactive=retroactive))
    found = [row.asDict() for batches in (1, None)
             for row in run_to_end(result, tmp_path / "checkpoint", batches=batches)[0]]
    assert any(row["k"] == "z" for row in found)
    assert bag(found) == bag(expected)


def test_a_table_is_a_table_in_batch_too(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "x", 5), (2, "z", 6)], "ts long, k string, v long")
    limits = spark.createDataFrame([("x", 4), ("z", 9)], "k string, top long")
    found = pw.sql("SELECT s.k, s.v FROM s, l WHERE s.k = l.k AND s.v > l.top", s=rows, l=pw.table(limits))
    assert [tuple(row) for row in found.collect()] == [("x", 5)]


def test_rows_without_a_place_in_a_table_are_found_in_batch_too(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "x"), (2, "z"), (3, "y"), (9, "z")], "ts long, k string")
    known = pw.table(spark.createDataFrame([("x",), ("y",)], "k string"), retroactive=True)
    query = "SELECT ts, k FROM s [RANGE 4] WHERE NOT EXISTS (SELECT * FROM l WHERE l.k = s.k)"
    assert sorted(tuple(row) for row in pw.sql(query, s=rows, l=known).collect()) == [
        (2, "z", 2, 1), (2, "z", 6, -1), (9, "z", 9, 1), (9, "z", 13, -1)]
    assert "by hash of s.k, l.k" in pw.explain(query, s=rows, l=known)


def collected(frame: DataFrame, folder: Path) -> list[tuple[Any, ...]]:
    """All rows of a streaming DataFrame over files."""
    out = folder / "out"
    query = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint")) \
        .trigger(availableNow=True).start(str(out))
    query.awaitTermination()
    return [tuple(row) for row in frame.sparkSession.read.parquet(str(out)).collect()]


def test_late_rows_of_a_join_are_an_output_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    given = case("join", late="side")
    frames = {n: read_stream(spark, p, time="ts") for n, p in write_case(given, tmp_path).items()}
    kept: list[tuple[int, int]] = []

    def sink(batch: DataFrame, number: int) -> None:
        results, late = split_late(batch)
        kept.append((results.count(), late.count()))

    query = run_streaming(given.plan, frames, late="side").writeStream.foreachBatch(sink).trigger(availableNow=True) \
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    oracle = given.oracle()
    assert oracle.late_rows()
    assert [sum(counts) for counts in zip(*kept, strict=True)] == [len(oracle.results()), len(oracle.late_rows())]


def ended(query: StreamingQuery) -> None:
    """Wait for the end of a stream; an error is ours."""
    try:
        query.awaitTermination()
    except Exception as error:
        raise translate(error) or error from error


def test_a_checkpoint_of_another_join_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    columns = "ts long, k string, v long"
    rows = spark.createDataFrame([(1, "x", 1), (2, "y", 2)], columns)

    def started(name: str) -> StreamingQuery:
        rows.write.mode("append").parquet(str(tmp_path / "rows"))
        frame = spark.readStream.schema(columns).parquet(str(tmp_path / "rows"))
        results = run_streaming(case(name).plan, {"a": frame, "b": frame}, progress="ordered", shards=2)
        return results.writeStream.format("noop").trigger(availableNow=True) \
            .option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    ended(started("join"))
    with pytest.raises(CheckpointError, match="the checkpoint has query"):
        ended(started("not exists"))


def test_a_late_row_stops_a_batch_when_it_should(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LateRowError, match=r"stream 'a'.* is below the bound"):
        stopped(case("distinct", late="error"), spark, tmp_path)


def stopped(given: Case, spark: SparkSession, folder: Path) -> None:
    try:
        spark_batch(given, spark=spark, folder=folder)
    except Exception as error:
        raise translate(error) or error from error


def test_explain_says_how_a_plan_is_split(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], "ts long, k string, v long")
    frames = {"a": frame, "b": frame}
    assert "by hash of a.k, b.k" in explain_frames(case("join").plan, frames)
    assert "shards: one, because no column" in explain_frames(case("in one piece").plan, frames)
    cut = explain_frames(case("cut in two").plan, frames)
    assert "<relation 1>, the Join below: " in cut
    assert "by hash of a.k, b.k\n" in cut
    assert "by hash of <relation 1>.b.v" in cut


def test_what_cannot_be_is_refused_before_anything_runs(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().select(
        F.col("value").alias("ts"), F.lit("x").alias("k"), F.col("value").alias("v"))
    plan = case("distinct").plan
    with pytest.raises(PlanError, match="carries no punctuation"):
        run(plan, {"a": stream})
    with pytest.raises(PlanError, match="early results"):
        run(plan, {"a": stream}, progress="ordered", emit="change")
    with pytest.raises(UnsupportedError, match="late rows as an output need rows that carry the bound"):
        run(plan, {"a": stream}, progress="ordered", late="side")


def test_a_plan_written_without_columns_takes_those_of_the_frames(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "x"), (2, "x")], "at long, k string")
    frame = rows.select(F.timestamp_seconds("at").alias("ts"), "k")
    found = run_batch(plan_of("SELECT DISTINCT k FROM a [RANGE 5 s]", None), {"a": frame})
    assert {row["k"] for row in found.collect()} == {"x"}
    assert found.columns == ["k", "valid_from", "expires_at"]


def test_statistics_choose_the_plan_that_every_shard_runs(spark: SparkSession, tmp_path: Path) -> None:
    text = "SELECT c.v FROM a [RANGE 6], b [RANGE 6], c [RANGE 6] WHERE a.k = b.k AND b.k = c.k"
    stats = {"a.rows_per_second": 1000, "b.rows_per_second": 1000, "c.rows_per_second": 1, "a.k": 2, "b.k": 2, "c.k": 2}
    columns = "ts long, k string, v long"
    frames = {name: spark.createDataFrame([(i, "xyz"[(i + shift) % 3], i) for i in range(12)], columns)
              for shift, name in enumerate("abc")}
    plain, by_rule = sorted(_rows(pw.sql(text, **frames))), pw.explain(text, **frames)
    assert plain
    assert sorted(_rows(pw.sql(text, stats=stats, **frames))) == plain
    shown = pw.explain(text, stats=stats, **frames)
    assert "plan, by statistics: " in shown
    assert "plan, by statistics: " not in by_rule
    for name, frame in frames.items():
        frame.write.parquet(str(tmp_path / name))
    streams = {name: spark.readStream.schema(columns).parquet(str(tmp_path / name)) for name in frames}
    sent = collected(pw.sql(text, stats=stats, progress="ordered", **streams), tmp_path)
    assert sorted(sent) == [row for row in plain if row[1] < 11]  # in order: more rows of the last instant may come


def test_a_stream_says_when_another_plan_would_be_better(spark: SparkSession, tmp_path: Path) -> None:
    text = "SELECT c.v FROM a [RANGE 6], b [RANGE 6], c [RANGE 6] WHERE a.k = b.k AND b.k = c.k"
    stats = {name: {"rows_per_unit": rate, "k": 10} for name, rate in (("a", 2.0), ("b", 2.0), ("c", 0.01))}
    frames = {name: spark.range(rows).selectExpr(f"id * {60_000 // rows} + id * {60_000 % rows} div {rows} AS ts",
                                                 "id % 10 AS k", "1 AS v")
              for name, rows in (("a", 120_000), ("b", 1_000), ("c", 120_000))}
    for name, frame in frames.items():
        frame.write.parquet(str(tmp_path / name))
    streams = {name: spark.readStream.schema(frame.schema).parquet(str(tmp_path / name))
               for name, frame in frames.items()}
    results = pw.sql(text, stats=stats, progress="ordered", **streams)
    query = results.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")) \
        .trigger(availableNow=True).start()
    query.awaitTermination()
    status = query_status(query)
    assert "rows of c per unit was 0.005, is 1" in status.replan  # in one of two shards
    assert "another plan is better" in str(status)


def test_where_most_rows_leave_early_every_end_is_sent_on_spark_too(spark: SparkSession) -> None:
    text = ("SELECT k, count(*) AS n FROM (SELECT DISTINCT k, v FROM a [RANGE 8] WHERE NOT EXISTS "
            "(SELECT * FROM b [RANGE 5] WHERE b.k = a.k)) AS s GROUP BY k")
    frames = {name: spark.createDataFrame([(i, "xyz"[i % every], i) for i in range(30)], "ts long, k string, v long")
              for name, every in (("a", 3), ("b", 2))}
    plan = plan_of(text, {name: source_schema(frame) for name, frame in frames.items()})
    strict = next(node for node in open_plan(plan).relation.physical.running.walk() if isinstance(node, AntiJoin))
    stats = {"a": {"rows_per_second": 10}, "b": {"rows_per_second": 10}, "premature": {str(strict.predicate): 0.999}}
    assert "every end is sent from: AntiJoin" in pw.explain(text, stats=stats, **frames)
    plain = sorted(_rows(pw.sql(text, **frames)))
    assert plain
    assert sorted(_rows(pw.sql(text, stats=stats, **frames))) == plain


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_statistics_that_choose_nothing_are_refused_rather_than_ignored(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "a")], "ts long, k string")
    with pytest.raises(PlanError, match="is chosen by rule"):
        pw.sql("SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s", s=frame, stats={"s.rows_per_second": 5})
    with pytest.raises(PlanError, match="by what is known of their inputs"):
        pw.sql("SELECT DISTINCT k FROM s [RANGE 5]", s=frame, stats={"rows_per_second": 5})
    with pytest.raises(PlanError, match="on Spark that is chosen by rule"):
        pw.sql("SELECT DISTINCT k FROM s [RANGE 5]", s=frame, strategy="negative")
