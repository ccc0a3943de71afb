"""``panewise run`` on Spark over streams that are read as they come: rate, Kafka, sockets, a generated site."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panewise.api.inputs import local_streams
from panewise.api.naming import check_read, is_spark_stream, time_of
from panewise.api.query import plan_of
from panewise.cli.entry import INTERRUPTED
from panewise.cli.live import stopped_by_signals
from panewise.cli.terminal import errors, inputs_of, output, query_text, result_table
from panewise.cli.watch import Watch
from panewise.core.errors import PlanError
from panewise.core.schema import SourceSchema
from panewise.core.time import SECOND, parse_duration
from panewise.engines.checkpoints import CheckpointLabel
from panewise.files.reader import FileStream
from panewise.plan.run_instant import begun_at, instant_now, warn_of_the_clock
from panewise.planner.legal.capabilities import check
from panewise.planner.options import RunOptions
from panewise.planner.options.run_options import after_reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from panewise.api.spark_streams import SparkStreams

POLL_SECONDS = 0.2


def is_spark_live(options: argparse.Namespace) -> bool:
    """Whether Spark is to read something that is no file."""
    return options.engine == "spark" and any(is_spark_stream(value) for _, value in options.stream)


def run_spark_live(given: argparse.Namespace, options: RunOptions) -> int:
    """Run until the streams end, the time is over or the user stops it; with a checkpoint it can go on later."""
    from panewise.engines.spark import plain_errors

    with plain_errors():
        return _run(given, options)


def _run(given: argparse.Namespace, options: RunOptions) -> int:
    from panewise.api.spark_streams import SparkStreams
    from panewise.engines.spark import query_status, run
    from panewise.engines.spark.session.session import in_zone, session

    if given.out is not None and not given.out.endswith(os.sep):
        raise PlanError(f"--out {given.out}: results of a live stream on Spark go to a folder of Parquet files "
                        "(--out DIR/) or to the terminal")
    streams = {name: value for name, value in inputs_of(given).items() if isinstance(value, str)}
    limit = parse_duration(given.seconds) / SECOND if given.seconds else None
    with ExitStack() as stack:
        home = Path(options.checkpoint or stack.enter_context(tempfile.TemporaryDirectory(prefix="panewise-run-")))
        watch = stack.enter_context(Watch({}, quiet=given.quiet))
        watch.say("starting Spark")
        spark = in_zone(session(given.master, **dict(given.conf)), options.zone)
        opener = SparkStreams(spark, home, stack, {})
        frames, schemas = _inputs(given, opener, options)
        plan = plan_of(query_text(given.query), schemas, options)
        check_read(plan, frames)
        check(plan, given.engine)
        warn_of_the_clock(plan)
        if options.checkpoint is not None:
            known = {n: "tcp" if text.startswith("tcp:") else text for n, text in streams.items()}  # on any port
            label = CheckpointLabel.claim(home, plan, known, options, engine="spark")
            stack.callback(label.close)
            plan = label.begun(plan)
        plan = begun_at(plan, instant_now())  # without a checkpoint there is no restart
        results = run(plan, frames, replace(after_reading(options), progress=_progress(streams, options.progress)))
        for name, address in opener.addresses.items():
            errors.print(f"{name}: listening on {address}", highlight=False, soft_wrap=True)
        query = _start(results, given, home, watch, options.bad_rows.path)
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
    if not given.quiet:
        errors.print(f"{status}", highlight=False)
        watch.summary({"rows": status.rows, "late": status.late_rows, "bad": status.bad_rows,
                       "late_policy": options.late}, given.out, None,
                      options.bad_rows, spark=True)
    return INTERRUPTED if signals else 0


def _inputs(given: argparse.Namespace, opener: SparkStreams,
            options: RunOptions) -> tuple[dict[str, DataFrame], dict[str, SourceSchema]]:
    """Streams as Spark reads them, and tables, which are complete from the beginning."""
    from panewise.engines.spark import source_schema
    from panewise.engines.spark.files.run import file_frame

    inputs = inputs_of(given)
    frames: dict[str, DataFrame] = {}
    schemas: dict[str, SourceSchema] = {}
    for name, value in inputs.items():
        time = time_of(options.time, name, inputs)
        if isinstance(value, str):
            frames[name] = opener.open(name, value, options, time=time)
            schemas[name] = source_schema(frames[name], time=time)
            continue
        table = value.timed(time)
        stream = local_streams({name: table}, options.without(("time",)))[name]
        assert isinstance(stream, FileStream)  # --table takes a path
        frames[name] = file_frame(opener.spark, stream, None, options)
        schemas[name] = table.schema(source_schema(frames[name], time=table.time))
    return frames, schemas


def _progress(streams: dict[str, str], policy: Any) -> Any:
    """The policy for the engine: files, sockets and the site bring punctuation; the rate source comes in order."""
    if all(text.startswith("rate:") for text in streams.values()):
        return "ordered" if policy == "source" else policy
    return policy if all(text.startswith(("kafka:", "rate:")) for text in streams.values()) else "source"


def _start(results: Any, given: argparse.Namespace, home: Path, watch: Watch, aside: Path | None) -> Any:
    """To a folder of Parquet files that hold every batch once, or to the terminal; bad rows to files of their own."""
    from panewise.engines.spark import register_parts
    from panewise.engines.spark.io.aside import BadParts
    from panewise.engines.spark.io.sinks import PartsWriter

    spark_home = str(home / "spark")
    writer = results.writeStream.outputMode("append").option("checkpointLocation", spark_home)
    if given.once:
        writer = writer.trigger(availableNow=True)
    if given.out is not None and aside is None:
        register_parts(results.sparkSession)
        return writer.format("panewise_parts").option("path", str(Path(given.out).absolute())).start()
    parts = None if given.out is None else PartsWriter(given.out, spark_home)
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
            output.print(result_table(table, limit=given.limit, title=f"micro-batch {number}"))

    return writer.foreachBatch(show).start()
