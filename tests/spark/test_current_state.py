"""The table of what is there now: after every micro-batch, once, whatever is repeated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise.core.errors import CheckpointError, PlanError, SchemaError, SourceError
from spark.cases import write_ndjson

pytestmark = pytest.mark.spark


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.drop("valid_from", "expires_at").collect())


def test_changes_add_up_and_a_repeated_batch_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    keep, columns = pw.current_state(tmp_path / "out"), "k string, valid_from long, change long"
    with pytest.raises(SourceError, match="no batch has been committed"):
        pw.read_current(spark, tmp_path / "out")
    first = spark.createDataFrame([("x", 1, 1), ("x", 2, 1), ("y", 2, 1), (None, 3, 1)], columns)
    second = spark.createDataFrame([("x", 4, -1), ("y", 4, -1), ("z", 5, 1)], columns)
    keep(first, 0)
    assert rows(pw.read_current(spark, tmp_path / "out").na.fill("null")) == [("null",), ("x",), ("x",), ("y",)]
    keep(second, 1)
    keep(second, 1)
    assert rows(pw.read_current(spark, tmp_path / "out").na.fill("null")) == [("null",), ("x",), ("z",)]


@pytest.mark.parametrize(("data_type", "ends", "bounds"), [
    ("long", (4, 9), ("4", "5", "9")),
    ("date", (date(2026, 1, 4), date(2026, 1, 9)), ('"2026-01-04"', '"2026-01-05"', '"2026-01-09"')),
    ("timestamp", tuple(datetime(2026, 1, d, tzinfo=UTC) for d in (4, 9)),
     ('"2026-01-04T00:00:00Z"', '"2026-01-04T00:00:00.000001Z"', '"2026-01-09T00:00:00Z"')),
    ("timestamp_ntz", tuple(datetime(2026, 1, d) for d in (4, 9)),
     ('"2026-01-04T00:00:00Z"', '"2026-01-04T00:00:00.000001Z"', '"2026-01-09T00:00:00Z"')),
])
def test_rows_with_ends_leave_when_progress_has_passed_them(data_type: str, ends: tuple[Any, Any],
                                                            bounds: tuple[str, str, str], spark: SparkSession,
                                                            tmp_path: Path) -> None:
    keep = pw.current_state(tmp_path / "out")
    columns = f"k string, valid_from {data_type}, expires_at {data_type}, punctuation string"

    def after(batch: int, data: list[tuple[Any, ...]], *said: str) -> list[tuple[object, ...]]:
        told = [(None, None, None, f'{{"valid_from": {bound}}}' if bound else "{}") for bound in said]
        keep(spark.createDataFrame([*((*row, None) for row in data), *told], columns), batch)
        return rows(pw.read_current(spark, tmp_path / "out"))

    first, last = ends
    assert after(0, [("x", first, first), ("y", first, None), ("z", first, last)]) == [("x",), ("y",), ("z",)]
    assert after(1, [], bounds[0]) == [("x",), ("y",), ("z",)]  # the instant before the end of x is complete, no more
    assert after(2, [], bounds[1], bounds[2]) == [("y",), ("z",)]  # as far as both shards are
    assert after(3, [], bounds[2]) == [("y",), ("z",)]
    assert after(4, [], "") == [("y",)]


def test_rows_with_ends_need_to_know_how_far_the_query_is(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("x", 1, 4)], "k string, valid_from long, expires_at long")
    with pytest.raises(SchemaError, match="write emit='punctuated'"):
        pw.current_state(tmp_path / "out")(frame, 0)


def test_results_that_are_no_relation_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="a current state needs results with 'valid_from'"):
        pw.current_state(tmp_path / "out")(spark.createDataFrame([(1,)], "n long"), 0)


def test_a_streaming_query_keeps_its_table_current(spark: SparkSession, tmp_path: Path) -> None:
    data = [(1, "x", 5), (3, "y", 7), (6, "x", 2), (8, "y", 1), (9, "z", 4)]
    spark.createDataFrame(data, "ts long, k string, v long").coalesce(1).write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema("ts long, k string, v long").parquet(str(tmp_path / "rows"))
    most = pw.sql("SELECT k, max(v) AS most FROM s [RANGE 5] GROUP BY k", s=stream, progress="ordered")
    query = most.writeStream.foreachBatch(pw.current_state(tmp_path / "out")) \
        .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    # what is told is below the bound 9: at 8 the window has the rows of (3, 8]
    assert rows(pw.read_current(spark, tmp_path / "out")) == [("x", 2), ("y", 1)]


@pytest.mark.parametrize(("query", "there"), [
    ("SELECT k, v FROM s [RANGE 5] WHERE v > 1", [[("x", 5), ("y", 7)], [("y", 7)], []]),
    ("SELECT DISTINCT s.k FROM s [RANGE 5], t [RANGE 9] WHERE s.k = t.k", [[("x",)], [], []]),
])
def test_rows_leave_when_promises_pass_their_ends_and_nothing_else_comes(
        query: str, there: list[list[tuple[object, ...]]], spark: SparkSession, tmp_path: Path) -> None:
    home, schema = tmp_path / "in", "ts long, k string, v long, punctuation string"
    write_ndjson(home, [[{"ts": 1, "k": "x", "v": 5}, {"ts": 3, "k": "y", "v": 7}, {"punctuation": {"ts": 4}}]])
    names = ["s"] if "t [" not in query else ["s", "t"]
    for step, (bound, expected) in enumerate(zip((4, 7, 9), there, strict=True)):
        if step:  # a file with nothing but a promise
            (home / f"later-{step}.ndjson").write_text(json.dumps({"punctuation": {"ts": bound}}) + "\n")
        streams = {name: pw.punctuated(spark.readStream.schema(schema).json(str(home))) for name in names}
        if len(names) > 1:
            streams["t"] = streams["t"].where("k is null or k = 'x'")
        results = pw.sql(query, **streams, emit="punctuated")
        running = results.writeStream.foreachBatch(pw.current_state(tmp_path / "out")) \
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        running.awaitTermination()
        assert rows(pw.read_current(spark, tmp_path / "out")) == expected, bound


def test_only_dated_relations_say_how_far_they_are(spark: SparkSession) -> None:
    stream = pw.punctuated(spark.readStream.schema("ts long, k string, punctuation string").json("."))
    for query, message in (("SELECT k FROM s WHERE k = 'x'", "is for relations over windows"),
                           ("SELECT count(*) [RANGE 5, SLIDE 5, WA ts] FROM s", "is for relations over windows"),
                           ("SELECT ts AS punctuation FROM s [RANGE 5]", "rename it with AS")):
        with pytest.raises(PlanError, match=message):
            pw.sql(query, s=stream, time="ts", emit="punctuated")
    with pytest.raises(PlanError, match="are not for one query"):
        pw.sql("SELECT k FROM s [RANGE 5]", s=stream, time="ts", emit="punctuated", late="side")


def test_pairs_of_streams_say_how_far_they_are_and_their_distinct_values_are_kept(spark: SparkSession,
                                                                                   tmp_path: Path) -> None:
    streams = {}
    for name, times in (("a", (1, 4, 9)), ("b", (2, 5, 30))):
        data = [(ts, "x" if ts < 6 else "y") for ts in times]
        spark.createDataFrame(data, "ts long, k string").coalesce(1).write.parquet(str(tmp_path / name))
        streams[name] = spark.readStream.schema("ts long, k string").parquet(str(tmp_path / name))
    band = "FROM a [RANGE 3, WA ts], b [RANGE 2, WA ts] WHERE a.k = b.k"

    def run(text: str, sink: Any) -> None:
        found = pw.sql(text, **streams, progress="ordered", emit="punctuated")
        query = found.writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path / str(hash(text))))
        assert query.trigger(availableNow=True).start().awaitTermination(120)

    pairs: list[Any] = []
    run(f"SELECT a.ts, b.ts AS other {band}", lambda frame, _: pairs.extend(tuple(row) for row in frame.collect()))
    assert sorted(row[:2] for row in pairs if row[2] is None) == [(1, 2), (4, 2), (4, 5)]
    said = [json.loads(row[2]) for row in pairs if row[2] is not None]
    assert {"ts": {"below": 9}} in said                          # a slab: a is at 9, and b far beyond
    assert {"other": {"below": 7}} in said
    run(f"SELECT DISTINCT a.k {band}", pw.current_state(tmp_path / "out"))
    assert rows(pw.read_current(spark, tmp_path / "out")) == [("x",)]
    with pytest.raises(PlanError, match="one of the times they meet by"):
        run(f"SELECT a.k {band}", print)


@pytest.fixture
def elsewhere(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that is not in UTC."""
    there = spark.newSession()
    there.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield there
    there.conf.set("spark.sql.session.timeZone", "UTC")


def test_times_without_a_zone_leave_at_their_instant_in_any_session(elsewhere: SparkSession, tmp_path: Path) -> None:
    keep = pw.current_state(tmp_path / "out")
    columns = "k string, valid_from timestamp_ntz, expires_at timestamp_ntz, punctuation string"
    day, end = datetime(2026, 1, 4), datetime(2026, 1, 4, 6)
    data = [("x", day, end, None), ("z", day, datetime(2026, 1, 9), None)]
    for batch, (bound, there) in enumerate([("2026-01-04T06:00:00Z", [("x",), ("z",)]),
                                            ("2026-01-04T06:00:00.000001Z", [("z",)])]):
        said = [(None, None, None, json.dumps({"valid_from": bound}))]
        keep(elsewhere.createDataFrame([*data, *said] if batch == 0 else said, columns), batch)
        assert rows(pw.read_current(elsewhere, tmp_path / "out")) == there


@pytest.mark.parametrize("aggregate", ["count(*) [RANGE 2 hours, SLIDE 2 hours, WA ts] AS n FROM s GROUP BY k",
                                       "count(*) AS n FROM s [RANGE 2 hours] GROUP BY k"])
def test_times_without_a_zone_are_read_in_the_session_of_their_frame(aggregate: str, spark: SparkSession,
                                                                     elsewhere: SparkSession) -> None:
    data = [(datetime(2026, 3, 8, hour), "x") for hour in (0, 2, 3)]  # in New York there is no such two o'clock
    answers = []
    for session in (spark, elsewhere):
        frame = session.createDataFrame(data, "ts timestamp_ntz, k string")
        with ThreadPoolExecutor(1) as another:  # a thread in which no session is the active one
            found = another.submit(pw.sql, f"SELECT k, {aggregate}", s=frame, time="ts").result()
        answers.append(sorted(map(str, found.collect())))
    assert answers[0] == answers[1]


def test_a_column_of_the_query_may_have_the_name_of_one_that_is_added_elsewhere(spark: SparkSession,
                                                                                tmp_path: Path) -> None:
    lives = "k string, change long, valid_from long, expires_at long, punctuation string"
    pw.current_state(tmp_path / "lives")(spark.createDataFrame([("x", 5, 1, 9, None), ("y", -3, 2, 9, None)], lives), 0)
    assert rows(pw.read_current(spark, tmp_path / "lives")) == [("x", 5), ("y", -3)]
    changes = "k string, expires_at long, valid_from long, change long"
    pw.current_state(tmp_path / "changes")(spark.createDataFrame([("x", 9, 1, 1), ("y", 9, 2, 1), ("y", 9, 3, -1)],
                                                                 changes), 0)
    assert rows(pw.read_current(spark, tmp_path / "changes")) == [("x",)]


def test_a_folder_of_another_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    columns = "k string, valid_from long, change long"
    for batch in range(3):
        pw.current_state(tmp_path / "out")(spark.createDataFrame([(f"old {batch}", batch, 1)], columns), batch)
    with pytest.raises(CheckpointError, match="as after batch 2, and this is batch 0; start with a new folder"):
        pw.current_state(tmp_path / "out")(spark.createDataFrame([("new", 0, 1)], columns), 0)
    assert len(rows(pw.read_current(spark, tmp_path / "out"))) == 3


def test_a_new_checkpoint_needs_a_new_folder_even_after_one_batch(spark: SparkSession, tmp_path: Path) -> None:
    columns = "k string, valid_from long, change long"
    spark.createDataFrame([("x", 1, 1)], columns).coalesce(1).write.parquet(str(tmp_path / "rows"))

    def run(checkpoint: str) -> None:
        stream = spark.readStream.schema(columns).parquet(str(tmp_path / "rows"))
        query = stream.writeStream.foreachBatch(pw.current_state(tmp_path / "out")) \
            .option("checkpointLocation", str(tmp_path / checkpoint)).trigger(availableNow=True).start()
        with pw.plain_errors():
            query.awaitTermination()

    run("first")
    (tmp_path / "first" / "commits" / "0").unlink()  # Spark did not hear that batch 0 was done: it repeats it
    (tmp_path / "first" / "commits" / ".0.crc").unlink(missing_ok=True)
    run("first")
    assert rows(pw.read_current(spark, tmp_path / "out")) == [("x",)]
    with pytest.raises(CheckpointError, match="of another query, or of another checkpoint"):
        run("second")
