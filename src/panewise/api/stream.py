"""``stream(...)``: window queries as a few method calls, without SQL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from panewise.api.engines import engine_named
from panewise.api.entry import builder_point, keywords_of
from panewise.api.inputs import is_dataframe, local_streams
from panewise.api.instants import given_instant
from panewise.api.naming import refuse_unknown
from panewise.api.query import check_spark, plan_of, run_plan
from panewise.api.zones import same_zone
from panewise.core.errors import PlanError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.core.time import AmountGiven, Quantity, warn_bare_number
from panewise.plan.nodes import Node, WindowClause
from panewise.planner.options import RunOptions
from panewise.windows import SlidingWindow

NAME = "stream"


def quoted(name: str) -> str:
    """A column name as the language takes it, whatever characters it has."""
    return Scalar.column(name).sql


@builder_point
def stream(source: Any, options: RunOptions) -> Stream:
    """Begin a query over a DataFrame, a path, a table or rows; options are those of :func:`sql`.

    >>> rows = [{"k": "a", "v": 2, "ts": 1}, {"k": "a", "v": 5, "ts": 7}, {"k": "b", "v": 1, "ts": 3}]
    >>> query = stream(rows, time="ts").where("v > 1").window(range=10, slide=5).group_by("k")
    >>> for row in query.agg(n="count(*)", spread="max(v) - min(v)"):
    ...     print(row["k"], row["window"], row["n"], row["spread"])
    a {'start': -5, 'end': 5} 1 0
    a {'start': 0, 'end': 10} 2 3
    a {'start': 5, 'end': 15} 1 0
    """
    if not isinstance(options.time, str | None):
        raise PlanError(f"time={options.time!r}: one stream has one time column: give its name")
    if is_dataframe(source):
        from panewise.engines.spark import source_schema

        schema = source_schema(source, time=options.time)
        same_zone({NAME: schema}, options.zone)
        return Stream(source, schema, options)
    local = local_streams({NAME: source}, options)[NAME]
    return Stream(local, local.schema, options)


@dataclass(frozen=True)
class Stream:
    """A query in the making; every method gives a new one."""

    source: Any
    schema: SourceSchema
    options: RunOptions
    clause: WindowClause | str | None = None
    """The windows; text is what stands in brackets in the language."""
    filters: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    """Output name and Spark SQL of every key."""

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
        refuse_unknown(unknown, keywords_of(Stream.window))
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
        params = None if isinstance(self.clause, str) else {"window": self.clause}
        return plan_of(text, {NAME: self.schema}, replace(self.options, params=params))

    def agg(self, **aggregates: str) -> Any:
        """Run it: a DataFrame for a DataFrame, :class:`Results` for everything else."""
        plan, frame = self.plan(**aggregates), is_dataframe(self.source)
        plan = given_instant(plan, self.options.now, endless=frame and self.source.isStreaming)
        if not frame:
            return run_plan(plan, {NAME: self.source}, self.options)
        check_spark(self.options.engine)
        return engine_named("spark").run(plan, {NAME: self.source}, self.options)

    def explain(self, **aggregates: str) -> str:
        """The plan for these aggregates as text, with the strategy of the engine that would run it."""
        plan, in_process = self.plan(**aggregates), engine_named("embedded")
        if not is_dataframe(self.source):
            return in_process.explain(plan, {}, self.options)
        on_spark = engine_named("spark").explain(plan, {NAME: self.source}, self.options)
        return f"{in_process.explain(plan, {}, RunOptions())}\n\nOn Spark\n{on_spark}"
