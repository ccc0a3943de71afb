"""Tables on Spark: what is declared of them, rows that neither come nor go, the command line, as in process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from api.test_tables import MET, NAMES, QUERY, STREAM, command
from panewise.core.errors import PanewiseError, SchemaError
from panewise.engines.spark.session.failures import plain_errors
from spark.cases import run_to_end

pytestmark = pytest.mark.spark

EVERY = [{"change": 1} | row for row in NAMES]
TABLE = "k string, name string, at long, change int"


def streamed(spark: SparkSession, folder: Path, rows: list[dict[str, Any]], columns: str, name: str) -> DataFrame:
    """A streaming DataFrame of two micro-batches."""
    for number, part in enumerate((rows[:2], rows[2:])):
        (folder / name).mkdir(exist_ok=True)
        path = folder / name / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(part), path)
        os.utime(path, (number + 1, number + 1))  # Spark reads files by the millisecond they were written in
    frame = spark.createDataFrame([], columns.replace("int", "long"))
    return spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(str(folder / name))


def static(spark: SparkSession, rows: list[dict[str, Any]], columns: str) -> DataFrame:
    names = [column.split()[0] for column in columns.split(", ")]
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], columns)


def pairs(rows: Any) -> list[tuple[Any, ...]]:
    return sorted((row["ts"], row["name"]) for row in rows)


@pytest.mark.parametrize("text", [QUERY, "SELECT s.ts, n.name FROM n, s WHERE s.k = n.k"])
def test_several_rows_of_one_key_come_and_go(text: str, spark: SparkSession, tmp_path: Path) -> None:
    names = pw.table(static(spark, EVERY, TABLE), time="at", key=["k", "name"])
    found = pw.sql(text, s=static(spark, STREAM, "ts long, k string"), n=names)
    assert pairs(found.collect()) == MET
    stream = streamed(spark, tmp_path, STREAM, "ts long, k string", "s")
    batches, _ = run_to_end(pw.sql(text, s=stream, n=names, progress={"s": "ordered"}), tmp_path / "checkpoint")
    assert pairs(batches) == MET


def test_a_table_whose_changes_stream_in_needs_its_time_and_keeps_its_key(spark: SparkSession, tmp_path: Path) -> None:
    changes = streamed(spark, tmp_path, [*EVERY, {"change": 1, "k": "-", "name": "-", "at": 12}], TABLE, "n")
    stream = streamed(spark, tmp_path, [*STREAM, {"ts": 12, "k": "?"}], "ts long, k string", "s")  # 10 is over
    with pytest.raises(SchemaError, match="no time column that says when"):
        pw.sql(QUERY, s=stream, n=pw.table(changes), progress="ordered")
    result = pw.sql(QUERY, s=stream, n=pw.table(changes, time="at"), progress="ordered")
    assert pairs(run_to_end(result, tmp_path / "checkpoint")[0]) == MET
    keyed = pw.sql(QUERY, s=stream, n=pw.table(changes, time="at", key="k"), progress="ordered")
    with pytest.raises(SchemaError, match=r"two rows with the key \{'k': 'a'\} at 0"), plain_errors():
        run_to_end(keyed, tmp_path / "other")


def test_rows_that_neither_come_nor_go_are_bad(spark: SparkSession) -> None:
    wrong = [{"k": "a", "name": "x", "at": 3, "change": sign} for sign in (0, None)]
    names = pw.table(static(spark, [*EVERY, *wrong], TABLE), time="at")
    stream = static(spark, STREAM, "ts long, k string")
    with pytest.raises(PanewiseError, match=r"stream 'n', row \d+: 'change' is (0|None), expected \+1"), plain_errors():
        pw.sql(QUERY, s=stream, n=names).collect()
    assert pairs(pw.sql(QUERY, s=stream, n=names, bad_rows="skip").collect()) == MET
    results, bad = pw.split_bad(pw.sql(QUERY, s=stream, n=names, bad_rows="aside"))
    assert pairs(results.collect()) == MET
    assert sorted((row["stream"], row["column"], row["reason"][:20]) for row in bad.collect()) == [
        ("n", "change", "'change' is 0, expec"), ("n", "change", "'change' is None, ex")]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("options", [[], ["--progress", "ordered"]])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_on_the_command_line(form: str, options: list[str], tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(EVERY), tmp_path / "n.parquet")
    lines = [*(["k", "name", "at", "change"],), *((r["k"], r["name"], str(r["at"]), str(r["change"])) for r in EVERY)]
    (tmp_path / "n.csv").write_text("".join(f"{','.join(map(str, line))}\n" for line in lines))
    (tmp_path / "fixed.csv").write_text("k,name\na,one\n")
    (tmp_path / "s.ndjson").write_text("".join(f'{{"ts": {row["ts"]}, "k": "{row["k"]}"}}\n' for row in STREAM))
    assert command(tmp_path, "--table", f"n={tmp_path}/n.{form},time=at", *options) == (0, MET)
    if form == "csv":
        fixed = command(tmp_path, "--table", f"n={tmp_path}/fixed.csv", *options)
        assert fixed == (0, [(5, "one"), (7, "one"), (10, "one")])


@pytest.mark.usefixtures("spark")
def test_rows_of_a_table_that_are_left_out_are_counted_on_the_command_line(tmp_path: Path) -> None:
    rows = [*EVERY, {"k": "a", "name": "x", "at": 3, "change": 5}]
    (tmp_path / "n.csv").write_text("k,name,at,change\n" + "".join(
        f"{row['k']},{row['name']},{row['at']},{row['change']}\n" for row in rows))
    (tmp_path / "s.ndjson").write_text("".join(f'{{"ts": {row["ts"]}, "k": "{row["k"]}"}}\n' for row in STREAM))
    table = ["--table", f"n={tmp_path}/n.csv,time=at"]
    assert command(tmp_path, *table, "--bad-rows", f"aside:{tmp_path}/bad.ndjson") == (0, MET)
    assert "'change' is 5, expected +1" in (tmp_path / "bad.ndjson").read_text()
    assert command(tmp_path, *table)[0] == 2
