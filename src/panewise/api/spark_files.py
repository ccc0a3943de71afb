"""Run a plan over streams in files on Spark: a batch job when the files say all, a resumable stream otherwise.

A stream's results are kept beside Spark's checkpoint with the number of their micro-batch, so one that Spark repeats
after a failure is not kept twice and a restarted run ends with exactly the rows of an undisturbed one.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.api.checkpoints import SPARK, CheckpointLabel
from panewise.api.inputs import ordered_by
from panewise.api.kept_batches import KeptBatches
from panewise.api.local import LocalRun, windowing_attribute
from panewise.core.bad_rows import BadRows
from panewise.core.errors import UnsupportedError
from panewise.engines.spark.admitting import admitted
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.failures import plain_errors, translate
from panewise.engines.spark.queries.running import is_hosted
from panewise.engines.spark.session import in_zone, session
from panewise.engines.spark.source_options import ROWS_PER_BATCH
from panewise.engines.spark.sources import read_batch, read_stream
from panewise.engines.spark.status import query_status
from panewise.engines.spark.types import spark_type
from panewise.engines.spark.wire import LATE_COLUMN
from panewise.files.formats import Format
from panewise.files.reader import FileStream
from panewise.plan.nodes import Node, Source, zone_of
from panewise.plan.run_instant import begun_at, instant_now, reads_the_clock
from panewise.planner.choices import Stats
from panewise.planner.ordering_columns import ordering_columns
from panewise.progress.late import LatePolicy
from panewise.queries.admission import AsideFile, InputRules, untimely
from panewise.queries.row_fates import RowFates
from panewise.queries.times_of_rows import TimeRule

POLL_SECONDS = 0.2
KEPT_PROGRESS = 100_000


class Watcher(Protocol):
    """Who wants to know how far a run is."""

    def say(self, text: str) -> None:
        """What is going on now."""

    def advance(self, rows: int, watermark: str = "", held: str = "") -> None:
        """So many rows were read in all; what the query holds of them."""


@plain_errors()
def run_files(plan: Node, streams: Mapping[str, FileStream], *, master: str = "local[*]", late: str = "generous",
              progress: str | None = None, checkpoint: str | Path | None = None,
              rows_per_batch: int = ROWS_PER_BATCH, watch: Watcher | None = None,
              conf: Mapping[str, Any] | None = None, emit: str = "final", stats: Stats = None,
              rules: InputRules | None = None, on_late: Callable[[pa.Table], object] | None = None,
              exact: bool = False) -> LocalRun:
    """Start a run; ``rows_per_batch`` is the size of a micro-batch where it is a stream, ``conf`` sets up the session.

    It is a batch job unless something needs order or a memory: a checkpoint, a progress policy, punctuation in the
    data, late rows to be treated in a special way, or early results (``emit``). ``exact`` makes a batch job add floats
    in kernels; streams always do.
    """
    rules = rules or InputRules()
    used = {node.name for node in plan.walk() if isinstance(node, Source)}
    streams = {name: stream for name, stream in streams.items() if name in used}
    _check_jumps(plan, streams, rules)
    settings: dict[str, Any] = {"spark.sql.streaming.numRecentProgressUpdates": KEPT_PROGRESS, **(conf or {})}
    spark = session(master, **settings)
    in_zone(spark, zone_of(plan))
    at_once = LatePolicy.parse(late) in {LatePolicy.DROP, LatePolicy.GENEROUS}
    needs_order = progress not in {None, "source"} or not at_once or emit != "final"
    if checkpoint is None and not needs_order and not any(s.has_punctuation for s in streams.values()):
        return _batch(spark, begun_at(plan, instant_now()), streams, watch, stats, rules, exact)
    return _stream(spark, plan, streams, late, progress or "source", checkpoint, rows_per_batch, watch, emit, stats,
                   rules, on_late)


def _bad_rows(plan: Node, streams: Mapping[str, FileStream], rules: InputRules) -> int:
    """How many rows Spark's tasks have left out; where they are to be put aside, they are written here.

    Tasks keep nothing and may run twice, so the files are read once more, in process.
    """
    if rules.bad_rows.stops:
        return 0
    fates, ordering, found = RowFates(plan), ordering_columns(plan), 0
    newest: dict[str, int | None] = {}
    aside = None if rules.bad_rows.path is None else AsideFile(rules.bad_rows.path)
    for name, stream in streams.items():
        rows = 0
        times = [TimeRule.of(name, column, stream.schema, rules.max_jump) for column in ordering[name]]
        newest.clear()
        for item in stream.items(attribute=ordered_by(stream, windowing_attribute(plan))):
            bad = list(item) if isinstance(item, BadRows) else []
            if isinstance(item, pa.RecordBatch):
                bad = untimely(name, pa.Table.from_batches([item]), times, fates, rows, newest)
            rows += len(item) if isinstance(item, BadRows | pa.RecordBatch) else 0
            found += len(bad)
            if aside is not None and bad:
                aside.add((name, row) for row in bad)
    return found


def _check_jumps(plan: Node, streams: Mapping[str, FileStream], rules: InputRules) -> None:
    """The reader of a file compares times of the column that orders it, so windows must ask for that one alone."""
    attribute, ordering = windowing_attribute(plan), ordering_columns(plan)
    for name, stream in streams.items():
        asked, read = ordering[name], ordered_by(stream, attribute)
        if rules.max_jump is not None and asked != [read]:
            raise UnsupportedError(f"max_jump= on Spark compares times of {read!r}, by which the files of {name!r} are "
                                   f"read, and this query orders it by {', '.join(map(repr, asked)) or 'nothing'}: "
                                   "name one column with --time, or run the query with --engine embedded")


# -- batch -----------------------------------------------------------------------------------------------------------


def _batch(spark: SparkSession, plan: Node, streams: Mapping[str, FileStream], watch: Watcher | None,
           stats: Stats, rules: InputRules, exact: bool) -> LocalRun:
    attribute = windowing_attribute(plan)
    frames = {name: _frame(spark, stream, attribute, rules) for name, stream in streams.items()}
    results = run_batch(plan, admitted(plan, frames, skipping(rules)).inputs, stats=stats, exact=exact)

    def tables() -> Iterator[pa.Table]:
        if watch is not None:
            watch.say("aggregating panes on Spark")
        with plain_errors():
            yield results.toArrow()

    empty = _empty(results)

    def status() -> dict[str, Any]:
        return {"rows": sum(s.count_rows() for s in streams.values()), "bad": _bad_rows(plan, streams, rules)}

    return LocalRun(tables(), lambda: (None, status()), empty)


def skipping(rules: InputRules) -> InputRules:
    """What Spark's tasks do under a policy: bad rows are written by the driver, and jumps are found by the reader."""
    return InputRules.parse("stop" if rules.bad_rows.stops else "skip")


def _frame(spark: SparkSession, stream: FileStream, attribute: str | None, rules: InputRules) -> DataFrame:
    """Parquet by Spark's own reader; text by ours, which refuses what does not fit instead of making it null.

    Ours also knows the order of rows, which jumps are found by.
    """
    if stream.format is not Format.PARQUET or rules.max_jump is not None:
        return read_batch(spark, stream.path, time=ordered_by(stream, attribute), max_line=stream.max_line,
                          bad_rows=skipping(rules).bad_rows.action.value, max_jump=rules.max_jump)
    frame = spark.read.parquet(*(str(f.absolute()) for f in stream.files))
    return frame.select(*(F.col(f"`{f.name}`").cast(spark_type(f.type)).alias(f.name) for f in stream.arrow))


def _empty(frame: DataFrame) -> pa.Table:
    return frame.limit(0).toArrow() if not frame.isStreaming else pa.table({})


# -- streaming -------------------------------------------------------------------------------------------------------


def _stream(spark: SparkSession, plan: Node, streams: Mapping[str, FileStream], late: str, progress: str,
            checkpoint: str | Path | None, rows_per_batch: int, watch: Watcher | None, emit: str,
            stats: Stats, rules: InputRules, on_late: Callable[[pa.Table], object] | None) -> LocalRun:
    attribute = windowing_attribute(plan)
    frames = admitted(plan, {
        name: read_stream(spark, s.path, time=ordered_by(s, attribute), progress=progress,
                          rows_per_batch=rows_per_batch, max_line=s.max_line, max_jump=rules.max_jump,
                          bad_rows=skipping(rules).bad_rows.action.value)
        for name, s in streams.items()
    }, skipping(rules)).inputs
    run = partial(run_streaming, inputs=dict(frames), late=late, emit=emit, stats=stats,
                  joins="kernels" if is_hosted(plan) else "auto")  # micro-batches of files are large
    results = run(begun_at(plan, began := instant_now()))
    schema = spark.createDataFrame([], results.schema).toArrow().schema
    passing = checkpoint is None
    home = Path(tempfile.mkdtemp(prefix="panewise-run-") if checkpoint is None else checkpoint)
    label = CheckpointLabel.claim(home, plan, streams, engine="spark", late=late, progress=progress, began=began)
    if label.began_before(began) and reads_the_clock(plan):
        results = run(label.begun(plan))
    kept, late_rows = _kept(label, home), LateRowsBeside(rules.late_keep, on_late)
    told: dict[str, Any] = {"rows": 0, "late": 0, "late_policy": LatePolicy.parse(late).value}

    def tables() -> Iterator[pa.Table]:
        fresh: SimpleQueue[pa.Table] = SimpleQueue()
        for table in kept.tables():
            yield _without_late(table, late_rows)

        def commit(batch: DataFrame, number: int) -> None:
            if not kept.has(number):  # Spark may repeat the last one of an earlier run, with the same rows
                table = batch.toArrow()
                kept.add(number, table)
                fresh.put(table)

        query = (results.writeStream.outputMode("append").foreachBatch(commit)
                 .option("checkpointLocation", str(home / SPARK)).trigger(availableNow=True).start())
        try:
            while query.isActive or not fresh.empty():
                told.update(kept.count(query.recentProgress))
                if watch is not None:
                    status = query_status(query)
                    watch.say("streaming on Spark")
                    watch.advance(told["rows"], status.bound, status.held)
                try:
                    yield _without_late(fresh.get(timeout=POLL_SECONDS), late_rows)
                except Empty:
                    continue
            failure = query.exception()
            if failure is not None:
                raise translate(failure) or failure
            told.update(kept.count(query.recentProgress), rows=sum(s.count_rows() for s in streams.values()),
                        bad=_bad_rows(plan, streams, rules))
            label.end()
        finally:
            query.stop()

    def closed() -> Iterator[pa.Table]:
        try:
            with plain_errors():  # also where a query whose JVM has ended is to be stopped
                yield from tables()
        finally:
            label.close()
            if passing:
                shutil.rmtree(home, ignore_errors=True)

    return LocalRun(closed(), lambda: (late_rows.table(), told | {"late_forgotten": late_rows.forgotten}),
                    _without_late(schema.empty_table(), LateRowsBeside(0, None)))


def _kept(label: CheckpointLabel, home: Path) -> KeptBatches:
    try:
        return KeptBatches(label.store, home / SPARK)
    except BaseException:
        label.close()
        raise


class LateRowsBeside:
    """Late rows that travel beside the results: the newest are kept, or all leave where somebody takes them."""

    def __init__(self, keep: int, on_late: Callable[[pa.Table], object] | None) -> None:
        self._kept: deque[dict[str, Any]] = deque(maxlen=keep)
        self._on_late, self.forgotten = on_late, 0

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Some more."""
        if self._on_late is not None:
            if rows:
                self._on_late(pa.Table.from_pylist(rows))
            return
        self.forgotten += max(0, len(self._kept) + len(rows) - (self._kept.maxlen or 0))
        self._kept.extend(rows)

    def table(self) -> pa.Table | None:
        """Those that are kept."""
        return pa.Table.from_pylist(list(self._kept)) if self._kept else None


def _without_late(table: pa.Table, late_rows: LateRowsBeside) -> pa.Table:
    """Split off the late rows, which travel beside the results as JSON."""
    if LATE_COLUMN not in table.column_names:
        return table
    column = table.column(LATE_COLUMN)
    late_rows.add([json.loads(text) for text in column.to_pylist() if text is not None])
    return table.filter(pc.is_null(column)).drop_columns([LATE_COLUMN])
