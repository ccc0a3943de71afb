"""Streams in files: formats, arrival order, punctuation in line, and errors that name the place."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panewise.core.errors import SourceError
from panewise.files.reader import FileStream, strictly
from panewise.progress.punctuation import Punctuation

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def lines(path: Path, *rows: str) -> Path:
    path.write_text("".join(r + "\n" for r in rows))
    return path


def kinds(stream: FileStream, **options: int) -> list[object]:
    """Batches as their row counts, punctuation as text."""
    return [str(i) if isinstance(i, Punctuation) else i.num_rows for i in strictly(stream.items(**options))]


def test_ndjson_gives_rows_and_punctuation_in_the_order_of_the_lines(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "bids.ndjson",
        '{"ts": "2026-01-01T00:00:00Z", "k": "a", "v": 1}',
        '{"ts": "2026-01-01T00:00:00.5Z", "k": "b", "v": 2.5}',
        '{"punctuation": {"ts": "2026-01-01T00:00:01Z"}}',
        '{"ts": "2026-01-01T00:00:02Z", "k": "say \\"punctuation\\"", "v": 3}',
        '{"punctuation": {"ts": "2026-01-01T00:01:00Z", "k": "a"}}',
    )
    stream = FileStream.open(path)
    second = 1767225600000000
    assert kinds(stream) == [2, f"(ts < {second + 1000000})", 1, f"(k = a, ts < {second + 60000000})"]
    assert stream.schema.time == "ts"
    assert stream.has_punctuation
    assert stream.table().column("v").to_pylist() == [1.0, 2.5, 3.0]
    assert stream.table().column("ts").to_pylist()[:1] == [FIRST]


def test_batches_are_cut_where_asked_and_never_across_a_punctuation(tmp_path: Path) -> None:
    row = '{"ts": 1}'
    path = lines(tmp_path / "s.ndjson", *[row] * 5, '{"punctuation": {"ts": 1}}', row)
    assert kinds(FileStream.open(path), batch_rows=2) == [2, 2, 1, "(ts < 1)", 1]


def test_a_directory_is_its_files_in_name_order(tmp_path: Path) -> None:
    for name, value in (("b.parquet", 2), ("a.parquet", 1), ("_SUCCESS", 0)):
        if name.endswith("parquet"):
            pq.write_table(pa.table({"ts": [value]}), tmp_path / name)
        else:
            (tmp_path / name).touch()
    assert FileStream.open(tmp_path).table().column("ts").to_pylist() == [1, 2]


def test_all_formats_give_the_same_rows(tmp_path: Path) -> None:
    lines(tmp_path / "a.csv", "ts,k,v", "2026-01-01T00:00:00Z,x,1", "2026-01-01T00:00:01.25Z,y,2")
    lines(tmp_path / "a.ndjson", '{"ts":"2026-01-01T00:00:00Z","k":"x","v":1}',
          '{"ts":"2026-01-01T00:00:01.25Z","k":"y","v":2}')
    table = FileStream.open(tmp_path / "a.csv").table()
    pq.write_table(table, tmp_path / "a.parquet")
    assert FileStream.open(tmp_path / "a.ndjson").table().equals(table)
    assert FileStream.open(tmp_path / "a.parquet").table().equals(table)


def test_times_without_a_zone_are_utc(tmp_path: Path) -> None:
    lines(tmp_path / "a.csv", "ts,v", "2026-01-01 00:00:00,1")
    assert FileStream.open(tmp_path / "a.csv").table().column("ts").to_pylist() == [FIRST]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.ndjson", '{"ts": 1}\n{"ts": \n', r"a.ndjson:2: not JSON"),
        ("a.ndjson", '{"ts": 1}\n[1]\n', r"a.ndjson:2: a row must be a JSON object"),
        ("a.ndjson", '{"ts": 1}\n{"punctuation": {"tz": 1}}\n', r"a.ndjson:2: the punctuation names 'tz'"),
        ("a.ndjson", '{"ts": 1}\n{"punctuation": {"ts": "soon"}}\n', r"a.ndjson:2: .*'soon' is not an integer"),
        ("a.ndjson", '{"ts": 1}\n{"punctuation": 5}\n', r"a.ndjson:2: a punctuation is an object"),
        ("a.ndjson", "", r"no data row"),
        ("a.parquet", "not parquet", r"a.parquet: cannot be read as Parquet"),
        ("a.txt", "x", r"cannot tell the format from the suffix; use one of .parquet"),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError, match=message):
        kinds(FileStream.open(tmp_path / name))


def test_a_row_that_does_not_fit_the_columns_is_named_even_late_in_the_file(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.ndjson", '{"ts": 1, "v": 1}', '{"ts": 2, "v": {"x": 1}}')
    with pytest.raises(SourceError, match=r"a.ndjson"):
        FileStream.open(path).table()


def test_missing_paths_mixed_directories_and_missing_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        FileStream.open(tmp_path / "nowhere.parquet")
    with pytest.raises(SourceError, match="no files"):
        FileStream.open(tmp_path)
    lines(tmp_path / "a.csv", "ts,v", "1,1")
    lines(tmp_path / "b.csv", "ts", "1")
    with pytest.raises(SourceError, match=r"b.csv: has no column 'v'"):
        FileStream.open(tmp_path).table()
    lines(tmp_path / "c.ndjson", '{"ts": 1}')
    with pytest.raises(SourceError, match="must be of one format"):
        FileStream.open(tmp_path)


def test_a_column_that_differs_in_type_between_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,v\n1,1\n")
    (tmp_path / "b.csv").write_text("ts,v\n2,x\n")
    with pytest.raises(SourceError, match="incompatible types"):
        FileStream.open(tmp_path)


def test_dates_in_text_are_dates_and_times_are_times(tmp_path: Path) -> None:
    lines(tmp_path / "a.ndjson", '{"d": "2026-01-01", "t": "2026-01-01T00:00:00Z"}', '{"d": null, "t": null}')
    lines(tmp_path / "a.csv", "d,t", "2026-01-01,2026-01-01T00:00:00Z")
    for name in ("a.ndjson", "a.csv"):
        schema = FileStream.open(tmp_path / name).table().schema
        assert schema.field("d").type == pa.date32()
        assert schema.field("t").type == pa.timestamp("us", tz="UTC")
