"""``run``: a query over streams that may still be going on, with results as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from panewise.api.columns import Columns, parse_columns
from panewise.api.entry import entry_point
from panewise.api.inputs import NOT_FITTING, LocalStream, MemoryStream, is_dataframe, local_stream, named_by_text
from panewise.api.instants import given_instant
from panewise.api.naming import check_read, time_of
from panewise.api.query import plan_of
from panewise.api.results import Results
from panewise.api.tables import TableInput
from panewise.core.bad_rows import MAX_LINE
from panewise.core.errors import PlanError, SchemaError
from panewise.core.names import did_you_mean
from panewise.core.schema import SourceSchema
from panewise.core.tables import as_table, python_rows
from panewise.dataflow import Query, QueryStatus, WindowEvent
from panewise.engines.contract import ordered_by, windowing_attribute
from panewise.engines.embedded.run import EmbeddedRun, start_run
from panewise.engines.embedded.sinks import CallbackSink, FileSink, LineSink, PartsSink, Sink, SocketSink, Transaction
from panewise.engines.embedded.sources import AsyncSource, FollowedFile, LineSource, PipeSource, SocketSource, as_source
from panewise.files.reader import FileStream
from panewise.files.senders import is_address
from panewise.plan.nodes import Node
from panewise.plan.run_instant import warn_of_the_clock
from panewise.planner.options import RunOptions

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

STANDARD = "-"
"""Standard input or output."""


@entry_point
def run(text: str, options: RunOptions, inputs: Mapping[str, Any], *, out: Any = None) -> Run:
    """Start a query on the embedded engine; keyword arguments name its streams, ``streams={...}`` those whose names
    are options. Results go ``out``; a run that goes on from a checkpoint needs functions of the same names.

    A stream is a path, a table, rows, an iterator or async iterator of rows, Arrow batches and punctuation, a function
    from (rows, punctuation) taken so far to what follows, ``"-"`` for NDJSON on standard input, the address of a socket
    to listen on (``tcp://127.0.0.1:9000``, ``unix:///path``) or ``follow(path)``. ``columns`` declares those whose
    columns cannot be looked up. Iterate the run for its result rows.

    >>> ticks = ({"ts": i, "v": i % 7} for i in range(100))
    >>> query = "SELECT max(v) [RANGE 10, SLIDE 10, WA ts] AS top FROM s"
    >>> [row["top"] for row in run(query, s=ticks, progress="ordered")][:3]
    [6, 6, 6]
    """
    sources = open_streams(inputs, options)
    plan = plan_of(text, {name: source.schema for name, source in sources.items()}, options)
    check_read(plan, inputs)
    return start(given_instant(plan, options.now), sources, options, sinks=open_sinks(out))


def follow(path: str | Path, *, columns: Columns | None = None, time: str | None = None,
           max_line: int = MAX_LINE) -> FollowedFile:
    """An NDJSON file that another process appends to, as a stream: read to its end, then on as it grows."""
    return FollowedFile(path, columns=None if columns is None else parse_columns(columns), time=time, max_line=max_line)


class LiveStream:
    """A stream that comes while the query runs, with the columns it will have."""

    def __init__(self, value: Any, schema: SourceSchema) -> None:
        self.value, self.schema = value, schema


OpenStream = LocalStream | LineSource | LiveStream


def open_streams(given: Mapping[str, Any], options: RunOptions) -> dict[str, OpenStream]:
    """Whatever a user gives as streams, with schemas."""
    columns = options.columns or {}
    if unknown := sorted(set(columns) - set(given)):
        raise PlanError(f"columns of {unknown[0]!r}, which is no stream of this run{did_you_mean(unknown[0], given)}")
    return {name: _open_stream(value, name, columns.get(name), time_of(options.time, name, given), options)
            for name, value in given.items()}


def _open_stream(value: Any, name: str, columns: Columns | None, time: str | None, options: RunOptions) -> OpenStream:
    if isinstance(value, TableInput):
        return _table(value.timed(time), name, columns, options)
    declared, max_line = None if columns is None else parse_columns(columns), options.max_line
    tolerant = not options.bad_rows.stops  # looks for columns past bad rows
    if isinstance(value, LineSource):
        if declared is not None and value.declared != declared:
            raise PlanError(f"columns= declares {name!r}, which is a source that has been made already: give the "
                            "columns to it, as in pw.follow(path, columns=...)")
        value.tolerant = tolerant
        return value
    if isinstance(value, LiveStream | FileStream | MemoryStream):
        _refuse_columns(name, declared)
        return value
    if is_dataframe(value):
        raise PlanError(f"{name!r} is a Spark DataFrame: use sql(), which gives a DataFrame")
    if isinstance(value, str) and value == STANDARD:
        value = PipeSource("standard input", columns=declared, time=time, max_line=max_line)
    elif is_address(value):
        value = SocketSource(value, columns=declared, time=time, max_line=max_line)
    if isinstance(value, LineSource):
        value.tolerant = tolerant
        return value
    if isinstance(value, Iterator | AsyncIterable) or (callable(value) and not isinstance(value, Iterable)):
        if declared is not None:
            return LiveStream(value, SourceSchema.of(declared, time=time))
        if not isinstance(value, Iterator):
            raise SchemaError(f"the columns of {name!r} cannot be looked up before it runs: give "
                              f"columns={{{name!r}: 'ts timestamp, price double'}}")
        return _peeked(value, name, time, tolerant)
    _refuse_columns(name, declared)
    return local_stream(value, time=time, tolerant=tolerant, max_line=max_line, name=name)


def _refuse_columns(name: str, declared: pa.Schema | None) -> None:
    """Columns of what is there already follow from it: others, said beside it, would mean nothing."""
    if declared is not None:
        raise PlanError(f"columns= declares streams that are still to come (iterators, functions, '-', sockets); "
                        f"{name!r} is there and is looked at: leave its columns out")


def _table(table: TableInput, name: str, columns: Columns | None, options: RunOptions) -> OpenStream:
    """A table from wherever a stream may come; a line of it has no columns but those that are known."""
    stream = _open_stream(table.rows, name, columns, table.time, options)
    if isinstance(stream, FileStream | MemoryStream):
        return replace(stream, schema=table.schema(stream.schema))
    if isinstance(stream, LineSource):
        stream.extra = "error"
    stream.schema = table.schema(stream.schema)
    return stream


def _peeked(items: Iterator[Any], name: str, time: str | None, tolerant: bool) -> LiveStream:
    """Columns from the first rows; promises before them are kept."""
    seen: list[Any] = []
    for item in items:
        seen.append(item)
        if (table := as_table(item, name)) is not None:
            schema = table.schema
        elif isinstance(item, Mapping) or (isinstance(item, Sequence) and len(item)):
            rows = [item] if isinstance(item, Mapping) else list(item)
            try:
                schema = pa.Table.from_pylist(rows).schema if all(map(named_by_text, rows)) else None
            except NOT_FITTING:
                schema = None
            if schema is None:
                learned = MemoryStream.of_items(rows, name=name, tolerant=tolerant)
                if not learned.table().num_rows:  # none of them is of any use
                    continue
                schema = learned.arrow
        else:
            continue
        return LiveStream(chain(seen, items), SourceSchema.of(schema, time=time))
    raise SchemaError(f"the stream {name!r} has no row to learn its columns from: declare them with columns=")


def open_sinks(out: Any) -> list[Sink]:
    """Where results go: paths by suffix, a directory for parts, ``-``, an address, a function, a sink, or several."""
    if out is None:
        return []
    if isinstance(out, list | tuple):
        return [sink for one in out for sink in open_sinks(one)]
    if isinstance(out, Sink):
        return [out]
    if isinstance(out, str) and out == STANDARD:
        return [LineSink()]
    if is_address(out):
        return [SocketSink(out)]
    if isinstance(out, str | Path):
        folder = str(out).endswith("/") or Path(out).is_dir()
        return [PartsSink(out) if folder else FileSink(out)]
    if callable(out):
        return [CallbackSink(out)]
    raise PlanError(f"results cannot go to a {type(out).__name__}: give a path, a directory, '-', an address or a "
                    "function")


def start(plan: Node, streams: Mapping[str, OpenStream], options: RunOptions, *, sinks: Sequence[Sink] = (),
          beside: Mapping[str, Transaction] | None = None) -> Run:
    """A run of a plan over opened streams; live if any of them is. ``beside`` takes part in checkpoints."""
    attribute = windowing_attribute(plan)
    inputs: dict[str, Any] = {}
    for name, stream in streams.items():
        if isinstance(stream, LineSource):
            stream.attribute = attribute if attribute in stream.schema.columns else stream.schema.time
            inputs[name] = stream
        elif isinstance(stream, LiveStream):
            inputs[name] = as_source(stream.value, name)
        else:
            inputs[name] = stream.items(attribute=ordered_by(stream, attribute))
    files = {n: s for n, s in streams.items() if isinstance(s, FileStream | MemoryStream)}
    live = len(files) < len(streams)
    if live:
        warn_of_the_clock(plan)
    return Run(start_run(plan, inputs, files, options, sinks=sinks, live=live, beside=beside))


class Run:
    """A running query: iterate it for rows, or take tables; look at it from any thread while it runs.

    ``for row in run`` works in the calling thread, ``async for`` beside an event loop, ``start()`` in the background.
    """

    def __init__(self, running: EmbeddedRun) -> None:
        self._running = running
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    # -- results

    def tables(self) -> Iterator[pa.Table]:
        """Results as Arrow tables, as they come."""
        return self._running.tables()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (row for table in self.tables() for row in python_rows(table))

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        for source in self._running.sources.values():
            if isinstance(source, AsyncSource):
                source.loop = loop
        tables = self.tables()
        try:
            while (table := await loop.run_in_executor(None, next, tables, None)) is not None:
                for row in python_rows(table):
                    yield row
        finally:
            self.stop()

    def collect(self) -> Results:
        """All results, when the streams have ended."""
        tables = list(self.tables())
        query = self._running.query
        table = pa.concat_tables(tables) if tables else query.nothing()
        return Results(table, query.late_rows, query.status(), query.late_report, query.bad_rows)

    def to_arrow(self) -> pa.Table:
        """All results as an Arrow table, when the streams have ended."""
        return self.collect().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """All results as a pandas DataFrame, when the streams have ended."""
        return self.collect().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """All results as a Polars DataFrame, when the streams have ended."""
        return self.collect().to_polars()

    # -- in the background

    def start(self) -> Run:
        """Go on in a thread: results go to ``out`` and to those who listen."""
        if self._thread is not None:
            raise PlanError("the run has been started already")
        self._thread = Thread(target=self._work, name="panewise run", daemon=True)
        self._thread.start()
        return self

    def _work(self) -> None:
        try:
            for _ in self.tables():
                pass
        except BaseException as error:
            self._error = error

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end of a run that was started; whether it came. An error of the run is raised here."""
        if self._thread is None:
            raise PlanError("the run was not started: start() it, or iterate it")
        self._thread.join(seconds)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return not self._thread.is_alive()

    def stop(self) -> None:
        """End after the item that is worked on; with a checkpoint the next run goes on there."""
        self._running.stop()

    # -- looking

    @property
    def query(self) -> Query:
        """The query that runs."""
        return self._running.query

    @property
    def streams(self) -> Mapping[str, Any]:
        """The sources by stream; a socket tells its ``address``."""
        return self._running.sources

    def status(self, windows: int = 20) -> QueryStatus:
        """Open windows and what closes them, watermarks, late rows, state, rows waiting in queues."""
        return self._running.status(windows)

    def on_result(self, listener: Callable[[pa.Table], object]) -> Callable[[pa.Table], object]:
        """Call a function with every table of results."""
        self._running.sinks.append(CallbackSink(listener))
        return listener

    def on_late(self, listener: Callable[[pa.Table], object]) -> Callable[[pa.Table], object]:
        """Call a function with late rows and why each is late."""
        return self.query.on_late(listener)

    def on_window(self, listener: Callable[[WindowEvent], object]) -> Callable[[WindowEvent], object]:
        """Call a function when a window opens or closes."""
        return self.query.on_window(listener)

    def _repr_html_(self) -> str:
        """What a notebook shows: the status."""
        return self.status()._repr_html_()
