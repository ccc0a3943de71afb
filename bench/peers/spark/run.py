"""Spark's own ``window()``, ``session_window`` and stream-stream join, as its programming guide has them."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, main
from on_spark import Runner


def ask(job: Job, streams: dict[str, DataFrame]) -> DataFrame:
    if job.options["mode"] == "streaming":
        streams = {name: stream.withWatermark("ts", f"{job.late} microseconds") for name, stream in streams.items()}
    if job.kind == "join":
        return joined(job, streams["a"].alias("a"), streams["b"].alias("b"))
    window = (F.session_window("ts", f"{job.range} microseconds") if job.kind == "session" else
              F.window("ts", f"{job.range} microseconds", f"{job.slide} microseconds"))
    return streams["bids"].groupBy("item", window).agg(
        F.count("*").alias("n"), F.max("price").alias("hi"), F.avg("price").alias("mean"))


def joined(job: Job, a: DataFrame, b: DataFrame) -> DataFrame:
    reach = F.expr(f"make_dt_interval(0, 0, 0, {job.range / 1e6!r})")
    near = F.col("b.ts").between(F.col("a.ts") - reach, F.col("a.ts") + reach)
    return a.join(b, (F.col("a.item") == F.col("b.item")) & near).select(
        "a.ts", "a.item", "a.price", F.col("b.ts").alias("other"), F.col("b.price").alias("offer"))


if __name__ == "__main__":
    runner = Runner(ask, batch=("sliding", "session", "join"), streaming=("sliding", "session", "join"))
    main(runner.prepare, runner.as_table)
