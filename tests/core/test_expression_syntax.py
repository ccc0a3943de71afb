"""Expressions are read as Spark reads them, and written so that they are read the same again."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.core.errors import PanewiseError
from panewise.core.scalar import Scalar
from panewise.functions import evaluate

ROW = pa.table({"a": pa.array([6], pa.int32()), "b": pa.array([3], pa.int32()), "c": pa.array([1], pa.int32()),
                "t": ["7"], "d": pa.array([0], pa.date32())})


@pytest.mark.parametrize(("text", "value"), [
    ("a | b ^ c", 6 | (3 ^ 1)),
    ("a ^ b & c", 6 ^ (3 & 1)),
    ("a & b << c", 6 & (3 << 1)),
    ("-a >>> 28", 15),
    ("a >> c + c", 6 >> 2),
    ("1 || 2 + 3", 15),
    ("+t", 7.0),
    ("array(a, b)[1]", 3),
    ("map(a, b)[6]", 3),
])
def test_operators_bind_as_in_spark(text: str, value: object) -> None:
    scalar = Scalar.parse(text)
    assert evaluate([scalar], ROW)[0].to_pylist() == [value]
    assert Scalar.parse(scalar.sql) == scalar


def test_an_interval_of_two_kinds_of_units_is_refused_as_in_spark() -> None:
    with pytest.raises(PanewiseError, match="does not take"):
        evaluate([Scalar.parse("d + INTERVAL 1 month 2 days")], ROW)


def test_an_interval_of_several_units_is_one_operand() -> None:
    scalar = Scalar.parse("d - INTERVAL 1 day 2 hours")
    assert str(evaluate([scalar], ROW)[0][0]) == "1969-12-30 22:00:00+00:00"
    assert Scalar.parse(scalar.sql) == scalar


@pytest.mark.parametrize("text", ["if(a > 9, DATE 'nonsense', d)", "if(a > 9, TIMESTAMP '2024-13-01', d)"])
def test_a_literal_that_is_no_date_is_refused_where_a_cast_would_wait_for_its_row(text: str) -> None:
    with pytest.raises(PanewiseError, match=r"is no (date|timestamp)"):
        evaluate([Scalar.parse(text)], ROW)
    assert evaluate([Scalar.parse("if(a > 9, CAST('nonsense' AS DATE), d)")], ROW)[0].to_pylist() is not None
