"""``sql``: one query text over whatever the user has, on the engine that fits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from panewise.api.columns import Columns, parse_columns
from panewise.api.explaining import analyze_streams, explain_streams
from panewise.api.inputs import LocalStream, has_dataframe, is_dataframe, local_stream, of_kind, plain_inputs
from panewise.api.local import run_local
from panewise.core.errors import PlanError
from panewise.core.schema import Catalog, SourceKind, SourceSchema
from panewise.engines.embedded import RunningQuery, open_plan
from panewise.plan.nodes import Node
from panewise.planner.choices import Stats
from panewise.planner.explain import Format
from panewise.planner.held import Style
from panewise.planner.legal_form import legal_form
from panewise.planner.stream_joins import unused_statistics
from panewise.planner.structures import STYLES
from panewise.sql import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ("spark", "embedded", "oracle")


def sql(text: str, *, engine: str | None = None, params: Mapping[str, object] | None = None, late: str = "drop",
        progress: str | Mapping[str, str] = "source", time: str | None = None, emit: str = "final",
        strategy: str = "auto", stats: Stats = None, joins: str = "auto", **streams: Any) -> Any:
    """Run a query; keyword arguments name its streams.

    Spark DataFrames give a DataFrame: static ones the complete answer, streaming ones a stream of results. Everything
    else (paths, Arrow or pandas tables, rows with punctuation) runs in process and gives :class:`Results`;
    ``strategy`` says how, as :func:`explain` shows, and ``joins`` whether windows are joined ``"by twos"`` or
    ``"at once"``; of streaming DataFrames it says by whom they are joined, ``"kernels"`` or ``"native"``: Spark itself.
    ``stats`` of the inputs choose among plans, on Spark those of joins and changing relations.

    >>> rows = [{"k": "a", "ts": 1}, {"k": "a", "ts": 7}, {"k": "b", "ts": 3}]
    >>> results = sql("SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k", s=rows)
    >>> sorted((row["k"], row["n"]) for row in results)
    [('a', 2), ('b', 1)]
    """
    if has_dataframe(streams):
        if strategy != "auto":
            raise PlanError("strategy= chooses how a query runs in process; on Spark that is chosen by rule, as "
                            "explain() shows: leave it out")
        return _on_spark(text, engine, params, late, progress, time, emit, stats, joins, streams)
    local = {name: local_stream(value, time=time) for name, value in streams.items()}
    plan = plan_of(text, {name: stream.schema for name, stream in local.items()}, params)
    return run_plan(plan, local, engine=engine or "embedded", late=late, progress=progress, emit=emit,
                    strategy=strategy, stats=stats, joins=joins)


def run_plan(plan: Node, streams: Mapping[str, LocalStream], *, engine: str, late: str = "drop",
             progress: str | Mapping[str, str] = "source", emit: str = "final", strategy: str = "auto",
             stats: Stats = None, joins: str = "auto") -> Any:
    """A plan over local streams on an engine without a JVM."""
    if engine == "spark":
        raise PlanError("engine='spark' needs DataFrames: read the data with Spark, or leave the engine to panewise")
    if engine not in ENGINES:
        raise PlanError(f"no engine {engine!r}; there are {', '.join(ENGINES)}")
    return run_local(plan, streams, engine=engine, late=late, progress=progress, emit=emit, strategy=strategy,
                     stats=stats, joins=joins).collect()


def plan_of(text: str, schemas: Mapping[str, SourceSchema] | None, params: Mapping[str, object] | None = None) -> Node:
    """The checked logical plan of a query text; without schemas every name is taken for a column."""
    return legal_form(written_plan(text, schemas, params)).plan


def written_plan(text: str, schemas: Mapping[str, SourceSchema] | None,
                 params: Mapping[str, object] | None = None) -> Node:
    """The logical plan as it is written, for `explain`, which says what is wrong with it."""
    return parse(text, Catalog.anything() if schemas is None else Catalog(schemas), params)


def open_query(text: str, *, params: Mapping[str, object] | None = None, late: str = "drop",
               progress: str | Mapping[str, str] = "source", emit: str = "final", events: bool = False,
               strategy: str = "auto", stats: Stats = None, empty_windows: bool = False, current: bool = False,
               joins: str = "auto", **schemas: Columns) -> RunningQuery:
    """A query to push rows and punctuation into by hand; keyword arguments give the streams' columns.

    Columns are an Arrow schema, types by name, or text such as ``"ts timestamp, price double"``. With
    ``empty_windows`` a group that was seen has a result for windows without rows, too. With ``current`` a query that
    is a relation keeps it: ``query.current()`` is the relation at the last complete instant. ``joins`` are those of
    :func:`sql`, also ``"at once: eager"`` or ``"at once: lazy, eager expiry"``.

    >>> query = open_query("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", s="ts bigint")
    >>> query.push("s", [{"ts": 3}, {"ts": 12}]).num_rows
    0
    >>> query.finish().column("n").to_pylist()
    [1, 1]
    """
    plan = plan_of(text, {name: SourceSchema.of(parse_columns(given)) for name, given in schemas.items()}, params)
    return open_plan(plan, late=late, progress=progress, emit=emit, events=events, strategy=strategy,
                     stats=stats, empty_windows=empty_windows, current=current, joins=joins)


def explain(text: str, *, format: Format = "text", params: Mapping[str, object] | None = None, time: str | None = None,
            stats: Stats | str = None, strategy: str = "auto", analyze: bool = False, late: str = "drop",
            progress: str | Mapping[str, str] = "source", joins: str = "auto", **streams: Any) -> str:
    """The plan of a query with update patterns, windows, progress and strategies, as text, SVG or HTML.

    With ``stats`` every kernel that could run a window aggregate shows what it would cost: declared
    (``{"rows_per_second": 5000, "groups": 1000}``) or ``"measure"``, which looks at the first rows of the streams.
    With ``analyze`` the embedded engine runs the query, and the text says what happened: rows, late rows, the largest
    state, windows, and the time of every operator.

    >>> print(explain("SELECT count(*) [RANGE 10 s, SLIDE 5 s, WA ts] AS n FROM s").splitlines()[0])
    MON ── WindowAggregate: count(*) AS n [range 10s, slide 5s on ts]
    """
    plan = written_plan(text, _schemas(streams, time) if streams else None, params)
    frames = has_dataframe(streams)
    local = {name: local_stream(value, time=time) for name, value in streams.items()} if not frames else {}
    if not analyze:
        style: Style = "negative" if strategy == "negative" else "direct" if strategy == "direct" else "upa"
        here = None if frames and unused_statistics(plan, stats) else stats  # on Spark they may say who joins streams
        text = explain_streams(plan, local, format, stats=here, strategy="auto" if strategy in STYLES else strategy,
                               style=style, joins="auto" if frames else joins)
        if not frames or format != "text":
            return text
        return f"{text}\n\n{_explain_spark(legal_form(plan).plan, plain_inputs(streams)[0], stats, joins)}"
    if format != "text" or not local:
        raise PlanError("analyze runs a query on the embedded engine and gives text: leave out the format, and give "
                        "paths, tables or rows")
    return analyze_streams(plan, local, stats=stats, strategy=strategy, late=late, progress=progress)


def spark_session(master: str = "local[*]", **conf: Any) -> SparkSession:
    """The running Spark session, or a new one with settings that fit window queries."""
    from panewise.engines.spark.session import session

    return session(master, **conf)


def check_spark(engine: str | None) -> None:
    """Refuse another engine for DataFrames."""
    if engine not in {None, "spark"}:
        raise PlanError(f"DataFrames run on Spark; engine={engine!r} takes paths, tables or rows")


def _schemas(streams: Mapping[str, Any], time: str | None) -> dict[str, SourceSchema]:
    if has_dataframe(streams):
        return _frame_schemas(*plain_inputs(streams), time)
    return {name: local_stream(value, time=time).schema for name, value in streams.items()}


def _explain_spark(plan: Node, frames: Mapping[str, Any], stats: Stats | str, joins: str) -> str:
    from panewise.engines.spark import explain_frames

    given = None if isinstance(stats, str) else stats
    return f"On Spark\n{explain_frames(plan, frames, stats=given, joins=joins)}"


def _on_spark(text: str, engine: str | None, params: Mapping[str, object] | None, late: str,
              progress: str | Mapping[str, str], time: str | None, emit: str, stats: Stats, joins: str,
              streams: Mapping[str, Any]) -> Any:
    check_spark(engine)
    frames, kinds = plain_inputs(streams)
    others = [name for name, frame in frames.items() if not is_dataframe(frame)]
    if others:
        raise PlanError(f"{others[0]!r} is no DataFrame but other streams are: give all of one kind")
    from panewise.engines.spark import run

    plan = plan_of(text, _frame_schemas(frames, kinds, time), params)
    return run(plan, frames, late=late, progress=progress, emit=emit, stats=stats, joins=joins)


def _frame_schemas(frames: Mapping[str, Any], kinds: Mapping[str, SourceKind],
                   time: str | None) -> dict[str, SourceSchema]:
    from panewise.engines.spark import source_schema

    return {name: of_kind(source_schema(frame, time=time if name not in kinds else None), kinds.get(name))
            for name, frame in frames.items()}
