"""What Python or Arrow would say in words of their own is said in ours: by name, with what to give instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panewise as pw
from panewise.core.errors import BadRowError, CheckpointError, PlanError, SchemaError

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
TWICE = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["ts", "v", "v"])


@pytest.mark.parametrize("text", [None, 5, b"SELECT"])
@pytest.mark.parametrize("entry", [pw.sql, pw.run, pw.open_query, pw.explain])
def test_a_query_is_text(entry: Any, text: Any) -> None:
    with pytest.raises(PlanError, match=rf"^text= is a {type(text).__name__}: give the query as text"):
        entry(text, s="ts bigint")


@pytest.mark.parametrize("row", [{1: 2}, {None: 1}, {"ts": 2, 1: 2}, {"ts": 2, ("a", "b"): 2}], ids=str)
def test_keys_that_are_no_text_make_a_bad_row(row: dict[Any, Any]) -> None:
    rows = [{"ts": 1}, row]
    for given in (rows, iter(rows), iter([rows])):
        with pytest.raises(BadRowError, match=r"^stream 's', row 2: "):
            list(pw.run(COUNT, s=given))
    for given in (rows, rows[::-1], iter(rows), iter(rows[::-1])):
        assert [found["n"] for found in pw.run(COUNT, s=given, bad_rows="skip")] == [1]
    with pytest.raises(BadRowError, match=r"^stream 's', row 1: the key .* is no text"):
        pw.sql(COUNT, s=rows[::-1])
    with pytest.raises(BadRowError, match=r"^stream 's', row 2: no column"):
        pw.open_query(COUNT, s="ts bigint").push("s", rows)


@pytest.mark.parametrize("given", [TWICE, TWICE.to_batches()[0]], ids=["table", "batch"])
def test_two_columns_of_one_name_are_refused(given: Any, tmp_path: Path) -> None:
    message = r"stream 's'.*: the column 'v' is there 2 times"
    for start in (lambda: pw.sql(COUNT, s=given), lambda: pw.sql(COUNT, s=[given]),
                  lambda: list(pw.run(COUNT, s=iter([given]))),
                  lambda: pw.open_query(COUNT, s="ts bigint, v bigint").push("s", given)):
        with pytest.raises(SchemaError, match=message):
            start()
    pq.write_table(TWICE, path := tmp_path / "s.parquet")
    with pytest.raises(SchemaError, match="the column 'v' is there 2 times"):
        pw.sql(COUNT, s=path)


@pytest.mark.parametrize("columns", ["ts bigint, v int, v string", TWICE.schema, pw.table("k int, v int, v int")],
                         ids=["text", "schema", "table"])
def test_a_column_that_is_declared_twice_is_refused(columns: Any) -> None:
    with pytest.raises(SchemaError, match=r"^columns: the column 'v' is there 2 times"):
        pw.open_query(COUNT, s=columns)
    with pytest.raises(SchemaError, match=r"^columns: the column 'v' is there 2 times"):
        pw.run(COUNT, s=iter([]), columns={"s": "ts bigint, v int, v string"})


@pytest.mark.parametrize("state", [None, "text", 5, b"", bytearray(b"x"), memoryview(b"x")],
                         ids=lambda state: type(state).__name__)
def test_only_a_snapshot_is_restored(state: Any) -> None:
    with pytest.raises(CheckpointError):
        pw.open_query(COUNT, s="ts bigint").restore(state)


def test_a_snapshot_in_any_kind_of_bytes() -> None:
    query = pw.open_query(COUNT, s="ts bigint")
    query.push("s", pl.DataFrame({"ts": [1]}))
    for kind in (bytes, bytearray, memoryview):
        other = pw.open_query(COUNT, s="ts bigint")
        other.restore(kind(query.snapshot()))
        assert other.finish()["n"].to_pylist() == [1]


def test_options_of_a_table_that_were_misspelt() -> None:
    with pytest.raises(PlanError, match=r"no option 'tme'; .*did you mean 'time'"):
        pw.table([{"ts": 1}], tme="ts")
