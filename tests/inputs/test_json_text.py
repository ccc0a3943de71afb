"""JSON text is cut into rows by what it says, not by its newlines: nothing is lost, doubled or moved."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise.core.bad_rows import BadRows
from panewise.core.errors import BadRowError, SourceError
from panewise.files.json_units import BadLine, Lines, UnitCutter
from panewise.files.reader import FileStream

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"


def write(path: Path, text: bytes, name: str = "s.ndjson") -> Path:
    (path / name).write_bytes(text)
    return path / name


def items(path: Path, **options: Any) -> list[Any]:
    """Rows as lists of times, punctuation as text, bad rows as the lines they stand on."""
    found: list[Any] = []
    for item in FileStream.open(path, **options).items():
        if isinstance(item, pa.RecordBatch):
            found.append(item.column("ts").to_pylist())
        else:
            found.append([bad.place.rsplit(":", 1)[1] for bad in item] if isinstance(item, BadRows) else str(item))
    return found


def test_a_carriage_return_inside_an_object_is_white_space(tmp_path: Path) -> None:
    """Also where a row among them does not fit, and rows are read one by one to find it."""
    text = b'{"ts": 1,\r "v": 2}\n{"ts": 2, "v":\r "x"}\n{"ts": 3, "v":\r 4}\n'
    found = pw.sql("SELECT ts, v FROM s", s=str(write(tmp_path, text)), bad_rows="skip")
    assert [tuple(row.values()) for row in found] == [(1, 2), (3, 4)]
    assert found.status["bad"] == 1
    with pytest.raises(BadRowError, match=r"s\.ndjson:2"):
        pw.sql("SELECT ts, v FROM s", s=str(tmp_path / "s.ndjson"))


@pytest.mark.parametrize("text", [
    b'{"ts": 1} {"ts": 2}\n{"ts": 3}{"ts": 4}\n', b'[{"ts": 1}, {"ts": 2}]\n[{"ts": 3},\n{"ts": 4}]',
    b'{"ts": 1}\r{"ts": 2}\r{"ts": 3}\r{"ts": 4}', b'{"ts":\n 1}\n\n  {"ts": 2}\n{\n"ts"\n:3}\t{"ts": 4}',
    b'\xef\xbb\xbf{"ts": 1}\r\n\r\n{"ts": 2}\r\n{"ts": 3}\r\n{"ts": 4}\r\n',
    b'{"ts": 1}\n{"ts": 2}\n{"ts": 3}\n{"ts": 4}'])
def test_every_object_is_a_row_whatever_stands_between_them(tmp_path: Path, text: bytes) -> None:
    stream = FileStream.open(write(tmp_path, text))
    assert stream.table().column("ts").to_pylist() == [1, 2, 3, 4]
    assert stream.count_rows() == 4


def test_punctuation_between_objects_of_one_line_keeps_its_place(tmp_path: Path) -> None:
    text = b'{"ts": 1} {"ts": 12} {"punctuation": {"ts": 10}} {"ts": 3}\n{"ts": 14} {"punctuation": {}}\n'
    assert items(write(tmp_path, text)) == [[1, 12], "(ts < 10)", [3, 14], "(*)"]
    results = pw.sql(COUNT, s=write(tmp_path, text), late="drop")
    assert [row["n"] for row in results] == [1, 2]
    assert results.status["late"] == 1


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.integers(0, 10**6), st.text(max_size=8)), min_size=1, max_size=12),
       st.lists(st.sampled_from([b"\n", b" ", b"\r", b"\r\n", b"\n\n\t", b"\n \n"]), min_size=12, max_size=12),
       st.lists(st.integers(1, 40), max_size=20), st.booleans())
@example(["}{", "] [", "\\\""], [b" "] * 12, [3], True)
def test_text_cut_anywhere_gives_the_same_objects(values: list[Any], between: list[bytes], cuts: list[int],
                                                  as_array: bool) -> None:
    rows = [json.dumps({"v": value}).encode() for value in values]
    text = b"[" + b",".join(rows) + b"]" if as_array else b"".join(r + b for r, b in zip(rows, between, strict=False))
    cutter, found, at = UnitCutter(), [], 0
    for size in cuts:
        found += list(cutter.feed(text[at:at + size]))
        at += size
    found += [*cutter.feed(text[at:]), *cutter.end()]
    assert not any(isinstance(unit, BadLine) for unit in found)
    assert [json.loads(line)["v"] for unit in found for line in unit.text.splitlines()] == values


@pytest.mark.parametrize(("line", "reason"), [
    (b'{"ts": 2, "k": "\xff"}', "not UTF-8: byte 0xff"), (b'{"ts": ' + b"[" * 50_000, "nested more than 500 deep"),
    (b'{"ts": ' + b'{"a": ' * 5_000 + b"1" + b"}" * 5_000 + b"}", "nested more than 500 deep"),
    (b"null", "a row must be a JSON object, this is null"), (b"GET / HTTP/1.1", "not JSON"),
    (b'{"ts": 2', "not JSON"), (b'{"ts": "soon"}', "'ts' is \"soon\", expected int64"),
    (b'{"ts": 2, "ts": 3}', "twice")])
def test_a_row_that_cannot_be_read_is_named_with_its_line_and_the_others_are_read(
        tmp_path: Path, line: bytes, reason: str) -> None:
    good = b'{"ts": 1, "k": "a"}\n'
    path = write(tmp_path, good + line + b"\n" + good)
    with pytest.raises(BadRowError, match=r"(?s)s.ndjson:2.*") as caught:
        pw.sql(COUNT, s=path)
    assert reason in str(caught.value)
    results = pw.sql(COUNT, s=path, bad_rows="aside")
    assert [row["n"] for row in results] == [2]
    assert [(bad["stream"], bad["place"]) for bad in results.bad_rows.to_pylist()] == [("s", f"{path}:2")]
    assert reason in results.bad_rows.to_pylist()[0]["reason"]


def test_numbers_of_thousands_of_digits_are_numbers_or_a_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"ts": 1, "v": ' + b"9" * 5_000 + b'} {"ts": 2, "v": 1}\n')
    assert [row["n"] for row in pw.sql(COUNT, s=path)] == [2]


def test_a_line_longer_than_the_limit_is_a_bad_row_and_is_not_kept(tmp_path: Path) -> None:
    long = b'{"ts": 2, "k": "' + b"x" * 5_000 + b'"}'
    path = write(tmp_path, b'{"ts": 1, "k": "a"}\n' + long + b"\n" + b'{"ts": 3, "k": "a"}\n')
    assert items(path) == [[1, 2, 3]]
    assert items(path, max_line=1_000, tolerant=True) == [[1], ["2"], [3]]
    cutter = UnitCutter(max_line=1_000)
    empty = len(pickle.dumps(cutter))
    for _ in range(100):
        list(cutter.feed(b"x" * 100))
        assert len(pickle.dumps(cutter)) <= 1_100 + empty
    assert [unit.text for unit in cutter.feed(b'\n{"ts": 1}\n') if isinstance(unit, Lines)] == [b'{"ts": 1}\n']


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_long_line_that_is_no_json_is_one_bad_row_however_it_arrives(end: bytes) -> None:
    cutter = UnitCutter(max_line=1_000)
    found = [unit for _ in range(100) for unit in cutter.feed(b"{x" * 500)]
    found += [*cutter.feed(end + b'{"ts": 1}' + end), *cutter.end()]
    assert [type(unit) for unit in found] == [BadLine, Lines]
    assert isinstance(found[1], Lines)
    assert found[1].line(0) == 2


def test_an_array_on_one_line_may_be_longer_than_a_line_may(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps([{"ts": i} for i in range(2_000)]).encode())
    found = [row for item in FileStream.open(path, max_line=100).items() for row in item.column("ts").to_pylist()]
    assert found == list(range(2_000))


def test_rows_of_csv_that_do_not_fit_are_bad_rows(tmp_path: Path) -> None:
    path = write(tmp_path, b"ts,v\n1,2\n3,4,5\n5,6\n", "s.csv")
    with pytest.raises(BadRowError, match=r"s.csv, row 2: 3 fields where 2 are expected"):
        pw.sql(COUNT, s=path)
    results = pw.sql(COUNT, s=path, bad_rows="skip")
    assert [row["n"] for row in results] == [2]
    assert results.status["bad"] == 1
    text = b"ts,v\n" + b"1,2\n" * 3 + b"2,\xff\n"
    with pytest.raises(BadRowError, match=r"s.csv, row 4: 'v' is '\\\\xff', expected string"):
        pw.sql(COUNT, s=write(tmp_path, text, "s.csv"))


def test_rows_that_are_no_utf8_and_have_too_many_fields_are_bad_rows(tmp_path: Path, capfd: pytest.CaptureFixture[str]
                                                                     ) -> None:
    """Arrow cannot report such a row: it ended the run under every policy, and left a traceback on the terminal."""
    text = "\ufeffts,né\n1,a\n2,b,\n".encode() + b"4,\xed(x\n" + "3,cé\n5,é,x\n".encode() + b"6,\xffb,7\n"
    path = write(tmp_path, text, "s.csv")
    with pytest.raises(BadRowError, match=r"s.csv, row 2: 3 fields where 2 are expected"):
        pw.sql("SELECT `né` AS x FROM s", s=path)
    results = pw.sql("SELECT `né` AS x FROM s", s=path, bad_rows="aside")
    assert [row["x"] for row in results] == ["a", "cé"]
    assert sorted((bad["place"], bad["row"]) for bad in results.bad_rows.to_pylist()) == [
        (f"{path}, row 2", "2,b,"), (f"{path}, row 3", "4,\\xed(x"), (f"{path}, row 5", "5,é,x"),
        (f"{path}, row 6", "6,\\xffb,7")]
    assert "Traceback" not in capfd.readouterr().err
    names = write(tmp_path, b"ts,\xed(\n1,2\n3,4,5\n", "names.csv")
    with pytest.raises(SourceError, match="names of its columns are no UTF-8"):
        pw.sql(COUNT, s=names, bad_rows="skip")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_quote_that_nothing_closes_swallows_no_rows_in_silence(tmp_path: Path, end: bytes) -> None:
    """Arrow takes the rest of the file for one value."""
    path = write(tmp_path, b'ts,k\n1,a\n2,"b\n3,c\n4,d' + end, "s.csv")
    with pytest.raises(BadRowError, match=r"s.csv, row 2: a quote is opened that nothing closes"):
        pw.sql(COUNT, s=path)
    results = pw.sql(COUNT, s=path, bad_rows="aside")
    assert [row["n"] for row in results] == [1]
    assert "3,c" in results.bad_rows.to_pylist()[0]["row"]
    bad_time = write(tmp_path, b'ts,k\n1,a\nsoon,b\n2,"b\n3,c' + end, "s.csv")  # read again row by row
    assert [bad["place"] for bad in pw.sql(COUNT, s=bad_time, bad_rows="aside", time="ts").bad_rows.to_pylist()] == [
        f"{path}, row 2", f"{path}, row 3"]
    closed = write(tmp_path, b'ts,k\n1,a\n2,"b\n3,c\n4,d"' + end, "s.csv")
    assert [row["n"] for row in pw.sql(COUNT, s=closed)] == [2]
