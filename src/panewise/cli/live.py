"""``panewise run`` over streams that are still going on: pipes, sockets, growing files; results out at once."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from panewise.api.live import STANDARD, OpenStream, Run, follow, open_sinks, open_streams, start
from panewise.api.naming import check_read, time_of
from panewise.api.query import plan_of
from panewise.api.tables import TableInput
from panewise.cli.entry import INTERRUPTED
from panewise.cli.late_file import LateFile
from panewise.cli.terminal import errors, inputs_of, query_text
from panewise.cli.watch import Watch
from panewise.core.errors import PlanError
from panewise.engines.embedded.sources import SocketSource
from panewise.files.formats import Format, format_of
from panewise.files.senders import is_address
from panewise.planner.legal.capabilities import check
from panewise.planner.options import RunOptions


def is_live(options: argparse.Namespace) -> bool:
    """Whether something comes or goes that is no file."""
    ends = [value for _, value in options.stream] + [table.value for _, table in options.table] + [options.out or ""]
    return bool(options.follow or any(end == STANDARD or is_address(end) or end.endswith(os.sep) for end in ends))


def run_live(given: argparse.Namespace, options: RunOptions) -> int:
    """Run until the streams end or the user stops it; an interrupt saves the state first."""
    if given.engine != "embedded":
        raise PlanError("standard input and output, sockets, --follow and result directories need --engine embedded")
    streams = _streams(given, options)
    plan = plan_of(query_text(given.query), {name: s.schema for name, s in streams.items()}, options)
    check_read(plan, streams)
    check(plan, given.engine)
    late_file = LateFile(given.late_out, [s.schema for s in streams.values()],
                         goes_on=options.checkpoint is not None)
    run = start(plan, streams, options, sinks=open_sinks(given.out or STANDARD), beside=late_file.beside)
    if given.late_out is not None:
        run.on_late(late_file.write)
    with Watch({}, quiet=given.quiet) as watch, late_file, stopped_by_signals(run.stop) as signals:
        try:
            for table in run.tables():
                watch.results(table.num_rows)
        except BrokenPipeError:  # the reader of our output went away, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
    if not given.quiet:
        watch.summary(run.status(windows=0), given.out, given.late_out, options.bad_rows)
    if signals:
        _say_how_it_ended(run, options.checkpoint)
        return INTERRUPTED
    return 0


def _streams(given: argparse.Namespace, options: RunOptions) -> Mapping[str, OpenStream]:
    named: dict[str, Any] = inputs_of(given)
    piped = [name for name, value in named.items() if _source(value) == STANDARD]
    if len(piped) + (given.query == STANDARD) > 1:
        raise PlanError("standard input can be one thing only: the query or one stream")
    for name, value in named.items():
        if given.follow and _grows(value):
            time = time_of(options.time, name, named)
            file = follow(_source(value), columns=(options.columns or {}).get(name), max_line=options.max_line,
                          time=time if isinstance(value, str) else value.timed(time).time)
            named[name] = file if isinstance(value, str) else replace(value, value=file)
    opened = open_streams(named, options)
    for name, stream in opened.items():
        if isinstance(stream, SocketSource) and not given.quiet:
            errors.print(f"{name}: listening on {stream.address}", highlight=False, soft_wrap=True)
    return opened


def _source(value: str | TableInput) -> str:
    return value if isinstance(value, str) else str(value.value)


def _grows(value: str | TableInput) -> bool:
    """Whether --follow waits for more: of any file of a stream, and of a table of changes in NDJSON."""
    source = _source(value)
    if source == STANDARD or is_address(source):
        return False
    return isinstance(value, str) or (value.time is not None and format_of(Path(source)) is Format.NDJSON)


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[list[int]]:
    """The first interrupt or termination stops the run between two items, the second ends the process at once."""
    seen: list[int] = []

    def handle(number: int, frame: object) -> None:
        del frame
        if seen:
            raise KeyboardInterrupt
        seen.append(number)
        stop()

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            before[number] = signal.signal(number, handle)
        except ValueError:  # not in the main thread: the caller handles the signals
            break
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_how_it_ended(run: Run, checkpoint: str | Path | None) -> None:
    windows = run.status(windows=0)["open_windows"]
    where = f"saved in {checkpoint}; run it again to go on" if checkpoint else "lost; --checkpoint DIR keeps them"
    errors.print(f"interrupted; {windows:,} open windows are {where}", highlight=False, soft_wrap=True)
