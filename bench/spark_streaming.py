"""Spark streaming: windows from panes against Spark's own ``window()``, in one run, with equal results.

    python bench/spark_streaming.py                               # 10 million bids in 10 micro-batches
    python bench/spark_streaming.py --rows 2000000 --ratios 20    # a quick look

Both read the same Parquet files, one a micro-batch (available-now), keep their state in RocksDB, checkpoint every
micro-batch and write Parquet; both close windows ten seconds behind the largest time. RANGE/SLIDE = 1 is Spark's plain
tumbling aggregate on the same panes. What they wrote is compared: counts and maxima exactly, averages to 1e-9.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from common import TIMESTAMP, bids, load_note, say, table_text, write_json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import SECOND
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.session import session
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.windows.sliding import SlidingWindow

PANE = 4 * SECOND
DELAY = "10 seconds"
SCHEMA = pa.schema({"ts": TIMESTAMP, "item": pa.int64(), "price": pa.float64()})
DDL = "ts timestamp, item bigint, price double"


@dataclass(frozen=True)
class Run:
    """One streaming query from its first micro-batch to its last."""

    seconds: float
    batch_seconds: list[float]
    state_rows: int
    """The most at the end of a micro-batch."""
    checkpoint_bytes: int
    phases: dict[str, float]
    """Milliseconds of all micro-batches by what Spark did in them."""


def query(ratio: int) -> WindowAggregate:
    price = (Scalar.column("price"),)
    return WindowAggregate(
        Source("bids", SourceSchema.of(SCHEMA)),
        WindowClause(SlidingWindow(ratio * PANE, PANE), "ts", OrdinalKind.TIMESTAMP),
        (NamedScalar.column("item"),),
        (AggregateCall("bids", "count"), AggregateCall("high", "max", price), AggregateCall("mean", "avg", price)))


def ours(stream: DataFrame, ratio: int) -> DataFrame:
    return run_streaming(query(ratio), {"bids": stream}, progress=f"late:{DELAY}")


def native(stream: DataFrame, ratio: int) -> DataFrame:
    window = F.window("ts", f"{ratio * PANE} microseconds", f"{PANE} microseconds")
    return stream.withWatermark("ts", DELAY).groupBy("item", window).agg(
        F.count("*").alias("bids"), F.max("price").alias("high"), F.avg("price").alias("mean"))


def write_files(folder: Path, rows: int, keys: int, batches: int) -> None:
    """The bids in arrival order, one file for each micro-batch."""
    folder.mkdir()
    size = -(-rows // batches)
    whole = pa.concat_tables(bids(rows, keys=keys)).combine_chunks()
    for number in range(batches):
        path = folder / f"{number:04d}.parquet"
        pq.write_table(whole.slice(number * size, size).select(SCHEMA.names), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))  # Spark takes files by their age


def measure(spark: SparkSession, files: Path, name: str, ratio: int, work: Path) -> Run:
    """Run one query from an empty checkpoint."""
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(files))
    results = (ours if name == "ours" else native)(stream, ratio)
    checkpoint, out = work / f"{name}-{ratio}-checkpoint", work / f"{name}-{ratio}"
    for folder in (checkpoint, out):
        shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    running = (results.writeStream.format("parquet").option("path", str(out)).outputMode("append")
               .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())
    running.awaitTermination()
    seconds = time.perf_counter() - start
    progress: list[dict[str, Any]] = [dict(p) for p in running.recentProgress]
    phases: dict[str, float] = {}
    for step in progress:
        for phase, milliseconds in step["durationMs"].items():
            phases[phase] = phases.get(phase, 0) + milliseconds
    bytes_kept = sum(f.stat().st_size for f in checkpoint.rglob("*") if f.is_file())
    return Run(seconds, [p["durationMs"]["triggerExecution"] / 1000 for p in progress],
               max(s["numRowsTotal"] for p in progress for s in p["stateOperators"]), bytes_kept, phases)


def differences(left: DataFrame, right: DataFrame) -> int:
    """How many rows differ between two results."""
    a, b = left.alias("a"), right.alias("b")
    same_row = (F.col("a.item") == F.col("b.item")) & (F.col("a.window") == F.col("b.window"))
    close = F.abs(F.col("a.mean") - F.col("b.mean")) <= 1e-9 * F.greatest(F.abs(F.col("a.mean")), F.lit(1e-300))
    equal = (F.col("a.bids") == F.col("b.bids")) & (F.col("a.high") == F.col("b.high")) & close
    return a.join(b, same_row, "full").where(~F.coalesce(equal, F.lit(False))).count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--ratios", type=int, nargs="+", default=[1, 20, 60, 300])
    parser.add_argument("--only-ours", action="store_true", help="no comparison, for a profile")
    parser.add_argument("--repeat", type=int, default=1, help="runs of our path; the fastest counts")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--json", type=Path, help="append the figures to this file as JSON lines")
    options = parser.parse_args()

    note = load_note()
    spark = session(options.master, "panewise spark streaming bench")
    work = Path(tempfile.mkdtemp(prefix="panewise-bench-"))
    wrong, table, lines = 0, [], []
    try:
        write_files(work / "files", options.rows, options.keys, options.batches)
        write_files(work / "warm", 20_000, 10, 2)
        for name in ("ours",) if options.only_ours else ("ours", "native"):
            measure(spark, work / "warm", name, 2, work)  # the JVM's first query pays for loading classes
        for ratio in options.ratios:
            found = {"ours": min((measure(spark, work / "files", "ours", ratio, work)
                                  for _ in range(options.repeat)), key=lambda run: run.seconds)}
            say(f"ratio {ratio}: ours {found['ours'].seconds:.1f} s, {found['ours'].batch_seconds}")
            say(f"  {found['ours'].phases}")
            differing = None
            if not options.only_ours:
                found["native"] = measure(spark, work / "files", "native", ratio, work)
                say(f"  window() {found['native'].seconds:.1f} s")
                schema = native(spark.readStream.schema(DDL).parquet(str(work / "files")), ratio).schema
                read = spark.read.schema(schema)
                differing = differences(read.parquet(str(work / f"ours-{ratio}")),
                                        read.parquet(str(work / f"native-{ratio}")))
                wrong += differing
            speedup = found["native"].seconds / found["ours"].seconds if "native" in found else None
            for name, run in found.items():
                faster = f"{speedup:.1f}" if name == "ours" and speedup else ""
                table.append([ratio, {"ours": "panewise", "native": "window()"}[name], f"{run.seconds:.1f}", faster,
                              f"{run.state_rows:,}", f"{run.checkpoint_bytes / 1e6:.1f}"])
            lines.append({"rows": options.rows, "keys": options.keys, "batches": options.batches, "ratio": ratio,
                          "speedup": round(speedup, 2) if speedup else None, "differences": differing,
                          "runs": {n: {**r.__dict__, "seconds": round(r.seconds, 2)} for n, r in found.items()}})
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    print(f"{options.rows:,} bids in {options.batches} micro-batches, {options.keys:,} keys, count + max + avg, panes "
          f"of 4 s{note}")
    print(table_text(["RANGE/SLIDE", "", "seconds", "times faster", "state rows", "checkpoint MB"], table))
    print(f"rows that differ: {wrong}")
    write_json(options.json, "spark_streaming", lines)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
