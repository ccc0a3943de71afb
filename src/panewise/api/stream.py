"""``stream(...)``: window queries as a few method calls, for those who would rather not write SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from panewise.api.explaining import explain_streams
from panewise.api.inputs import is_dataframe, local_stream
from panewise.api.instants import given_instant
from panewise.api.naming import refuse_unknown
from panewise.api.option_types import options_checked
from panewise.api.query import check_spark, options_of, plan_of, run_plan
from panewise.api.zones import same_zone
from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import AmountGiven, Quantity, warn_bare_number
from panewise.files.json_units import MAX_LINE
from panewise.plan.nodes import Node, WindowClause
from panewise.progress.late import LATE_KEEP
from panewise.queries.admission import InputRules
from panewise.sql.user_functions import Given
from panewise.windows import SlidingWindow

NAME = "stream"


def quoted(name: str) -> str:
    """A column name as the language takes it, whatever characters it has."""
    return Scalar.column(name).sql


@options_checked
def stream(source: Any, *, time: str | None = None, late: str = "generous", progress: str = "source",
           engine: str | None = None, emit: str = "final", bad_rows: str = "stop",
           max_jump: AmountGiven | None = None, late_keep: int = LATE_KEEP, max_line: int = MAX_LINE,
           day: str | date | None = None, zone: str | None = None, suppress_partial: bool = False,
           functions: Mapping[str, Given] | None = None,
           exact: bool = False, now: datetime | None = None, **unknown: Any) -> Stream:
    """Begin a query over a DataFrame, a path, a table or rows; options are those of :func:`sql`.

    >>> rows = [{"k": "a", "v": 2, "ts": 1}, {"k": "a", "v": 5, "ts": 7}, {"k": "b", "v": 1, "ts": 3}]
    >>> query = stream(rows, time="ts").where("v > 1").window(range=10, slide=5).group_by("k")
    >>> for row in query.agg(n="count(*)", spread="max(v) - min(v)"):
    ...     print(row["k"], row["window"], row["n"], row["spread"])
    a {'start': -5, 'end': 5} 1 0
    a {'start': 0, 'end': 10} 2 3
    a {'start': 5, 'end': 15} 1 0
    """
    refuse_unknown(unknown, options_of(stream))
    rules = InputRules.parse(bad_rows, max_jump, late_keep)
    if is_dataframe(source):
        from panewise.engines.spark import source_schema

        schema = source_schema(source, time=time)
        same_zone({NAME: schema}, zone)
        return Stream(source, schema, None, late=late, progress=progress, engine=engine,
                      emit=emit, rules=rules, day=day, suppress_partial=suppress_partial, exact=exact,
                      functions=functions, now=now)
    local = local_stream(source, time=time, tolerant=not rules.bad_rows.stops, max_line=max_line)
    return Stream(local, local.schema, None, late=late, progress=progress, engine=engine, emit=emit, rules=rules,
                  day=day, zone=zone, suppress_partial=suppress_partial, exact=exact, functions=functions, now=now)


@dataclass(frozen=True)
class Stream:
    """A query in the making; every method gives a new one."""

    source: Any
    schema: SourceSchema
    clause: WindowClause | str | None
    """The windows; text is what stands in brackets in the language."""
    filters: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    """Output name and Spark SQL of every key."""
    late: str = "generous"
    progress: str = "source"
    engine: str | None = None
    emit: str = "final"
    rules: InputRules = field(default_factory=InputRules)
    """What becomes of rows that cannot be used."""
    day: str | date | None = None
    """The day of bare times of day."""
    zone: str | None = None
    """The time zone in which expressions read clocks, where it is not that of the schema."""
    functions: Mapping[str, Given] | None = None
    """The user's own, by name."""
    suppress_partial: bool = False
    """Whether windows that begin before their ORIGIN are left out."""
    now: datetime | None = None
    """What ``now()`` gives; None: the instant the query is run."""
    exact: bool = False
    """Whether floats of a static DataFrame are added by kernels, and not by Spark, which rounds."""

    def where(self, predicate: str) -> Stream:
        """Keep the rows for which a Spark SQL condition is true."""
        return replace(self, filters=(*self.filters, predicate))

    def window(self, bracket: str | None = None, *, range: AmountGiven | None = None, slide: AmountGiven | None = None,
               on: str | None = None, origin: Any = None, lag: AmountGiven | None = None, **unknown: Any) -> Stream:
        """Windows of ``range`` every ``slide`` (default: tumbling) on a column (default: the time column).

        Every other kind is written as in the language, without its brackets:

        >>> rows = [{"k": "a", "v": 2, "ts": 1}, {"k": "a", "v": 5, "ts": 7}, {"k": "a", "v": 1, "ts": 8}]
        >>> query = stream(rows).window("RANGE 2 rows, SLIDE 1 rows, WA row-num, PATTR k").group_by("k")
        >>> [row["total"] for row in query.agg(total="sum(v)")]
        [2, 7, 6, 1]
        """
        refuse_unknown(unknown, options_of(Stream.window))
        if (bracket is None) == (range is None):
            raise PlanError("say which windows once: window(range='10 min', slide='1 min'), or text as in the "
                            "language, window('RANGE 100 rows, SLIDE 10 rows, WA row-num')")
        if bracket is not None:
            if any(given is not None for given in (slide, on, origin, lag)):
                raise PlanError("windows given as text say everything there: leave out slide, on, origin and lag")
            return replace(self, clause=bracket.strip().removeprefix("[").removesuffix("]"))
        assert range is not None
        on = on or self.schema.time
        if on is None:
            raise PlanError("say which column orders the stream: stream(..., time='ts') or window(..., on='ts')")
        kind = self.schema.ordinal_kind(on)
        if kind is OrdinalKind.TIMESTAMP:
            for name, amount in (("range", range), ("slide", slide), ("lag", lag)):
                if isinstance(amount, int):
                    warn_bare_number(name, amount)
        reach = kind.amount(Quantity.parse(range))
        step = reach if slide is None else kind.amount(Quantity.parse(slide))
        spec = SlidingWindow(reach, step, 0 if origin is None else kind.parse(origin),
                             0 if lag is None else kind.amount(Quantity.parse(lag)))
        return replace(self, clause=WindowClause(spec, on, kind))

    def group_by(self, *columns: str, **named: str) -> Stream:
        """One result per value of these columns; keywords name computed ones (``hour="hour(ts)"``)."""
        return replace(self, keys=(*self.keys, *((c, quoted(c)) for c in columns), *named.items()))

    def plan(self, **aggregates: str) -> Node:
        """The logical plan for these aggregates (``top="max(price)"``), not run."""
        if self.clause is None:
            raise PlanError("say which windows: .window(range='10 min', slide='1 min')")
        if not aggregates:
            raise PlanError("say what to compute: .agg(n='count(*)', top='max(price)')")
        items = [f"{key} AS {quoted(name)}" for name, key in self.keys]
        items += [f"{text} AS {quoted(name)}" for name, text in aggregates.items()]
        where = " AND ".join(f"({predicate})" for predicate in self.filters)
        group_by = ", ".join(key for _, key in self.keys)
        window = self.clause if isinstance(self.clause, str) else ":window"
        text = f"SELECT {', '.join(items)} FROM {NAME} [{window}]"
        text += f" WHERE {where}" if where else ""
        text += f" GROUP BY {group_by}" if group_by else ""
        return plan_of(text, {NAME: self.schema}, None if isinstance(self.clause, str) else {"window": self.clause},
                       day=self.day, zone=self.zone, suppress_partial=self.suppress_partial,
                       functions=self.functions)

    def agg(self, **aggregates: str) -> Any:
        """Run it: a DataFrame for a DataFrame, :class:`Results` for everything else."""
        plan = self.plan(**aggregates)
        plan = given_instant(plan, self.now, endless=is_dataframe(self.source) and self.source.isStreaming)
        if is_dataframe(self.source):
            from panewise.engines.spark import run

            check_spark(self.engine)
            return run(plan, {NAME: self.source}, late=self.late, progress=self.progress, emit=self.emit,
                       rules=self.rules, exact=self.exact)
        streams: Mapping[str, Any] = {NAME: self.source}
        return run_plan(plan, streams, engine=self.engine or "embedded", late=self.late, progress=self.progress,
                        emit=self.emit, rules=self.rules)

    def explain(self, **aggregates: str) -> str:
        """The plan for these aggregates as text, with the strategy of the engine that would run it."""
        plan = self.plan(**aggregates)
        text = explain_streams(plan)
        if not is_dataframe(self.source):
            return text
        from panewise.engines.spark import explain_frames

        return f"{text}\n\nOn Spark\n{explain_frames(plan, {NAME: self.source}, exact=self.exact)}"
