"""Batch: rows are aggregated once per pane, windows are put together from panes.

Two strategies. *sql*: partial aggregates, roll-up and results are Spark SQL, all in the JVM; for the aggregates Spark
can merge. *kernels*: the same two steps with this project's columnar kernels in Python workers; for every aggregate.
Neither copies a row into its windows.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from panewise.engines.spark.fragment import Fragment, pane_column
from panewise.engines.spark.relation import quoted
from panewise.engines.spark.sql_aggregates import SqlAggregate, sql_aggregates
from panewise.kernels.panes import panes_per_slide, panes_per_window

PANE = "__pw_pane"
LAST = "__pw_last"


def batch(fragment: Fragment) -> DataFrame:
    """The results of a fragment over bounded DataFrames."""
    aggregates = sql_aggregates(fragment)
    if aggregates is not None:
        return fragment.finished(sql_batch(fragment, aggregates))
    from panewise.engines.spark.kernel_batch import kernel_batch

    return fragment.finished(kernel_batch(fragment))


def sql_batch(fragment: Fragment, aggregates: list[SqlAggregate]) -> DataFrame:
    """Pane aggregate, then a RANGE frame over the panes of each key."""
    window = fragment.window
    per_window, per_slide = panes_per_window(window), panes_per_slide(window)
    keys = [quoted(k) for k in fragment.keys]
    rows = fragment.rows.withColumn(PANE, pane_column(window))
    if per_window < per_slide:  # rows in the gaps between windows are in none
        rows = rows.where(F.pmod(quoted(PANE), F.lit(per_slide)) >= F.lit(per_slide - per_window))
    partials = [c for a in aggregates for c in a.partials()] or [F.count(F.lit(1)).alias("__pw_any")]
    # the window that ends with or after the pane; when windows do not overlap it is the only one
    wid = F.call_function("div", quoted(PANE) - F.pmod(quoted(PANE), F.lit(per_slide).cast("bigint")),
                          F.lit(per_slide).cast("bigint"))
    if per_window <= per_slide:
        whole = rows.withColumn(PANE, wid).groupBy(*keys, quoted(PANE)).agg(*partials)
        return fragment.windowed(whole, quoted(PANE), {a.name: a.finish() for a in aggregates})
    panes = rows.groupBy(*keys, quoted(PANE)).agg(*partials)
    states = [name for a in aggregates for name in a.states]
    filled = _with_ends(panes, fragment.keys, states, per_window, per_slide)
    frame = Window.partitionBy(*(keys or [F.lit(0)])).orderBy(PANE).rangeBetween(1 - per_window, 0)
    merged = filled.select(*keys, PANE, *(c.over(frame).alias(n) for a in aggregates for n, c in a.merges().items()))
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


