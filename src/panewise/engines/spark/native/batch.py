"""Batch: rows are aggregated once per pane, windows are put together from panes; other kinds run over sorted rows.

Three strategies. *sql*: partial aggregates, roll-up and results are Spark SQL, all in the JVM; for the aggregates Spark
can merge, with sums of floats only where they need not be exact. *kernels*: the same two steps with this project's
columnar kernels in Python workers; for every aggregate. *rows*: a kernel over sorted rows, for windows that panes do
not serve and for late policies that judge row by row. None copies a row into its windows.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.core.errors import LateRowError
from panewise.engines.spark.host.wire import CONTROL, ROW_BOUND
from panewise.engines.spark.lower.fragment import ORDINAL, Fragment
from panewise.engines.spark.lower.pane_columns import floor_division
from panewise.engines.spark.lower.stateless_steps import quoted
from panewise.engines.spark.native.kernel_batch import hosted_query, kernel_batch
from panewise.engines.spark.native.sql_aggregates import SqlAggregate, is_rounded, sql_aggregates
from panewise.engines.spark.native.sql_roll_up import roll_up
from panewise.engines.spark.queries.windows import of_fragment, row_batch, shared_columns
from panewise.engines.spark.session.failures import refuse
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.progress.watermarks import FINISHED

PANE = "__pw_pane"


def batch(fragment: Fragment, late: LatePolicy = DEFAULT_LATE) -> DataFrame:
    """The results of a fragment over bounded DataFrames; under the late policy ``side`` late rows come beside them."""
    if not fragment.paned or (ROW_BOUND in fragment.rows.columns and late in (LatePolicy.GENEROUS, LatePolicy.SIDE)):
        return fragment.finished(row_batch(fragment, late))
    rows = in_time(fragment, fragment.rows, late)
    aggregates = sql_aggregates(fragment)
    if aggregates is not None:
        return fragment.finished(sql_batch(fragment, rows, aggregates))
    return fragment.finished(kernel_batch(fragment, rows))


def batch_strategy(fragment: Fragment) -> str:
    """Which strategy ``batch`` takes, and why."""
    if not fragment.paned:
        where = "by group" if shared_columns(fragment) else "in one task, because its windows are of the whole stream"
        windows = of_fragment(fragment, LatePolicy.DROP, 1).open().windows
        assert windows is not None
        return f"{windows.kernel.name} kernel over sorted rows, {where}"
    aggregates = sql_aggregates(fragment)
    if aggregates is None:
        windows = hosted_query(fragment, 1).open().windows
        assert windows is not None
        how = "two stacks of panes, some windows at a time" if windows.ranges.stacked else "merged panes"
        rounded = fragment.exact and sql_aggregates(replace(fragment, exact=False)) is not None
        why = "Spark's own sums of floats are not exact" if rounded else "an aggregate has no partial form in Spark SQL"
        return f"kernels in Python workers, because {why}; windows from {how}"
    rounds = "; sums of floats are not exact, Spark rounds every addition: exact=True takes kernels" \
        if is_rounded(aggregates) else ""
    if fragment.scheme.per_window <= fragment.scheme.per_slide:
        return f"one Spark SQL aggregate, because windows do not overlap{rounds}"
    return f"Spark SQL: pane aggregate, then running merges over the panes of each key{rounds}"


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
    return rows.where(~is_late)


def sql_batch(fragment: Fragment, rows: DataFrame, aggregates: list[SqlAggregate]) -> DataFrame:
    """Pane aggregate, then running merges over the panes of each key."""
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
    merges = {column: function for a in aggregates for column, function in a.merges().items()}
    merged = roll_up(panes, fragment.keys, PANE, merges, per_window=per_window)
    if per_slide > 1:
        merged = merged.where(F.pmod(quoted(PANE) + 1, F.lit(per_slide)) == 0)
    return fragment.windowed(merged, wid, {a.name: a.finish() for a in aggregates})
