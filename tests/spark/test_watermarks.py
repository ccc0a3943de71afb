"""``withWatermark`` of a streaming DataFrame is the progress policy of its stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise.core.errors import PlanError
from spark.cases import aged, rows_of, run_to_end

pytestmark = pytest.mark.spark
START = datetime(2026, 1, 1, tzinfo=UTC)
COUNTS = "SELECT k, count(*) [RANGE 10 s, SLIDE 5 s, WA ts] AS n FROM s GROUP BY k"
PAIRS = "SELECT s.k, t.ts AS other FROM s [RANGE 5 s], t [RANGE 4 s] WHERE s.k = t.k"


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    """Three micro-batches, some rows of which are late by a delay of five seconds."""
    folder.mkdir()
    for number, seconds in enumerate(([1, 4, 12, 9], [20, 6, 17], [31, 29, 3])):
        rows = [{"ts": START + timedelta(seconds=s), "k": s % 2, "seen": START} for s in seconds]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{number}.parquet")
        aged(folder / f"{number}.parquet", number)
    return spark.readStream.schema("ts timestamp, k bigint, seen timestamp").option("maxFilesPerTrigger", 1) \
        .parquet(str(folder))


@pytest.mark.parametrize("text", [COUNTS, PAIRS], ids=["windows", "relation"])
def test_it_says_what_the_policy_of_its_delay_says(text: str, spark: SparkSession, tmp_path: Path) -> None:
    frames = {name: stream(spark, tmp_path / name) for name in "st" if f" {name} " in text}
    asked = pw.sql(text, streams=frames, progress="late:5 s")
    marked = pw.sql(text, streams={name: f.withWatermark("ts", "5 seconds") for name, f in frames.items()})
    expected, late = run_to_end(asked, tmp_path / "asked")
    found, its = run_to_end(marked, tmp_path / "marked")
    assert expected
    assert (rows_of(found), its) == (rows_of(expected), late)
    assert late > 0


def test_a_policy_that_is_given_goes_before_it(spark: SparkSession, tmp_path: Path) -> None:
    frame = stream(spark, tmp_path / "s")
    expected, late = run_to_end(pw.sql(COUNTS, s=frame, progress="ordered"), tmp_path / "asked")
    marked = pw.sql(COUNTS, s=frame.withWatermark("ts", "1 hour"), progress="ordered")
    assert (rows_of(run_to_end(marked, tmp_path / "marked")[0]), late > 0) == (rows_of(expected), True)


def test_on_a_column_that_orders_nothing_it_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="has its watermark on seen, and this query orders it by ts"):
        pw.sql(COUNTS, s=stream(spark, tmp_path / "s").withWatermark("seen", "5 seconds"))
