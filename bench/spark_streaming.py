"""Spark streaming: windows from panes against Spark's own ``window()``, in one run, with equal results.

    python bench/spark_streaming.py                               # 10 million bids in 10 micro-batches
    python bench/spark_streaming.py --rows 2000000 --ratios 20    # a quick look
    python bench/spark_streaming.py --rows 500000 --batches 5 --ratios 1 2 5 10 20 60 150 300 --picture FILE.svg

Both read the same Parquet files, two a micro-batch (available-now), keep their state in RocksDB, checkpoint every
micro-batch and write Parquet; both close windows ten seconds behind the largest time. RANGE/SLIDE = 1 is Spark's plain
tumbling aggregate on the same panes. What they wrote is compared: counts and maxima exactly, averages to 1e-9. Before
the clock starts each of the two runs a small stream, as a JVM is slow until it has compiled what it runs.
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

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import TIMESTAMP, bids, cpu_seconds, load_note, say, table_text, write_json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import SECOND
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.session.session import session
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.windows.sliding import SlidingWindow

PANE = 4 * SECOND
DELAY = "10 seconds"
FILES = 2
"""For each micro-batch, so that both cores have something to read."""
SCHEMA = pa.schema({"ts": TIMESTAMP, "item": pa.int64(), "price": pa.float64()})
DDL = "ts timestamp, item bigint, price double"


@dataclass(frozen=True)
class Run:
    """One streaming query from its first micro-batch to its last."""

    seconds: float
    cpu_seconds: float
    """Of the JVM and all Python workers; unlike the clock hardly disturbed by what else the machine does."""
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
    """The bids in arrival order, numbered, a few files for each micro-batch."""
    folder.mkdir()
    size = -(-rows // (batches * FILES))
    whole = pa.concat_tables(bids(rows, keys=keys)).combine_chunks()
    whole = whole.select(SCHEMA.names).append_column("seq", pa.array(np.arange(rows)))
    for number in range(batches * FILES):
        path = folder / f"{number:04d}.parquet"
        pq.write_table(whole.slice(number * size, size), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))  # Spark takes files by their age


def read(spark: SparkSession, files: Path, ddl: str = DDL) -> DataFrame:
    return spark.readStream.schema(ddl).option("maxFilesPerTrigger", FILES).parquet(str(files))


def measure(spark: SparkSession, files: Path, name: str, ratio: int, work: Path) -> Run:
    """Run one query from an empty checkpoint."""
    return run((ours if name == "ours" else native)(read(spark, files), ratio), work / f"{name}-{ratio}")


def run(results: DataFrame, out: Path) -> Run:
    """Write a stream to Parquet files, from an empty checkpoint to its end."""
    checkpoint = out.with_name(f"{out.name}-checkpoint")
    for folder in (checkpoint, out):
        shutil.rmtree(folder, ignore_errors=True)
    start, spent = time.perf_counter(), cpu_seconds()
    running = (results.writeStream.format("parquet").option("path", str(out)).outputMode("append")
               .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())
    running.awaitTermination()
    seconds, spent = time.perf_counter() - start, cpu_seconds() - spent
    progress: list[dict[str, Any]] = [dict(p) for p in running.recentProgress]
    phases: dict[str, float] = {}
    for step in progress:
        for phase, milliseconds in step["durationMs"].items():
            phases[phase] = phases.get(phase, 0) + milliseconds
    bytes_kept = sum(f.stat().st_size for f in checkpoint.rglob("*") if f.is_file())
    return Run(seconds, spent, [p["durationMs"]["triggerExecution"] / 1000 for p in progress],
               max(s["numRowsTotal"] for p in progress for s in p["stateOperators"]), bytes_kept, phases)


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """Time against RANGE/SLIDE."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "panewise"
    picture, axes = plt.subplots(figsize=(7, 4))
    for name, label in (("native", "Spark's window()"), ("ours", "panewise")):
        shown = [line for line in lines if name in line["runs"]]
        axes.plot([line["ratio"] for line in shown], [line["runs"][name]["seconds"] for line in shown], marker="o",
                  label=label)
    ratios = [line["ratio"] for line in lines]
    axes.set(xlabel="RANGE/SLIDE", ylabel="seconds", xscale="log", yscale="log",
             title=f"Spark streaming, {lines[0]['rows']:,} bids in {lines[0]['batches']} micro-batches")
    axes.set_xticks(ratios, [str(r) for r in ratios])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, bbox_inches="tight", metadata={"Date": None})


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
    parser.add_argument("--picture", type=Path, help="draw the time against RANGE/SLIDE into this file")
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
        write_files(work / "warm", 400_000, options.keys, 2)
        for name in ("ours",) if options.only_ours else ("ours", "native"):
            measure(spark, work / "warm", name, 2, work)  # the JVM's first query pays for loading classes
        for ratio in options.ratios:
            found = {"ours": min((measure(spark, work / "files", "ours", ratio, work)
                                  for _ in range(options.repeat)), key=lambda one: one.seconds)}
            say(f"ratio {ratio}: ours {found['ours'].seconds:.1f} s, CPU {found['ours'].cpu_seconds:.1f} s, "
                f"{found['ours'].batch_seconds}")
            say(f"  {found['ours'].phases}")
            differing = None
            if not options.only_ours:
                found["native"] = measure(spark, work / "files", "native", ratio, work)
                say(f"  window() {found['native'].seconds:.1f} s, CPU {found['native'].cpu_seconds:.1f} s")
                stored = spark.read.schema(native(read(spark, work / "files"), ratio).schema)
                differing = differences(stored.parquet(str(work / f"ours-{ratio}")),
                                        stored.parquet(str(work / f"native-{ratio}")))
                wrong += differing
            speedup = found["native"].seconds / found["ours"].seconds if "native" in found else None
            for name, one in found.items():
                faster = f"{speedup:.1f}" if name == "ours" and speedup else ""
                table.append([ratio, {"ours": "panewise", "native": "window()"}[name], f"{one.seconds:.1f}", faster,
                              f"{one.cpu_seconds:.1f}",
                              f"{one.state_rows:,}", f"{one.checkpoint_bytes / 1e6:.1f}"])
            lines.append({"rows": options.rows, "keys": options.keys, "batches": options.batches, "ratio": ratio,
                          "speedup": round(speedup, 2) if speedup else None, "differences": differing,
                          "runs": {n: {**r.__dict__, "seconds": round(r.seconds, 2),
                                       "cpu_seconds": round(r.cpu_seconds, 2)} for n, r in found.items()}})
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    print(f"{options.rows:,} bids in {options.batches} micro-batches, {options.keys:,} keys, count + max + avg, panes "
          f"of 4 s{note}")
    head = ["RANGE/SLIDE", "", "seconds", "times faster", "CPU seconds", "state rows", "checkpoint MB"]
    print(table_text(head, table))
    print(f"rows that differ: {wrong}")
    if options.picture:
        draw(lines, options.picture)
    write_json(options.json, "spark_streaming", lines)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
