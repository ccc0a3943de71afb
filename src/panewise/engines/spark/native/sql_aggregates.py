"""Aggregates that Spark SQL itself can split into partial, merge and finish.

Aggregates that need the same partial share one column: ``avg(x)`` beside ``sum(x)``, or beside ``count(*)`` where ``x``
is never null. Every column less is one less to merge for each of a window's panes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from panewise.aggregates.registry import resolve
from panewise.aggregates.sql_form import SqlForm, sql_form
from panewise.engines.spark.lower.fragment import Fragment


@dataclass(frozen=True)
class SqlAggregate:
    """One aggregate of a query with its partial columns."""

    name: str
    form: SqlForm
    made_by: dict[str, str]
    """The SQL over rows that makes each partial, by suffix."""
    columns: dict[str, str]
    """The partial columns by suffix."""

    def partials(self) -> dict[str, Column]:
        """Partial column to the aggregate over rows that makes it."""
        return {self.columns[s]: F.expr(sql).alias(self.columns[s]) for s, sql in self.made_by.items()}

    def merges(self) -> dict[str, str]:
        """Partial column to the aggregate function that merges it: sum, min or max."""
        return {self.columns[p.suffix]: p.merge for p in self.form.partials}

    def finish(self) -> Column:
        """The result from merged partial columns."""
        return F.expr(self.form.finish_sql(self.columns))


def is_rounded(aggregates: Sequence[SqlAggregate]) -> bool:
    """Whether Spark's additions round some of the results."""
    return not all(aggregate.form.exact for aggregate in aggregates)


def sql_aggregates(fragment: Fragment) -> list[SqlAggregate] | None:
    """All aggregates of the fragment in SQL form, or ``None`` when one of them has none, or none that is exact."""
    found = _in_sql(fragment)
    return None if found is None or (fragment.exact and is_rounded(found)) else found


def _in_sql(fragment: Fragment) -> list[SqlAggregate] | None:
    found: list[SqlAggregate] = []
    shared: dict[str, str] = {}
    nullable = {field.name: field.nullable for field in fragment.rows.schema}
    for i, call in enumerate(fragment.aggregates):
        function = resolve(call.function, call.parameters, call.distinct)
        types = fragment.argument_types(i)
        function.check_inputs(types)
        function.result_type(types)
        form = sql_form(function, types)
        if form is None or len(call.arguments) > 1:
            return None
        argument = fragment.arguments(i)[0] if call.arguments else "*"
        made_by = form.partial_sql(argument)
        if not nullable.get(argument.strip("`"), True):
            made_by = {s: "count(*)" if sql == f"count({argument})" else sql for s, sql in made_by.items()}
        columns = {s: shared.setdefault(sql, f"__pw_s{len(shared)}") for s, sql in made_by.items()}
        found.append(SqlAggregate(call.name, form, made_by, columns))
    return found
