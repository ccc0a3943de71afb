"""Sums of floats on Spark: with ``exact=True`` those of the oracle to the last bit; else Spark adds, and says so."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from kernels.wild_floats import wild_rows
from panewise.engines.spark.io.sources import read_stream

pytestmark = pytest.mark.spark

THREE = [(58, -1e6), (67, 1e6), (77, 19.99)]
FOUR = [(1, 1e16), (2, 1.0), (3, -1e16), (4, 1.0)]
SEVEN = list(enumerate([-1e16, -1e16, 1e16, 0.1, -1e16, 1e16, 1e16]))
TEXT = "SELECT k, sum(f) [RANGE 20, SLIDE 3, WA ts] AS total, avg(f) AS mean, count(*) AS n FROM s GROUP BY k"
SPREAD = "SELECT k, var_samp(f) [RANGE 20, SLIDE 3, WA ts] AS spread, stddev(f) AS deviation FROM s GROUP BY k"


def rows_of(pairs: list[tuple[int, Any]]) -> list[dict[str, Any]]:
    return [{"ts": ts, "k": "ab"[i % 5 == 4], "f": value} for i, (ts, value) in enumerate(pairs)]


def wild() -> list[dict[str, Any]]:
    random = Random(3)
    return rows_of([(random.randrange(200), value) for value in wild_rows(random, 400)])


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> Any:
    return spark.createDataFrame(pa.Table.from_pylist(rows, pa.schema(
        {"ts": pa.int64(), "k": pa.string(), "f": pa.float64()}))).repartition(3)


def shown(rows: Any) -> list[str]:
    """Bit for bit."""
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("text", [TEXT, SPREAD], ids=["sums", "variances"])
def test_exact_is_the_answer_of_the_oracle_to_the_last_bit(spark: SparkSession, text: str) -> None:
    for rows in (rows_of(THREE), rows_of(FOUR), rows_of(SEVEN), wild()):
        found = pw.sql(text, s=frame(spark, rows), exact=True).toArrow().to_pylist()
        assert shown(found) == shown(pw.sql(text, s=rows, engine="oracle", progress="late:1000", time="ts"))
        assert shown(found) == shown(pw.sql(text, s=rows, exact=True, progress="late:1000", time="ts"))


def test_by_default_spark_adds_and_is_off_by_its_roundings(spark: SparkSession) -> None:
    random = Random(8)
    rows = rows_of([(random.randrange(100), round(random.uniform(1, 1e4), 2)) for _ in range(300)])
    answers = (pw.sql(TEXT, s=frame(spark, rows)).toArrow().to_pylist(),
               pw.sql(TEXT, s=rows, engine="oracle", progress="late:1000", time="ts"))
    found, exact = ({(r["k"], r["window"]["start"]): r for r in answer} for answer in answers)
    assert found.keys() == exact.keys()
    for at, row in exact.items():
        for name in ("total", "mean"):
            assert abs(found[at][name] - row[name]) <= row["n"] * math.ulp(row[name])


def test_explain_says_who_adds(spark: SparkSession) -> None:
    data = frame(spark, rows_of(THREE))
    assert "sums of floats are not exact, Spark rounds every addition: exact=True" in pw.explain(TEXT, s=data)
    assert "because Spark's own sums of floats are not exact" in pw.explain(TEXT, s=data, exact=True)
    whole = TEXT.replace("(f)", "(ts)")
    assert "exact" not in pw.explain(whole, s=data)
    query = pw.stream(data, time="ts", exact=True).window(range=20, slide=3).group_by("k")
    assert "because Spark's own sums of floats are not exact" in query.explain(total="sum(f)")
    rows = [{"ts": ts, "f": value} for ts, value in FOUR]
    found = pw.stream(frame(spark, rows_of(FOUR)), time="ts", exact=True).window(range=20, slide=20).agg(t="sum(f)")
    assert found.collect()[0]["t"] == 2.0
    assert next(iter(pw.stream(rows, time="ts", exact=True).window(range=20, slide=20).agg(t="sum(f)")))["t"] == 2.0


def test_streams_are_exact_whatever_the_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    rows = [row for row in wild() if row["f"] is None or math.isfinite(row["f"])]  # JSON has no others
    path = tmp_path / "s.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    results: dict[int, list[dict[str, Any]]] = {}

    def sink(batch: Any, number: int) -> None:
        results[number] = batch.toArrow().to_pylist()

    stream = read_stream(spark, path, time="ts", progress="late:1000", rows_per_batch=60)
    query = (pw.sql(TEXT, s=stream, exact=True).writeStream.outputMode("append").foreachBatch(sink)
             .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start())
    query.awaitTermination()
    found = [{k: v for k, v in row.items() if not k.startswith("__")} for part in results.values() for row in part]
    expected = pw.sql(TEXT, s=rows, engine="oracle", progress="late:1000", time="ts")
    assert shown(found) == shown(expected)
