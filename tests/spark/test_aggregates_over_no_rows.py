"""Aggregates without GROUP BY on Spark: the one shard they run in tells a row also if it gets no data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from spark.cases import write_ndjson

pytestmark = pytest.mark.spark

COLUMNS = "ts long, k string, v long"
NOTHING = {"n": 0, "total": None}
RELATIONS = {
    "window": "SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 5]",
    "rows": "SELECT count(*) AS n, sum(v) AS total FROM s [ROWS 2]",
    "stream": "SELECT count(*) AS n, sum(v) AS total FROM s",
    "join": "SELECT count(*) AS n, sum(s.v) AS total FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k",
    "not exists": "SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 5] "
                  "WHERE NOT EXISTS (SELECT * FROM t [RANGE 5] WHERE t.k = s.k)",
    "distinct": "SELECT count(*) AS n, sum(v) AS total FROM (SELECT DISTINCT k, v FROM s [RANGE 5]) AS q",
}


def frames(text: str, frame: DataFrame) -> dict[str, DataFrame]:
    return {name: frame for name in ("s", "t") if f" {name} [" in text or f" {name}" == text[-2:]}


@pytest.mark.parametrize("name", RELATIONS)
def test_a_batch_without_rows_gives_one_row(name: str, spark: SparkSession) -> None:
    text = RELATIONS[name]
    found = pw.sql(text, **frames(text, spark.createDataFrame([], COLUMNS)), time="ts").collect()
    assert [row.asDict() for row in found] == [{**NOTHING, "valid_from": None, "change": 1}]


def test_rows_that_where_drops_leave_a_batch_without_rows(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "x", 4), (2, "y", 5)], COLUMNS).repartition(3)
    found = pw.sql("SELECT count(*) AS n, sum(v) AS total FROM s [RANGE 5] WHERE v > 9", s=frame, time="ts").collect()
    assert [row.asDict() for row in found] == [{**NOTHING, "valid_from": None, "change": 1}]


def test_groups_of_a_batch_without_rows_are_none(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], COLUMNS)
    assert pw.sql("SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k", s=frame, time="ts").collect() == []


@pytest.mark.parametrize("name", ["window", "join"])
def test_a_stream_tells_the_row_with_its_first_promise_and_the_current_state_has_it(name: str, spark: SparkSession,
                                                                                    tmp_path: Path) -> None:
    text, home = RELATIONS[name], tmp_path / "in"
    write_ndjson(home, [[{"punctuation": {"ts": 2}}]])
    steps: list[tuple[list[dict[str, Any]], list[tuple[int, int | None]]]] = [
        ([], [(0, None)]),
        ([{"ts": 3, "k": "x", "v": 4}, {"punctuation": {"ts": 4}}], [(1, 4)]),
        ([{"punctuation": {"ts": 9}}], [(0, None)]),
    ]
    for number, (items, expected) in enumerate(steps):
        if items:
            (home / f"later-{number}.ndjson").write_text("".join(json.dumps(item) + "\n" for item in items))
        streams = {stream: pw.punctuated(spark.readStream.schema(f"{COLUMNS}, punctuation string").json(str(home)))
                   for stream in frames(text, spark.createDataFrame([], COLUMNS))}
        running = pw.sql(text, **streams).writeStream.foreachBatch(pw.current_state(tmp_path / "out")) \
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        running.awaitTermination()
        there = pw.read_current(spark, tmp_path / "out").collect()
        assert [(row.n, row.total) for row in there] == expected, number
