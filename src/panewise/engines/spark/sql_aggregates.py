"""Aggregates that Spark SQL itself can split into partial, merge and finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.engines.spark.fragment import Fragment
from panewise.engines.spark.relation import quoted

Step = Callable[[Column], Column]


@dataclass(frozen=True)
class SqlAggregate:
    """One aggregate of a query: its state columns, each with the SQL that makes, merges and finishes it."""

    name: str
    argument: Column
    states: tuple[str, ...]
    steps: tuple[tuple[Step, Step], ...]
    """For each state the partial aggregate of the argument and the aggregate that merges partials."""
    result: Callable[..., Column]

    def partials(self) -> list[Column]:
        """The partial aggregates."""
        return [make(self.argument).alias(s) for s, (make, _) in zip(self.states, self.steps, strict=True)]

    def merges(self) -> dict[str, Column]:
        """State name to the aggregate that merges it."""
        return {s: merge(quoted(s)) for s, (_, merge) in zip(self.states, self.steps, strict=True)}

    def finish(self) -> Column:
        """The result from the states."""
        return self.result(*map(quoted, self.states))


def _double(column: Column) -> Column:
    return F.sum(column.cast("double"))


def _same(column: Column) -> Column:
    return column


_FORMS: dict[str, tuple[tuple[tuple[Step, Step], ...], Callable[..., Column]]] = {
    "count": (((F.count, F.sum),), _same),
    "sum": (((F.sum, F.sum),), _same),
    "min": (((F.min, F.min),), _same),
    "max": (((F.max, F.max),), _same),
    "avg": (((_double, F.sum), (F.count, F.sum)), lambda total, count: F.try_divide(total, count)),
}
_NUMBERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType)
_SUMMING = frozenset({"sum", "avg"})


def sql_aggregates(fragment: Fragment) -> list[SqlAggregate] | None:
    """All aggregates of the fragment in SQL form, or ``None`` when one of them has none."""
    found: list[SqlAggregate] = []
    for i, call in enumerate(fragment.aggregates):
        if call.function not in _FORMS or call.distinct or call.parameters or len(call.arguments) > 1:
            return None
        if not call.arguments and call.function != "count":
            return None
        names = fragment.arguments(i)
        if call.function in _SUMMING and not isinstance(fragment.rows.schema[names[0]].dataType, _NUMBERS):
            return None  # decimals change type when partial sums are summed again
        steps, result = _FORMS[call.function]
        states = tuple(f"__pw_s{i}_{j}" for j in range(len(steps)))
        found.append(SqlAggregate(call.name, quoted(names[0]) if names else F.lit(1), states, steps, result))
    return found
