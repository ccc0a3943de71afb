"""``sql``: one query text over whatever the user has, on the engine that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from panewise.api.columns import Columns, declared
from panewise.api.engines import engine_named
from panewise.api.entry import entry_point
from panewise.api.inputs import LocalStream, has_dataframe, is_dataframe, local_streams
from panewise.api.instants import given_instant
from panewise.api.naming import TimeColumns, check_read, time_of
from panewise.api.results import Results
from panewise.api.tables import TableInput, plain_inputs
from panewise.api.zones import catalog_in, same_zone
from panewise.core.errors import PlanError
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.engines.embedded.explaining import analyze_streams
from panewise.plan.nodes import Node
from panewise.plan.run_instant import instant_now
from panewise.planner.explain.plan_text import Format
from panewise.planner.facts.stream_joins import unused_statistics
from panewise.planner.legal.legal_form import legal_form
from panewise.planner.legal.partial_windows import without_partial
from panewise.planner.options import DEFAULTS, RunOptions
from panewise.sql import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

@entry_point
def sql(text: str, options: RunOptions, inputs: Mapping[str, Any]) -> Any:
    """Run a query; keyword arguments name its streams, ``streams={...}`` those whose names are options.

    Spark DataFrames give a DataFrame: static ones the complete answer, streaming ones a stream of results. Everything
    else (paths, Arrow or pandas tables, rows with punctuation) runs in process and gives :class:`Results`.

    >>> rows = [{"k": "a", "ts": 1}, {"k": "a", "ts": 7}, {"k": "b", "ts": 3}]
    >>> results = sql("SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k", s=rows)
    >>> sorted((row["k"], row["n"]) for row in results)
    [('a', 2), ('b', 1)]
    """
    if has_dataframe(inputs):
        return _on_spark(text, options, inputs)
    local = local_streams(inputs, options)
    plan = plan_of(text, {name: stream.schema for name, stream in local.items()}, options)
    return run_plan(given_instant(plan, options.now), local, options)


def run_plan(plan: Node, streams: Mapping[str, LocalStream], options: RunOptions) -> Results:
    """A plan over local streams on an engine without a JVM."""
    if options.engine == "spark":
        raise PlanError("engine='spark' needs DataFrames: read the data with Spark, or leave the engine to panewise")
    engine = engine_named(options.engine or "embedded")
    check_read(plan, streams)
    return Results.of(engine.run(plan, streams, options))


def plan_of(text: str, schemas: Mapping[str, SourceSchema] | None, options: RunOptions | None = None) -> Node:
    """The checked logical plan of a query text; without schemas every name is taken for a column."""
    return legal_form(written_plan(text, schemas, options)).plan


def written_plan(text: str, schemas: Mapping[str, SourceSchema] | None, options: RunOptions | None = None) -> Node:
    """The logical plan as it is written, for `explain`, which says what is wrong with it."""
    options = options or DEFAULTS
    plan = parse(text, catalog_in(schemas, options.zone), options.params, options.functions, lenient=options.lenient,
                 day=options.day)
    return without_partial(plan) if options.suppress_partial else plan


@entry_point
def open_query(text: str, options: RunOptions, inputs: Mapping[str, Columns | TableInput]) -> Query:
    """A query to push rows and punctuation into by hand; keyword arguments give the streams' columns, ``streams={...}``
    those of streams whose names are options.

    Columns are an Arrow schema, types by name, or text such as ``"ts timestamp, price double"``; those of a table are
    ``table("at timestamp, k string", time="at")``. A query that goes on from a snapshot has to be given the same
    ``now``. ``push`` takes a row, a list of rows, Arrow, pandas, Polars or
    anything that speaks Arrow's C interface; a row may leave a column out, which is then null, but has none that was
    not declared.

    >>> query = open_query("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", s="ts bigint")
    >>> query.push("s", [{"ts": 3}, {"ts": 12}]).num_rows
    0
    >>> query.finish().column("n").to_pylist()
    [1, 1]
    """
    found = {name: declared(columns, time_of(options.time, name, inputs)) for name, columns in inputs.items()}
    plan = plan_of(text, found, options)
    check_read(plan, inputs)
    return open_plan(given_instant(plan, instant_now() if options.now is None else options.now), options)


@entry_point
def explain(text: str, options: RunOptions, inputs: Mapping[str, Any], *, format: Format = "text") -> str:
    """How a query runs: operators with their kernels, state and reasons, as text, JSON, SVG or HTML.

    With ``stats`` every kernel that could run a window aggregate shows what it would cost: declared
    (``{"rows_per_second": 5000, "groups": 1000}``) or ``"measure"``, which looks at the first rows of the streams.
    With ``analyze`` the embedded engine runs the query, and every operator says what happened: rows in and out, late
    rows, the largest state, windows, time.

    >>> print(explain("SELECT count(*) [RANGE 10 s, SLIDE 5 s, WA ts] AS n FROM s").splitlines()[0])
    MON ── WindowAggregate: count(*) AS n [range 10s, slide 5s on ts]
    """
    frames = has_dataframe(inputs)
    local = {} if frames else local_streams(inputs, options)
    schemas = _frame_schemas(inputs, options.time) if frames else {n: s.schema for n, s in local.items()}
    plan = written_plan(text, schemas or None, options)
    check_read(plan, inputs)
    if options.analyze:
        if not local:
            raise PlanError("analyze runs a query on the embedded engine: give paths, tables or rows")
        return analyze_streams(plan, local, options, format)
    in_process = engine_named("embedded")
    if not frames:
        return in_process.explain(plan, local, options, format)
    others = options.without(("joins",) if unused_statistics(plan, options.stats) is None else ("joins", "stats"))
    text = in_process.explain(plan, local, others, format)
    if format != "text":
        return text
    on_spark = engine_named("spark").explain(legal_form(plan).plan, plain_inputs(inputs), options)
    return f"{text}\n\nOn Spark\n{on_spark}"


def spark_session(master: str = "local[*]", **conf: Any) -> SparkSession:
    """The running Spark session, or a new one with settings that fit window queries."""
    from panewise.engines.spark.session.session import session

    return session(master, **conf)


def check_spark(engine: str | None) -> None:
    """Refuse another engine for DataFrames."""
    if engine not in {None, "spark"}:
        raise PlanError(f"DataFrames run on Spark; engine={engine!r} takes paths, tables or rows")


def _on_spark(text: str, options: RunOptions, streams: Mapping[str, Any]) -> Any:
    check_spark(options.engine)
    frames = plain_inputs(streams)
    others = [name for name, frame in frames.items() if not is_dataframe(frame)]
    if others:
        raise PlanError(f"{others[0]!r} is no DataFrame but other streams are: give all of one kind")
    schemas = _frame_schemas(streams, options.time)
    same_zone(schemas, options.zone)
    plan = plan_of(text, schemas, options)
    check_read(plan, frames)
    plan = given_instant(plan, options.now, endless=any(frame.isStreaming for frame in frames.values()))
    return engine_named("spark").run(plan, frames, options)


def _frame_schemas(inputs: Mapping[str, Any], time: TimeColumns) -> dict[str, SourceSchema]:
    from panewise.engines.spark import source_schema

    found = {}
    for name, value in inputs.items():
        column = time_of(time, name, inputs)
        if isinstance(value, TableInput):
            table = value.timed(column)
            found[name] = table.schema(source_schema(table.value, time=table.time))
        else:
            found[name] = source_schema(value, time=column)
    return found
