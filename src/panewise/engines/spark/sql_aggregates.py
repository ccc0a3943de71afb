"""Aggregates that Spark SQL itself can split into partial, merge and finish."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from panewise.aggregates.registry import resolve
from panewise.aggregates.sql_form import SqlForm, sql_form
from panewise.engines.spark.fragment import Fragment


@dataclass(frozen=True)
class SqlAggregate:
    """One aggregate of a query with its partial columns."""

    name: str
    form: SqlForm
    argument: str
    """The argument column, or ``*``."""
    number: int

    @property
    def columns(self) -> dict[str, str]:
        """The partial columns by suffix."""
        return {p.suffix: f"__pw_s{self.number}_{p.suffix}" for p in self.form.partials}

    def partials(self) -> list[Column]:
        """The partial aggregates over rows."""
        return [F.expr(sql).alias(self.columns[s]) for s, sql in self.form.partial_sql(self.argument).items()]

    def merges(self) -> dict[str, Column]:
        """Partial column to the aggregate that merges it."""
        return {self.columns[s]: F.expr(sql) for s, sql in self.form.merge_sql(self.columns).items()}

    def finish(self) -> Column:
        """The result from merged partial columns."""
        return F.expr(self.form.finish_sql(self.columns))


def sql_aggregates(fragment: Fragment) -> list[SqlAggregate] | None:
    """All aggregates of the fragment in SQL form, or ``None`` when one of them has none."""
    found: list[SqlAggregate] = []
    for i, call in enumerate(fragment.aggregates):
        function = resolve(call.function, call.parameters, call.distinct)
        types = fragment.argument_types(i)
        function.check_inputs(types)
        function.result_type(types)
        form = sql_form(function, types)
        if form is None or len(call.arguments) > 1:
            return None
        found.append(SqlAggregate(call.name, form, fragment.arguments(i)[0] if call.arguments else "*", i))
    return found
