"""Windows from panes in Spark SQL, at a cost per pane that does not grow with RANGE/SLIDE.

A frame of k panes would merge k panes anew for every window. Here the panes of a key are cut into blocks of k; a window
that ends inside a block is the end of the block before it and the beginning of its own. Both are running merges, each
one merge per pane: forwards for the beginnings, backwards for the ends.

Blocks are counted from the first pane of a *run*, a stretch of panes that no gap of k panes interrupts. Panes without
rows are filled in within a run (each is the end of a window that has rows), so the pane k - 1 before is k - 1 rows
before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from panewise.engines.spark.lower.stateless_steps import quoted

LAST = "__pw_last"
RUN = "__pw_run"
OWN = "__pw_own"
BLOCK = "__pw_block"
ENDS = "__pw_ends"


def roll_up(panes: DataFrame, keys: Sequence[str], pane: str, merges: Mapping[str, str], *,
            per_window: int) -> DataFrame:
    """For every pane that ends a window with rows: keys, pane, partial columns merged over ``per_window`` panes.

    ``merges`` names the function (sum, min or max) that merges each partial column.
    """
    k = per_window
    columns = [*map(quoted, keys), quoted(pane)]
    group = [*map(quoted, keys)] or [F.lit(0)]
    filled = _filled(panes, keys, pane, list(merges), k)
    blocks = filled.withColumn(BLOCK, F.floor((quoted(pane) - quoted(RUN)) / F.lit(k)))

    block = Window.partitionBy(*group, RUN, BLOCK)
    backwards = block.orderBy(F.desc(pane)).rowsBetween(Window.unboundedPreceding, 0)
    forwards = block.orderBy(pane).rowsBetween(Window.unboundedPreceding, 0)
    in_run = Window.partitionBy(*group, RUN).orderBy(BLOCK, pane)  # the order of `forwards`: no second sort
    over = {name: F.expr(f"{function}({name})") for name, function in merges.items()}

    ends = blocks.withColumn(ENDS, F.struct(F.lit(0), *(c.over(backwards).alias(n) for n, c in over.items())))
    begun = ends.select(*columns, RUN, BLOCK, ENDS, *(c.over(forwards).alias(n) for n, c in over.items()))
    before = begun.withColumn(ENDS, F.lag(ENDS, k - 1).over(in_run))
    whole = (quoted(BLOCK) == 0) | (F.pmod(quoted(pane) - quoted(RUN), F.lit(k)) == k - 1)
    return before.select(*columns, *(
        F.when(whole, quoted(n)).otherwise(merged(function, quoted(ENDS)[n], quoted(n))).alias(n)
        for n, function in merges.items()))


def merged(function: str, left: Column, right: Column) -> Column:
    """Two partials as one; null is the partial of no rows."""
    if function == "sum":
        return F.coalesce(left + right, left, right)
    return {"min": F.least, "max": F.greatest}[function](left, right)  # these skip nulls and order NaN as min, max do


def _filled(panes: DataFrame, keys: Sequence[str], pane: str, states: Sequence[str], k: int) -> DataFrame:
    """The panes with the first pane of their run, and an empty pane wherever a run has none.

    A pane with rows is in the windows that end up to k - 1 panes later; the next pane of the key takes over from there.
    """
    order = Window.partitionBy(*(map(quoted, keys) if keys else [F.lit(0)])).orderBy(pane)
    reach = quoted(pane) + F.lit(k - 1)
    last = F.least(reach, F.lead(pane).over(order) - 1)  # least skips the null after the last pane
    previous = F.lag(pane).over(order)
    starts = F.when(previous.isNull() | (quoted(pane) - previous >= k), quoted(pane))
    numbered = panes.withColumn(LAST, last).withColumn(RUN, starts)
    numbered = numbered.withColumn(RUN, F.last(RUN, ignorenulls=True).over(order))
    spread = numbered.select(*map(quoted, keys), *map(quoted, states), RUN, quoted(pane).alias(OWN),
                             F.explode(F.sequence(quoted(pane), quoted(LAST))).alias(pane))
    real = quoted(OWN) == quoted(pane)
    return spread.select(*map(quoted, keys), RUN, quoted(pane), *(F.when(real, quoted(s)).alias(s) for s in states))
