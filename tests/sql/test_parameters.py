"""Parameters are values: whatever they contain, the plan around them stays the same."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import SqlError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import ROW_NUM
from panewise.core.time import MINUTE, Quantity
from panewise.functions import evaluate
from panewise.plan.nodes import Filter, Node, Source, Window, WindowClause
from panewise.sql import parse
from panewise.windows.count import CountWindow
from panewise.windows.sliding import SlidingWindow
from sql.sql_cases import catalog

TEN_BY_ONE = WindowClause(SlidingWindow.scoped(10 * MINUTE, MINUTE), "ts", OrdinalKind.TIMESTAMP)
HOSTILE = [
    "x' OR '1' = '1", "'; DROP TABLE S; --", 'x" OR 1 = 1 --', "\\' OR 1 = 1 --", "\\", "\\\\'", "/* */ OR TRUE",
    "TCP) OR (TRUE", "`protocol`", ":other", "‘TCP’", "line\nbreak", "", "𝕊 ünï", "%_", "NULL", "a--b", "\t\r\0",
]


def filtered(value: object) -> Filter:
    plan = parse("SELECT * FROM S WHERE protocol = :p", catalog(), params={"p": value})
    assert isinstance(plan, Filter)
    assert isinstance(plan.input, Source)
    return plan


def kept(plan: Filter, values: list[str]) -> list[str]:
    table = pa.table({"protocol": values})
    (mask,) = evaluate([plan.predicate], table)
    return [v for v, keep in zip(values, mask.to_pylist(), strict=True) if keep]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_string_is_compared_and_nothing_else(value: str) -> None:
    plan = filtered(value)
    assert plan.predicate.columns == {"protocol"}
    others = ["TCP", "x", value + "x", "1"]
    assert kept(plan, [*others, value]) == [value]


@settings(max_examples=75, deadline=None)
@given(st.text())
def test_any_string_stays_one_constant(value: str) -> None:
    plan = filtered(value)
    tree = plan.predicate.tree
    assert (tree.left.name, tree.right.to_py()) == ("protocol", value)


@pytest.mark.parametrize(("value", "sql"), [
    (3, "a = 3"), (-3, "a = -3"), (True, "a = TRUE"), (None, "a = NULL"), (1.5, "a = CAST('1.5' AS DOUBLE)"),
    (Decimal("12.340"), "a = CAST('12.340' AS DECIMAL(5, 3))"), (date(2026, 1, 2), "a = CAST('2026-01-02' AS DATE)"),
    (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "a = CAST('2026-01-02 03:04:00+00:00' AS TIMESTAMP)"),
    (timedelta(seconds=1), "a = INTERVAL '1000000' MICROSECOND"),
])
def test_values_keep_their_type(value: object, sql: str) -> None:
    plan = parse("SELECT * FROM S WHERE a = :v", catalog(), params={"v": value})
    assert isinstance(plan, Filter)
    assert plan.predicate.sql == sql


@pytest.mark.parametrize("value", ["10 minutes", "600 s", timedelta(minutes=10), 600_000_000, Quantity.parse("10 min")])
def test_a_quantity_may_be_given_in_many_ways(value: object) -> None:
    assert window_of(parse("SELECT * FROM S [RANGE :w]", catalog(), params={"w": value})).spec == SlidingWindow(
        10 * MINUTE, 1)


@pytest.mark.parametrize("value", ["RANGE 10 minutes SLIDE 1 minute", "[RANGE 10 minutes, SLIDE 1 minute]",
                                   SlidingWindow.scoped(10 * MINUTE, MINUTE),
                                   TEN_BY_ONE])
def test_a_whole_window_may_be_given_as_text_or_object(value: object) -> None:
    clause = window_of(parse("SELECT * FROM S [:signature]", catalog(), params={"signature": value}))
    assert clause == TEN_BY_ONE


def test_a_count_window_object_counts_rows() -> None:
    clause = window_of(parse("SELECT * FROM S [:signature]", catalog(), params={"signature": CountWindow(5)}))
    assert (clause.attribute, clause.ordinal) == (ROW_NUM, OrdinalKind.ROWS)


def test_window_text_with_a_mistake_shows_the_text_of_the_parameter() -> None:
    with pytest.raises(SqlError, match="in the window given as :w: unknown unit 'minuts'") as caught:
        parse("SELECT * FROM S [:w]", catalog(), params={"w": "RANGE 10 minuts"})
    assert (caught.value.text, caught.value.column) == ("RANGE 10 minuts", 10)


@pytest.mark.parametrize("value", ["RANGE 1 min] WHERE 1 = 1 --", "ROWS 3] UNION SELECT * FROM T [ROWS 3", "ROWS 3;",
                                   ""])
def test_window_text_cannot_leave_its_bracket(value: str) -> None:
    with pytest.raises(SqlError):
        parse("SELECT * FROM S [:w]", catalog(), params={"w": value})


@pytest.mark.parametrize("value", ["2026-01-01T07:00:00Z", datetime(2026, 1, 1, 7, tzinfo=UTC), 1_767_250_800_000_000])
def test_a_landmark_may_be_text_a_time_or_microseconds(value: object) -> None:
    plan = parse("SELECT * FROM S [UNBOUNDED START AT :from]", catalog(), params={"from": value})
    assert window_of(plan).spec.describe() == "from 1767250800000000"


def test_one_parameter_may_be_used_often() -> None:
    plan = parse("SELECT S1.a FROM S1 [RANGE :w], S2 [RANGE :w] WHERE S1.a = S2.a AND S1.len > :n AND S2.len > :n",
                 catalog(), params={"w": "1 min", "n": 3})
    assert len({n.clause.spec for n in plan.walk() if isinstance(n, Window)}) == 1


def test_a_placeholder_function_stands_for_another() -> None:
    text = "SELECT localIP, AGGR(duration) FROM NetTrace GROUP BY localIP"
    assert parse(text, catalog(), functions={"AGGR": "SUM"}) == parse(text.replace("AGGR", "sum"), catalog())


def test_a_placeholder_function_needs_an_aggregate_to_stand_for() -> None:
    with pytest.raises(SqlError, match="no aggregate function named 'summ'"):
        parse("SELECT AGGR(a) FROM S", catalog(), functions={"AGGR": "summ"})


def window_of(plan: Node) -> WindowClause:
    return next(n.clause for n in plan.walk() if isinstance(n, Window))
