"""A sample of every function against Spark SQL itself, and the SQL forms of partial states run by Spark."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from aggregates.cases import same
from panewise.aggregates.base import Aggregate
from panewise.aggregates.registry import resolve
from panewise.aggregates.sql_form import sql_form
from panewise.core.errors import AggregateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TOP, BOTTOM = 2**63 - 1, -(2**63)
ROWS = {
    # group 0: ordinary rows, 1: one row, 2: only nulls, 3: the ends of the types
    "g": [0, 0, 0, 0, 1, 2, 2, 3, 3, 3, 3],
    "i": [3, None, -7, 3, 5, None, None, 2**31 - 1, -(2**31), 0, None],
    "l": [10, 20, None, 10, -1, None, None, TOP, TOP, BOTTOM, BOTTOM],
    "d": [0.1, 0.2, 0.3, None, -0.0, None, None, math.nan, math.inf, 1.0, None],
    "f": [0.5, None, 0.25, 0.5, 1.5, None, None, math.nan, math.nan, None, math.nan],
    "m": [Decimal("1.10"), Decimal("2.25"), None, Decimal("-0.01"), Decimal("7.00"), None, None,
          Decimal("99999999.99"), Decimal("99999999.99"), Decimal("0.01"), None],
    "s": ["b", "a", "é", "b", "", None, None, "z", "Z", None, "𝄞"],
    "b": [True, False, None, True, False, None, None, True, True, None, None],
    "day": [date(2026, 1, 2), date(1969, 12, 31), None, date(2026, 1, 1), date(1970, 1, 1), None, None,
            date(1, 1, 1), date(9999, 12, 31), None, None],
    "t": [datetime(2026, 1, 2, 3, 4, 5, 6, UTC), datetime(1969, 12, 31, tzinfo=UTC), None,
          datetime(2026, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC), None, None,
          datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC), None, None],
}
TYPES = {
    "g": pa.int64(), "i": pa.int32(), "l": pa.int64(), "d": pa.float64(), "f": pa.float32(),
    "m": pa.decimal128(10, 2), "s": pa.string(), "b": pa.bool_(), "day": pa.date32(),
    "t": pa.timestamp("us", tz="UTC"),
}
GROUPS = 4
CALLS: list[tuple[str, str, tuple[Any, ...], bool]] = [
    ("count", "s", (), False),
    *((name, column, (), False) for name in ("sum", "avg") for column in "idm"),
    ("avg", "f", (), False),
    ("sum", "f", (), False),
    *((name, column, (), False) for name in ("min", "max") for column in TYPES if column != "g"),
    *((name, column, (), False) for name in ("variance", "var_pop", "stddev", "stddev_pop") for column in "idm"),
    *((name, column, (), False) for name in ("median",) for column in "ildm"),
    *(("percentile", column, (0.3,), False) for column in "idm"),
    *(("count", column, (), True) for column in "dsm"),
    *((name, "m", (), True) for name in ("sum", "avg")),
    ("approx_count_distinct", "s", (), False),
    ("approx_count_distinct", "d", (), False),
    *(("approx_percentile", column, (0.5,), False) for column in ("i", "m", "day", "t")),
]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.table({name: pa.array(ROWS[name], data_type) for name, data_type in TYPES.items()})


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table)


def ours(aggregate: Aggregate, table: pa.Table, column: str) -> pa.Array:
    """The results per group, from two batches."""
    pieces = []
    for part in (table.slice(0, 5), table.slice(5)):
        values, codes = part.column(column).combine_chunks(), part.column("g").to_numpy()
        pieces.append(aggregate.partials([values], codes, GROUPS, [TYPES[column]]))
    stacked = [pa.concat_arrays(columns) for columns in zip(*pieces, strict=True)]
    codes = np.tile(np.arange(GROUPS), 2)
    return aggregate.finish_all(aggregate.combine(stacked, codes, GROUPS, [TYPES[column]]), [TYPES[column]])


def steps(name: str) -> int:
    """How many roundings Spark's answer may be away: one for each row that is added, two where it is squared as well.

    Everything else is no sum, and is equal.
    """
    rows = len(ROWS["g"])
    return {"sum": rows, "avg": rows, "mean": rows}.get(name, 2 * rows if name.startswith(("var", "std")) else 0)


def near(left: Any, right: Any, apart: int) -> bool:
    """Equal, or floats no further from each other than so many steps."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(near(one, other, apart) for one, other in zip(left, right, strict=True))
    if apart and isinstance(left, float) and isinstance(right, float) and math.isfinite(left) and math.isfinite(right):
        return abs(left - right) <= apart * math.ulp(max(abs(left), abs(right)))
    return same(left, right)


def call_sql(name: str, column: str, parameters: tuple[Any, ...], distinct: bool) -> str:
    arguments = ", ".join([column, *map(str, parameters)])
    return f"{name}({'DISTINCT ' if distinct else ''}{arguments})"


def test_results_and_types_are_those_of_spark_sql(frame: DataFrame, table: pa.Table) -> None:
    from pyspark.sql.functions import expr

    columns = [expr(call_sql(*call)).alias(f"c{i}") for i, call in enumerate(CALLS)]
    theirs = frame.groupBy("g").agg(*columns).orderBy("g").toArrow()
    different = []
    for i, (name, column, parameters, distinct) in enumerate(CALLS):
        aggregate = resolve(name, parameters, distinct)
        found, expected = ours(aggregate, table, column), theirs.column(f"c{i}")
        if found.type != expected.type or not near(found.to_pylist(), expected.to_pylist(), steps(name)):
            different.append((call_sql(*CALLS[i]), found.type, found.to_pylist(), expected.type, expected.to_pylist()))
    assert not different


def test_both_refuse_a_bigint_sum_that_overflows(frame: DataFrame, table: pa.Table) -> None:
    overflowing = table.filter(pa.array([v == TOP for v in ROWS["l"]]))
    total = resolve("sum")
    partials = total.partials([overflowing.column("l").combine_chunks()], np.zeros(2, np.int64), 1, [pa.int64()])
    with pytest.raises(AggregateError, match="overflowed"):
        total.finish_all(partials, [pa.int64()])
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        frame.where(f"l = {TOP}").selectExpr("sum(l)").collect()


def test_first_and_last_see_nulls_unless_told_otherwise(spark: SparkSession) -> None:
    rows = pa.table({"x": pa.array([None, "b", "c", None])})
    theirs = spark.createDataFrame(rows).coalesce(1).selectExpr(
        "first(x) AS a", "first(x, true) AS b", "last(x) AS c", "last(x, true) AS d").toArrow().to_pylist()[0]
    found = []
    for name, parameters in (("first", ()), ("first", (True,)), ("last", ()), ("last", (True,))):
        aggregate = resolve(name, parameters)
        states = aggregate.partials([rows.column("x").combine_chunks(), pa.array(range(4))], np.zeros(4, np.int64), 1,
                                    [pa.string()])
        found += aggregate.finish_all(states, [pa.string()]).to_pylist()
    assert found == list(theirs.values()) == [None, "b", None, "c"]


def test_partials_made_by_spark_finish_in_sql(frame: DataFrame, table: pa.Table) -> None:
    """Panes by Spark, then windows by Spark SQL alone."""
    from pyspark.sql.functions import expr

    assert sql_form(resolve("avg"), [TYPES["m"]]) is None
    forms = {}
    for name in ("count", "sum", "avg", "min", "max"):
        for column, data_type in TYPES.items():
            if column != "g" and (name not in {"sum", "avg"} or column in "ildfm"):
                form = sql_form(resolve(name), [data_type])
                if form is not None:
                    forms[name, column] = form
    stored = {(n, c): {p.suffix: f"{n}_{c}_{p.suffix}" for p in form.partials} for (n, c), form in forms.items()}
    panes = frame.withColumn("pane", expr("monotonically_increasing_id() % 2")).groupBy("g", "pane").agg(*(
        expr(sql).alias(stored[n, c][suffix]) for (n, c), form in forms.items()
        for suffix, sql in form.partial_sql(c).items())).localCheckpoint()
    finished = panes.groupBy("g").agg(*(
        expr(f"{p.merge}({stored[key][p.suffix]})").alias(stored[key][p.suffix]) for key, form in forms.items()
        for p in form.partials)).orderBy("g").select(*(
            expr(form.finish_sql(stored[n, c])).alias(f"{n}_{c}") for (n, c), form in forms.items())).toArrow()
    for (name, column), form in forms.items():
        expected = ours(resolve(name), table, column)
        result = finished.column(f"{name}_{column}")
        assert result.type == expected.type, (name, column)
        apart = 0 if form.exact else steps(name)
        assert near(result.to_pylist(), expected.to_pylist(), apart), (name, column)
