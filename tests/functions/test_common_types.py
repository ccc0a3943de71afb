"""The type that columns of a UNION, branches and elements meet in is Spark's, on every engine in Python."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
import pytest

import panewise as pw
from functions.common_types import FORMS, SET_OPERATIONS, expression, recorded
from functions.spark_types import arrow_type, normal_name, parse, spark_name
from panewise.core.errors import EvaluationError, PanewiseError, SchemaError
from panewise.core.scalar import Scalar
from panewise.engines.oracle.column_types import type_of as type_in_the_oracle
from panewise.engines.oracle.scalar.coercion import compared as compared_in_the_oracle
from panewise.engines.oracle.scalar.coercion import united as united_in_the_oracle
from panewise.engines.oracle.scalar.types import Type, from_arrow
from panewise.functions import type_of
from panewise.functions.unions import EXCEPT_ALL, UNION, united

ASKED, ROWS = recorded()
OPERATORS = {"union": UNION, "except": EXCEPT_ALL}


def named(kinds: tuple[str, ...]) -> dict[str, pa.DataType]:
    return {f"c{place}": arrow_type(parse(kind)) for place, kind in enumerate(kinds)}


def refused(compute: object) -> str | None:
    """The name of the type, or None if it is refused by one of panewise's own errors."""
    try:
        return compute()  # type: ignore[operator]
    except PanewiseError:
        return None


def normal(kind: str | None) -> str | None:
    return None if kind is None else normal_name(parse(kind))


def element(kind: str, form: str) -> str:
    return kind.removeprefix("array<")[:-1] if form == "array" else kind


def in_process(kinds: tuple[str, ...], form: str) -> str:
    columns = named(kinds)
    if form in SET_OPERATIONS:
        parts = [pa.schema({"c": kind}) for kind in columns.values()]
        return spark_name(united(parts, OPERATORS[form]).field("c").type)
    return element(spark_name(type_of(Scalar.parse(expression(form, list(columns))), pa.schema(list(columns.items())))),
                   form)


def in_the_oracle(kinds: tuple[str, ...], form: str) -> str | None:
    columns = {name: from_arrow(kind) for name, kind in named(kinds).items()}
    if form in SET_OPERATIONS:
        of_two = united_in_the_oracle if form == "union" else compared_in_the_oracle

        def meet(one: Type | None, other: Type) -> Type | None:
            return None if one is None else of_two(one, other)

        found = reduce(meet, columns.values())  # type: ignore[arg-type]
        return None if found is None else str(found)
    return element(str(type_in_the_oracle(Scalar.parse(expression(form, list(columns))), columns)), form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", [in_process, in_the_oracle])
def test_types_meet_as_spark_has_them(engine: object, form: str) -> None:
    found = {one.kinds: refused(lambda one=one: engine(one.kinds, form)) for one in ASKED}  # type: ignore[operator, misc]
    expected = {one.kinds: normal(one.said[form]) for one in ASKED}
    differ = {kinds for kinds, kind in found.items() if kind != expected[kinds]}
    assert differ == {one.kinds for one in ASKED if form == "except" and is_map_of_one_type(one.kinds)}


def is_map_of_one_type(kinds: tuple[str, ...]) -> bool:
    """Spark refuses maps in EXCEPT ALL, whatever they are of; here those of one type are compared."""
    return len(set(kinds)) == 1 and kinds[0].startswith("map<")


def test_what_is_asked_meets_and_does_not() -> None:
    met = sum(one.said["union"] is not None for one in ASKED)
    assert met > 700
    assert len(ASKED) - met > 700
    assert any(len(set(one.said.values())) > 1 for one in ASKED)  # structs with other names


def whole(kinds: tuple[str, str], values: tuple[str, str], engine: str) -> list[str]:
    """A UNION of two streams of one row each, as text."""
    rows = [pa.table({"ts": pa.array([at]), "x": cast_to(value, kind)})
            for at, (kind, value) in enumerate(zip(kinds, values, strict=True))]
    both = "SELECT x AS c FROM a [RANGE 9] UNION ALL SELECT x FROM b [RANGE 9]"
    text = f"SELECT CAST(c AS string) AS c FROM ({both}) AS u"
    return [row["c"] for row in pw.sql(text, engine=engine, a=rows[0], b=rows[1])]


def cast_to(value: str, kind: str) -> pa.Array:
    table = pa.table({"ts": [0]})
    return pw.sql(f"SELECT CAST({value} AS {kind}) AS x FROM s", s=table).table.column("x").combine_chunks()


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("row", ROWS, ids=[f"{one} of {a}, {two} of {b}" for a, b, one, two, _ in ROWS])
def test_rows_of_a_union_are_cast_as_spark_does(row: list[object], engine: str) -> None:
    one, other, *values, expected = row
    if isinstance(expected, str):
        with pytest.raises(EvaluationError, match=expected.removeprefix("! ")):
            whole((one, other), tuple(values), engine)  # type: ignore[arg-type]
        return
    assert whole((one, other), tuple(values), engine) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_window_aggregates_count_over_the_common_type(engine: str) -> None:
    a = pa.table({"ts": [1], "x": pa.array([1], pa.int64())})
    b = pa.table({"ts": [2], "x": pa.array(["0.5"]).cast(pa.decimal128(38, 38))})
    both = "(SELECT ts, x FROM a UNION ALL SELECT ts, x FROM b) AS u"
    text = f"SELECT max(x) [RANGE 10, SLIDE 10, WA ts] AS top FROM {both}"
    assert [str(row["top"]) for row in pw.sql(text, engine=engine, a=a, b=b)] == ["1.000000000000000000"]


def test_columns_that_do_not_meet_are_refused_with_their_name() -> None:
    schemas = [pa.schema({"n": pa.int64()}), pa.schema({"m": pa.date32()})]
    with pytest.raises(SchemaError, match="column 'n' is bigint and date"):
        united(schemas)


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("over", ["WHERE c = 1", "WHERE c >= 1 AND d < 3"])
def test_conditions_over_a_union_read_what_was_cast(over: str, engine: str) -> None:
    """0.5 of 38 digits behind the point is 1 in a decimal without any: no condition may look at it before."""
    a = pa.table({"ts": [1], "x": pa.array(["10"]).cast(pa.decimal128(38, 0)), "d": [1]})
    b = pa.table({"ts": [2], "x": pa.array(["0.5"]).cast(pa.decimal128(38, 38)), "d": [2]})
    both = "SELECT x AS c, d FROM a [RANGE 9] UNION ALL SELECT x, d FROM b [RANGE 9]"
    found = [str(row["c"]) for row in pw.sql(f"SELECT c FROM ({both}) AS u {over}", engine=engine, a=a, b=b)]
    assert found == (["1"] if over == "WHERE c = 1" else ["10", "1"])
