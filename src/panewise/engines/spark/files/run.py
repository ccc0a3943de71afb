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
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.core.bad_rows import BadRow, BadRowPolicy, BadRows
from panewise.core.errors import SchemaError, SourceError, UnsupportedError
from panewise.core.schema import SourceKind
from panewise.core.time import AmountGiven
from panewise.dataflow.admission import unusable
from panewise.dataflow.row_fates import RowFates
from panewise.dataflow.times_of_rows import TimeRule
from panewise.engines.checkpoints import SPARK, CheckpointLabel
from panewise.engines.contract import ALONE, Around, RunningResults, Watcher, ordered_by, place_in, windowing_attribute
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.files.kept_batches import KeptBatches
from panewise.engines.spark.host.wire import LATE_COLUMN
from panewise.engines.spark.io.source_options import ROWS_PER_BATCH
from panewise.engines.spark.io.sources import read_batch, read_stream
from panewise.engines.spark.lower.admitting import admitted
from panewise.engines.spark.lower.types import spark_type
from panewise.engines.spark.observe.status import query_status
from panewise.engines.spark.queries.running import is_hosted
from panewise.engines.spark.session.failures import plain_errors, translate
from panewise.engines.spark.session.session import in_zone, session
from panewise.files.formats import Format
from panewise.files.reader import FileStream
from panewise.plan.nodes import Named, Node, zone_of
from panewise.plan.run_instant import begun_at, instant_now, reads_the_clock
from panewise.planner.facts.ordering_columns import ordering_columns
from panewise.planner.options import DEFAULTS, Mode, RunOptions
from panewise.planner.options.run_options import after_reading
from panewise.progress.late import LatePolicy
from panewise.storage.side_file import AsideFile

POLL_SECONDS = 0.2
KEPT_PROGRESS = 100_000


@plain_errors()
def run_files(plan: Node, streams: Mapping[str, FileStream], options: RunOptions = DEFAULTS,
              around: Around = ALONE) -> RunningResults:
    """Start a run.

    It is a batch job unless something needs order or a memory: a checkpoint, a progress policy, punctuation in the
    data, late rows to be treated in a special way, or early results (``emit``). ``exact`` makes a batch job add floats
    in kernels; streams always do.
    """
    options.refuse_for(plan, Mode.SPARK_FILES)
    used = {node.name for node in plan.walk() if isinstance(node, Named)}
    streams = {name: stream for name, stream in streams.items() if name in used}
    _check_jumps(plan, streams, options.max_jump)
    settings: dict[str, Any] = {"spark.sql.streaming.numRecentProgressUpdates": KEPT_PROGRESS, **around.conf}
    spark = session(around.master, **settings)
    in_zone(spark, zone_of(plan))
    at_once = options.late in {LatePolicy.DROP, LatePolicy.GENEROUS}
    needs_order = options.progress != "source" or not at_once or options.early
    promised = any(stream.has_punctuation for stream in streams.values() if not _is_table(stream))
    if options.checkpoint is None and not needs_order and not promised:
        return _batch(spark, begun_at(plan, instant_now()), streams, around.watch, options)
    return _stream(spark, plan, streams, options, around)


def _bad_rows(plan: Node, streams: Mapping[str, FileStream], options: RunOptions) -> int:
    """How many rows Spark's tasks have left out; where they are to be put aside, they are written here.

    Tasks keep nothing and may run twice, so the files are read once more, in process.
    """
    if options.bad_rows.stops:
        return 0
    found = 0
    aside = None if options.bad_rows.path is None else AsideFile(options.bad_rows.path)
    for name, stream in streams.items():
        for bad in _found_bad(plan, name, stream, options):
            found += len(bad)
            if aside is not None and bad:
                aside.add((name, row) for row in bad)
    return found


def _found_bad(plan: Node, name: str, stream: FileStream, options: RunOptions) -> Iterator[list[BadRow]]:
    """The bad rows of a stream, in the order of its rows, some at a time."""
    fates, newest, rows = RowFates(plan), dict[str, int | None](), 0
    times = [TimeRule.of(name, column, stream.schema, options.max_jump) for column in ordering_columns(plan)[name]]
    for item in stream.items(attribute=ordered_by(stream, windowing_attribute(plan))):
        if isinstance(item, BadRows):
            yield list(item)
        elif isinstance(item, pa.RecordBatch):
            table = pa.Table.from_batches([item])
            yield unusable(name, stream.schema, table, times, fates, rows, newest)
        rows += len(item) if isinstance(item, BadRows | pa.RecordBatch) else 0


@contextmanager
def _naming_bad_rows(plan: Node, streams: Mapping[str, FileStream], options: RunOptions) -> Iterator[None]:
    """An error of a run that a bad row stopped names its file and line, which Spark's tasks need not know.

    On the way out the files are read once more, in process.
    """
    try:
        with plain_errors():
            yield
    except (SchemaError, SourceError) as error:
        for name, stream in streams.items() if options.bad_rows.stops else ():
            for bad in filter(None, _found_bad(plan, name, stream, options)):
                first = bad[0].located(place_in(stream, windowing_attribute(plan)))
                raise options.bad_rows.error(first, name) from error
        raise


def _check_jumps(plan: Node, streams: Mapping[str, FileStream], max_jump: AmountGiven | None) -> None:
    """The reader of a file compares times of the column that orders it, so windows must ask for that one alone."""
    attribute, ordering = windowing_attribute(plan), ordering_columns(plan)
    for name, stream in streams.items():
        asked, read = ordering[name], ordered_by(stream, attribute)
        if max_jump is not None and asked != [read]:
            raise UnsupportedError(f"max_jump= on Spark compares times of {read!r}, by which the files of {name!r} are "
                                   f"read, and this query orders it by {', '.join(map(repr, asked)) or 'nothing'}: "
                                   "name one column with --time, or run the query with --engine embedded")


# -- batch -----------------------------------------------------------------------------------------------------------


def _batch(spark: SparkSession, plan: Node, streams: Mapping[str, FileStream], watch: Watcher | None,
           options: RunOptions) -> RunningResults:
    attribute = windowing_attribute(plan)
    frames = {name: file_frame(spark, stream, attribute, options) for name, stream in streams.items()}
    results = run_batch(plan, admitted(plan, frames, _skipping(options)).inputs, after_reading(options))

    def tables() -> Iterator[pa.Table]:
        if watch is not None:
            watch.say("aggregating panes on Spark")
        with _naming_bad_rows(plan, streams, options):
            yield results.toArrow()

    empty = _empty(results)

    def status() -> dict[str, Any]:
        return {"rows": sum(s.count_rows() for s in streams.values()), "bad": _bad_rows(plan, streams, options)}

    return RunningResults(tables(), lambda: (None, status()), empty)


def _skipping(options: RunOptions) -> BadRowPolicy:
    """What Spark's tasks do with bad rows: those that are put aside are written by the driver."""
    return BadRowPolicy.parse("stop" if options.bad_rows.stops else "skip")


def file_frame(spark: SparkSession, stream: FileStream, attribute: str | None, options: RunOptions) -> DataFrame:
    """Parquet by Spark's own reader; text by ours, which refuses what does not fit instead of making it null.

    Ours also knows the order of rows, which jumps are found by. A table without a time has no order of rows.
    """
    if _is_table(stream) and stream.schema.time is None and stream.format is not Format.PARQUET:
        return spark.createDataFrame(pa.Table.from_batches(_batches(stream, options), stream.arrow))
    if stream.format is not Format.PARQUET or options.max_jump is not None:
        return read_batch(spark, stream.path, time=ordered_by(stream, attribute), max_line=stream.max_line,
                          bad_rows=_skipping(options).action.value, max_jump=options.max_jump)
    frame = spark.read.parquet(*(str(f.absolute()) for f in stream.files))
    return frame.select(*(F.col(f"`{f.name}`").cast(spark_type(f.type)).alias(f.name) for f in stream.arrow))


def _is_table(stream: FileStream) -> bool:
    return stream.schema.kind is not SourceKind.STREAM


def _batches(stream: FileStream, options: RunOptions) -> Iterator[pa.RecordBatch]:
    """The good rows of a file."""
    for item in stream.items():
        if isinstance(item, BadRows):
            options.bad_rows.refuse(item.rows, str(stream.path))
        elif isinstance(item, pa.RecordBatch):
            yield item


def _empty(frame: DataFrame) -> pa.Table:
    return frame.limit(0).toArrow() if not frame.isStreaming else pa.table({})


# -- streaming -------------------------------------------------------------------------------------------------------


def _stream(spark: SparkSession, plan: Node, streams: Mapping[str, FileStream], options: RunOptions,
            around: Around) -> RunningResults:
    attribute, watch = windowing_attribute(plan), around.watch
    frames = admitted(plan, {  # tables are complete from the beginning
        name: file_frame(spark, s, attribute, options) if _is_table(s) else
        read_stream(spark, s.path, time=ordered_by(s, attribute), progress=str(options.progress),
                    rows_per_batch=around.rows_per_batch or ROWS_PER_BATCH, max_line=s.max_line,
                    max_jump=options.max_jump, bad_rows=_skipping(options).action.value)
        for name, s in streams.items()
    }, _skipping(options)).inputs
    told_by_readers = replace(after_reading(options), progress="source",
                              joins="kernels" if is_hosted(plan) else "auto")  # micro-batches of files are large
    run = partial(run_streaming, inputs=dict(frames), options=told_by_readers)
    results = run(begun_at(plan, began := instant_now()))
    schema = spark.createDataFrame([], results.schema).toArrow().schema
    passing = options.checkpoint is None
    home = Path(options.checkpoint or tempfile.mkdtemp(prefix="panewise-run-"))
    label = CheckpointLabel.claim(home, plan, streams, options, engine="spark", began=began)
    if label.began_before(began) and reads_the_clock(plan):
        results = run(label.begun(plan))
    kept, late_rows = _kept(label, home), LateRowsBeside(options.late_keep, around.on_late)
    told: dict[str, Any] = {"rows": 0, "late": 0, "late_policy": options.late.value}

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
                        bad=_bad_rows(plan, streams, options))
            label.end()
        finally:
            query.stop()

    def closed() -> Iterator[pa.Table]:
        try:
            with _naming_bad_rows(plan, streams, options):  # also where a query whose JVM has ended is to be stopped
                yield from tables()
        finally:
            label.close()
            if passing:
                shutil.rmtree(home, ignore_errors=True)

    return RunningResults(closed(), lambda: (late_rows.table(), told | {"late_forgotten": late_rows.forgotten}),
                    _without_late(schema.empty_table(), LateRowsBeside(0, None)))


def _kept(label: CheckpointLabel, home: Path) -> KeptBatches:
    try:
        return KeptBatches(label.store, home / SPARK)
    except BaseException:
        label.close()
        raise


class LateRowsBeside:
    """Late rows that travel beside the results: the newest are kept, or all go to a function."""

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
