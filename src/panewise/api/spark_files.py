"""Run a plan over streams in files on Spark: a batch job when the files say all, a resumable stream otherwise.

A stream's results are kept beside Spark's checkpoint, one file per micro-batch under its number, so a batch that Spark
repeats after a failure replaces its own results and a restarted run ends with exactly the rows of an undisturbed one.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.api.checkpoints import CheckpointLabel
from panewise.api.inputs import ordered_by
from panewise.api.local import LocalRun, windowing_attribute
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.failures import plain_errors, translate
from panewise.engines.spark.observed import metrics
from panewise.engines.spark.queries.running import is_hosted
from panewise.engines.spark.session import session
from panewise.engines.spark.sources import ROWS_PER_BATCH, read_batch, read_stream
from panewise.engines.spark.status import as_json, query_status
from panewise.engines.spark.types import spark_type
from panewise.engines.spark.wire import LATE_COLUMN
from panewise.files.formats import Format
from panewise.files.parts import NumberedParts
from panewise.files.reader import FileStream
from panewise.plan.nodes import Node, Source
from panewise.planner.choices import Stats
from panewise.progress.late import LatePolicy

POLL_SECONDS = 0.2
KEPT_PROGRESS = 100_000


class Watcher(Protocol):
    """Who wants to know how far a run is."""

    def say(self, text: str) -> None:
        """What is going on now."""

    def advance(self, rows: int, watermark: str = "", held: str = "") -> None:
        """So many rows were read in all; what the query holds of them."""


def run_files(plan: Node, streams: Mapping[str, FileStream], *, master: str = "local[*]", late: str = "drop",
              progress: str | None = None, checkpoint: str | Path | None = None,
              rows_per_batch: int = ROWS_PER_BATCH, watch: Watcher | None = None,
              conf: Mapping[str, Any] | None = None, emit: str = "final", stats: Stats = None) -> LocalRun:
    """Start a run; ``rows_per_batch`` is the size of a micro-batch where it is a stream, ``conf`` sets up the session.

    It is a batch job unless something needs order or a memory: a checkpoint, a progress policy, punctuation in the
    data, late rows to be treated in a special way, or early results (``emit``).
    """
    used = {node.name for node in plan.walk() if isinstance(node, Source)}
    streams = {name: stream for name, stream in streams.items() if name in used}
    settings: dict[str, Any] = {"spark.sql.streaming.numRecentProgressUpdates": KEPT_PROGRESS, **(conf or {})}
    spark = session(master, **settings)
    needs_order = progress not in {None, "source"} or late != LatePolicy.DROP.value or emit != "final"
    if checkpoint is None and not needs_order and not any(s.has_punctuation for s in streams.values()):
        return _batch(spark, plan, streams, watch, stats)
    return _stream(spark, plan, streams, late, progress or "source", checkpoint, rows_per_batch, watch, emit, stats)


# -- batch -----------------------------------------------------------------------------------------------------------


def _batch(spark: SparkSession, plan: Node, streams: Mapping[str, FileStream], watch: Watcher | None,
           stats: Stats) -> LocalRun:
    attribute = windowing_attribute(plan)
    with plain_errors():
        frames = {name: _frame(spark, stream, attribute) for name, stream in streams.items()}
        results = run_batch(plan, frames, stats=stats)

    def tables() -> Iterator[pa.Table]:
        if watch is not None:
            watch.say("aggregating panes on Spark")
        with plain_errors():
            yield results.toArrow()

    empty = _empty(results)
    return LocalRun(tables(), lambda: (None, {"rows": sum(s.count_rows() for s in streams.values())}), empty)


def _frame(spark: SparkSession, stream: FileStream, attribute: str | None) -> DataFrame:
    """Parquet by Spark's own reader; text by ours, which refuses what does not fit instead of making it null."""
    if stream.format is not Format.PARQUET:
        return read_batch(spark, stream.path, time=ordered_by(stream, attribute))
    frame = spark.read.parquet(*(str(f.absolute()) for f in stream.files))
    return frame.select(*(F.col(f"`{f.name}`").cast(spark_type(f.type)).alias(f.name) for f in stream.arrow))


def _empty(frame: DataFrame) -> pa.Table:
    return frame.limit(0).toArrow() if not frame.isStreaming else pa.table({})


# -- streaming -------------------------------------------------------------------------------------------------------


def _stream(spark: SparkSession, plan: Node, streams: Mapping[str, FileStream], late: str, progress: str,
            checkpoint: str | Path | None, rows_per_batch: int, watch: Watcher | None, emit: str,
            stats: Stats) -> LocalRun:
    attribute = windowing_attribute(plan)
    with plain_errors():
        frames = {
            name: read_stream(spark, s.path, time=ordered_by(s, attribute), progress=progress,
                              rows_per_batch=rows_per_batch)
            for name, s in streams.items()
        }
        kernels = "kernels" if is_hosted(plan) else "auto"  # micro-batches of files are large
        results = run_streaming(plan, frames, late=late, emit=emit, stats=stats, joins=kernels)
    schema = spark.createDataFrame([], results.schema).toArrow().schema
    passing = checkpoint is None
    home = Path(tempfile.mkdtemp(prefix="panewise-run-") if checkpoint is None else checkpoint)
    label = CheckpointLabel.claim(home, plan, streams, engine="spark", late=late, progress=progress)
    parts = NumberedParts(home / "results")
    told: dict[str, Any] = {"rows": 0, "late": 0}
    counts = BatchCounts(home / "late.json")
    late_rows: list[dict[str, Any]] = []

    def tables() -> Iterator[pa.Table]:
        fresh: SimpleQueue[int] = SimpleQueue()
        seen = set(parts.numbers())  # of earlier runs; Spark may repeat the last one, with the same rows
        for number in sorted(seen):
            yield _without_late(parts.read(number), late_rows)

        def commit(batch: DataFrame, number: int) -> None:
            parts.write(number, batch.toArrow())
            fresh.put(number)

        query = (results.writeStream.outputMode("append").foreachBatch(commit)
                 .option("checkpointLocation", str(home / "spark")).trigger(availableNow=True).start())
        try:
            while query.isActive or not fresh.empty():
                told.update(counts.after(query.recentProgress))
                if watch is not None:
                    status = query_status(query)
                    watch.say("streaming on Spark")
                    watch.advance(told["rows"], status.bound, status.held)
                try:
                    number = fresh.get(timeout=POLL_SECONDS)
                except Empty:
                    continue
                if number not in seen:
                    seen.add(number)
                    yield _without_late(parts.read(number), late_rows)
            failure = query.exception()
            if failure is not None:
                raise translate(failure) or failure
            told.update(counts.after(query.recentProgress), rows=sum(s.count_rows() for s in streams.values()))
            label.end()
        finally:
            query.stop()
            if passing:
                shutil.rmtree(home, ignore_errors=True)

    def finish() -> tuple[pa.Table | None, dict[str, Any]]:
        return (pa.Table.from_pylist(late_rows) if late_rows else None), told

    return LocalRun(tables(), finish, _without_late(schema.empty_table(), []))


class BatchCounts:
    """Rows and late rows of every micro-batch, kept beside the checkpoint: Spark's own reports end with a run.

    A batch that is repeated after a failure has the same rows, so it replaces its own counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: dict[str, list[int]] = json.loads(path.read_text()) if path.exists() else {}

    def after(self, reports: Iterable[Any]) -> dict[str, int]:
        """The sums, with what Spark has reported by now."""
        before = dict(self.counts)
        for report in map(as_json, reports):
            metric = metrics(report)
            if report["numInputRows"] or metric.get("late_rows"):  # Spark reports idle batches under the last number
                self.counts[str(report["batchId"])] = [report["numInputRows"], int(metric.get("late_rows") or 0)]
        if self.counts != before:
            staged = self.path.with_suffix(".writing")
            staged.write_text(json.dumps(self.counts))
            staged.replace(self.path)
        return {"rows": sum(c[0] for c in self.counts.values()), "late": sum(c[1] for c in self.counts.values())}


def _without_late(table: pa.Table, late_rows: list[dict[str, Any]]) -> pa.Table:
    """Split off the late rows, which travel beside the results as JSON."""
    if LATE_COLUMN not in table.column_names:
        return table
    column = table.column(LATE_COLUMN)
    late_rows.extend(json.loads(text) for text in column.to_pylist() if text is not None)
    return table.filter(pc.is_null(column)).drop_columns([LATE_COLUMN])
