"""``panewise run`` over streams that are still going on: pipes, sockets, growing files; results out at once."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from panewise.api.live import STANDARD, OpenStream, Run, follow, open_sinks, open_stream, start
from panewise.api.naming import check_read
from panewise.api.query import plan_of
from panewise.cli.late_file import LateFile
from panewise.cli.terminal import errors, input_rules, known_streams, parameter, query_text, unique
from panewise.cli.watch import Watch
from panewise.core.errors import PlanError
from panewise.engines.embedded.sources import SocketSource
from panewise.engines.embedded.sources.sockets import is_address
from panewise.planner.capabilities import check
from panewise.queries.admission import InputRules

INTERRUPTED = 130


def is_live(options: argparse.Namespace) -> bool:
    """Whether something comes or goes that is no file."""
    ends = [value for _, value in options.stream] + [options.out or ""]
    return bool(options.follow or any(end == STANDARD or is_address(end) or end.endswith(os.sep) for end in ends))


def run_live(options: argparse.Namespace) -> int:
    """Run until the streams end or the user stops it; an interrupt saves the state first."""
    if options.engine != "embedded":
        raise PlanError("standard input and output, sockets, --follow and result directories need --engine embedded")
    rules = input_rules(options)
    streams = _streams(options, rules)
    params = {name: parameter(value) for name, value in unique(options.param, "parameter").items()}
    plan = plan_of(query_text(options.query), {name: s.schema for name, s in streams.items()}, params,
                   lenient=options.lenient, day=options.day, zone=options.zone,
                   suppress_partial=options.suppress_partial)
    check_read(plan, streams)
    check(plan, options.engine)
    late_file = LateFile(options.late_out, [s.schema for s in streams.values()],
                         goes_on=options.checkpoint is not None)
    run = start(plan, streams, late=options.late, progress=options.progress or "source", emit=options.emit,
                checkpoint=options.checkpoint, sinks=open_sinks(options.out or STANDARD), rules=rules,
                beside=late_file.beside)
    if options.late_out is not None:
        run.on_late(late_file.write)
    with Watch({}, quiet=options.quiet) as watch, late_file, stopped_by_signals(run.stop) as signals:
        try:
            for table in run.tables():
                watch.results(table.num_rows)
        except BrokenPipeError:  # the reader of our output went away, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
    if not options.quiet:
        watch.summary(run.status(windows=0), options.out, options.late_out, rules.bad_rows)
    if signals:
        _say_how_it_ended(run, options.checkpoint)
        return INTERRUPTED
    return 0


def _streams(options: argparse.Namespace, rules: InputRules) -> Mapping[str, OpenStream]:
    times, columns = unique(options.time, "the time column of"), unique(options.columns, "the columns of")
    given = unique(options.stream, "stream")
    for what, named in (("--time", times), ("--columns", columns)):
        known_streams(what, named, given)
    piped = [name for name, value in given.items() if value == STANDARD]
    if len(piped) + (options.query == STANDARD) > 1:
        raise PlanError("standard input can be one thing only: the query or one stream")
    opened: dict[str, OpenStream] = {}
    for name, value in given.items():
        one: Any = value
        if options.follow and value != STANDARD and not is_address(value):
            one = follow(value, columns=columns.get(name), time=times.get(name), max_line=options.max_line)
        opened[name] = stream = open_stream(one, name, columns=columns.get(name), time=times.get(name),
                                              tolerant=not rules.bad_rows.stops, max_line=options.max_line)
        if isinstance(stream, SocketSource) and not options.quiet:
            errors.print(f"{name}: listening on {stream.address}", highlight=False, soft_wrap=True)
    return opened


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
        except ValueError:  # not in the main thread: whoever runs us has the signals
            break
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_how_it_ended(run: Run, checkpoint: str | None) -> None:
    windows = run.status(windows=0)["open_windows"]
    where = f"saved in {checkpoint}; run it again to go on" if checkpoint else "lost; --checkpoint DIR keeps them"
    errors.print(f"interrupted; {windows:,} open windows are {where}", highlight=False, soft_wrap=True)
