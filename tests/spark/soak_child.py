"""Two endless streaming queries in a process of their own, which says now and then how large everything is.

One has sliding windows over a fixed set of keys, the other sessions over keys that come and never come again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import panewise as pw
from panewise.engines.spark.observe.status import QueryStatus
from panewise.engines.spark.session.session import session
from spark.processes import under

KEYS = 500
ROWS_PER_VISITOR = 700
QUERIES = {
    "sliding": "SELECT k, count(*) [RANGE 30 s, SLIDE 1 s, WA t] AS n, max(v) AS high, median(v) AS middle "
               "FROM s GROUP BY k",
    "sessions": "SELECT visitor, count(*) [SESSION 5 s, WA t, PA visitor] AS n, avg(v) AS mean FROM s GROUP BY visitor",
}


def rows(spark: SparkSession, per_second: int) -> DataFrame:
    """Rows that come as time passes."""
    value = F.col("value")
    return spark.readStream.format("rate").option("rowsPerSecond", per_second).load().select(
        (value % KEYS).alias("k"), F.floor(value / ROWS_PER_VISITOR).alias("visitor"),
        F.col("timestamp").alias("t"), F.pmod(F.xxhash64(value), F.lit(1000)).alias("v"))


def started(spark: SparkSession, folder: Path, per_second: int, every: str) -> dict[str, StreamingQuery]:
    """The queries."""
    return {name: pw.sql(text, s=rows(spark, per_second), progress="late:2 s").writeStream.format("noop")
            .option("checkpointLocation", str(folder / name)).trigger(processingTime=every).queryName(name).start()
            for name, text in QUERIES.items()}


def sample(statuses: dict[str, QueryStatus], folder: Path, began: float) -> dict[str, Any]:
    """How large everything is now."""
    sizes = dict.fromkeys(("driver", "jvm", "daemon", "worker"), 0)
    workers, cpu = 0, 0.0
    for process in under(os.getpid()):
        sizes[process.role] += process.resident
        workers += process.role == "worker"
        cpu += process.cpu
    found: dict[str, Any] = {"seconds": round(time.monotonic() - began, 1), "workers": workers, "cpu": round(cpu, 1),
                             **{f"{role}_bytes": size for role, size in sizes.items()}}
    for name, status in statuses.items():
        found[name] = {"batch": status.batch, "rows": status.rows, "state_rows": status.state_rows,
                       "state_bytes": status.state_bytes, "late": status.late_rows, "batch_seconds": status.seconds,
                       "open_windows": status.open_windows, "checkpoint_bytes": sum(on_disk(folder / name))}
    return found


def on_disk(folder: Path) -> Iterator[int]:
    """Sizes of files, some of which Spark may be deleting."""
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                yield path.stat().st_size
        except OSError:
            continue


def main(folder: Path, seconds: float, per_second: int, every: str, pause: float) -> None:
    """Run for so long; a sample is a line of ``samples.jsonl``."""
    spark = session("local[2]", log=folder / "spark.log", **{
        "spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"})
    statuses: dict[str, QueryStatus] = {}
    spark.streams.addListener(pw.StatusListener(lambda status: statuses.update({status.name: status})))
    queries = started(spark, folder, per_second, every)
    began = time.monotonic()
    with (folder / "samples.jsonl").open("w") as out:
        while time.monotonic() - began < seconds:
            next(iter(queries.values())).awaitTermination(pause)  # the run is the clock
            for query in queries.values():
                if query.exception() is not None:
                    raise SystemExit(str(query.exception()))
            out.write(json.dumps(sample(dict(statuses), folder, began)) + "\n")
            out.flush()
    for query in queries.values():
        query.stop()
    spark.stop()
