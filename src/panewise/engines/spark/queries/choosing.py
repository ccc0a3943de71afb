"""Which join runs: the kernels in their shards, or Spark's own stream-stream join where it is exact and faster.

Spark's join runs in the JVM and keeps a row at a time in the state store: a micro-batch costs it less, a row more. So
it is the faster one where few rows come in a micro-batch, which only statistics can say beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from panewise.core.errors import PlanError
from panewise.engines.spark.host.wire import CONTROL, ROW_BOUND
from panewise.plan.nodes import Node
from panewise.planner.choose.two_streams import TwoStreams, two_streams
from panewise.planner.facts.equi_keys import join_condition
from panewise.planner.options import RunOptions
from panewise.planner.options.run_options import PUNCTUATED, emission_mode
from panewise.planner.statistics.declared import given_statistics
from panewise.planner.statistics.relation_statistics import known_inputs
from panewise.progress.late import LatePolicy

WAYS = ("auto", "native", "kernels")
FEW_ROWS = 6_000
"""Rows a second, of both streams, up to which Spark's join is taken, with micro-batches of about a second
(``bench/spark_native_joins.py``)."""


@dataclass(frozen=True)
class JoinChoice:
    """What was chosen and why; of a plan that Spark's join cannot answer, why not."""

    found: TwoStreams | None
    """The join, where Spark's own runs it."""
    why: str
    possible: bool = True
    by_rate: bool = False
    """Whether statistics said how many rows come."""

    def __str__(self) -> str:
        who = "Spark's own stream-stream join" if self.found is not None else "kernels"
        return f"{who}: {self.why}"


def join_choice(plan: Node, inputs: Mapping[str, DataFrame], options: RunOptions, *,
                policies: Mapping[str, str] | None = None) -> JoinChoice:
    """How the join of a plan runs; ``joins`` asks for one of the two."""
    joins, punctuated = options.joins, emission_mode(options.emit) == PUNCTUATED
    if joins not in WAYS:
        raise PlanError(f"joins={joins!r} is no way to run joins on Spark: there are {', '.join(WAYS)}")
    found = _exact(plan, inputs, options.late, policies or {}, punctuated)
    if isinstance(found, str):
        if joins == "native":
            raise PlanError(f"joins='native': Spark's own join does not give the results of this query: {found}")
        return JoinChoice(None, found, possible=False)
    if joins != "auto":
        return JoinChoice(found if joins == "native" else None, "asked for")
    known = known_inputs(given_statistics(options.stats))
    names = [side.source.name for side in found.sides]
    if known is None or any(name not in known.inputs for name in names):
        return JoinChoice(None, "few rows a second would be faster with Spark's own join, and no stats= say how many "
                                f"come (stats={{'{names[0]}.rows_per_second': 100, …}})")
    rate = sum(known.input(name).rate for name in names)
    if rate <= FEW_ROWS:
        return JoinChoice(found, f"{rate:,.0f} rows a second are few: a micro-batch costs more than its rows",
                          by_rate=True)
    return JoinChoice(None, f"{rate:,.0f} rows a second are many: a row costs Spark's own join more", by_rate=True)


def _exact(plan: Node, inputs: Mapping[str, DataFrame], late: LatePolicy, policies: Mapping[str, str],
           punctuated: bool) -> TwoStreams | str:
    """The join that Spark's own would answer in the same way, or why it would not."""
    found = two_streams(plan)
    if isinstance(found, str):
        return found
    if late is not LatePolicy.DROP:
        return f"late={late.value!r} needs the late rows themselves; with late='drop' it is possible"
    if punctuated:
        return "it says nothing of how far its results are"
    for side in found.sides:
        name = side.source.name
        frame = inputs[name]
        if not frame.isStreaming:
            return f"{name!r} is no stream"
        if policies.get(name, "source") != "source" or not {CONTROL, ROW_BOUND} <= set(frame.columns):
            return (f"rows of {name!r} do not say which bound was in force when they came, so that late ones would "
                    "meet some of their partners (read_stream writes it on them)")
    return _of_one_type(found, inputs)


def _of_one_type(found: TwoStreams, inputs: Mapping[str, DataFrame]) -> TwoStreams | str:
    """Keys of different types are compared by rules of their own."""
    left, right = found.sides
    for pair in join_condition(found.predicate, left.rows.columns, right.rows.columns).keys:
        types = [_type(side.source.name, pair_side.column_name, inputs)
                 for side, pair_side in ((left, pair.left), (right, pair.right))]
        if None in types or types[0] != types[1]:
            return f"{pair.condition} compares values of different types, or computed ones"
    return found


def _type(stream: str, column: str | None, inputs: Mapping[str, DataFrame]) -> str | None:
    """The type of a column of a stream, under whatever alias; None of what is computed."""
    names = {f.name: f.dataType.simpleString() for f in inputs[stream].schema.fields}
    while column is not None and column not in names:
        _, dot, column = column.partition(".")
        column = column if dot else None
    return names[column] if column is not None else None
