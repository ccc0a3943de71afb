"""Batch: rows are aggregated once per pane, windows are put together from panes.

Two strategies. *sql*: partial aggregates, roll-up and results are Spark SQL, all in the JVM; for the aggregates Spark
can merge. *kernels*: the same two steps with this project's columnar kernels in Python workers; for every aggregate.
Neither copies a row into its windows.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from panewise.core.errors import LateRowError, UnsupportedError
from panewise.engines.spark.failures import refuse
from panewise.engines.spark.fragment import ORDINAL, Fragment
from panewise.engines.spark.kernel_batch import kernel_batch
from panewise.engines.spark.paired import floor_division
from panewise.engines.spark.relation import quoted
from panewise.engines.spark.sql_aggregates import SqlAggregate, sql_aggregates
from panewise.engines.spark.wire import CONTROL, ROW_BOUND
from panewise.progress.late import LatePolicy
from panewise.progress.watermarks import FINISHED

PANE = "__pw_pane"
LAST = "__pw_last"


def batch(fragment: Fragment, late: LatePolicy = LatePolicy.DROP) -> DataFrame:
    """The results of a fragment over bounded DataFrames."""
    rows = in_time(fragment, fragment.rows, late)
    aggregates = sql_aggregates(fragment)
    if aggregates is not None:
        return fragment.finished(sql_batch(fragment, rows, aggregates))
    return fragment.finished(kernel_batch(fragment, rows))


def batch_strategy(fragment: Fragment) -> str:
    """Which strategy ``batch`` takes, and why."""
    if sql_aggregates(fragment) is None:
        return "kernels in Python workers, because an aggregate has no partial form in Spark SQL"
    if fragment.scheme.per_window <= fragment.scheme.per_slide:
        return "one Spark SQL aggregate, because windows do not overlap"
    return "Spark SQL: pane aggregate, then a RANGE frame over the panes of each key"


def in_time(fragment: Fragment, rows: DataFrame, late: LatePolicy) -> DataFrame:
    """The rows that count: punctuation is left out, and late rows where the source stamped bounds on rows."""
    if CONTROL in rows.columns:
        rows = rows.where(quoted(CONTROL).isNull())
    if ROW_BOUND not in rows.columns:
        return rows
    value, bound = quoted(ORDINAL), quoted(ROW_BOUND)
    is_late = bound.isNotNull() & (value < bound)
    if late is LatePolicy.ERROR:
        problem = F.concat(F.lit("a row is late: its windowing attribute is "), value.cast("string"),
                           F.lit(", but punctuation had promised that nothing below "), bound.cast("string"),
                           F.lit(" would come. Choose the late policy drop or consistent, or allow more disorder"))
        return rows.where(F.when(is_late, refuse(LateRowError, problem).cast("boolean")).otherwise(F.lit(True)))
    window = fragment.window
    if late is LatePolicy.CONSISTENT:
        first = floor_division(value - F.lit(fragment.scheme.base), window.slide)
        closed = floor_division(bound - F.lit(fragment.scheme.base), window.slide)
        is_late = is_late & ((bound == F.lit(FINISHED)) | (first < closed))
    elif late is not LatePolicy.DROP:
        raise UnsupportedError(f"the late policy {late.value!r} needs a streaming run on Spark: drop, error and "
                               "consistent work in batch")
    return rows.where(~is_late)


def sql_batch(fragment: Fragment, rows: DataFrame, aggregates: list[SqlAggregate]) -> DataFrame:
    """Pane aggregate, then a RANGE frame over the panes of each key."""
    scheme = fragment.scheme
    per_window, per_slide = scheme.per_window, scheme.per_slide
    keys = [quoted(k) for k in fragment.keys]
    rows = rows.withColumn(PANE, scheme.column(quoted(ORDINAL)))
    if per_window < per_slide:  # rows in the gaps between windows are in none
        rows = rows.where(F.pmod(quoted(PANE), F.lit(per_slide)) >= F.lit(per_slide - per_window))
    made = {name: c for a in aggregates for name, c in a.partials().items()}
    partials = list(made.values()) or [F.count(F.lit(1)).alias("__pw_any")]
    wid = scheme.first_window(quoted(PANE))
    if per_window <= per_slide:  # windows do not overlap: a pane's first window is its only one
        whole = rows.withColumn(PANE, wid).groupBy(*keys, quoted(PANE)).agg(*partials)
        return fragment.windowed(whole, quoted(PANE), {a.name: a.finish() for a in aggregates})
    panes = rows.groupBy(*keys, quoted(PANE)).agg(*partials)
    filled = _with_ends(panes, fragment.keys, list(made), per_window, per_slide)
    frame = Window.partitionBy(*(keys or [F.lit(0)])).orderBy(PANE).rangeBetween(1 - per_window, 0)
    merges = {name: c for a in aggregates for name, c in a.merges().items()}
    merged = filled.select(*keys, PANE, *(c.over(frame).alias(name) for name, c in merges.items()))
    if per_slide > 1:
        merged = merged.where(F.pmod(quoted(PANE) + 1, F.lit(per_slide)) == 0)
    return fragment.windowed(merged, wid, {a.name: a.finish() for a in aggregates})


def _with_ends(panes: DataFrame, keys: list[str], states: list[str], per_window: int, per_slide: int) -> DataFrame:
    """The panes, and an empty pane wherever a window with rows ends and there is none.

    A pane with rows is in the windows that end up to ``per_window - 1`` panes later; the next pane of the key takes
    over from there.
    """
    order = Window.partitionBy(*(map(quoted, keys) if keys else [F.lit(0)])).orderBy(PANE)
    reach = quoted(PANE) + F.lit(per_window - 1)
    follower = F.lead(PANE).over(order)
    last = F.least(reach, follower - 1)  # least skips the null after the last pane
    start = quoted(PANE) + 1
    first_end = start + F.pmod(F.lit(-1) - start, F.lit(per_slide).cast("bigint"))
    ends = F.when(first_end <= quoted(LAST), F.sequence(first_end, quoted(LAST), F.lit(per_slide).cast("bigint")))
    own = F.array(quoted(PANE))
    numbered = panes.withColumn(LAST, last)
    spread = numbered.select(*map(quoted, keys), *map(quoted, states), quoted(PANE).alias("__pw_own"),
                             F.explode(F.concat(own, F.coalesce(ends, F.array().cast("array<bigint>")))).alias(PANE))
    real = quoted("__pw_own") == quoted(PANE)
    return spread.select(*map(quoted, keys), quoted(PANE), *(F.when(real, quoted(s)).alias(s) for s in states))


