"""Rows without a time on Spark: what the policy for bad rows can do with DataFrames.

A row without a time is bad if some window or join would see it; one that WHERE ends before needs no time and is left
out where it is read. Under ``stop`` a bad row fails the query where its time is asked for. Under ``skip`` it is left
out; a stream counts it (``bad_rows`` of its status). What Spark cannot do is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.core.bad_rows import BadRowAction
from panewise.core.errors import UnsupportedError
from panewise.core.scalar import Scalar
from panewise.engines.spark.observed import new_metric
from panewise.engines.spark.relation import data_columns, quoted, scalar_column
from panewise.engines.spark.wire import CONTROL
from panewise.plan.nodes import Node
from panewise.planner.ordering_columns import ordering_columns
from panewise.queries.admission import InputRules
from panewise.queries.row_fates import RowFates


def admitted(plan: Node, inputs: Mapping[str, DataFrame], rules: InputRules | None) -> Mapping[str, DataFrame]:
    """The inputs without rows that the policy leaves out, and without those that need no time and have none."""
    rules = rules or InputRules()
    if rules.max_jump is not None:
        raise UnsupportedError("max_jump= compares each row with the newest before it, and Spark's parallel reads have "
                               "no order of rows: run the query in process, or leave out future rows with WHERE")
    if rules.bad_rows.action is BadRowAction.ASIDE:
        raise UnsupportedError("bad_rows='aside' keeps rows beside the results, and the result of DataFrames is one "
                               "DataFrame: write bad_rows='skip', and look at df.where('ts IS NULL') yourself")
    fates, asked = RowFates(plan), ordering_columns(plan)
    return {name: _timed(frame, [c for c in asked.get(name, []) if c in frame.columns],
                         fates.conditions(name, data_columns(frame)), stops=rules.bad_rows.stops)
            for name, frame in inputs.items()}


def _timed(frame: DataFrame, columns: list[str], conditions: list[Scalar], *, stops: bool) -> DataFrame:
    """Rows that have all these times, and punctuation; also rows without a time that are to stop the run."""
    if not columns or (stops and not conditions):
        return frame
    missing = reduce(or_, (quoted(column).isNull() for column in columns))
    if CONTROL in frame.columns:
        missing = missing & quoted(CONTROL).isNull()
    seen = [F.coalesce(scalar_column(condition, frame), F.lit(False)) for condition in conditions]
    bad = missing & reduce(or_, seen) if seen else missing
    if stops:
        return frame.where(~missing | bad)
    if frame.isStreaming:
        count = F.coalesce(F.sum(bad.cast("bigint")), F.lit(0)).alias("bad_rows")
        frame = frame.observe(new_metric("<bad>"), count)
    return frame.where(~missing)
