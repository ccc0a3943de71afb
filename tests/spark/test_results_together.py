"""Results of several queries in one streaming query, and names that a stream may not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise.core.errors import SchemaError

pytestmark = pytest.mark.spark


def test_two_results_are_parts_of_one_streaming_query(spark: SparkSession, tmp_path: Path) -> None:
    data = [(1, "x"), (2, "y"), (9, "x"), (3, "y")]
    spark.createDataFrame(data, "ts long, k string").coalesce(1).write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema("ts long, k string").parquet(str(tmp_path / "rows"))
    text = "SELECT k, count(*) [RANGE 4, SLIDE 4, WA ts] AS n FROM s GROUP BY k"
    windows = pw.sql(text, s=stream, progress="ordered")
    relation = pw.sql("SELECT k, count(*) AS n FROM s [RANGE 3] GROUP BY k", s=stream, progress="ordered")
    both = windows.select("k", "n").union(relation.where("change > 0").select("k", "n"))
    query = both.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "state")) \
        .trigger(availableNow=True).start(str(tmp_path / "out"))
    query.awaitTermination()
    found = sorted(tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert len(found) > len(data)
    assert ("y", 2) in found
    assert pw.query_status(query).open_windows == 1  # of the window aggregate: relations have none


@pytest.mark.parametrize("name", ["__pw_ordinal", "__pw_raw", "__PW_shard"])
@pytest.mark.parametrize("query", ["SELECT k FROM s [RANGE 5]", "SELECT count(*) [RANGE 5, SLIDE 5, WA ts] FROM s"])
def test_names_of_the_engines_own_columns_are_refused(name: str, query: str, spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "x", 5)], f"ts long, k string, {name} long")
    with pytest.raises(SchemaError, match=f"stream 's' has a column '{name}': names that begin with '__pw_'"):
        pw.sql(query, s=frame, time="ts")
