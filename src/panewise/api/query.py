"""``sql``: one query text over whatever the user has, on the engine that fits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from panewise.api.columns import Columns, parse_columns
from panewise.api.explaining import analyze_streams, explain_streams
from panewise.api.inputs import LocalStream, has_dataframe, is_dataframe, local_stream, of_kind, plain_inputs
from panewise.api.instants import given_instant
from panewise.api.local import run_local
from panewise.api.naming import TimeColumns, check_read, named_inputs, time_of
from panewise.api.option_types import options_checked
from panewise.api.zones import catalog_in, same_zone
from panewise.core.errors import PlanError
from panewise.core.names import unknown_name
from panewise.core.schema import SourceKind, SourceSchema
from panewise.core.time import AmountGiven
from panewise.engines.embedded import RunningQuery, open_plan
from panewise.files.json_units import MAX_LINE
from panewise.plan.nodes import Node
from panewise.plan.run_instant import instant_now
from panewise.planner.choices import Stats
from panewise.planner.explain import Format
from panewise.planner.held import Style
from panewise.planner.legal_form import legal_form
from panewise.planner.partial_windows import without_partial
from panewise.planner.stream_joins import unused_statistics
from panewise.planner.structures import STYLES
from panewise.progress.late import LATE_KEEP
from panewise.queries.admission import InputRules
from panewise.sql import parse
from panewise.sql.user_functions import Given

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("spark", "embedded", "oracle")


@options_checked
def sql(text: str, /, *, engine: str | None = None, params: Mapping[str, object] | None = None, late: str = "generous",
        progress: str | Mapping[str, str] = "source", time: TimeColumns = None, emit: str = "final",
        strategy: str = "auto", stats: Stats = None, joins: str = "auto", bad_rows: str = "stop",
        max_jump: AmountGiven | None = None, late_keep: int = LATE_KEEP, max_line: int = MAX_LINE,
        lenient: bool = False, day: str | date | None = None, zone: str | None = None,
        suppress_partial: bool = False, exact: bool = False, functions: Mapping[str, Given] | None = None,
        now: datetime | None = None, streams: Mapping[str, Any] | None = None, **inputs: Any) -> Any:
    """Run a query; keyword arguments name its streams, ``streams={...}`` those whose names are options.

    Spark DataFrames give a DataFrame: static ones the complete answer, streaming ones a stream of results. Everything
    else (paths, Arrow or pandas tables, rows with punctuation) runs in process and gives :class:`Results`;
    ``strategy`` says how, as :func:`explain` shows, and ``joins`` whether windows are joined ``"by twos"`` or
    ``"at once"``; of streaming DataFrames it says by whom they are joined, ``"kernels"`` or ``"native"``: Spark itself.
    ``stats`` of the inputs choose among plans, on Spark those of joins and changing relations. ``time`` names the
    column that orders the streams, or one for each. ``bad_rows`` says what becomes of rows that cannot be read or have
    no time: ``"stop"``, ``"skip"``, or ``"aside"`` (``results.bad_rows``; ``"aside:PATH"`` writes them), ``max_jump``
    how far ahead of the newest row one may be, ``max_line`` how many bytes of NDJSON it may have. ``lenient`` groups by
    plain columns that stand beside aggregates. ``day`` is the day of bare times of day, as in ``START AT '07:00'``.
    ``zone`` is the time zone in which expressions and brackets read clocks (default: UTC, and that of the session on
    Spark). ``suppress_partial`` leaves out windows that begin before their ORIGIN. ``functions``
    are your own by name (:func:`function`). ``now`` is what ``now()`` gives (default: the instant of this call); a
    query over streaming DataFrames has to be given the same whenever it is started (:func:`kept_instant`).
    ``exact`` is about static DataFrames, of which Spark itself adds floats and rounds every addition: kernels add them
    instead, so that sums and averages are those of all other engines to the last bit.

    >>> rows = [{"k": "a", "ts": 1}, {"k": "a", "ts": 7}, {"k": "b", "ts": 3}]
    >>> results = sql("SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k", s=rows)
    >>> sorted((row["k"], row["n"]) for row in results)
    [('a', 2), ('b', 1)]
    """
    given = named_inputs(text, streams, inputs, options_of(sql))
    rules = InputRules.parse(bad_rows, max_jump, late_keep)
    if has_dataframe(given):
        if strategy != "auto":
            raise PlanError("strategy= chooses how a query runs in process; on Spark that is chosen by rule, as "
                            "explain() shows: leave it out")
        return _on_spark(text, engine, params, late, progress, time, emit, stats, joins, given, rules, lenient, day,
                         exact, zone, suppress_partial, functions, now)
    local = {name: local_stream(value, time=time_of(time, name, given), tolerant=not rules.bad_rows.stops,
                                max_line=max_line) for name, value in given.items()}
    plan = plan_of(text, {name: stream.schema for name, stream in local.items()}, params, lenient=lenient, day=day,
                   zone=zone, suppress_partial=suppress_partial, functions=functions)
    return run_plan(given_instant(plan, now), local, engine=engine or "embedded", late=late, progress=progress,
                    emit=emit, strategy=strategy, stats=stats, joins=joins, rules=rules)


def run_plan(plan: Node, streams: Mapping[str, LocalStream], *, engine: str, late: str = "generous",
             progress: str | Mapping[str, str] = "source", emit: str = "final", strategy: str = "auto",
             stats: Stats = None, joins: str = "auto", rules: InputRules | None = None) -> Any:
    """A plan over local streams on an engine without a JVM."""
    if engine == "spark":
        raise PlanError("engine='spark' needs DataFrames: read the data with Spark, or leave the engine to panewise")
    if engine not in ENGINES:
        raise PlanError(unknown_name("engine", engine, ENGINES))
    check_read(plan, streams)
    return run_local(plan, streams, engine=engine, late=late, progress=progress, emit=emit, strategy=strategy,
                     stats=stats, joins=joins, rules=rules).collect()


def plan_of(text: str, schemas: Mapping[str, SourceSchema] | None, params: Mapping[str, object] | None = None, *,
            lenient: bool = False, day: str | date | None = None, zone: str | None = None,
            suppress_partial: bool = False, functions: Mapping[str, Given] | None = None) -> Node:
    """The checked logical plan of a query text; without schemas every name is taken for a column.

    ``zone`` is the time zone in which expressions read clocks; without one it is that of the schemas.
    """
    return legal_form(written_plan(text, schemas, params, lenient=lenient, day=day, zone=zone,
                                   suppress_partial=suppress_partial, functions=functions)).plan


def written_plan(text: str, schemas: Mapping[str, SourceSchema] | None,
                 params: Mapping[str, object] | None = None, *, lenient: bool = False,
                 day: str | date | None = None, zone: str | None = None, suppress_partial: bool = False,
                 functions: Mapping[str, Given] | None = None) -> Node:
    """The logical plan as it is written, for `explain`, which says what is wrong with it."""
    plan = parse(text, catalog_in(schemas, zone), params, functions, lenient=lenient, day=day)
    return without_partial(plan) if suppress_partial else plan


def options_of(function: Callable[..., Any]) -> list[str]:
    """The options that an entry point has, to tell a misspelt one from a stream."""
    return [name for name, p in signature(function).parameters.items() if p.kind is Parameter.KEYWORD_ONLY]


@options_checked
def open_query(text: str, /, *, params: Mapping[str, object] | None = None, late: str = "generous",
               progress: str | Mapping[str, str] = "source", emit: str = "final", events: bool = False,
               strategy: str = "auto", stats: Stats = None, empty_windows: bool = False, current: bool = False,
               joins: str = "auto", bad_rows: str = "stop", max_jump: AmountGiven | None = None,
               late_keep: int = LATE_KEEP, lenient: bool = False,
               time: TimeColumns = None, day: str | date | None = None, zone: str | None = None,
               now: datetime | None = None, suppress_partial: bool = False,
               functions: Mapping[str, Given] | None = None,
               streams: Mapping[str, Columns] | None = None, **schemas: Columns) -> RunningQuery:
    """A query to push rows and punctuation into by hand; keyword arguments give the streams' columns, ``streams={...}``
    those of streams whose names are options.

    Columns are an Arrow schema, types by name, or text such as ``"ts timestamp, price double"``. With ``empty_windows``
    a group that was seen has a result for windows without rows, too. With ``current`` a query that is a relation keeps
    it: ``query.current()`` is the relation at the last complete instant. ``joins`` are those of :func:`sql`, also ``"at
    once: eager"`` or ``"at once: lazy, eager expiry"``; ``bad_rows``, ``max_jump``, ``time``, ``day``, ``zone``,
    ``suppress_partial``, ``functions`` and ``lenient``, too. ``now`` is what ``now()`` gives (default: the instant of
    this call); a query that goes on from a snapshot has to be given the same. ``push`` takes a row, a list of rows,
    Arrow, pandas, Polars or anything that speaks Arrow's C interface; a row may leave a column out, which is then null,
    but has none that was not declared.

    >>> query = open_query("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", s="ts bigint")
    >>> query.push("s", [{"ts": 3}, {"ts": 12}]).num_rows
    0
    >>> query.finish().column("n").to_pylist()
    [1, 1]
    """
    given = named_inputs(text, streams, schemas, options_of(open_query))
    found = {name: SourceSchema.of(parse_columns(columns), time=time_of(time, name, given))
             for name, columns in given.items()}
    plan = plan_of(text, found, params, lenient=lenient, day=day, zone=zone, suppress_partial=suppress_partial,
                   functions=functions)
    check_read(plan, given)
    plan = given_instant(plan, instant_now() if now is None else now)
    return open_plan(plan, late=late, progress=progress, emit=emit, events=events, strategy=strategy,
                     stats=stats, empty_windows=empty_windows, current=current, joins=joins,
                     rules=InputRules.parse(bad_rows, max_jump, late_keep))


@options_checked
def explain(text: str, /, *, format: Format = "text", params: Mapping[str, object] | None = None,
            time: TimeColumns = None, stats: Stats | str = None, strategy: str = "auto", analyze: bool = False,
            late: str = "generous", progress: str | Mapping[str, str] = "source", joins: str = "auto",
            bad_rows: str = "stop", max_jump: AmountGiven | None = None, late_keep: int = LATE_KEEP,
            max_line: int = MAX_LINE, lenient: bool = False, day: str | date | None = None, zone: str | None = None,
            suppress_partial: bool = False, exact: bool = False,
            functions: Mapping[str, Given] | None = None, streams: Mapping[str, Any] | None = None,
            **inputs: Any) -> str:
    """The plan of a query with update patterns, windows, progress and strategies, as text, SVG or HTML.

    With ``stats`` every kernel that could run a window aggregate shows what it would cost: declared
    (``{"rows_per_second": 5000, "groups": 1000}``) or ``"measure"``, which looks at the first rows of the streams.
    With ``analyze`` the embedded engine runs the query, and the text says what happened: rows, late rows, the largest
    state, windows, and the time of every operator.

    >>> print(explain("SELECT count(*) [RANGE 10 s, SLIDE 5 s, WA ts] AS n FROM s").splitlines()[0])
    MON ── WindowAggregate: count(*) AS n [range 10s, slide 5s on ts]
    """
    given = named_inputs(text, streams, inputs, options_of(explain))
    rules = InputRules.parse(bad_rows, max_jump, late_keep)
    frames = has_dataframe(given)
    local = {} if frames else {name: local_stream(value, time=time_of(time, name, given),
                                                  tolerant=not rules.bad_rows.stops, max_line=max_line)
                               for name, value in given.items()}
    schemas = _frame_schemas(*plain_inputs(given), time) if frames else {n: s.schema for n, s in local.items()}
    plan = written_plan(text, schemas or None, params, lenient=lenient, day=day, zone=zone,
                        suppress_partial=suppress_partial, functions=functions)
    check_read(plan, given)
    if not analyze:
        style: Style = "negative" if strategy == "negative" else "direct" if strategy == "direct" else "upa"
        here = None if frames and unused_statistics(plan, stats) else stats  # on Spark they may say who joins streams
        text = explain_streams(plan, local, format, stats=here, strategy="auto" if strategy in STYLES else strategy,
                               style=style, joins="auto" if frames else joins)
        if not frames or format != "text":
            return text
        frame_of, meant = plain_inputs(given)[0], legal_form(plan).plan
        return f"{text}\n\n{_explain_spark(meant, frame_of, stats, joins, late, exact)}"
    if format != "text" or not local:
        raise PlanError("analyze runs a query on the embedded engine and gives text: leave out the format, and give "
                        "paths, tables or rows")
    return analyze_streams(plan, local, stats=stats, strategy=strategy, late=late, progress=progress, rules=rules)


def spark_session(master: str = "local[*]", **conf: Any) -> SparkSession:
    """The running Spark session, or a new one with settings that fit window queries."""
    from panewise.engines.spark.session import session

    return session(master, **conf)


def check_spark(engine: str | None) -> None:
    """Refuse another engine for DataFrames."""
    if engine not in {None, "spark"}:
        raise PlanError(f"DataFrames run on Spark; engine={engine!r} takes paths, tables or rows")


def _explain_spark(plan: Node, frames: Mapping[str, Any], stats: Stats | str, joins: str, late: str,
                   exact: bool) -> str:
    from panewise.engines.spark import explain_frames

    given = None if isinstance(stats, str) else stats
    return f"On Spark\n{explain_frames(plan, frames, stats=given, joins=joins, late=late, exact=exact)}"


def _on_spark(text: str, engine: str | None, params: Mapping[str, object] | None, late: str,
              progress: str | Mapping[str, str], time: TimeColumns, emit: str, stats: Stats, joins: str,
              streams: Mapping[str, Any], rules: InputRules, lenient: bool,
              day: str | date | None, exact: bool, zone: str | None, suppress_partial: bool,
              functions: Mapping[str, Given] | None, now: datetime | None) -> Any:
    check_spark(engine)
    frames, kinds = plain_inputs(streams)
    others = [name for name, frame in frames.items() if not is_dataframe(frame)]
    if others:
        raise PlanError(f"{others[0]!r} is no DataFrame but other streams are: give all of one kind")
    from panewise.engines.spark import run

    schemas = _frame_schemas(frames, kinds, time)
    same_zone(schemas, zone)
    plan = plan_of(text, schemas, params, lenient=lenient, day=day, suppress_partial=suppress_partial,
                   functions=functions)
    check_read(plan, frames)
    plan = given_instant(plan, now, endless=any(frame.isStreaming for frame in frames.values()))
    return run(plan, frames, late=late, progress=progress, emit=emit, stats=stats, joins=joins, rules=rules,
               exact=exact)


def _frame_schemas(frames: Mapping[str, Any], kinds: Mapping[str, SourceKind],
                   time: TimeColumns) -> dict[str, SourceSchema]:
    from panewise.engines.spark import source_schema

    def column(name: str) -> str | None:
        found = time_of(time, name, frames)
        return found if name not in kinds or not isinstance(time, str) else None

    return {name: of_kind(source_schema(frame, time=column(name)), kinds.get(name))
            for name, frame in frames.items()}
