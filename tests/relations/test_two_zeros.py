"""-0.0 and 0.0 are one value: where values are compared it is shown as 0.0, by every engine and in every style."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw

SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.float64()})
QUERIES = {
    "distinct": "SELECT DISTINCT v FROM s [RANGE 4]",
    "distinct of rows": "SELECT DISTINCT v FROM s [ROWS 2]",
    "above distinct": "SELECT v, CAST(v AS VARCHAR) AS shown FROM (SELECT DISTINCT v FROM s [RANGE 4]) AS z",
    "groups": "SELECT v, count(*) AS n FROM s [RANGE 4] GROUP BY v",
    "groups of a window": "SELECT v, count(*) [RANGE 4, SLIDE 2, WA ts] AS n FROM s GROUP BY v",
    "a value of a group": "SELECT v, last(v) AS w FROM s [RANGE 4] GROUP BY v",
    "except": "SELECT v FROM s [RANGE 4] EXCEPT ALL SELECT v FROM s [RANGE 2]",
    "rows": "SELECT v FROM s [ROWS 1]",
}
ZEROS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.5, None])), min_size=1, max_size=8)


def shown(name: str, rows: list[tuple[int, float | None]], **options: str) -> list[str]:
    ts, data = 0, []
    for pause, v in rows:
        ts += pause
        data.append({"ts": ts, "v": v})
    results = pw.sql(QUERIES[name], s=pa.Table.from_pylist(data, SCHEMA), **options)
    return sorted(repr(tuple(row.values())) for row in results)


@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=12, deadline=None)
@given(ZEROS)
def test_engines_show_the_same_zero(name: str, rows: list[tuple[int, float | None]]) -> None:
    expected = shown(name, rows, engine="oracle")
    assert shown(name, rows, engine="embedded") == expected
    assert not any("-0.0" in row for row in expected)


@pytest.mark.parametrize("name", ["distinct of rows", "groups", "except", "rows"])
@pytest.mark.parametrize("style", ["negative", "direct"])
def test_styles_show_the_same_zero(name: str, style: str) -> None:
    rows = [(1, -0.0), (1, 0.0), (1, -0.0), (3, 0.0)]
    assert shown(name, rows, engine="embedded", strategy=style) == shown(name, rows, engine="oracle")


def test_rows_that_are_not_compared_are_shown_as_they_came() -> None:
    table = pa.Table.from_pylist([{"ts": 1, "v": -0.0}], SCHEMA)
    for engine in ("oracle", "embedded"):
        (row,) = pw.sql("SELECT v FROM s [RANGE 4]", s=table, engine=engine)
        assert math.copysign(1, row["v"]) == -1
