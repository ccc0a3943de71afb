"""One-row expressions that the first version computed as DuckDB does: every engine gives Spark's answer, or its error.

Each is asked plainly and over a relation, which Python computes also on Spark. What the oracle has no function for it
refuses by name; Spark's recorded answers are the check of those.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import panewise as pw
from panewise.core.errors import EvaluationError, PanewiseError
from panewise.engines.spark.session.failures import translate

SCHEMA = pa.schema([
    ("ts", pa.int64()), ("d", pa.date32()), ("x", pa.string()), ("zero", pa.int64()), ("i", pa.int32()),
    ("f", pa.float64()), ("neg", pa.float64()), ("a", pa.list_(pa.int64())), ("t", pa.timestamp("us", tz="UTC")),
    ("p", pa.decimal128(5, 2)), ("q", pa.decimal128(6, 3)), ("s", pa.string())])
ROW: dict[str, Any] = {
    "ts": 1, "d": date(2026, 11, 18), "x": "Spark", "zero": 0, "i": 7, "f": 2.7, "neg": -1.0,
    "a": [1, None, 2, None, 1], "t": datetime(2026, 3, 29, 1, 30, tzinfo=UTC), "p": Decimal("1.00"),
    "q": Decimal("3.000"), "s": "a%c"}
ANSWERS: dict[str, Any] = {
    "cast(f AS int)": 2,
    "dayofweek(d)": 4,
    "weekday(d)": 2,
    "extract(dow FROM d)": 4,
    "substring(x, 0, 2)": "Sp",
    "to_utc_timestamp(t, 'Europe/Berlin')": datetime(2026, 3, 29, 0, 30, tzinfo=UTC),
    "cast(t AS bigint)": 1774747800,
    "cast(t AS string)": "2026-03-29 01:30:00",
    "date_format(t, 'yyyy-MM-dd HH:mm:ss.SSS')": "2026-03-29 01:30:00.000",
    "array_distinct(a)": [1, None, 2],
    "array_remove(a, 1)": [None, 2, None],
    "array_contains(a, 9)": None,
    "ln(neg)": None,
    "p / q": Decimal("0.333333333"),
    "cast(p / q AS decimal(10, 2))": Decimal("0.33"),
    "date_add(d, 1)": date(2026, 11, 19),
    "add_months(d, 1)": date(2026, 12, 18),
    "d + INTERVAL '1' DAY": date(2026, 11, 19),
    r"s LIKE 'a\\%c'": True,
    "i / zero": "DIVIDE_BY_ZERO",
    "cast(x AS int)": "CAST_INVALID_INPUT",
    "a[5]": "INVALID_ARRAY_INDEX",
    "try_cast(x AS int)": None,
    "try_divide(i, zero)": None,
    "hour(t)": 1,
}
NOT_OF_THE_ORACLE: dict[str, Any] = {
    "array_except(a, array(1L))": [None, 2],
    "levenshtein(x, 'Sprk')": 1,
    "months_between(d, DATE '2026-01-31')": 9.58064516,
    "dayname(d)": "Wed",
}
OVER = {"a stream": "s", "a relation": "s [RANGE 5]"}


def asked(expression: str, over: str, source: Any, engine: str | None) -> Any:
    """The value, or the condition of the error."""
    try:
        result = pw.sql(f"SELECT {expression} AS v FROM {over}", s=source, engine=engine)
        rows = result.toArrow().to_pylist() if engine == "spark" else list(result)
    except EvaluationError as error:
        return error.condition
    except PySparkException as error:  # of the JVM, or of a Python stage
        return getattr(translate(error), "condition", error)
    return rows[0]["v"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.Table.from_pylist([ROW], SCHEMA)


@pytest.mark.parametrize("over", OVER.values(), ids=OVER)
@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("expression", ANSWERS)
def test_an_expression_has_the_answer_of_spark_in_process(table: pa.Table, expression: str, engine: str,
                                                          over: str) -> None:
    assert asked(expression, over, table, engine) == ANSWERS[expression]


@pytest.mark.parametrize("over", OVER.values(), ids=OVER)
@pytest.mark.parametrize("expression", NOT_OF_THE_ORACLE)
def test_what_the_oracle_does_not_know_it_refuses_and_the_others_answer(table: pa.Table, expression: str,
                                                                        over: str) -> None:
    assert asked(expression, over, table, "embedded") == NOT_OF_THE_ORACLE[expression]
    name = expression.split("(", maxsplit=1)[0]
    with pytest.raises(PanewiseError, match=f"line 1, column 8: the oracle has no function {name}"):
        pw.sql(f"SELECT {expression} AS v FROM {over}", s=table, engine="oracle")


@pytest.mark.spark
@pytest.mark.parametrize("over", OVER.values(), ids=OVER)
def test_every_expression_has_the_answer_of_spark_on_spark(spark: SparkSession, table: pa.Table, over: str) -> None:
    frame = spark.createDataFrame(table)
    expected = ANSWERS | NOT_OF_THE_ORACLE
    found = {expression: asked(expression, over, frame, "spark") for expression in expected}
    assert {e: v for e, v in found.items() if v != expected[e]} == {}


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_types_of_results_are_those_of_spark_also_without_rows(table: pa.Table, engine: str) -> None:
    text = "SELECT i + 1 AS a, i / 2 AS b, p / q AS c, count(*) AS n FROM s [RANGE 5] GROUP BY i + 1, i / 2, p / q"
    for rows in (table, table.slice(0, 0)):
        schema = pw.sql(text, s=rows, engine=engine).to_arrow().schema
        assert [schema.field(c).type for c in "abcn"] == [pa.int32(), pa.float64(), pa.decimal128(15, 9), pa.int64()]


def test_an_expression_that_fails_names_the_row_of_the_stream() -> None:
    query = pw.open_query("SELECT k, sum(10 / v) [RANGE 10, SLIDE 10, WA ts] AS x FROM s WHERE 6 % w > 0 GROUP BY k",
                          s="ts bigint, k string, v bigint, w bigint")
    good = {"ts": 1, "k": "a", "v": 1, "w": 4}
    query.push("s", [good, good])
    with pytest.raises(EvaluationError, match=r"DIVIDE_BY_ZERO.*v = 0 \(stream 's', row 4\)"):
        query.push("s", [good, good | {"v": 0}])
    with pytest.raises(EvaluationError, match=r"REMAINDER_BY_ZERO.*w = 0 \(stream 's', row 3\)"):
        query.push("s", [good | {"w": 0}])


@pytest.mark.parametrize(("text", "place"), [
    ("SELECT 10 / v AS x FROM s", "came in at 5"),
    ("SELECT v FROM s WHERE 10 / v > 1", "came in at 5"),
    ("SELECT v FROM s [RANGE 3] WHERE 10 / v > 1", "came in at 5"),
    ("SELECT 10 / v AS x FROM s [ROWS 2]", "came in at 5"),
    ("SELECT v FROM s [ROWS 2 WHERE 10 / v > 1]", "came in at 5"),
    ("SELECT v FROM s [RANGE 2 WHERE 10 / v > 1]", "came in at 5"),
    ("SELECT sum(10 / v) AS x FROM s [RANGE 3]", "came in at 5"),
    ("SELECT count(*) AS n FROM s [RANGE 3] GROUP BY 10 / v", "came in at 5"),
    ("SELECT explode(array(10 / v)) AS x FROM s [RANGE 3]", "came in at 5"),
    ("SELECT a.v FROM s AS a [RANGE 3], s AS b [RANGE 3] WHERE 10 / a.v = 10 / b.v", "came in at 5"),
    ("SELECT a.v FROM s AS a [RANGE 3], s AS b [RANGE 1] WHERE a.v = b.v AND 10 / (a.v + b.v) > 0", "came in at 5"),
    ("SELECT a.v FROM s AS a, s AS b WHERE a.ts BETWEEN b.ts - 2 AND b.ts + 2 AND 10 / a.v = 10 / b.v",
     "stream 's', row 6"),
    ("SELECT 10 / total AS x FROM (SELECT sum(v) [RANGE 1, SLIDE 1, WA ts] AS total FROM s)", "window 5 – 6"),
])
def test_an_expression_that_fails_where_rows_have_no_number_says_which_row_it_was(text: str, place: str) -> None:
    """Whatever the batches are: three rows here, then one, then the rest."""
    query = pw.open_query(text, s="ts bigint, v bigint", progress="ordered")
    rows = [{"ts": ts, "v": 5 - ts} for ts in range(10)]

    def run() -> None:
        for part in (rows[:3], rows[3:4], rows[4:]):
            query.push("s", part)
        query.finish()

    with pytest.raises(EvaluationError, match=rf"DIVIDE_BY_ZERO.* = 0.*{place}\)"):
        run()


def test_times_of_such_rows_read_as_the_times_of_results() -> None:
    rows = [{"ts": datetime(2026, 1, 1, 8, minute, tzinfo=UTC), "v": 5 - minute} for minute in range(9)]
    with pytest.raises(EvaluationError, match=r"v = 0 \(stream 's', row 6, came in at 2026-01-01T08:05:00Z\)"):
        list(pw.sql("SELECT 10 / v AS x FROM s [RANGE 5 min]", s=rows))


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("over", OVER.values(), ids=OVER)
@pytest.mark.parametrize(("expression", "problem"), [
    ("soundex(x) || xpath_string(x, x)", "xpath_string"), ("upper(x, x)", "upper"),
    ("CASE WHEN i THEN 1 END", "condition"),
    ("i + a", "i \\+ a|int"), ("cast(a AS int)", "cast")])
def test_what_has_no_type_is_refused_at_its_place_before_a_row_is_read(expression: str, problem: str, over: str,
                                                                       engine: str) -> None:
    nothing = SCHEMA.empty_table()
    with pytest.raises(PanewiseError, match=rf"(?is)^line \d+, column \d+: .*({problem})"):
        pw.sql(f"SELECT ts,\n {expression} AS v FROM {over}", s=nothing, engine=engine)


@pytest.mark.parametrize("text", [
    "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts, WHERE {}] AS n FROM s GROUP BY k",
    "SELECT k FROM s [RANGE 10 WHERE {}]",
    "SELECT k FROM s [ROWS 3 WHERE {}]",
    "SELECT k FROM (SELECT k, v, a, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k, v, a) AS x WHERE {}",
    "SELECT x.k FROM s [RANGE 5] AS x, t [RANGE 5] AS y WHERE x.k = y.k AND x.v + y.a > 1",
    "SELECT x.k FROM s [RANGE 5] AS x WHERE EXISTS (SELECT * FROM t [RANGE 5] AS y WHERE x.v + y.a > 1)",
    "SELECT x.k FROM s AS x JOIN t AS y ON x.k = y.k AND x.ts BETWEEN y.ts - 5 AND y.ts + 5 AND x.v + y.a > 1",
    "SELECT sum(v + a) AS z FROM s [RANGE 5]",
    "SELECT k, sum(v) FILTER (WHERE {}) AS z FROM s [RANGE 5] GROUP BY k",
    "SELECT k, count(*) AS n FROM s [RANGE 5] WHERE {} GROUP BY k"])
def test_wherever_an_expression_stands_it_is_bound_when_the_query_is_opened(text: str) -> None:
    columns = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64()), ("a", pa.list_(pa.int64()))])
    streams = {name: columns for name in ("s", "t") if name == "s" or "y.a" in text}
    with pytest.raises(PanewiseError, match=r"^line 1, column \d+: \+ does not take bigint and array<bigint>"):
        pw.open_query(text.format("v + a > 1"), streams=streams)
