"""What a program may hand over as a stream, and which engine takes it."""

from __future__ import annotations

import pytest

from panewise.api.inputs import MemoryStream
from panewise.api.stream import stream
from panewise.core.errors import PlanError, SchemaError


def test_a_column_that_only_later_rows_name_is_a_column() -> None:
    found = MemoryStream.of_items([{"ts": 1}, {"ts": 2, "k": "a"}])
    assert found.table().to_pylist() == [{"ts": 1, "k": None}, {"ts": 2, "k": "a"}]


def test_a_column_with_values_of_two_types_is_refused() -> None:
    with pytest.raises(SchemaError, match="different types"):
        MemoryStream.of_items([{"ts": 1, "v": 1}, {"ts": 2, "v": "x"}])


@pytest.mark.parametrize(("engine", "message"), [("spark", "needs DataFrames"), ("flink", "no engine 'flink'")])
def test_rows_are_refused_by_an_engine_that_cannot_take_them(engine: str, message: str) -> None:
    query = stream([{"ts": 1}], engine=engine).window(range=10)
    with pytest.raises(PlanError, match=message):
        query.agg(n="count(*)")
