"""An expression has the same value on a row, whatever table the row stands in: alone, sliced, in chunks, encoded."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.answers import Signature, load
from functions.codec import from_arrow
from functions.compared import compared
from functions.comparison import is_comparable
from functions.pools_text import TEXT_POOLS
from functions.refusals import REFUSED, REFUSED_ROWS
from panewise.core.errors import EvaluationError
from panewise.core.scalar import Scalar
from panewise.functions import evaluate
from panewise.functions.binding.by_value import ValueFailure
from panewise.functions.texts.linear_patterns import linear
from panewise.functions.texts.patterns import java_pattern
from panewise.functions.types import INTERVAL_MONTHS

COMPARED = compared()


@cache
def answered(family: str, name: str) -> list[tuple[Signature, pa.Table]]:
    """The signatures of a function with the rows that have a value."""
    found = []
    for one in load(family, name):
        key = (one.expression, *one.columns.values())
        if one.condition is None and one.columns and is_comparable(one) and key not in REFUSED \
                and key not in REFUSED_ROWS:
            rows = [at for at, error in enumerate(one.errors) if error is None]
            found.append((one, one.arguments_with(INTERVAL_MONTHS).take(pa.array(rows, pa.int64()))))
    return found


def values(signature: Signature, table: pa.Table) -> list[str]:
    """What an expression gives, so that -0.0 is not 0.0."""
    (result,) = evaluate([Scalar.parse(signature.expression)], table, zone=signature.zone)
    assert len(result) == table.num_rows
    return [repr(value) for value in from_arrow(result)]


def encoded(table: pa.Table, how: str) -> pa.Table:
    """Text and bytes in another of Arrow's layouts."""
    columns = []
    for column in table.columns:
        text = pa.types.is_string(column.type)
        if how == "dictionary" and (text or pa.types.is_integer(column.type)):
            columns.append(column.dictionary_encode())
        elif how == "large" and (text or pa.types.is_binary(column.type)):
            columns.append(column.cast(pa.large_string() if text else pa.large_binary()))
        elif how == "view" and (text or pa.types.is_binary(column.type)):
            columns.append(column.cast(pa.string_view() if text else pa.binary_view()))
        else:
            columns.append(column)
    return pa.table(columns, names=table.column_names)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Signature, pa.Table]:
    """A signature with some of its rows."""
    for _ in range(20):
        found = answered(*draw(st.sampled_from(COMPARED)))
        found = [one for one in found if one[1].num_rows]
        if found:
            signature, table = draw(st.sampled_from(found))
            start = draw(st.integers(0, table.num_rows - 1))
            return signature, table.slice(start, draw(st.integers(1, 12)))
    return answered("operators", "+")[0]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(cases(), st.data())
def test_a_row_has_its_value_in_every_table(case: tuple[Signature, pa.Table], data: st.DataObject) -> None:
    signature, table = case
    expected = values(signature, table)
    alone = [value for row in range(table.num_rows) for value in values(signature, table.slice(row, 1))]
    assert alone == expected, f"{signature}: row by row"
    cut = data.draw(st.integers(0, table.num_rows))
    chunked = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    assert values(signature, chunked) == expected, f"{signature}: in two chunks"
    offset = pa.concat_tables([table, table]).combine_chunks().slice(table.num_rows)
    assert values(signature, offset) == expected, f"{signature}: behind an offset"
    how = data.draw(st.sampled_from(["dictionary", "large", "view"]))
    assert values(signature, encoded(table, how)) == expected, f"{signature}: {how}"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_a_table_without_rows_and_columns_of_nulls_have_the_same_type(case: tuple[Signature, pa.Table]) -> None:
    signature, table = case
    scalar = Scalar.parse(signature.expression)
    (whole,) = evaluate([scalar], table, zone=signature.zone)
    (empty,) = evaluate([scalar], table.slice(0, 0), zone=signature.zone)
    assert (empty.type, len(empty)) == (whole.type, 0)
    nulls = pa.table([pa.nulls(3, column.type) for column in table.columns], names=table.column_names)
    try:
        (found,) = evaluate([scalar], nulls, zone=signature.zone)
    except EvaluationError:
        return  # some functions fail on null: assert_true, maps with a null key
    assert (found.type, len(found)) == (whole.type, 3)


TEXTS = sorted({text for pool in TEXT_POOLS.values() for text in pool if isinstance(text, str) and len(text) < 200})
PATTERNS = [*TEXT_POOLS["string:pattern"], "^a$", "a.c", "[0-9]+$", "a|b", "(ab)*c", "\\s+$", "[^\\d]$", "\\$",
            "x{2,3}"]


@pytest.mark.parametrize("pattern", [p for p in PATTERNS if isinstance(p, str) and linear(p) is not None])
def test_a_pattern_that_arrow_matches_is_matched_as_by_the_backtracking_matcher(pattern: str) -> None:
    texts = [*TEXTS, "a\r\n", "a\n", "a\r", "a\n\n", "a\u2028", "7\r\n", " \r\n"]
    try:
        expected = [java_pattern(pattern).search(text) is not None for text in texts]
    except ValueFailure:
        return
    quoted = pattern.replace("\\", "\\\\").replace("'", "\\'")
    (found,) = evaluate([Scalar.parse(f"a RLIKE '{quoted}'")], pa.table({"a": texts}))
    assert [text for text, one, other in zip(texts, found.to_pylist(), expected, strict=True) if one != other] == []


@pytest.mark.parametrize("text", ["coalesce(a, b)", "if(c, b, a)", "transform(array(1), x -> b)[0]", "try_add(b, a)",
                                  "a = b"])
def test_views_of_text_can_be_read_where_only_some_rows_are_computed(text: str) -> None:
    plain = pa.table({"a": pa.array([1, 2], pa.int32()), "c": [True, False], "b": ["7", "x"]})

    def outcome(table: pa.Table) -> object:
        try:
            return from_arrow(evaluate([Scalar.parse(text)], table)[0])
        except EvaluationError as problem:
            return problem.condition

    assert outcome(encoded(plain, "view")) == outcome(plain)
