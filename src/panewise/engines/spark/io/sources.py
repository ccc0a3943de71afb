"""Files as a Spark stream with exact progress: NDJSON with punctuation in line, Parquet and CSV with a policy.

Row order in files is arrival order. Every row carries the bound in force when it arrived (see
:mod:`panewise.engines.spark.host.wire`), so late rows are judged exactly, and offsets say file, line and progress, so a
replay after a failure gives the same rows with the same bounds. With ``finite`` the end of the files is a punctuation
that covers everything.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from panewise.core.bad_rows import MAX_LINE, BadRowAction
from panewise.core.errors import PlanError
from panewise.core.schema import SourceSchema
from panewise.core.time import AmountGiven
from panewise.engines.spark.host.wire import BAD, CONTROL, END_TEXT, POSITION, ROW_BOUND
from panewise.engines.spark.io.file_pieces import Piece, pieces
from panewise.engines.spark.io.source_options import ROWS_PER_BATCH, StreamOptions, amount_of, foreign_offset, policy_of
from panewise.engines.spark.io.source_rows import RowGate, control_rows, wire_bad, wire_rows
from panewise.engines.spark.io.tracker import Tracker
from panewise.engines.spark.lower.types import spark_type
from panewise.files.formats import expand
from panewise.files.reader import FileStream
from panewise.files.types import normal_schema
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.storage.sealed import STATE_VERSION, refuse_other_version

FORMAT = "panewise"
ROWS_PER_TASK = 250_000
NEWEST = "newest"
"""Beside the progress at a place: the newest time before it, where jumps are looked for."""


def read_stream(spark: SparkSession, path: str | Path, *, time: str | None = None, progress: str = "source",
                finite: bool = True, rows_per_batch: int = ROWS_PER_BATCH, bad_rows: str = "stop",
                max_line: int = MAX_LINE, max_jump: AmountGiven | None = None) -> DataFrame:
    """Files as a streaming DataFrame for ``run_streaming`` (whose ``progress`` stays ``source``).

    ``rows_per_batch`` limits a micro-batch. ``finite=False`` waits for more files, and more lines in the last one.
    ``bad_rows="skip"`` hands rows that cannot be read on, marked as such: the query leaves them out and counts them, or
    puts them aside. ``max_jump`` is how far ahead of the newest row one may be; ``max_line`` is the longest one in
    bytes.
    """
    return _load(spark, spark.readStream, path, time, progress, finite, rows_per_batch, bad_rows, max_line, max_jump)


def read_batch(spark: SparkSession, path: str | Path, *, time: str | None = None,
               progress: str = "source", bad_rows: str = "stop", max_line: int = MAX_LINE,
               max_jump: AmountGiven | None = None) -> DataFrame:
    """Files as a bounded DataFrame for ``run_batch``, rows stamped with the bound in force at their arrival."""
    return _load(spark, spark.read, path, time, progress, True, ROWS_PER_BATCH, bad_rows, max_line, max_jump)


def read_spool(spark: SparkSession, folder: str | Path, columns: pa.Schema, *, time: str | None = None,
               progress: str = "source", rows_per_batch: int = ROWS_PER_BATCH, discard: bool = True,
               bad_rows: str = "stop", max_line: int = MAX_LINE, max_jump: AmountGiven | None = None) -> DataFrame:
    """A folder of NDJSON files that another program goes on writing, as a streaming DataFrame; it may still be empty.

    A last line without its end is left for later. With ``discard`` a file is deleted when all of it has been
    processed and the next one has begun.
    """
    stored = normal_schema(columns)
    attribute = SourceSchema.of(stored, time=time).time
    if attribute is None:
        raise PlanError(f"{folder}: no column orders the stream; name one with time=, such as time='ts'")
    encoded = base64.b64encode(stored.serialize().to_pybytes()).decode()
    options = StreamOptions(str(Path(folder).absolute()), attribute, progress, False, rows_per_batch, discard, encoded,
                            policy_of(bad_rows), amount_of(max_jump), max_line)
    options.check(options.open())
    spark.dataSource.register(PanewiseFiles)
    return spark.readStream.format(FORMAT).option("panewise", json.dumps(options.__dict__)).load()


def _load(spark: SparkSession, reader: Any, path: str | Path, time: str | None, progress: str, finite: bool,
          rows_per_batch: int, bad_rows: str, max_line: int, max_jump: AmountGiven | None) -> DataFrame:
    if rows_per_batch < 1:
        raise PlanError(f"a micro-batch needs at least one row, not {rows_per_batch}")
    policy = policy_of(bad_rows)
    stream = FileStream.open(path, time=time, tolerant=policy == BadRowAction.SKIP.value, max_line=max_line)
    attribute = stream.schema.time
    if attribute is None:
        raise PlanError(f"{path}: no column orders the stream; name one with time=, such as time='ts'")
    stored = base64.b64encode(stream.stored.serialize().to_pybytes()).decode()
    options = StreamOptions(str(Path(path).absolute()), attribute, progress, finite, rows_per_batch, stored=stored,
                            bad_rows=policy, max_jump=amount_of(max_jump), max_line=max_line)
    options.check(stream)
    spark.dataSource.register(PanewiseFiles)
    found: DataFrame = reader.format(FORMAT).option("panewise", json.dumps(options.__dict__)).load()
    return found


class PanewiseFiles(DataSource):
    """The data source behind ``read_stream`` and ``read_batch``."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format(...)``."""
        return FORMAT

    def _settings(self) -> StreamOptions:
        return StreamOptions(**json.loads(self.options["panewise"]))

    def schema(self) -> T.StructType:
        """The files' columns, then the side columns."""
        settings = self._settings()
        fields = [T.StructField(f.name, spark_type(f.type)) for f in settings.open().arrow]
        stamps = [T.StructField(ROW_BOUND, T.LongType())] if settings.stamped else []
        marks = [T.StructField(BAD, T.StringType())] if settings.tolerant else []
        return T.StructType([*fields, T.StructField(CONTROL, T.StringType()), *stamps,
                             T.StructField(POSITION, T.LongType()), *marks])

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:  # noqa: N802
        """Structured Streaming."""
        return FileStreamReader(self._settings())

    def reader(self, schema: T.StructType) -> DataSourceReader:
        """Batch."""
        return FileBatchReader(self._settings())


@dataclass
class Span(InputPartition):
    """A part of one file for one task: from ``start`` up to ``stop``, and the progress before it."""

    file: str | None
    """``None`` for the end of the stream."""
    start: int
    stop: int
    position: int
    progress: dict[str, Any]
    tick: int | None = None
    """No rows, but a look at the wall clock, which showed this (microseconds since the epoch)."""


@dataclass(frozen=True)
class Place:
    """How far a stream has been read; the offset of a streaming query."""

    file: str = ""
    at: int = 0
    position: int = 0
    """Lines or rows of all files before."""
    ended: bool = False
    progress: dict[str, Any] | None = None
    bound: int = NO_BOUND
    """What is promised for all rows here, and the same for a person to read."""
    bound_text: str = ""
    ticked: int = 0
    """What the wall clock showed when a policy last looked at it: a replay looks at the same time."""

    def same_as(self, other: Place) -> bool:
        """Whether nothing lies between two places."""
        return (self.file, self.at, self.ended, self.ticked) == (other.file, other.at, other.ended, other.ticked)

    def offset(self) -> dict[str, str]:
        """As Spark keeps it."""
        return {"place": json.dumps(self.__dict__, sort_keys=True), "version": str(STATE_VERSION)}

    @classmethod
    def of(cls, offset: dict[str, str]) -> Place:
        """From Spark's log."""
        try:
            place = json.loads(offset["place"])
            refuse_other_version(int(offset["version"]) if "version" in offset else None, "the checkpoint")
            return cls(**place)
        except (KeyError, TypeError, ValueError) as error:
            raise foreign_offset(offset, "files that panewise reads") from error


class Walker:
    """Walks through the files on the driver: follows progress, and cuts the way into spans for tasks."""

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self.stream = options.open()
        self.files: list[Path] | None = None
        """A fixed list of files, when nothing that comes later may be read."""

    def walk(self, start: Place, *, limit: int | None = None, until: Place | None = None,
             now: int | None = None) -> tuple[Place, list[Span]]:
        """From a place, for so many lines, or up to another place, or to the end of what is there.

        At the end policies that follow the wall clock look at it: it shows ``now``, or what it showed at that place.
        """
        if start.ended or (until is not None and start.same_as(until)):
            return start, []
        tracker, gate = self._at(start.progress)
        looks = tracker.reads_rows or gate.jumps
        columns = list(dict.fromkeys([*tracker.columns, *([self.options.attribute] if gate.jumps else [])]))
        spans: list[Span] = []
        file, at, position = start.file, start.at, start.position
        left = limit
        for path in self._from(start.file, until.file if until else None):
            at = at if path.name == file else 0
            file = path.name
            span = Span(file, at, at, position, _saved(tracker, gate))
            for item in pieces(self.stream, path, at, self.options.attribute, columns=columns,
                               growing=not self.options.finite, tolerant=self.options.tolerant):
                if until is not None and file == until.file and item.at >= until.at:
                    break
                if isinstance(item, Piece):
                    room = _room(item, left, until if until and file == until.file else None)
                    part = item.head(room)
                    rows = gate.admit(part).timed if looks else None
                    if rows is not None and tracker.reads_rows:
                        tracker.observe(rows)
                    size, end = part.size, part.at + part.size
                else:
                    tracker.punctuate(item.punctuation)
                    size, end = 1, item.at + 1
                position += end - at
                at = end
                span.stop = end
                left = None if left is None else left - size
                if span.stop - span.start >= ROWS_PER_TASK:
                    spans.append(span)
                    span = Span(file, at, at, position, _saved(tracker, gate))
                if left is not None and left <= 0:
                    break
            if span.stop > span.start:
                spans.append(span)
            if left is not None and left <= 0:
                return _place(file, at, position, False, tracker, gate, start.ticked), spans
        ended = self.options.finite if until is None else until.ended
        if ended:
            spans.append(Span(None, 0, 0, position, _saved(tracker, gate)))
        ticked = start.ticked
        looked = now if until is None else until.ticked
        if looked is not None and not self.options.finite and tracker.follows_clock and looked != ticked and (
                until is not None or spans or looked - ticked >= tracker.step):
            before = _saved(tracker, gate)
            if tracker.tick(looked) or until is not None:
                ticked = looked
                spans.append(Span(file, at, at, position, before, tick=looked))
        return _place(file, at, position, ended, tracker, gate, ticked), spans

    def _at(self, progress: dict[str, Any] | None) -> tuple[Tracker, RowGate]:
        """As they were at a place."""
        tracker, gate = self.options.tracker(self.stream), self.options.gate(self.stream)
        if progress is not None:
            tracker.restore(progress)
            gate.newest = progress.get(NEWEST)
        return tracker, gate

    def _from(self, file: str, last: str | None) -> list[Path]:
        files = self.files if self.files is not None else expand(Path(self.options.path))
        return [f for f in files if f.name >= file and (last is None or f.name <= last)]

    def read(self, span: Span) -> Iterator[pa.RecordBatch]:
        """The rows of a span with their side columns; what was promised comes last."""
        tracker, gate = self._at(span.progress)
        schema = self.wire_schema
        if span.file is None:
            yield from _controls([END_TEXT], FINISHED, schema)
            return
        if span.tick is not None:
            tracker.news()  # what was known before is told by the rows
            tracker.tick(span.tick)
            yield from _controls([*tracker.news(), *tracker.silence(span.position + 1)], tracker.bound, schema)
            return
        root = Path(self.options.path)
        path = root if root.is_file() else root / span.file
        said: list[str] = []
        for item in pieces(self.stream, path, span.start, self.options.attribute, tolerant=self.options.tolerant):
            if item.at >= span.stop:
                break
            if isinstance(item, Piece):
                found, first = gate.admit(item.head(span.stop - item.at)), span.position + item.at - span.start + 1
                bounds = tracker.stamp(found.timed)
                stamps = pa.array(bounds, mask=bounds == NO_BOUND)
                yield from wire_rows(found.timed, stamps, found.timed_places + first, schema).to_batches()
                if found.untimed.num_rows:
                    yield from wire_rows(found.untimed, None, found.untimed_places + first, schema).to_batches()
                if found.bad:
                    yield from wire_bad(found.bad, first, schema).to_batches()
            else:
                tracker.punctuate(item.punctuation)
                said.append(tracker.text(item.punctuation))
        yield from _controls([*said, *tracker.news(), *tracker.silence(span.position)], tracker.bound, schema)

    @property
    def wire_schema(self) -> pa.Schema:
        """The columns of a batch for Spark."""
        stamps = [pa.field(ROW_BOUND, pa.int64())] if self.options.stamped else []
        marks = [pa.field(BAD, pa.string())] if self.options.tolerant else []
        return pa.schema([*self.stream.arrow, pa.field(CONTROL, pa.string()), *stamps, pa.field(POSITION, pa.int64()),
                          *marks])


class FileStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets on the driver, rows in tasks."""

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self.walker: Walker | None = None
        self.planned: dict[tuple[str, str], list[Span]] = {}
        self.clock: Callable[[], int] = wall_clock

    def _walker(self) -> Walker:
        if self.walker is None:
            self.walker = Walker(self.options)
        return self.walker

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        """Before the first file."""
        return Place().offset()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """One micro-batch's share."""
        return ReadMaxRows(self.options.rows_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the files: what comes later is for a later run."""
        self._walker().files = expand(Path(self.options.path))
        began = self.clock()
        self.clock = lambda: began  # one look at the clock, or such a run would never end

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802
        """How far the next micro-batch may go."""
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if rows is None and not isinstance(limit, ReadAllAvailable):
            rows = self.options.rows_per_batch
        begin = Place.of(start)
        end, spans = self._walker().walk(begin, limit=rows, now=self.clock())
        if not spans:
            return start
        self.planned = {(start["place"], end.offset()["place"]): spans}
        return end.offset()

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """The spans between two offsets; walked again when they come from the log of an earlier run."""
        begin, stop = Place.of(start), Place.of(end)
        known = self.planned.get((start["place"], end["place"]))
        return known if known is not None else self._walker().walk(begin, until=stop)[1]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task."""
        assert isinstance(partition, Span)
        return Walker(self.options).read(partition)

    def commit(self, end: dict[str, str]) -> None:
        """Everything before this offset will never be asked for again."""
        if self.options.discard:
            done = Place.of(end)
            for path in expand(Path(self.options.path)):
                if path.name < done.file:
                    path.unlink()


class FileBatchReader(DataSourceReader):
    """All files at once."""

    def __init__(self, options: StreamOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        """One span per file, or several for long ones."""
        return Walker(self.options).walk(Place())[1]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task."""
        assert isinstance(partition, Span)
        return Walker(self.options).read(partition)


def wall_clock() -> int:
    """Microseconds since the epoch."""
    return time_ns() // 1_000


def _saved(tracker: Tracker, gate: RowGate) -> dict[str, Any]:
    """What a task, or a later run, has to know of the rows before."""
    return tracker.snapshot() | ({NEWEST: gate.newest} if gate.jumps else {})


def _place(file: str, at: int, position: int, ended: bool, tracker: Tracker, gate: RowGate, ticked: int) -> Place:
    bound = tracker.bound
    text = tracker.kind.text(bound) if NO_BOUND < bound < FINISHED else ""
    return Place(file, at, position, ended, _saved(tracker, gate), bound, text, ticked)


def _room(piece: Piece, left: int | None, until: Place | None) -> int:
    room = piece.size if left is None else min(piece.size, left)
    return room if until is None else min(room, until.at - piece.at)


def _controls(texts: list[str], bound: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if texts:
        yield from control_rows(texts, bound, schema).to_batches()
