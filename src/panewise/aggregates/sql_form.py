"""Aggregates that Spark SQL computes as pane partials, described as text for an engine to fill in.

A form has partial columns (an aggregate expression over rows, and the aggregate function that merges the column), an
expression that finishes them, and expressions that turn the partial columns of a group into the state columns of the
aggregate, so that panes made in the JVM can be rolled up by kernels. ``{x}`` stands for the argument, ``{suffix}`` for
a partial column.

Only COUNT, SUM, MIN, MAX and AVG have one, and all but sums of floats are exact. Sums of bigint are taken in halves of
32 bits, because Spark's own would overflow where a later negative number brings the total back; AVG of decimals is left
to kernels, because Spark's division of two partial columns rounds twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panewise.aggregates.arrays import is_decimal, plain_type
from panewise.aggregates.base import Aggregate
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
    """Partial columns, how they are finished, and how they become the aggregate's state columns (``None``: not)."""

    partials: tuple[SqlPartial, ...]
    finish: str
    state: tuple[str, ...] | None = None
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

    def state_sql(self, columns: dict[str, str]) -> list[str] | None:
        """The state columns from partial columns, given their names, in the order of ``state_fields``."""
        return None if self.state is None else [s.format(**columns) for s in self.state]


COUNT_OF = SqlPartial("count", "count({x})", "sum")
TOTAL = SqlPartial("sum", "sum({x})", "sum")
HALVES = (
    SqlPartial("high", "sum(shiftright({x}, 32))", "sum"),
    SqlPartial("low", "sum({x} & 4294967295L)", "sum"),
)
WHOLE = "(CAST({high} AS DECIMAL(20, 0)) * 4294967296 + {low})"

COUNT_FORM = SqlForm((COUNT_OF,), "{count}", ("{count}",))
SUM_FORMS = {
    "int": SqlForm((TOTAL, COUNT_OF), "{sum}",
                   ("{count}", "shiftright(coalesce({sum}, 0L), 32)", "coalesce({sum}, 0L) & 4294967295L")),
    "long": SqlForm((*HALVES, COUNT_OF), f"CAST({WHOLE} AS BIGINT)",
                    ("{count}", "coalesce({high}, 0L)", "coalesce({low}, 0L)")),
    "float": SqlForm((TOTAL, COUNT_OF), "{sum} + 0D",  # one zero
                     ("{count}", "coalesce({sum}, 0D) + 0D", "0D", "CAST(array() AS ARRAY<DOUBLE>)"), exact=False),
    "decimal": SqlForm((TOTAL, COUNT_OF), "CAST({{sum}} AS {type})"),
}
AVG_FORMS = {
    "int": SqlForm(SUM_FORMS["int"].partials, "{sum} / nullif({count}, 0)", SUM_FORMS["int"].state),
    "long": SqlForm(SUM_FORMS["long"].partials, f"CAST({WHOLE} AS DOUBLE) / nullif({{count}}, 0)",
                    SUM_FORMS["long"].state),
    "float": SqlForm(SUM_FORMS["float"].partials, "({sum} + 0D) / nullif({count}, 0)", SUM_FORMS["float"].state,
                     exact=False),
}
LONG_OF = {
    "int": "CAST({value} AS BIGINT)",
    "long": "{value}",
    "bool": "CAST({value} AS BIGINT)",
    "date": "CAST(unix_date({value}) AS BIGINT)",
    "timestamp": "unix_micros({value})",
}
"""The integer behind a value, as MIN and MAX keep it."""


def sql_form(aggregate: Aggregate, inputs: Sequence[pa.DataType]) -> SqlForm | None:
    """The form of this function for arguments of these types, or ``None`` when only kernels are exact.

    >>> sql_form(Sum(), [pa.int64()]).finish
    'CAST((CAST({high} AS DECIMAL(20, 0)) * 4294967296 + {low}) AS BIGINT)'
    """
    if isinstance(aggregate, Count):
        return COUNT_FORM
    if not isinstance(aggregate, Sum | Extreme):
        return None
    kind = _kind(plain_type(inputs[0]))
    if isinstance(aggregate, Extreme):
        return _extreme_form(aggregate, kind)
    if isinstance(aggregate, Avg):
        return AVG_FORMS.get(kind)
    form = SUM_FORMS.get(kind)
    if form is None or kind != "decimal":
        return form
    result = aggregate.result_type(inputs)
    return SqlForm(form.partials, form.finish.format(type=f"DECIMAL({result.precision}, {result.scale})"))


def _extreme_form(aggregate: Extreme, kind: str) -> SqlForm:
    name, largest = aggregate.name, aggregate.sign > 0
    state: tuple[str, ...] | None = None
    if kind == "float":
        identity = f"double('{'-' if largest else ''}Infinity')"
        levels = f"CASE WHEN {{value}} IS NULL THEN 0L WHEN isnan({{value}}) THEN {aggregate.nan_level}L ELSE " \
                 f"{3 - aggregate.nan_level}L END"
        value = f"CASE WHEN {{value}} IS NULL OR isnan({{value}}) THEN {identity} ELSE CAST({{value}} AS DOUBLE) END"
        state = (levels, value)
    elif kind in LONG_OF:
        identity = "-9223372036854775808L" if largest else "9223372036854775807L"
        seen = f"CASE WHEN {{value}} IS NULL THEN 0L ELSE {3 - aggregate.nan_level}L END"
        state = (seen, f"coalesce({LONG_OF[kind]}, {identity})")
    elif kind == "text":
        state = ("{value}",)
    return SqlForm((SqlPartial("value", f"{name}({{x}})", name),), "{value}", state)


def _kind(data_type: pa.DataType) -> str:
    types = pa.types
    if types.is_integer(data_type):
        return "int" if data_type.bit_width <= 32 and data_type != pa.uint32() else "long"
    if types.is_floating(data_type):
        return "float"
    if is_decimal(data_type):
        return "decimal"
    if types.is_date32(data_type):
        return "date"
    if types.is_timestamp(data_type) and data_type.unit == "us" and data_type.tz is not None:
        return "timestamp"
    if types.is_boolean(data_type):
        return "bool"
    return "text" if types.is_string(data_type) or types.is_binary(data_type) else "other"
