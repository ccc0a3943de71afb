"""Spark's own stream-stream join, where it is exact: punctuation is its watermark, and late rows never reach it.

``rows below their bound put aside ─ event times ─ watermark ─ join in a band ─ results``

Every column is computed in the JVM, so a micro-batch costs no Python; a row costs Spark's state store. Results are
those of the kernels, told as soon as both rows are there.

*Watermark.* Spark's is the largest event time less a delay. Rows of data have event times of one range, punctuation of
another, a delay later, so that data never moves it and punctuation does (`CLOCK`). It is kept a little below what was
promised (`SLACK`): Spark drops rows at the watermark itself, knows it in milliseconds, and computes with it in floating
point. It only decides when rows are forgotten. Of two inputs the smaller counts, which is what Meld does.

*Late rows.* Spark forgets rows by a watermark one micro-batch before it drops late ones by it, so a late row would meet
some of its partners. Here they are put aside by the bound that was in force when they came, which their source has
written on them. A stream without such bounds has no exact native join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from panewise.core.errors import SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.core.time import SECOND
from panewise.engines.spark.host.wire import CONTROL, ROW_BOUND
from panewise.engines.spark.lower.fragment import as_ordinal, result_field
from panewise.engines.spark.lower.pane_columns import floor_division
from panewise.engines.spark.lower.stateless_steps import data_columns, lower, quoted, rows_of, scalar_column, undated
from panewise.engines.spark.observe.observed import new_metric
from panewise.engines.spark.session.failures import refuse
from panewise.plan import nodes as n
from panewise.planner.choose.two_streams import StreamSide, TwoStreams
from panewise.planner.facts.result_forms import EXPIRES_AT, VALID_FROM

EVENTS = ("__pw_left", "__pw_right")
"""The event times of both sides, as Spark's join knows them."""


@dataclass(frozen=True)
class EventClock:
    """How ordinals (microseconds) become event times: data from ``reach`` to three times that, punctuation later."""

    reach: int = 10**18
    """No time is further than this from 1970, some thirty thousand years: milliseconds taken for seconds are."""

    @property
    def zero(self) -> int:
        """The event time of 1970, where Spark's watermark begins at 0 and nothing may be below it."""
        return 2 * self.reach

    @property
    def delay(self) -> int:
        """What punctuation is ahead, more than data can be apart."""
        return 4 * self.reach

    def event(self, ordinal: Column) -> Column:
        """Of a row."""
        return F.timestamp_micros(ordinal + F.lit(self.zero))

    def ordinal(self, event: Column) -> Column:
        """The time of a row again."""
        return F.unix_micros(event) - F.lit(self.zero)

    def promise(self, bound: Column) -> Column:
        """Of a punctuation; without a bound for all rows it says nothing, and the end says all."""
        known = F.least(F.greatest(F.coalesce(bound, F.lit(-self.reach)), F.lit(-self.reach)), F.lit(self.reach))
        return F.timestamp_micros(known - F.lit(SLACK) + F.lit(self.zero + self.delay))

    def is_row(self, event: Column) -> Column:
        """Whether an event time is one of data."""
        return event < F.timestamp_micros(F.lit(self.delay))


SLACK = 10_000
"""Microseconds by which the watermark stays behind what was promised."""
CLOCK = EventClock()


def native_join(found: TwoStreams, plan: n.Node, inputs: Mapping[str, DataFrame], schema: pa.Schema) -> DataFrame:
    """The results of a join of two stamped streams; ``schema`` is what the kernels would give them."""
    frames = {side.source.name: on_time(inputs[side.source.name], side) for side in found.sides}
    left, right = (_watermarked(side, lower(side.rows, frames), event)
                   for side, event in zip(found.sides, EVENTS, strict=True))
    pairs = left.join(right, _condition(found))
    added = [value.alias(name) for name, value in _lives(found).items()]
    results = _above(plan, found.join, pairs.select(*map(quoted, found.join.columns), *added), list(_lives(found)))
    return results.select(*(quoted(f.name).cast(result_field(f.name, f.type).dataType).alias(f.name) for f in schema))


def on_time(frame: DataFrame, side: StreamSide) -> DataFrame:
    """The rows at or above the bound that was in force when they came, and all punctuation; the others are counted."""
    late = quoted(CONTROL).isNull() & F.coalesce(ordinal_of(frame, side) < quoted(ROW_BOUND), F.lit(False))
    counted = frame.observe(new_metric(), F.coalesce(F.sum(late.cast("bigint")), F.lit(0)).alias("late_rows"))
    return counted.where(~late)


def ordinal_of(frame: DataFrame, side: StreamSide) -> Column:
    """The time of a row as a bigint."""
    return as_ordinal(frame, quoted(side.source_time), OrdinalKind.TIMESTAMP)


def _watermarked(side: StreamSide, rows: DataFrame, event: str) -> DataFrame:
    """The rows with their event times; punctuation has moved the watermark and is gone.

    Spark puts a filter before the watermark if it does not ask for the event time, its own included: that the columns
    of a join are not null, which those of punctuation are. So the last filter asks for it, and every column does.
    """
    time = quoted(side.time)
    ordinal = as_ordinal(rows, time, OrdinalKind.TIMESTAMP)
    name, called = side.source.name, side.source_time
    far = refuse(SchemaError, F.concat(F.lit(f"stream {name!r}: {called!r} is so far from 1970 that no clock has shown "
                                             "it, "), ordinal.cast("string"), F.lit(" microseconds")))
    row = (F.when(time.isNull(), undated(rows, called, name).cast("timestamp"))
           .when(F.abs(ordinal) > F.lit(CLOCK.reach), far.cast("timestamp")).otherwise(CLOCK.event(ordinal)))
    dated = F.when(quoted(CONTROL).isNull(), row).otherwise(CLOCK.promise(quoted(ROW_BOUND)))
    columns = [*map(quoted, data_columns(rows)), dated.alias(event)]
    marked = rows.select(*columns).withWatermark(event, f"{CLOCK.delay // SECOND} seconds")
    is_row = CLOCK.is_row(quoted(event))
    held = [F.when(is_row, quoted(c)).alias(c) for c in data_columns(rows)]
    return marked.where(is_row).select(*held, quoted(event))


def _condition(found: TwoStreams) -> Column:
    """When two rows meet; Spark finds out from the band how long it must keep them."""
    left, right = map(quoted, EVENTS)
    low, high = (F.lit(timedelta(microseconds=end)) for end in (found.band.lo, found.band.hi))
    near = (right >= left + low) & (right <= left + high)
    if found.bucket is not None:
        size, origin = found.bucket
        one, other = (floor_division(CLOCK.ordinal(event) - F.lit(origin), size) for event in (left, right))
        near = near & (one == other)
    return near if found.predicate is None else near & F.expr(f"{found.predicate.sql} /* {rows_of(found.join)} */")


def _lives(found: TwoStreams) -> dict[str, Column]:
    """From when until when a pair is there, where it leaves: from the later birth to the first end."""
    if found.left.length is None or found.right.length is None:
        return {}
    left, right = (CLOCK.ordinal(quoted(event)) for event in EVENTS)
    ends = F.least(left + F.lit(found.left.length), right + F.lit(found.right.length))
    return {VALID_FROM: F.timestamp_micros(F.greatest(left, right)), EXPIRES_AT: F.timestamp_micros(ends)}


def _above(plan: n.Node, join: n.Node, pairs: DataFrame, beside: list[str]) -> DataFrame:
    """What stands above the join, over its pairs; columns of the results' own pass by."""
    if plan is join:
        return pairs
    assert isinstance(plan, n.Filter | n.Project | n.Qualify)
    below = _above(plan.input, join, pairs, beside)
    if isinstance(plan, n.Filter):
        return below.where(scalar_column(plan.predicate, below, rows_of(join)))
    if isinstance(plan, n.Project):
        shown = [scalar_column(item.scalar, below, rows_of(join)).alias(item.name) for item in plan.items]
    else:
        shown = [quoted(c).alias(f"{plan.alias}.{c}") for c in plan.input.columns]
    return below.select(*shown, *map(quoted, beside))
