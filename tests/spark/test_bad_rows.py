"""Rows without a time on Spark, in batch and streams: bad if some window would see them, as in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise.cli.main import main
from panewise.core.errors import PanewiseError, UnsupportedError
from panewise.core.schema import Catalog
from panewise.engines.spark.failures import plain_errors
from panewise.engines.spark.status import query_status
from panewise.queries.row_fates import RowFates
from panewise.sql import parse

ROWS = [(1, "a"), (None, "b"), (3, "c")]
RELATION, AGGREGATE = "SELECT k FROM s [RANGE 5]", "SELECT k, count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM s GROUP BY k"
JOIN = "SELECT s.k FROM s [RANGE 5], t [RANGE 5] WHERE s.k = t.k"


def test_the_conditions_of_all_ways_to_a_window_are_known_in_the_columns_of_the_stream() -> None:
    def conditions(text: str) -> list[str]:
        return [str(c) for c in RowFates(parse(text, Catalog.anything())).conditions("s", ["ts", "k", "v"])]

    assert conditions("SELECT k FROM s [RANGE 5] WHERE ts IS NOT NULL AND v > 1") == ["NOT ts IS NULL AND v > 1"]
    assert conditions("SELECT w FROM (SELECT ts, v + 1 AS w FROM s) [RANGE 5] WHERE w > 3") == ["(v + 1) > 3"]
    assert conditions("SELECT a.k FROM s [RANGE 5] AS a, s [RANGE 5] AS b WHERE a.k = b.k AND a.v > 1") == []


def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "ts long, k string")


@pytest.mark.parametrize("query", [f"{RELATION} WHERE ts IS NOT NULL", f"{RELATION} WHERE k <> 'b'",
                                   AGGREGATE.replace("GROUP", "WHERE ts IS NOT NULL GROUP")])
@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_a_row_that_where_leaves_out_needs_no_time(query: str, policy: str, spark: SparkSession) -> None:
    local = [{"ts": ts, "k": k} for ts, k in ROWS]
    expected = sorted(row["k"] for row in pw.sql(query, s=local, bad_rows=policy, time="ts"))
    assert sorted(row.k for row in pw.sql(query, s=frame(spark), bad_rows=policy).collect()) == expected == ["a", "c"]


@pytest.mark.parametrize("query", [RELATION, AGGREGATE, JOIN])
def test_a_row_that_a_window_would_see_stops_the_run_or_is_left_out(query: str, spark: SparkSession) -> None:
    given = {"s": frame(spark), **({"t": frame(spark)} if query is JOIN else {})}
    with pytest.raises(PanewiseError, match=r"'ts' is null in a row.*bad_rows='skip'"), plain_errors():
        pw.sql(query, **given).collect()
    assert sorted(row.k for row in pw.sql(query, **given, bad_rows="skip").collect()) == ["a", "c"]


def test_the_call_that_replaces_window_takes_the_policy_too(spark: SparkSession) -> None:
    found = pw.stream(frame(spark), time="ts", bad_rows="skip").window(range=5, slide=5).agg(n="count(*)")
    assert [row.n for row in found.collect()] == [2]


def test_what_spark_cannot_do_is_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedError, match=r"bad_rows='aside'.*bad_rows='skip'"):
        pw.sql(RELATION, s=frame(spark), bad_rows="aside")
    with pytest.raises(UnsupportedError, match=r"max_jump= .*in process"):
        pw.sql(RELATION, s=frame(spark), max_jump=5)


def test_a_stream_counts_the_bad_rows_it_leaves_out(spark: SparkSession, tmp_path: Path) -> None:
    frame(spark).union(spark.createDataFrame([(None, "dropped")], "ts long, k string")) \
        .coalesce(1).write.parquet(str(tmp_path / "s"))
    stream = spark.readStream.schema("ts long, k string").parquet(str(tmp_path / "s"))
    results = pw.sql(f"{RELATION} WHERE k <> 'dropped'", s=stream, progress="ordered", bad_rows="skip")
    found: list[Any] = []

    def sink(batch: DataFrame, number: int) -> None:
        found.extend(batch.collect())

    query = results.writeStream.foreachBatch(sink).trigger(availableNow=True) \
        .option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    assert query_status(query).bad_rows == 1
    assert {row.k for row in found} <= {"a", "c"}


def test_the_command_line_skips_and_puts_aside(spark: SparkSession, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    lines = ['{"ts": 1, "k": "a"}', '{"ts": null, "k": "b"}', "{broken", '{"ts": 3, "k": "c"}']
    (tmp_path / "s.ndjson").write_text("\n".join(lines) + "\n")
    aside, out = tmp_path / "bad.ndjson", tmp_path / "out.ndjson"
    assert main(["run", f"{RELATION} WHERE k <> 'x'", "--stream", f"s={tmp_path / 's.ndjson'}", "--engine", "spark",
                 "--bad-rows", f"aside:{aside}", "--out", str(out)]) == 0
    assert sorted(json.loads(line)["k"] for line in out.read_text().splitlines()) == ["a", "c"]
    assert len(aside.read_text().splitlines()) == 2
    assert "2 rows were bad" in capsys.readouterr().err
