"""``panewise run``: a query over streams in files, results to a file or the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from panewise.api.local import LocalRun, check_final, run_local
from panewise.api.naming import check_read
from panewise.api.query import ENGINES, plan_of
from panewise.cli.late_file import LateFile
from panewise.cli.live import is_live, run_live
from panewise.cli.spark_live import is_spark_live, run_spark_live
from panewise.cli.terminal import (
    add_exact,
    add_input_rules,
    input_rules,
    key_value,
    known_streams,
    output,
    parameter,
    query_text,
    result_table,
    unique,
)
from panewise.cli.watch import Watch
from panewise.core.errors import PlanError
from panewise.files.formats import format_of
from panewise.files.reader import FileStream
from panewise.files.writer import ResultFile
from panewise.planner.capabilities import check
from panewise.planner.statistics import parse_statistics
from panewise.progress.late import DEFAULT_LATE, LatePolicy

SHOWN = 20


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The options of ``panewise run``."""
    parser = commands.add_parser(
        "run", help="run a query over streams in files",
        description="Run a window query. A stream is a Parquet, CSV or NDJSON file, or a directory of them in name "
        "order; the order of rows is the order of arrival. The embedded engine also reads NDJSON from standard input "
        "(-), from a socket it listens on (tcp://127.0.0.1:9000, unix:///path, with ?ack for senders that repeat what "
        "was not acknowledged) and from files that grow (--follow). Spark also reads rate:ROWS_PER_SECOND, "
        "auction:bids?rate=1000&live (a generated site), kafka://host:9092/topic and tcp://127.0.0.1:9000, with "
        "results on the terminal or, each exactly once, as Parquet files in --out DIR/.",
    )
    parser.add_argument("query", help="SQL text, a file with it, or - for standard input")
    parser.add_argument("--stream", type=key_value, action="append", default=[], metavar="NAME=PATH", required=True)
    parser.add_argument("--out", metavar="PATH", help="results as .parquet, .csv or .ndjson (default: a table); on the "
                        "embedded engine also - or an address for NDJSON at once, or DIR/ for parts that appear with "
                        "checkpoints")
    parser.add_argument("--engine", choices=ENGINES, default="spark")
    parser.add_argument("--master", default="local[*]", help="where Spark runs (default: this machine)")
    parser.add_argument("--checkpoint", metavar="DIR", help="go on from here after a restart")
    parser.add_argument("--progress", default=None, metavar="POLICY",
                        help="ordered | late:10s | rows:100 | column:NAME | source (default: punctuation in the data)")
    parser.add_argument("--late", choices=[p.value for p in LatePolicy], default=DEFAULT_LATE.value,
                        help="what becomes of rows behind the watermark (default: generous, they count in windows "
                        "that are still open and are reported if they missed one)")
    parser.add_argument("--late-out", metavar="PATH", help="write the late rows here as they come; none is kept then")
    parser.add_argument("--time", type=key_value, action="append", default=[], metavar="NAME=COLUMN",
                        help="the column that orders a stream (default: ts, timestamp, or the only timestamp)")
    parser.add_argument("--columns", type=key_value, action="append", default=[], metavar="NAME=COLUMNS",
                        help="declare a stream that is still to come: bids='ts timestamp, price double'")
    parser.add_argument("--follow", action="store_true", help="go on reading NDJSON files as they grow")
    parser.add_argument("--for", dest="seconds", metavar="DURATION", help="stop a live stream on Spark after this time")
    parser.add_argument("--once", action="store_true", help="read what a live stream on Spark has now, then stop")
    parser.add_argument("--conf", type=key_value, action="append", default=[], metavar="NAME=VALUE",
                        help="a setting of the Spark session, such as spark.jars.packages=...")
    parser.add_argument("--emit", default="final", metavar="POLICY",
                        help="final | change | early:10s (of progress) | clock:5s: early results are corrected by rows "
                        "with change -1 (on Spark final, change or early; the trigger is the clock)")
    parser.add_argument("--strategy", default="auto", metavar="KERNEL",
                        help="how the embedded engine runs the windows, instead of the best way (see explain)")
    parser.add_argument("--stats", metavar="NAME=VALUE,...",
                        help="what the streams are like, to choose the strategy by cost (see explain)")
    parser.add_argument("--joins", default="auto", metavar="WAY",
                        help="how the embedded engine joins windows, instead of the best way: 'by twos', 'at once'; "
                        "who joins live streams on Spark: 'kernels', or 'native' for Spark itself")
    parser.add_argument("--param", type=key_value, action="append", default=[], metavar="NAME=VALUE")
    add_exact(parser)
    add_input_rules(parser)
    parser.add_argument("--limit", type=int, default=SHOWN, help="rows of the table on the terminal")
    parser.add_argument("--quiet", action="store_true", help="no progress display, no summary")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Run one query."""
    if is_spark_live(options):
        return run_spark_live(options)
    live = is_live(options)
    if options.joins != "auto" and (options.engine != "embedded" or live):
        raise PlanError("--joins is for files on --engine embedded, and for streams on Spark that are no files: leave "
                        "it out, or give --stats")
    for path in (None if live else options.out, options.late_out):
        if path is not None:
            format_of(Path(path))
    if options.late_out is not None and options.engine == "spark" and options.late != LatePolicy.SIDE.value:
        raise PlanError(f"--late-out: on Spark late rows leave with --late side, not with --late {options.late}: add "
                        "--late side, or use --engine embedded")
    if options.late_out is not None and options.late in {LatePolicy.DROP.value, LatePolicy.ERROR.value}:
        raise PlanError(f"--late-out writes late rows, which --late {options.late} does not keep: choose --late side, "
                        "generous or consistent")
    if live:
        return run_live(options)
    if options.columns:
        raise PlanError("--columns declares streams that are still to come (-, sockets, --follow); files are looked at")
    if options.engine == "oracle":
        check_final(options.emit, options.engine)
    times = unique(options.time, "the time column of")
    paths = unique(options.stream, "stream")
    known_streams("--time", times, paths)
    rules = input_rules(options)
    streams = {name: FileStream.open(path, time=times.get(name), tolerant=not rules.bad_rows.stops,
                                     max_line=options.max_line) for name, path in paths.items()}
    params = {name: parameter(value) for name, value in unique(options.param, "parameter").items()}
    plan = plan_of(query_text(options.query), {n: s.schema for n, s in streams.items()}, params,
                   lenient=options.lenient, day=options.day, zone=options.zone,
                   suppress_partial=options.suppress_partial)
    check_read(plan, streams)
    check(plan, options.engine)
    stats = parse_statistics(options.stats) if options.stats else None
    late_file = LateFile(options.late_out, [s.schema for s in streams.values()],
                         goes_on=options.checkpoint is not None and options.engine == "embedded")
    on_late = None if options.late_out is None else late_file.write
    with Watch(streams, quiet=options.quiet) as watch, late_file:
        if options.engine == "spark":
            from panewise.api.spark_files import run_files  # Spark is slow to import; other engines do without

            watch.say("starting Spark")
            run = run_files(plan, streams, master=options.master, late=options.late, progress=options.progress,
                            checkpoint=options.checkpoint, watch=watch, conf=dict(options.conf), emit=options.emit,
                            stats=stats, rules=rules, on_late=on_late, exact=options.exact)
        else:
            run = run_local(plan, streams, engine=options.engine, late=options.late,
                            progress=options.progress or "source", checkpoint=options.checkpoint, on_item=watch.item,
                            emit=options.emit, strategy=options.strategy, stats=stats,
                            joins=options.joins, rules=rules, on_late=on_late, beside=late_file.beside)
        shown = _write(run, options, watch)
    _, status = run.finish()
    if options.out is None:
        output.print(result_table(shown, limit=options.limit))
    if not options.quiet:
        watch.summary(status, options.out, options.late_out, rules.bad_rows)
    return 0


def _write(run: LocalRun, options: argparse.Namespace, watch: Watch) -> pa.Table:
    """Results to the file as they come; for the terminal they are gathered."""
    if options.out is None:
        tables = list(_counted(run.tables, watch))
        return pa.concat_tables(tables) if tables else run.empty
    with ExitStack() as stack:
        file: ResultFile | None = None
        for table in _counted(run.tables, watch):
            if file is None:
                file = stack.enter_context(ResultFile(options.out, table.schema))
            file.write(table)
        if file is None:
            stack.enter_context(ResultFile(options.out, run.empty.schema))
    return run.empty


def _counted(tables: Iterator[pa.Table], watch: Watch) -> Iterator[pa.Table]:
    for table in tables:
        watch.results(table.num_rows)
        yield table
