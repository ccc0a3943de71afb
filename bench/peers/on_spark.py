"""What the contenders on Spark share: the session, the clock around one query, and what Spark tells about it.

Both read the same files with the same settings and write Parquet. ``mode`` of a job's options is ``batch`` or
``streaming`` (available-now, two files a micro-batch, state in RocksDB, a checkpoint after each). Each query is run on
a few rows before the clock starts, because a JVM is slow until it has compiled what it runs.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from adapter import SENTINEL, Job, note, refuse
from pyspark.sql import DataFrame, SparkSession
from standalone import SETTINGS, cluster

from panewise.engines.spark.session.session import session

sys.path.insert(0, str(Path(__file__).parents[1]))
from spark_tasks import LOG_SECONDS, logged, shuffled

DDL = "ts timestamp, item bigint, price double"
SENTINELS = 8
"""A micro-batch with no more rows only ends the stream."""
FILES = 2
"""For each micro-batch, so that two cores have something to read."""
Ask = Callable[[Job, dict[str, DataFrame]], DataFrame]


class Runner:
    """A session and its passing files; ``prepare`` and ``as_table`` are what an adapter hands to ``main``."""

    def __init__(self, ask: Ask, *, batch: tuple[str, ...], streaming: tuple[str, ...]) -> None:
        self.ask, self.kinds = ask, {"batch": batch, "streaming": streaming}
        self.work = Path(tempfile.mkdtemp(prefix="panewise-bench-"))
        self.running = ExitStack()
        self.running.callback(shutil.rmtree, self.work, ignore_errors=True)
        self.started, self.runs = 0.0, 0
        self.spark: SparkSession | None = None
        self.warm: set[tuple[object, ...]] = set()
        atexit.register(self.running.close)

    def prepare(self, job: Job) -> Callable[[], Path]:
        """Start Spark and run the query on the few rows, unless both were done for the job before."""
        refuse(job, *self.kinds[job.options["mode"]])
        spark = self.spark = self.spark or self.session(job)
        question = (job.kind, job.options["mode"], job.range, job.slide)
        if question not in self.warm:
            self.run(spark, job.warm_up)
            self.warm.add(question)
        return lambda: self.run(spark, job)

    def session(self, job: Job) -> SparkSession:
        """Local, or on a cluster of this machine that lives as long as this process."""
        (self.work / "events").mkdir()
        settings = logged(self.work / "events")
        master = job.options.get("master") or f"local[{job.cores}]"
        if master == "standalone":
            master = self.running.enter_context(cluster(self.work))
            settings.update(SETTINGS)
        return session(master, "panewise bench", **settings)

    def run(self, spark: SparkSession, job: Job) -> Path:
        """Write all results to files."""
        self.started, self.runs = time.time(), self.runs + 1
        name = f"results-{self.runs}"
        out, streams = self.work / name, ("a", "b") if job.kind == "join" else ("",)
        if job.options["mode"] == "batch":
            frames = {one or "bids": self.frame(spark, Path(job.path, one)) for one in streams}
            self.ask(job, frames).write.parquet(str(out))
            return out
        frames = {one or "bids": spark.readStream.schema(DDL).option("maxFilesPerTrigger", FILES).parquet(
            str(Path(job.path, one))) for one in streams}
        checkpoint = self.work / f"{name}-checkpoint"
        query = (self.ask(job, frames).writeStream.format("parquet").option("path", str(out)).outputMode("append")
                 .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())
        query.awaitTermination()
        _note_progress([dict(step) for step in query.recentProgress], checkpoint)
        return out

    @staticmethod
    def frame(spark: SparkSession, path: Path) -> DataFrame:
        """The files of a stream as a frame."""
        if path.suffix == ".csv":
            return spark.read.csv(str(path), schema=DDL, header=True)
        return spark.read.schema(DDL).parquet(str(path))

    def as_table(self, job: Job, out: Path) -> pa.Table:
        """Read what was written, and what Spark's log says of it."""
        time.sleep(LOG_SECONDS)
        note(shuffle_bytes=shuffled(self.work / "events", self.started * 1000))
        table = ds.dataset([str(path) for path in sorted(out.glob("*.parquet"))]).to_table()
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(out.with_name(f"{out.name}-checkpoint"), ignore_errors=True)
        for name in {"window", "session_window"} & set(table.column_names):
            table = table.append_column("end", _micros(pc.struct_field(table.column(name), "end")))
        for name in {"ts", "other"} & set(table.column_names):
            table = table.set_column(table.schema.get_field_index(name), name, _micros(table.column(name)))
        return table.filter(pc.not_equal(table.column("item"), SENTINEL))


def _micros(times: pa.ChunkedArray) -> pa.ChunkedArray:
    return times.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())


def _note_progress(steps: list[dict[str, Any]], checkpoint: Path) -> None:
    """State, and how long micro-batches with rows took: so long after its files a result is there at the latest."""
    busy = [step["durationMs"]["triggerExecution"] for step in steps if step["numInputRows"] > SENTINELS]
    operators = [operator for step in steps for operator in step["stateOperators"]]
    median, p99 = np.percentile(busy, [50, 99]) if busy else (None, None)
    note(state_rows=max((one["numRowsTotal"] for one in operators), default=0),
         state_bytes=max((one["memoryUsedBytes"] for one in operators), default=0),
         checkpoint_bytes=sum(file.stat().st_size for file in checkpoint.rglob("*") if file.is_file()),
         latency_ms=median, latency_p99_ms=p99)
