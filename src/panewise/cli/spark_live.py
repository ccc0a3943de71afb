"""``panewise run`` on Spark over streams that are read as they come: rate, Kafka, sockets, a generated site."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from panewise.api.checkpoints import CheckpointLabel
from panewise.api.columns import parse_columns
from panewise.api.naming import check_read
from panewise.api.query import plan_of
from panewise.cli.live import stopped_by_signals
from panewise.cli.terminal import (
    errors,
    input_rules,
    known_streams,
    output,
    parameter,
    query_text,
    result_table,
    unique,
)
from panewise.cli.watch import Watch
from panewise.core.errors import PlanError
from panewise.core.time import SECOND, parse_duration
from panewise.plan.run_instant import begun_at, instant_now, warn_of_the_clock
from panewise.planner.capabilities import check
from panewise.planner.statistics import parse_statistics
from panewise.queries.admission import InputRules

POLL_SECONDS = 0.2
PREFIXES = ("rate:", "auction:", "kafka:", "tcp:")
INTERRUPTED = 130


def is_spark_live(options: argparse.Namespace) -> bool:
    """Whether Spark is to read something that is no file."""
    return options.engine == "spark" and any(value.startswith(PREFIXES) for _, value in options.stream)


def run_spark_live(options: argparse.Namespace) -> int:
    """Run until the streams end, the time is over or the user stops it; with a checkpoint it can go on later."""
    from panewise.engines.spark import plain_errors

    with plain_errors():
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    from panewise.api.spark_streams import SparkStreams
    from panewise.engines.spark import query_status, run, source_schema
    from panewise.engines.spark.session import in_zone, session

    if options.out is not None and not options.out.endswith(os.sep):
        raise PlanError(f"--out {options.out}: results of a live stream on Spark go to a folder of Parquet files "
                        "(--out DIR/) or to the terminal")
    times, given = unique(options.time, "the time column of"), unique(options.stream, "stream")
    columns = {name: parse_columns(text) for name, text in unique(options.columns, "the columns of").items()}
    for what, named in (("--time", times), ("--columns", columns)):
        known_streams(what, named, given)
    limit = parse_duration(options.seconds) / SECOND if options.seconds else None
    rules = input_rules(options)
    with ExitStack() as stack:
        home = Path(options.checkpoint or stack.enter_context(tempfile.TemporaryDirectory(prefix="panewise-run-")))
        watch = stack.enter_context(Watch({}, quiet=options.quiet))
        watch.say("starting Spark")
        spark = in_zone(session(options.master, **dict(options.conf)), options.zone)
        opener = SparkStreams(spark, home, stack, {})
        frames = {name: opener.open(name, text, columns=columns.get(name), time=times.get(name),
                                    progress=options.progress, rules=rules, max_line=options.max_line)
                  for name, text in given.items()}
        params = {name: parameter(value) for name, value in unique(options.param, "parameter").items()}
        plan = plan_of(query_text(options.query), {n: source_schema(f, time=times.get(n))
                                                   for n, f in frames.items()}, params, lenient=options.lenient,
                       day=options.day, suppress_partial=options.suppress_partial)
        check_read(plan, frames)
        check(plan, options.engine)
        warn_of_the_clock(plan)
        if options.checkpoint is not None:
            known = {n: "tcp" if text.startswith("tcp:") else text for n, text in given.items()}  # on any port
            label = CheckpointLabel.claim(home, plan, known, engine="spark", late=options.late,
                                          progress=options.progress or "source")
            stack.callback(label.close)
            plan = label.begun(plan)
        plan = begun_at(plan, instant_now())  # without a checkpoint there is no restart
        stats = parse_statistics(options.stats) if options.stats else None
        results = run(plan, frames, late=options.late, progress=_progress(given, options.progress),
                      emit=options.emit, stats=stats, joins=options.joins, rules=beside(rules), exact=options.exact)
        for name, (host, port) in opener.addresses.items():
            errors.print(f"{name}: listening on tcp://{host}:{port}", highlight=False, soft_wrap=True)
        query = _start(results, options, home, watch, rules.bad_rows.path)
        deadline = None if limit is None else time.monotonic() + limit
        try:
            with stopped_by_signals(query.stop) as signals:
                while query.isActive and (deadline is None or time.monotonic() < deadline):
                    status = query_status(query)
                    watch.say(f"streaming on Spark, batch {status.batch}" if status.batch >= 0 else "starting Spark")
                    watch.advance(status.rows, status.bound, status.held)
                    query.awaitTermination(POLL_SECONDS)
        finally:
            query.stop()
        failure = query.exception()
        status = query_status(query)
    if failure is not None and not signals:
        raise failure
    if not options.quiet:
        errors.print(f"{status}", highlight=False)
        watch.summary({"rows": status.rows, "late": status.late_rows, "bad": status.bad_rows,
                       "late_policy": options.late}, options.out, None,
                      rules.bad_rows)
    return INTERRUPTED if signals else 0


def _progress(given: dict[str, str], policy: str | None) -> str:
    """The policy for the engine: files, sockets and the site bring punctuation; the rate source comes in order."""
    if all(text.startswith("rate:") for text in given.values()):
        return policy or "ordered"
    if policy is not None and all(text.startswith(("kafka:", "rate:")) for text in given.values()):
        return policy
    return "source"


def beside(rules: InputRules) -> InputRules:
    """What the query does: bad rows that go to a file leave beside the results, and sources have found the jumps."""
    return InputRules.parse(rules.bad_rows.action.value)


def _start(results: Any, options: argparse.Namespace, home: Path, watch: Watch, aside: Path | None) -> Any:
    """To a folder of Parquet files that hold every batch once, or to the terminal; bad rows to files of their own."""
    from panewise.engines.spark import register_parts
    from panewise.engines.spark.aside import BadParts
    from panewise.engines.spark.sinks import PartsWriter

    spark_home = str(home / "spark")
    writer = results.writeStream.outputMode("append").option("checkpointLocation", spark_home)
    if options.once:
        writer = writer.trigger(availableNow=True)
    if options.out is not None and aside is None:
        register_parts(results.sparkSession)
        return writer.format("panewise_parts").option("path", str(Path(options.out).absolute())).start()
    parts = None if options.out is None else PartsWriter(options.out, spark_home)
    bad = None if aside is None else BadParts(aside, goes_on=Path(spark_home).exists())

    def show(batch: Any, number: int) -> None:
        table = batch.toArrow()
        if bad is not None:
            table = bad.take(table, number)
        if parts is not None:
            parts.commit([parts.write(iter(table.to_batches()))], number)
            watch.results(table.num_rows)
            return
        watch.results(table.num_rows)
        if table.num_rows:
            output.print(result_table(table, limit=options.limit, title=f"micro-batch {number}"))

    return writer.foreachBatch(show).start()
