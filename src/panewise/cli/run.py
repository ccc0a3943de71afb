"""``panewise run``: a query over streams in files, results to a file or the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from panewise.api.engines import ENGINES, engine_named
from panewise.api.naming import check_read
from panewise.api.query import plan_of
from panewise.cli.late_file import LateFile
from panewise.cli.live import is_live, run_live
from panewise.cli.options import add_options, run_options
from panewise.cli.spark_live import is_spark_live, run_spark_live
from panewise.cli.terminal import add_inputs, key_value, open_files, output, query_text, result_table
from panewise.cli.watch import Watch
from panewise.core.errors import PlanError
from panewise.engines.contract import Around, RunningResults
from panewise.files.formats import format_of
from panewise.files.writer import ResultFile
from panewise.progress.late import LatePolicy

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
    add_inputs(parser)
    parser.add_argument("--out", metavar="PATH", help="results as .parquet, .csv or .ndjson (default: a table); on the "
                        "embedded engine also - or an address for NDJSON at once, or DIR/ for parts that appear with "
                        "checkpoints")
    parser.add_argument("--engine", choices=ENGINES, default="spark")
    parser.add_argument("--master", default="local[*]", help="where Spark runs (default: this machine)")
    parser.add_argument("--late-out", metavar="PATH", help="write the late rows here as they come; none is kept then")
    parser.add_argument("--follow", action="store_true", help="go on reading NDJSON files as they grow")
    parser.add_argument("--for", dest="seconds", metavar="DURATION", help="stop a live stream on Spark after this time")
    parser.add_argument("--once", action="store_true", help="read what a live stream on Spark has now, then stop")
    parser.add_argument("--conf", type=key_value, action="append", default=[], metavar="NAME=VALUE",
                        help="a setting of the Spark session, such as spark.jars.packages=...")
    add_options(parser, "run")
    parser.add_argument("--limit", type=int, default=SHOWN, help="rows of the table on the terminal")
    parser.add_argument("--quiet", action="store_true", help="no progress display, no summary")
    parser.set_defaults(command=command)


def command(given: argparse.Namespace) -> int:
    """Run one query."""
    if not given.stream and not given.table:
        raise PlanError("name the inputs of the query: --stream NAME=PATH, --table NAME=PATH")
    options = run_options(given, "run")
    if is_spark_live(given):
        return run_spark_live(given, options)
    live = is_live(given)
    for path in (None if live else given.out, given.late_out):
        if path is not None:
            format_of(Path(path))
    _check_late_out(given, options.late)
    if live:
        return run_live(given, options)
    if options.columns:
        raise PlanError("--columns declares streams that are still to come (-, sockets, --follow); files are looked at")
    streams = open_files(given, options)
    plan = plan_of(query_text(given.query), {n: s.schema for n, s in streams.items()}, options)
    check_read(plan, streams)
    engine = engine_named(given.engine)
    engine.check(plan, streams, options)
    late_file = LateFile(given.late_out, [s.schema for s in streams.values()],
                         goes_on=options.checkpoint is not None and given.engine == "embedded")
    on_late = None if given.late_out is None else late_file.write
    with Watch(streams, quiet=given.quiet) as watch, late_file:
        if given.engine == "spark":
            watch.say("starting Spark")
        around = Around(watch, on_late, late_file.beside, given.master, dict(given.conf))
        run = engine.run(plan, streams, options, around)
        shown = _write(run, given.out, watch)
    _, status = run.finish()
    if given.out is None:
        output.print(result_table(shown, limit=given.limit))
    if not given.quiet:
        watch.summary(status, given.out, given.late_out, options.bad_rows, spark=given.engine == "spark")
    return 0


def _check_late_out(given: argparse.Namespace, late: LatePolicy) -> None:
    """A file of late rows needs a policy that keeps them."""
    if given.late_out is None:
        return
    if given.engine == "spark" and late is not LatePolicy.SIDE:
        raise PlanError(f"--late-out: on Spark late rows leave with --late side, not with --late {late.value}: add "
                        "--late side, or use --engine embedded")
    if late in {LatePolicy.DROP, LatePolicy.ERROR}:
        raise PlanError(f"--late-out writes late rows, which --late {late.value} does not keep: choose --late side, "
                        "generous or consistent")


def _write(run: RunningResults, out: str | None, watch: Watch) -> pa.Table:
    """Results to the file as they come; for the terminal they are gathered."""
    if out is None:
        tables = list(_counted(run.tables, watch))
        return pa.concat_tables(tables) if tables else run.empty
    with ExitStack() as stack:
        file: ResultFile | None = None
        for table in _counted(run.tables, watch):
            if file is None:
                file = stack.enter_context(ResultFile(out, table.schema))
            file.write(table)
        if file is None:
            stack.enter_context(ResultFile(out, run.empty.schema))
    return run.empty


def _counted(tables: Iterator[pa.Table], watch: Watch) -> Iterator[pa.Table]:
    for table in tables:
        watch.results(table.num_rows)
        yield table
