"""Aggregates that Spark SQL computes as pane partials, described as text for an engine to fill in.

A form has partial columns (an aggregate expression over rows, and the aggregate function that merges the column) and
an expression that finishes them. ``{x}`` stands for the argument, ``{suffix}`` for a partial column.

Only COUNT, SUM, MIN, MAX and AVG have one, and all but sums of floats are exact. Sums of bigint are taken in halves of
32 bits, because Spark's own would overflow where a later negative number brings the total back; AVG of decimals is left
to kernels, because Spark's division of two partial columns rounds twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from panewise.aggregates.arrays import is_decimal, plain_type
from panewise.aggregates.base import Aggregate, Types
from panewise.aggregates.count import Count
from panewise.aggregates.extremes import Extreme
from panewise.aggregates.sums import Avg, Sum


@dataclass(frozen=True)
class SqlPartial:
    """One partial column: its name, the aggregate over rows that makes it, the aggregate function that merges it."""

    suffix: str
    partial: str
    merge: str


@dataclass(frozen=True)
class SqlForm:
    """Partial columns, and how they are finished."""

    partials: tuple[SqlPartial, ...]
    finish: str
    exact: bool = True
    """Whether the result is the one of the kernels to the last bit: Spark rounds sums of floats with every addition."""

    def partial_sql(self, argument: str) -> dict[str, str]:
        """The aggregate expressions over rows, by suffix; the argument of ``count(*)`` is ``*``.

        >>> sql_form(Avg(), [pa.int32()]).partial_sql("price")
        {'sum': 'sum(price)', 'count': 'count(price)'}
        """
        return {p.suffix: p.partial.format(x=argument) for p in self.partials}

    def finish_sql(self, columns: dict[str, str]) -> str:
        """The result from merged partial columns, given their names.

        >>> sql_form(Avg(), [pa.int32()]).finish_sql({"sum": "`p.sum`", "count": "`p.count`"})
        '`p.sum` / nullif(`p.count`, 0)'
        """
        return self.finish.format(**columns)

COUNT_OF = SqlPartial("count", "count({x})", "sum")
TOTAL = SqlPartial("sum", "sum({x})", "sum")
HALVES = (
    SqlPartial("high", "sum(shiftright({x}, 32))", "sum"),
    SqlPartial("low", "sum({x} & 4294967295L)", "sum"),
)
WHOLE = "(CAST({high} AS DECIMAL(20, 0)) * 4294967296 + {low})"

COUNT_FORM = SqlForm((COUNT_OF,), "{count}")
SUM_FORMS = {
    "int": SqlForm((TOTAL, COUNT_OF), "{sum}"),
    "long": SqlForm((*HALVES, COUNT_OF), f"CAST({WHOLE} AS BIGINT)"),
    "float": SqlForm((TOTAL, COUNT_OF), "{sum} + 0D", exact=False),  # one zero
    "decimal": SqlForm((TOTAL, COUNT_OF), "CAST({{sum}} AS {type})"),
}
AVG_FORMS = {
    "int": SqlForm(SUM_FORMS["int"].partials, "{sum} / nullif({count}, 0)"),
    "long": SqlForm(SUM_FORMS["long"].partials, f"CAST({WHOLE} AS DOUBLE) / nullif({{count}}, 0)"),
    "float": SqlForm(SUM_FORMS["float"].partials, "({sum} + 0D) / nullif({count}, 0)", exact=False),
}


def sql_form(aggregate: Aggregate, inputs: Types) -> SqlForm | None:
    """The form of this function for arguments of these types, or ``None`` when only kernels are exact.

    >>> sql_form(Sum(), [pa.int64()]).finish
    'CAST((CAST({high} AS DECIMAL(20, 0)) * 4294967296 + {low}) AS BIGINT)'
    """
    if isinstance(aggregate, Count):
        return COUNT_FORM
    if not isinstance(aggregate, Sum | Extreme):
        return None
    if isinstance(aggregate, Extreme):
        return SqlForm((SqlPartial("value", f"{aggregate.name}({{x}})", aggregate.name),), "{value}")
    kind = _kind(plain_type(inputs[0]))
    if isinstance(aggregate, Avg):
        return AVG_FORMS.get(kind)
    form = SUM_FORMS.get(kind)
    if form is None or kind != "decimal":
        return form
    result = aggregate.result_type(inputs)
    return SqlForm(form.partials, form.finish.format(type=f"DECIMAL({result.precision}, {result.scale})"))


def _kind(data_type: pa.DataType) -> str:
    if pa.types.is_integer(data_type):
        return "int" if data_type.bit_width <= 32 and data_type != pa.uint32() else "long"
    if pa.types.is_floating(data_type):
        return "float"
    return "decimal" if is_decimal(data_type) else "other"
