"""Columns of UNION and EXCEPT ALL have one type or meet in one, also where they are computed: known before a row is."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import EvaluationError, PanewiseError, SchemaError, SqlError
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.plan import nodes as n
from panewise.planner.legal.capabilities import check
from panewise.planner.rewrites.negation import difference_above_join
from panewise.planner.rewrites.selections import selection_below_difference

BOTH = pytest.mark.parametrize("engine", ["embedded", "oracle"])
COLUMNS = {"ts": pa.int64(), "i": pa.int32(), "b": pa.int64(), "t": pa.string(), "f": pa.float64(), "d": pa.date32(),
           "at": pa.timestamp("us", tz="UTC"), "wide": pa.decimal128(38, 38)}


def rows(t: str = "1", f: float = 1.0) -> pa.Table:
    return pa.table({"ts": [1], "i": [1], "b": [1], "t": [t], "f": [f], "d": [date(2024, 1, 2)],
                     "at": [datetime(2024, 1, 2, tzinfo=UTC)], "wide": ["0.5"]}).cast(pa.schema(COLUMNS))


def shown(text: str, engine: str, a: pa.Table | None = None, b: pa.Table | None = None) -> list[Any]:
    """The values of the first column that ever came."""
    found = pw.sql(text, engine=engine, a=rows() if a is None else a, b=rows() if b is None else b)
    return [row["c"] for row in found if row.get("change", 1) == 1]


NO_COMMON = [("i + 1", "array(b)"), ("upper(t)", "array(t)"), ("d", "i + 1"), ("date_add(d, 1)", "f + 1"),
             ("named_struct('x', i)", "named_struct('x', d)"), ("f > 1", "f + 1")]


@BOTH
@pytest.mark.parametrize("operator", ["EXCEPT ALL", "UNION ALL", "UNION"])
@pytest.mark.parametrize(("one", "other"), NO_COMMON)
def test_columns_without_a_common_type_are_refused_at_the_operator(one: str, other: str, operator: str,
                                                                  engine: str) -> None:
    text = f"SELECT {one} AS c FROM a [RANGE 9]\n  {operator} SELECT {other} FROM b [RANGE 9]"
    empty = rows().slice(0, 0)
    with pytest.raises(SqlError, match=rf"^line 2, column 3: {operator} of columns whose types differ: 'c' is"):
        pw.sql(text, engine=engine, a=empty, b=empty)


@pytest.mark.parametrize("operator", ["EXCEPT ALL", "UNION ALL"])
def test_explain_refuses_them_alike(operator: str) -> None:
    with pytest.raises(SqlError, match=r"^line 1, column 36: .* types differ"):
        pw.explain(f"SELECT i + 1 AS c FROM a [RANGE 9] {operator} SELECT array(i) FROM b [RANGE 9]",
                   a=rows(), b=rows())


@BOTH
def test_an_interval_and_text_do_not_meet(engine: str) -> None:
    text = "SELECT INTERVAL '1' DAY AS c FROM a [RANGE 9] EXCEPT ALL SELECT t FROM b [RANGE 9]"
    with pytest.raises(PanewiseError, match="types differ"):
        pw.sql(text, engine=engine, a=rows(), b=rows())


@pytest.mark.parametrize("engine", ["embedded", "oracle", "spark"])
def test_plans_put_together_by_hand_are_refused_by_every_engine(engine: str) -> None:
    source = n.Source("s", SourceSchema.of(pa.schema(COLUMNS), time="ts"))
    sides = [n.Project(source, (n.NamedScalar("c", Scalar.parse(text)),)) for text in ("i + 1", "array(i)")]
    with pytest.raises(SchemaError, match="the inputs of EXCEPT ALL differ in their types: column 'c' is int and"):
        check(n.BagDifference(*sides), engine)


TYPES = [("i + 1", "'2'", [2], []), ("'2'", "i + 1", [2], []), ("i", "f + 0", [1.0], []),
         ("b", "wide", [Decimal("1." + "0" * 18), Decimal("0.5" + "0" * 17)], [Decimal("1." + "0" * 18)]),
         ("d", "at", [datetime(2024, 1, 2, tzinfo=UTC)], []), ("upper('1.5')", "f + 0.5", [1.5], []),
         ("array(i)", "array('1')", [[1]], [])]


@BOTH
@pytest.mark.parametrize(("one", "other", "whole", "rest"), TYPES, ids=[f"{one}, {other}" for one, other, *_ in TYPES])
def test_rows_are_compared_and_shown_in_the_common_type(one: str, other: str, whole: list[Any], rest: list[Any],
                                                        engine: str) -> None:
    """A UNION of both is one value; EXCEPT ALL leaves nothing of it, and shows the left side in the common type."""
    both = f"SELECT {one} AS c FROM a [RANGE 9] {{}} SELECT {other} FROM b [RANGE 9]"
    assert shown(both.format("UNION"), engine) == whole
    assert shown(both.format("EXCEPT ALL"), engine) == rest
    alone = shown(both.format("EXCEPT ALL") + " WHERE ts < 0", engine)
    assert (alone, [type(value) for value in alone]) == (whole[:1], [type(whole[0])])


@BOTH
def test_text_that_cannot_be_cast_fails_on_its_row_alone(engine: str) -> None:
    text = "SELECT i AS c FROM a [RANGE 9] EXCEPT ALL SELECT upper(t) FROM b [RANGE 9]"
    assert shown(text, engine, b=rows("7")) == [1]
    with pytest.raises(EvaluationError, match="CAST_INVALID_INPUT"):
        shown(text, engine, b=rows("x"))


@BOTH
def test_a_zero_with_a_sign_that_was_text_is_shown_without(engine: str) -> None:
    text = "SELECT upper(t) AS c FROM a [RANGE 9] EXCEPT ALL SELECT f FROM b [RANGE 9]"
    assert [str(value) for value in shown(text, engine, a=rows("-0"))] == ["0.0"]
    assert shown(text, engine, a=rows("-0"), b=rows(f=0.0)) == []


@BOTH
@pytest.mark.parametrize("over", ["c < 1.2", "c <> 2"])
def test_conditions_read_what_was_cast(over: str, engine: str) -> None:
    """1.25 of text beside 38 digits is a double above, and text or decimal below."""
    both = "SELECT t AS c FROM a [RANGE 9] EXCEPT ALL SELECT i + 1 FROM b [RANGE 9]"
    assert shown(f"SELECT c FROM ({both}) AS q WHERE {over}", engine) == [1]


def test_conditions_and_joins_stay_above_a_difference_that_casts() -> None:
    source = n.Source("s", SourceSchema.of(pa.schema(COLUMNS), time="ts"))
    sides = [n.Project(source, (n.NamedScalar("c", Scalar.parse(c)), n.NamedScalar("k", Scalar.parse("b"))))
             for c in ("t", "i")]
    difference = n.BagDifference(*sides)
    assert not list(selection_below_difference.forms(n.Filter(difference, Scalar.parse("c > 0"))))
    assert list(selection_below_difference.forms(n.Filter(difference, Scalar.parse("k > 0"))))
    same = n.BagDifference(sides[0], sides[0])
    other = n.Qualify(n.Source("r", SourceSchema.of(pa.schema({"x": pa.int64()}), time="x")), "r")
    joined = [n.Join(one, other, Scalar.parse("k = `r.x`")) for one in (difference, same)]
    assert [bool(list(difference_above_join.forms(join))) for join in joined] == [False, True]


@BOTH
@pytest.mark.parametrize(("one", "other"), [("t", "i"), ("upper(t)", "i + 1"), ("i + 1", "array(i)")])
def test_sources_meet_more_narrowly_also_where_they_are_computed(one: str, other: str, engine: str) -> None:
    with pytest.raises(SqlError, match=r"^line 1, column \d+: a union of c \(.* and c \("):
        shown(f"SELECT c FROM (SELECT {one} AS c FROM a) UNION (SELECT {other} AS c FROM b)", engine)
    assert shown("SELECT c FROM (SELECT i + 1 AS c FROM a) UNION (SELECT f + 1 AS c FROM b)", engine) == [2.0, 2.0]
