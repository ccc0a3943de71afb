"""Results to files: three formats, and nothing lost when a run fails half way."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

from panewise.core.errors import LateRowError, SourceError
from panewise.files.writer import ResultFile

TIME = pa.timestamp("us", tz="UTC")
ROWS = pa.table(
    {
        "k": ["a"],
        "window": pa.array([{"start": datetime(2026, 1, 1, tzinfo=UTC), "end": datetime(2026, 1, 1, 0, 1, tzinfo=UTC)}],
                           pa.struct({"start": TIME, "end": TIME})),
        "top": pa.array([[{"item": "x", "count": 2}]]),
    }
)


def test_ndjson_has_the_window_first_with_iso_times(tmp_path: Path) -> None:
    with ResultFile(tmp_path / "out.ndjson", ROWS.schema) as out:
        out.write(ROWS)
    [line] = (tmp_path / "out.ndjson").read_text().splitlines()
    assert list(json.loads(line)) == ["window", "k", "top"]
    assert json.loads(line)["window"] == {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:01:00Z"}


def test_numbers_json_does_not_have_are_written_as_text(tmp_path: Path) -> None:
    with ResultFile(tmp_path / "out.ndjson", pa.schema({"x": pa.float64()})) as out:
        out.write(pa.table({"x": [float("nan"), float("-inf"), 1.5]}))
    rows = [json.loads(line)["x"] for line in (tmp_path / "out.ndjson").read_text().splitlines()]
    assert rows == ["NaN", "-Infinity", 1.5]


def test_parquet_keeps_the_struct_and_csv_flattens_it(tmp_path: Path) -> None:
    for name in ("out.parquet", "out.csv"):
        with ResultFile(tmp_path / name, ROWS.schema) as out:
            out.write(ROWS)
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == ROWS.to_pylist()
    table = pcsv.read_csv(tmp_path / "out.csv")
    assert table.column_names == ["k", "window_start", "window_end", "top"]
    assert json.loads(table.column("top")[0].as_py()) == [{"item": "x", "count": 2}]


def test_an_empty_result_is_an_empty_file_with_the_columns(tmp_path: Path) -> None:
    with ResultFile(tmp_path / "out.parquet", ROWS.schema):
        pass
    assert pq.read_table(tmp_path / "out.parquet").schema.names == ["k", "window", "top"]


@pytest.mark.parametrize("name", ["out.ndjson", "out.csv", "out.parquet"])
def test_a_failed_run_keeps_the_old_file_and_what_was_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")

    def run() -> None:
        with ResultFile(tmp_path / name, ROWS.schema) as out:
            out.write(ROWS)
            raise LateRowError("late")

    with pytest.raises(LateRowError) as failure:
        run()
    assert (tmp_path / name).read_text() == "old"
    partial = tmp_path / name.replace("out", "out.partial")
    assert partial.stat().st_size > 0
    assert "out.partial" in failure.value.__notes__[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, partial.name])


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match=r"out.csv: cannot be written"):
        ResultFile(tmp_path / "file" / "out.csv", ROWS.schema)
