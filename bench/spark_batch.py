"""Spark batch: windows from panes against Spark's own ``window()``, in one run, with equal results.

    python bench/spark_batch.py                                    # RANGE/SLIDE 20 and 60 of 10 million bids, 300 of 2
    python bench/spark_batch.py --ratio 60:500000                  # a quick look
    python bench/spark_batch.py --sweep --picture docs/pictures/spark_batch_ratio.svg
    python bench/spark_batch.py --ratio 60:2000000 --skew 0.9      # one key has 90 % of the rows: what tasks get

Measured: both on the same Parquet files, read anew each time; ours several times, the fastest counts, ``window()``
once, because it is slow. RANGE/SLIDE = 1 is the tumbling aggregate of the same rows. ``window()`` writes its results to
files, and ours are compared with them: counts and maxima exactly, averages to 1e-9.
"""

from __future__ import annotations

import argparse
import atexit
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from common import load_note, say, table_text, write_json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_tasks import balance

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import SECOND
from panewise.engines.spark.engine import run_batch
from panewise.engines.spark.session.session import session
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.windows.sliding import SlidingWindow

PANE = 4 * SECOND
ROWS_PER_SECOND = 5_000
SWEEP = (1, 2, 5, 10, 20, 60, 150, 300)
TARGETS = {20: 6, 60: 20, 300: 35}
"""How many times faster than ``window()`` is asked for."""


def bids(spark: SparkSession, rows: int, keys: int, seed: int, skew: float = 0.0) -> DataFrame:
    """Bids at a steady rate, up to a minute out of order, on uniformly drawn items; a share ``skew`` of them on one."""
    arrival = F.col("id") / F.lit(ROWS_PER_SECOND)
    late = F.rand(seed) * 60
    item = F.floor(F.rand(seed + 1) * keys)
    return spark.range(rows).select(
        F.when(F.rand(seed + 3) >= skew, item).otherwise(0).cast("int").alias("item_id"),
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


def timed(frame: DataFrame, path: str | None = None) -> float:
    """Run a query to its last row, into files or a sink that takes every column and writes nothing."""
    start = time.perf_counter()
    if path is None:
        frame.write.format("noop").mode("overwrite").save()
    else:
        frame.write.mode("overwrite").parquet(path)
    return time.perf_counter() - start


def differences(left: DataFrame, right: DataFrame) -> int:
    """How many rows differ between two results."""
    a, b = left.alias("a"), right.alias("b")
    same_row = (F.col("a.item_id") == F.col("b.item_id")) & (F.col("a.window") == F.col("b.window"))
    close = F.abs(F.col("a.mean") - F.col("b.mean")) <= 1e-9 * F.greatest(F.abs(F.col("a.mean")), F.lit(1e-300))
    equal = (F.col("a.bids") == F.col("b.bids")) & (F.col("a.high") == F.col("b.high")) & close
    return a.join(b, same_row, "full").where(~F.coalesce(equal, F.lit(False))).count()


class Bench:
    """One session and the files it has written so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.folder = Path(tempfile.mkdtemp(prefix="panewise-bench-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.events = self.folder / "events"
        self.events.mkdir()
        logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": self.events.as_uri(),
                  "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}
        self.spark = session(options.master, "panewise spark batch bench", **(logged if options.skew else {}))
        timed(ours(self.frame(1_000), 2))  # the JVM's first query pays for loading classes

    def frame(self, rows: int) -> DataFrame:
        """So many bids; every query reads them from files, as a job does."""
        path = self.folder / f"bids-{rows}"
        if not path.exists():
            bids(self.spark, rows, self.options.keys, self.options.seed, self.options.skew).write.parquet(str(path))
        return self.spark.read.parquet(str(path))

    def fastest(self, name: str, rows: int, ratio: int) -> float:
        """Our path, several times."""
        self.spark.sparkContext.setJobDescription(name)
        return min(timed(ours(self.frame(rows), ratio)) for _ in range(self.options.repeat))

    def measure(self, ratio: int, rows: int) -> dict[str, Any]:
        """Ours, the tumbling aggregate, ``window()`` on the same rows; and whether the results are equal."""
        say(f"RANGE/SLIDE {ratio}, {rows:,} bids")
        tumbling = self.fastest("tumbling", rows, 1)
        pane_time = self.fastest("panes", rows, ratio)
        stored = str(self.folder / "window")
        self.spark.sparkContext.setJobDescription("window()")
        window_time = timed(native(self.frame(rows), ratio), stored)
        self.spark.sparkContext.setJobDescription("compare")
        wrong = differences(ours(self.frame(rows), ratio), self.spark.read.parquet(stored))
        return {"ratio": ratio, "rows": rows, "window": window_time, "panes": pane_time, "tumbling": tumbling,
                "speedup": window_time / pane_time, "growth": pane_time / tumbling, "differences": wrong}


def report(figures: list[dict[str, Any]]) -> str:
    rows = [(f["ratio"], f"{f['rows']:,}", f"{f['window']:.2f} s", f"{f['panes']:.2f} s", f"{f['speedup']:.1f}",
             TARGETS.get(f["ratio"], ""), f"{f['tumbling']:.2f} s", f"{f['growth']:.2f}", f["differences"])
            for f in figures]
    return table_text(("RANGE/SLIDE", "bids", "window()", "panewise", "times faster", "target", "tumbling",
                       "panewise/tumbling", "rows that differ"), rows)


def draw(figures: list[Mapping[str, Any]], path: Path) -> None:
    """Time against RANGE/SLIDE."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "panewise"
    picture, axes = plt.subplots(figsize=(7, 4))
    ratios = [f["ratio"] for f in figures]
    axes.plot(ratios, [f["window"] for f in figures], marker="o", label="Spark's window()")
    axes.plot(ratios, [f["panes"] for f in figures], marker="o", label="panewise")
    axes.set(xlabel="RANGE/SLIDE", ylabel="seconds", xscale="log", yscale="log",
             title=f"Spark batch, {figures[0]['rows']:,} bids, count + max + avg")
    axes.set_xticks(ratios, [str(r) for r in ratios])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, bbox_inches="tight", metadata={"Date": None})


def ratio_and_rows(text: str) -> tuple[int, int | None]:
    ratio, _, rows = text.partition(":")
    return int(ratio), int(rows) if rows else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--ratio", type=ratio_and_rows, action="append", metavar="RATIO[:ROWS]",
                        help="RANGE/SLIDE and how many bids (default: --rows); may be repeated")
    parser.add_argument("--sweep", action="store_true", help=f"RANGE/SLIDE {', '.join(map(str, SWEEP))}")
    parser.add_argument("--sweep-rows", type=int, default=500_000)
    parser.add_argument("--picture", type=Path, help="draw the sweep into this file")
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--skew", type=float, default=0.0, help="the share of all rows that one key has")
    parser.add_argument("--repeat", type=int, default=3, help="runs of our path; the fastest counts")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--json", type=Path, help="append the figures to this file, one JSON line each")
    options = parser.parse_args()

    wanted = [(ratio, rows or options.rows) for ratio, rows in options.ratio or ()]
    if options.sweep:
        wanted += [(ratio, options.sweep_rows) for ratio in SWEEP]
    note = load_note()
    bench = Bench(options)
    figures = [bench.measure(*one) for one in wanted or [(20, options.rows), (60, options.rows), (300, 2_000_000)]]
    print(f"{options.keys:,} keys, count + max + avg, panes of 4 s")
    print(report(figures))
    if options.picture:
        draw([f for f in figures if f["rows"] == figures[-1]["rows"]], options.picture)
    bench.spark.stop()
    if options.skew:
        print(f"\n{options.skew:.0%} of the rows have one key; rows that the tasks after a shuffle read:")
        print(balance(bench.events, "panes"))
    print(note, end="\n" if note else "")
    write_json(options.json, "spark_batch", figures)
    raise SystemExit(1 if any(f["differences"] for f in figures) else 0)


if __name__ == "__main__":
    main()
