"""Functions that are told how large their result is refuse before they make it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import EvaluationError
from panewise.core.scalar import Scalar
from panewise.core.sizes import LARGEST_MADE, TOO_LARGE
from panewise.functions.binding.evaluation import evaluate

BEYOND = {
    "repeat": "repeat('a', 2000000000)", "lpad": "lpad('a', 2000000000, 'b')", "rpad": "rpad('ä', 2000000000)",
    "space": "space(2000000000)", "sequence": "sequence(1, 300000000)",
    "array_repeat": "array_repeat(1, 1000000000)", "array_insert": "array_insert(array(1), -1000000000, 2)",
    "format_string": "format_string('%1000000000d', 1)", "format_number": "format_number(1, 1000000000)",
    "replace": "replace(repeat('a', 100000), 'a', repeat('b', 10000))",
    "regexp_replace": "regexp_replace(repeat('a', 100000), 'a', repeat('b', 10000))",
    "mask": "mask(repeat('a', 100000), 'X', repeat('b', 10000))",
    "concat": "concat(repeat('a', 150000000), repeat('b', 150000000))",
    "concat_ws": "concat_ws(repeat('b', 150000000), 'a', 'a', 'a')",
    "array_join": "array_join(array_repeat('a', 100000), repeat('b', 10000))",
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_too_large_is_refused_with_function_limit_and_row(name: str) -> None:
    with pytest.raises(EvaluationError) as refused:
        pw.sql(f"SELECT {BEYOND[name]} AS x FROM s", s=[{"ts": 1}])
    message = str(refused.value)
    assert refused.value.condition == TOO_LARGE
    assert f"{name} would make" in message
    assert f"{LARGEST_MADE:,}" in message
    assert "stream 's', row 1" in message


@pytest.mark.parametrize("name", ["repeat", "replace", "concat"])
def test_the_oracle_has_the_same_limit(name: str) -> None:
    with pytest.raises(EvaluationError, match=f"{name} would make .* at most {LARGEST_MADE:,}") as refused:
        pw.sql(f"SELECT {BEYOND[name]} AS x FROM s", s=[{"ts": 1}], engine="oracle")
    assert refused.value.condition == TOO_LARGE


@pytest.mark.parametrize(("text", "size"), [
    ("length(repeat('ab', n))", LARGEST_MADE), ("length(lpad('a', 2 * n))", LARGEST_MADE),
    ("size(sequence(1, n div 4))", LARGEST_MADE // 8)])
def test_the_limit_itself_is_made(text: str, size: int) -> None:
    table = pa.table({"n": pa.array([LARGEST_MADE // 2, None, 4], pa.int32())})
    found = evaluate([Scalar.parse(text)], table.slice(0, 1))[0]
    assert found.to_pylist() == [size]
    with pytest.raises(EvaluationError, match=r"for 3 rows of a batch|for the rows of a batch"):
        evaluate([Scalar.parse(text)], table)


def test_rows_of_a_batch_count_together_and_the_one_that_is_too_much_is_named() -> None:
    table = pa.table({"k": ["a", "b", None, "c", "d"]})
    for text in ("repeat(k, 100000000)", "lpad(k, 100000000)", "repeat('a', 100000000)", "sequence(1, 20000000)"):
        with pytest.raises(EvaluationError, match="of a batch") as refused:
            evaluate([Scalar.parse(text)], table)
        assert refused.value.row == (4 if "(k" in text else 1)


def test_the_size_of_a_format_is_that_of_its_places() -> None:
    table = pa.table({"k": ["ab"]})
    (found,) = evaluate([Scalar.parse("format_string('%3d%%%-4s%n%1$d', 7, k)")], table)
    assert found.to_pylist() == ["  7%ab  \n7"]


def test_many_small_values_are_no_large_batch() -> None:
    table = pa.table({"k": pa.array(["a"] * 5_000_000)})
    assert len(evaluate([Scalar.parse("repeat(k, 60)")], table)[0]) == 5_000_000
