"""What is wrong with a call or a text is said by name, in process and by the oracle; what can be meant, works."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import panewise as pw
from panewise import Punctuation
from panewise.core.errors import (
    BadRowError,
    EvaluationError,
    PanewiseError,
    PlanError,
    ProgressError,
    SchemaError,
    SqlError,
)
from panewise.windows.linear import LinearWindow

ROWS = [{"ts": i, "k": "a", "x": float(i)} for i in range(10)]
TIMES = [{"ts": datetime(2026, 1, 1, 7, 0, second, tzinfo=UTC)} for second in range(10)]
COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
DIGITS = "9" * 5_000
BOTH = pytest.mark.parametrize("engine", ["embedded", "oracle"])


def rows_of(text: str, engine: str, rows: Any = ROWS, **options: Any) -> list[dict[str, Any]]:
    return list(pw.sql(text, s=rows, engine=engine, **options))


@BOTH
def test_quantities_may_have_exponents(engine: str) -> None:
    by_time = "SELECT count(*) [RANGE 1e1 s, SLIDE 1e1s, WA ts] AS n FROM s"
    assert [r["n"] for r in rows_of(by_time, engine, TIMES)] == [10]
    assert [r["n"] for r in rows_of("SELECT count(*) [RANGE 1.5e1, SLIDE 15, WA ts] AS n FROM s", engine)] == [10]
    assert len(rows_of("SELECT ts FROM s [ROWS 1e3]", engine)) == 10


@BOTH
@pytest.mark.parametrize("text", [
    f"SELECT count(*) [RANGE {DIGITS}, SLIDE 10, WA ts] FROM s",
    f"SELECT count(*) [RANGE 10, SLIDE 10, WA ts, ORIGIN {DIGITS}] FROM s",
    f"SELECT count(*) [SESSION {DIGITS}, WA ts] FROM s",
    f"SELECT * FROM s [RANGE 5] LIFETIME {DIGITS}",
    "SELECT count(*) [RANGE 1e999999999, SLIDE 10, WA ts] FROM s",
    "SELECT count(*) [RANGE 1e-999999999, SLIDE 10, WA ts] FROM s",
    "SELECT quantile(x, 0=.9) [RANGE 10, SLIDE 10, WA ts] FROM s",
    f"SELECT quantile(x, {DIGITS}) [RANGE 10, SLIDE 10, WA ts] FROM s",
    "SELECT array(k) FROM s [RANGE 5] EXCEPT ALL SELECT ts FROM s [RANGE 5]",
    "SELECT count(*) AS n FROM s [ROWS 2 SLIDE 3 ticks]",
    "SELECT count(*) AS n FROM s [ROWS 2 ticks]",
    "SELECT count(*) [RANGE TUMBLING 5, GROWING, WA ts] AS n FROM s",
    "SELECT * FROM s [SESSION 5]",
], ids=lambda text: text[:40])
def test_texts_that_ended_in_tracebacks_are_refused_with_their_place(text: str, engine: str) -> None:
    with pytest.raises(SqlError, match=r"^line 1, column") as refused:
        rows_of(text, engine)
    assert len(str(refused.value)) < 1_500


@BOTH
@pytest.mark.parametrize("expression", [
    f"x > {DIGITS}", f"x > {DIGITS}L", f"x > 1e{DIGITS}", f"round(x, {DIGITS}) > 1", f"substring(k, {DIGITS}) = 'a'",
    f"CAST(x AS decimal({DIGITS})) > 1", f"CAST(x AS decimal(10, {DIGITS})) > 1", "CAST(x AS decimal(39, 0)) > 1",
    f"interval '{DIGITS}' day > interval '1' day", f"interval '{DIGITS}' year > interval '1' year",
], ids=lambda text: text.replace(DIGITS, "9")[:40])
def test_numbers_of_thousands_of_digits_in_expressions_are_refused_with_their_place(expression: str,
                                                                                    engine: str) -> None:
    with pytest.raises(PanewiseError, match=r"^line 1, column") as refused:
        rows_of(f"SELECT ts FROM s WHERE {expression}", engine)
    assert len(str(refused.value)) < 1_500


@BOTH
@pytest.mark.parametrize("kind", ["tinyint", "int", "bigint"])
def test_text_of_thousands_of_digits_is_no_integer_unless_it_begins_with_zeros(kind: str, engine: str) -> None:
    with pytest.raises(EvaluationError, match="CAST_INVALID_INPUT") as refused:
        rows_of(f"SELECT CAST('{DIGITS}' AS {kind}) AS n FROM s", engine)
    assert len(str(refused.value)) < 1_500
    text = f"SELECT try_cast('{DIGITS}' AS {kind}) AS n, CAST('{'0' * 5_000}7' AS {kind}) AS m FROM s"
    assert rows_of(text, engine, ROWS[:1]) == [{"n": None, "m": 7}]


@BOTH
@pytest.mark.parametrize("value", [2**64, 10**5_000, object()], ids=["65 bits", "digits", "object"])
@pytest.mark.parametrize("name", ["ts", "x"])
def test_a_value_that_no_column_can_hold_is_refused_with_its_row(name: str, value: Any, engine: str) -> None:
    with pytest.raises(SchemaError, match=f"row 2: '{name}' is .*, which no column can hold"):
        rows_of(COUNT, engine, [{"ts": 1, "x": 1}, {"ts": 2, "x": 2} | {name: value}])


@pytest.mark.parametrize("name", ["ts", "x", "unknown"])
def test_an_integer_of_thousands_of_digits_may_be_pushed_and_is_a_bad_row(name: str) -> None:
    row = {"ts": 2, name: 10**5_000}
    with pytest.raises(BadRowError, match=f"stream 's', row 2: .*'{name}'"):
        pw.open_query(COUNT, s="ts bigint, x bigint").push("s", [{"ts": 1}, row])
    query = pw.open_query(COUNT, s="ts bigint, x bigint", bad_rows="aside")
    query.push("s", [{"ts": 1}, row])
    assert "of too many digits" in query.bad_rows.to_pylist()[0]["row"]


@BOTH
@pytest.mark.parametrize("value", [10**5_000, DIGITS, f"{DIGITS} rows"],
                         ids=["integer", "text", "rows"])
def test_a_parameter_of_too_many_digits_is_refused(value: Any, engine: str) -> None:
    with pytest.raises(SqlError, match="64-bit"):
        rows_of("SELECT count(*) [RANGE :r, SLIDE 10, WA ts] FROM s", engine, params={"r": value})


@BOTH
@pytest.mark.parametrize("policy", [f"late:{DIGITS}", f"rows:{DIGITS}"], ids=["late", "rows"])
def test_a_policy_of_too_many_digits_is_refused(policy: str, engine: str) -> None:
    with pytest.raises(PanewiseError, match="64-bit"):
        rows_of(COUNT, engine, progress=policy)


@BOTH
@pytest.mark.parametrize("text", [
    "SELECT k FROM s UNION ALL SELECT ts FROM s",
    "SELECT k FROM s [RANGE 5] UNION ALL SELECT ts FROM s [RANGE 5]",
    "SELECT upper(k) AS c FROM s UNION ALL SELECT ts + 1 AS c FROM s",
])
def test_text_in_a_union_with_numbers_is_read_as_one_as_in_spark(text: str, engine: str) -> None:
    with pytest.raises(EvaluationError, match=r"CAST_INVALID_INPUT.*AS BIGINT"):
        rows_of(text, engine)


@BOTH
def test_a_union_whose_columns_have_no_common_type_is_refused(engine: str) -> None:
    with pytest.raises(SqlError, match=r"^line 1, column 30: UNION ALL of columns whose types differ"):
        rows_of("SELECT array(ts) AS c FROM s UNION ALL SELECT ts + 1 AS c FROM s", engine)


@BOTH
def test_growing_still_means_a_relation_that_grows(engine: str) -> None:
    shown = rows_of("SELECT ts FROM s [RANGE TUMBLING 5 GROWING]", engine, ROWS[:3])
    assert [row["ts"] for row in shown] == [0, 1, 2]


@BOTH
def test_unsigned_integers_are_what_spark_reads_them_as(engine: str) -> None:
    table = pa.table({"ts": pa.array([1, 2, 3], pa.uint32()), "x": pa.array([2**64 - 1, 1, 2], pa.uint64())})
    assert rows_of("SELECT sum(x) [RANGE 10, SLIDE 10, WA ts] AS t FROM s", engine, table)[0]["t"] == \
        Decimal(2**64 + 2)
    plain = rows_of("SELECT x FROM s WHERE ts < 3", engine, table)
    assert [row["x"] for row in plain] == [Decimal(2**64 - 1), Decimal(1)]
    beyond = pa.table({"ts": pa.array([2**64 - 1], pa.uint64())})
    with pytest.raises(PanewiseError, match="cannot order a window"):
        rows_of(COUNT, engine, beyond)


@BOTH
@pytest.mark.parametrize("time", [2**63 - 1, -(2**63)])
@pytest.mark.parametrize("text", [COUNT, "SELECT ts FROM s [RANGE 10]"])
def test_times_at_the_end_of_64_bits_are_bad_rows(text: str, time: int, engine: str) -> None:
    with pytest.raises(SchemaError, match="too far from zero"):
        rows_of(text, engine, [{"ts": time}])
    assert pw.sql(text, s=[{"ts": time}, {"ts": 3}], engine=engine, bad_rows="skip").status["bad"] == 1


@BOTH
def test_linear_windows_are_windows_and_no_relation(engine: str) -> None:
    window = {"w": LinearWindow(1, 0, 2, 0)}
    assert [r["n"] for r in rows_of("SELECT count(*) AS n FROM s [:w]", engine, ROWS[:4], params=window)] == [1, 2, 1]
    with pytest.raises(SqlError, match="linear windows are no relation"):
        rows_of("SELECT * FROM s [:w]", engine, params=window)


@pytest.mark.parametrize(("option", "value", "meant"), [
    ("late", "genrous", "generous"), ("emit", "finl", "final"), ("strategy", "pans", "panes"),
    ("joins", "by two", "by twos"), ("bad_rows", "skp", "skip"), ("engine", "embeded", "embedded"),
    ("progress", "orderd", "ordered"), ("progress", {"ss": "ordered"}, "s"), ("time", "tss", "ts"),
    ("time", {"ss": "ts"}, "s"), ("stats", {"rows_per_secnd": 5}, "rows_per_second"),
    ("progress", "late:3, idl=4", "idle"), ("progress", "column:tss", "ts"),
])
def test_a_misspelt_value_names_the_nearest_known_one(option: str, value: Any, meant: str) -> None:
    with pytest.raises(PanewiseError, match=f"did you mean '{meant}'"):
        pw.sql(COUNT, s=ROWS, **{option: value})


def test_misspelt_statistics_are_errors_of_explain_too() -> None:
    with pytest.raises(PlanError, match="did you mean 'rows_per_second'"):
        pw.explain(COUNT, stats="rows_per_secnd=5")


@pytest.mark.parametrize(("option", "value"), [("strategy", "panes"), ("joins", "by twos"), ("stats", {"groups": 5})])
def test_the_oracle_ignores_no_option(option: str, value: Any) -> None:
    with pytest.raises(PlanError, match=f"leave out {option}"):
        pw.sql(COUNT, s=ROWS, engine="oracle", **{option: value})


def test_the_oracle_knows_the_streams_of_policies() -> None:
    with pytest.raises(PlanError, match="a progress policy for 't'"):
        pw.sql(COUNT, s=ROWS, engine="oracle", progress={"t": "ordered"})


def test_the_method_calls_name_misspelt_options() -> None:
    with pytest.raises(PlanError, match="did you mean 'progress'"):
        pw.stream(ROWS, progres="ordered")
    with pytest.raises(PlanError, match="did you mean 'slide'"):
        pw.stream(ROWS).window(range=10, slid=5)


def test_streams_is_a_mapping() -> None:
    with pytest.raises(PlanError, match="give a mapping from names to streams"):
        pw.sql(COUNT, streams=ROWS)  # type: ignore[arg-type]


def test_what_cannot_be_rows_is_refused_by_push() -> None:
    query = pw.open_query(COUNT, s="ts bigint")
    with pytest.raises(SchemaError, match="rows cannot be a int"):
        query.push("s", 5)  # type: ignore[arg-type]
    query.push("s", ({"ts": i} for i in range(3)))  # type: ignore[arg-type]
    assert query.finish().column("n").to_pylist() == [3]


def test_up_to_takes_what_has_a_next_value() -> None:
    with pytest.raises(ProgressError, match="use below"):
        Punctuation.up_to("ts", datetime(2026, 1, 1, tzinfo=UTC))  # type: ignore[arg-type]


@BOTH
def test_the_largest_jump_may_be_a_timedelta(engine: str) -> None:
    text = "SELECT count(*) [RANGE 10 s, SLIDE 10 s, WA ts] AS n FROM s"
    far = [*TIMES, {"ts": datetime(2027, 1, 1, tzinfo=UTC)}]
    found = pw.sql(text, s=far, engine=engine, max_jump=timedelta(seconds=5), bad_rows="skip")
    assert (found.status["bad"], [row["n"] for row in found]) == (1, [10])


def test_text_that_is_no_number_beside_numbers_in_except_all_is_a_clear_error() -> None:
    rows = {"s": [{"ts": 1, "v": 1}], "t": [{"ts": 1, "k": ""}]}
    with pytest.raises(PanewiseError, match="CAST_INVALID_INPUT"):
        pw.sql("SELECT v FROM s [RANGE 5] EXCEPT ALL SELECT (k) FROM t [RANGE 5]", streams=rows)
