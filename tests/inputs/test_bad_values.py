"""Values that their columns cannot hold are bad rows, in whatever form the rows come and wherever they come in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import BadRowError, SchemaError

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
ROWS: list[dict[str, Any]] = [{"ts": 1}, {"ts": "x"}, {"ts": 2**70}, {"ts": 2}, {"ts": True}]
ENGINES = pytest.mark.parametrize("engine", ["embedded", "oracle"])


@ENGINES
@pytest.mark.parametrize("policy", ["skip", "aside"])
def test_rows_of_a_list_are_left_out(policy: str, engine: str) -> None:
    found = pw.sql(COUNT, s=ROWS, bad_rows=policy, engine=engine)
    assert [row["n"] for row in found] == [2]
    assert found.status["bad"] == 3
    assert found.bad_rows.num_rows == (3 if policy == "aside" else 0)


def test_a_list_and_an_iterator_put_the_same_rows_aside() -> None:
    listed, one_by_one = (pw.run(COUNT, s=rows, bad_rows="aside").collect() for rows in (ROWS, iter(ROWS)))
    assert list(listed) == list(one_by_one)
    same = ["stream", "place", "column", "row"]
    assert listed.bad_rows.select(same).equals(one_by_one.bad_rows.select(same))
    assert listed.bad_rows["place"].to_pylist() == [f"stream 's', row {n}" for n in (2, 3, 5)]


def test_an_iterator_may_begin_with_a_bad_row() -> None:
    rows = [{"ts": 2**70}, {"ts": 1}]
    assert [row["n"] for row in pw.run(COUNT, s=iter(rows), bad_rows="skip")] == [1]
    with pytest.raises(BadRowError, match=r"^stream 's', row 1: 'ts' is \d+, which no column can hold"):
        pw.run(COUNT, s=iter(rows))


@ENGINES
@pytest.mark.parametrize(("rows", "message"), [
    (ROWS, "^stream 's', row 2: 'ts' is 'x', expected int64"),
    ([pa.table({"ts": [1, 2]}), pw.Punctuation.below("ts", 1), {"ts": 3}, {"ts": 2**70}],
     r"^stream 's', row 4: 'ts' is \d+, which no column can hold"),
    ([{"ts": 1, "k": "a"}, {"ts": 2, "k": "\ud800"}], "^stream 's', row 2: 'k' is .*, which no column can hold"),
], ids=["text", "behind a table", "a lone surrogate"])
def test_the_row_that_stops_a_run_is_named(rows: Any, message: str, engine: str) -> None:
    with pytest.raises(BadRowError, match=message):
        pw.sql(COUNT, s=rows, engine=engine)


def test_good_rows_of_all_types_beside_a_bad_one() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    good = {"ts": at, "d": date(2026, 1, 1), "l": [1, 2], "b": b"x", "f": 1.5, "t": True, "n": None}
    rows = [good, {**good, "ts": "2026-01-01T00:00:01Z"}, {**good, "ts": 1.5}]
    text = "SELECT ts, d, l, b, f, t, n FROM s"
    expected = [good, {**good, "ts": at.replace(second=1)}]
    assert list(pw.sql(text, s=rows, bad_rows="skip")) == expected


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame, lambda v: pa.table(v).to_batches()[0],
                                  lambda v: pa.table(v).to_pylist()],
                         ids=["Arrow", "pandas", "Polars", "batch", "rows"])
def test_values_of_a_pushed_table_that_lose_something(make: Any) -> None:
    values = {"ts": [1, 2, 3, 4], "v": [1.0, 1.5, 2.0, 2.5]}
    query = pw.open_query(COUNT, s="ts bigint, v bigint", bad_rows="aside")
    query.push("s", make(values))
    assert query.finish()["n"].to_pylist() == [2]
    bad = query.bad_rows
    assert bad["place"].to_pylist() == ["stream 's', row 2", "stream 's', row 4"]
    assert bad["reason"].to_pylist() == ["'v' is 1.5, expected int64", "'v' is 2.5, expected int64"]
    stopping = pw.open_query(COUNT, s="ts bigint, v bigint")
    with pytest.raises(BadRowError, match=r"^stream 's', row 2: 'v' is 1\.5, expected int64"):
        stopping.push("s", make(values))
    skipped = pw.run(COUNT, s=iter([make(values)]), columns={"s": "ts bigint, v bigint"}, bad_rows="skip")
    assert [row["n"] for row in skipped] == [2]


def test_times_that_no_column_holds_are_told_as_text() -> None:
    query = pw.open_query("SELECT ts FROM s", s="ts timestamp", bad_rows="aside")
    assert query.push("s", pa.table({"ts": pa.array([0, 2**60], pa.timestamp("s", tz="UTC"))})).num_rows == 1
    assert query.bad_rows["place"].to_pylist() == ["stream 's', row 2"]


def test_a_pushed_column_that_does_not_fit_at_all_is_an_error() -> None:
    query = pw.open_query(COUNT, s="ts bigint, v bigint", bad_rows="skip")
    with pytest.raises(SchemaError, match="from row 1: 'v' is list"):
        query.push("s", pa.table({"ts": [1], "v": [[1]]}))


def test_bad_values_of_tables_that_are_pushed_in_turns() -> None:
    def tables() -> Iterator[pa.Table]:
        yield pa.table({"ts": [1, 2]})
        yield pa.table({"ts": [2.5, 3.0]})

    found = pw.run(COUNT, s=tables(), bad_rows="aside").collect()
    assert [row["n"] for row in found] == [3]
    assert found.bad_rows["place"].to_pylist() == ["stream 's', row 3"]
