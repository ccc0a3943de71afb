"""The table of what is there now: after every micro-batch, once, whatever is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise.core.errors import SchemaError, SourceError

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


def test_rows_with_ends_leave_when_their_end_has_come(spark: SparkSession, tmp_path: Path) -> None:
    keep, columns = pw.current_state(tmp_path / "out"), "k string, valid_from long, expires_at long"
    keep(spark.createDataFrame([("x", 1, 4), ("y", 2, None)], columns), 0)
    assert rows(pw.read_current(spark, tmp_path / "out")) == [("x",), ("y",)]
    keep(spark.createDataFrame([("z", 4, 9)], columns), 1)
    assert rows(pw.read_current(spark, tmp_path / "out")) == [("y",), ("z",)]


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
