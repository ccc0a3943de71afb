"""Spark: row windows of every key (RANGE 1000 rows, SLIDE 10 rows), in rows per second.

    python bench/spark_rows.py                  # 10 million bids on 1,000 items
    python bench/spark_rows.py --rows 1000000   # a quick look
    python bench/spark_rows.py --streaming      # the same windows over a stream of files in ten micro-batches

Measured on the same Parquet files: our path (a kernel over sorted rows); the same windows in Spark SQL alone (rows
numbered, merged in tens, the tens by running merges); the SQL a user would write, a frame of 999 rows before each row,
on a tenth of the rows; and Spark's tumbling aggregate of 4 s, which does not look at positions at all. The results of
the first two are compared: counts and maxima exactly, averages to 1e-9.

As a stream: our path beside Spark's tumbling aggregate of 4 s on the same files, both with RocksDB, checkpoints and
Parquet output. Our windows are compared with those of Spark SQL, as far as they are complete: the end of the files is
not the end of the stream.
"""

from __future__ import annotations

import argparse
import atexit
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import spark_streaming
from common import load_note, rate, say, table_text, write_json
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from spark_batch import bids, differences, native, timed

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.lower.progress import arrival
from panewise.engines.spark.native.sql_roll_up import roll_up
from panewise.engines.spark.session.session import session
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.windows.rows import PartitionedRowWindow

RANGE, SLIDE = 1_000, 10


def query(key: pa.DataType | None = None) -> WindowAggregate:
    schema = pa.schema({"item_id": key or pa.int32(), "price": pa.float64(), "ts": pa.timestamp("us", tz="UTC")})
    price = (Scalar.column("price"),)
    return WindowAggregate(
        Source("bids", SourceSchema.of(schema)),
        WindowClause(PartitionedRowWindow(RANGE, SLIDE), "row-num", OrdinalKind.ROWS, partition=("item_id",)),
        (NamedScalar.column("item_id"),),
        (AggregateCall("bids", "count"), AggregateCall("high", "max", price), AggregateCall("mean", "avg", price)),
    )


def ours(frame: DataFrame) -> DataFrame:
    return run_batch(query(), {"bids": arrival(frame, "seq")}).withColumnRenamed("wid", "window")


def in_sql(frame: DataFrame) -> DataFrame:
    """Row numbers, panes of ten rows, windows by running merges over the panes of each key."""
    order = Window.partitionBy("item_id").orderBy("seq")
    pane = F.floor((F.row_number().over(order) - 1) / SLIDE).alias("window")
    panes = frame.select("item_id", "price", pane).groupBy("item_id", "window").agg(
        F.count("*").alias("bids"), F.max("price").alias("high"), F.sum("price").alias("total"))
    merges = {"bids": "sum", "high": "max", "total": "sum"}
    merged = roll_up(panes, ["item_id"], "window", merges, per_window=RANGE // SLIDE)
    return merged.select("item_id", "window", "bids", "high", (F.col("total") / F.col("bids")).alias("mean"))


def frames(frame: DataFrame) -> DataFrame:
    """A frame of rows before each row; every tenth is kept."""
    order = Window.partitionBy("item_id").orderBy("seq")
    rows = order.rowsBetween(1 - RANGE, 0)
    counted = frame.select("item_id", F.row_number().over(order).alias("place"), F.count("*").over(rows).alias("bids"),
                           F.max("price").over(rows).alias("high"), F.avg("price").over(rows).alias("mean"))
    return counted.where(F.col("place") % SLIDE == 0)


def as_a_stream(spark: SparkSession, options: argparse.Namespace, folder: Path) -> tuple[dict[str, float], int]:
    """Seconds of our row windows and of Spark's tumbling aggregate, and how many of our rows differ."""
    for files, rows, batches in (("warm", 400_000, 2), ("files", options.rows, options.batches)):
        spark_streaming.write_files(folder / files, rows, options.keys, batches)
    seconds: dict[str, float] = {}
    for files in ("warm", *["files"] * options.repeat):
        stream = spark_streaming.read(spark, folder / files, f"{spark_streaming.DDL}, seq bigint")
        renamed = stream.withColumnRenamed("item", "item_id")
        made = {"panewise": run_streaming(query(pa.int64()), {"bids": arrival(renamed, "seq")}),
                "Spark, tumbling 4 s": spark_streaming.native(stream, 1)}
        for name, results in made.items():
            say(f"{name}, {files}")
            took = spark_streaming.run(results, folder / name.split(",")[0])
            say(f"  {took.seconds:.1f} s, CPU {took.cpu_seconds:.1f} s, {took.batch_seconds}, {took.phases}")
            if files == "files":
                seconds[name] = min(seconds.get(name, float("inf")), took.seconds)
    frame = spark.read.parquet(str(folder / "files")).withColumnRenamed("item", "item_id")
    rows = frame.groupBy("item_id").agg(F.count("*").alias("rows"))
    complete = in_sql(frame).join(rows, "item_id").where((F.col("window") + 1) * SLIDE <= F.col("rows")).drop("rows")
    found = spark.read.parquet(str(folder / "panewise")).withColumnRenamed("wid", "window")
    return seconds, differences(found, complete)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--streaming", action="store_true", help="over a stream of files")
    parser.add_argument("--batches", type=int, default=10, help="micro-batches of the stream")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each; the fastest counts")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--json", type=Path, help="append the figures to this file, one JSON line each")
    options = parser.parse_args()

    note = load_note()
    spark = session(options.master, "panewise row windows bench")
    folder = tempfile.mkdtemp(prefix="panewise-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if options.streaming:
        times, wrong = as_a_stream(spark, options, Path(folder))
        report(options, times, dict.fromkeys(times, options.rows), wrong, note)
    counted = bids(spark, options.rows, options.keys, options.seed).withColumn("seq", F.monotonically_increasing_id())
    counted.write.parquet(f"{folder}/bids")
    frame = spark.read.parquet(f"{folder}/bids")
    tenth = frame.where(F.col("item_id") % 10 == 0)
    paths = {"panewise": lambda: ours(frame), "Spark SQL, panes": lambda: in_sql(frame),
             "Spark SQL, frames (a tenth)": lambda: frames(tenth), "Spark, tumbling 4 s": lambda: native(frame, 1)}
    rows = dict.fromkeys(paths, options.rows) | {"Spark SQL, frames (a tenth)": tenth.count()}
    times: dict[str, float] = {}
    for _ in range(options.repeat):
        for name, made in paths.items():
            say(name)
            times[name] = min(times.get(name, float("inf")), timed(made()))
    wrong = differences(ours(frame), in_sql(frame))
    report(options, times, rows, wrong, note)


def report(options: argparse.Namespace, times: dict[str, float], rows: dict[str, int], wrong: int, note: str) -> None:
    as_stream = f" in {options.batches} micro-batches" if options.streaming else ""
    print(f"{options.rows:,} bids{as_stream}, {options.keys:,} keys, count + max + avg, RANGE {RANGE} rows "
          f"SLIDE {SLIDE} rows")
    print(table_text(("", "seconds", "rows/s"), [(n, f"{t:.2f}", rate(rows[n] / t)) for n, t in times.items()]))
    print(f"rows that differ: {wrong}{note}")
    name = "spark_rows_streaming" if options.streaming else "spark_rows"
    write_json(options.json, name, [{"path": n, "rows": rows[n], "seconds": t} for n, t in times.items()])
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
