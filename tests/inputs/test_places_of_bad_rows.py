"""The row that stops a run is named with its file, its line or row, and its column, whatever is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panewise as pw
from panewise.cli.main import main
from panewise.core.errors import BadRowError, SourceError
from panewise.core.schema import Catalog
from panewise.dataflow import open_plan
from panewise.engines.embedded.run import EmbeddedRun
from panewise.engines.embedded.sources import FollowedFile
from panewise.files.places import RowPlaces, row_place
from panewise.files.reader import FileStream
from panewise.sql import parse

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
RELATION = "SELECT k FROM s [RANGE 5]"
JOIN = "SELECT a.k FROM s [RANGE 5] AS a, s [RANGE 5] AS b WHERE a.k = b.k"
FAR = 2**63 - 1
TEXTS = {
    "null.ndjson": ('{"ts": 1, "k": "a"}\n\n{"punctuation": {"ts": 1}}\n{"ts": 2,\n "k": "b"} {"ts": null, "k": "c"}\n',
                    "null.ndjson:5: 'ts' is null"),
    "array.ndjson": ('[{"ts": 1, "k": "a"},\n {"ts": null, "k": "b"},\n {"ts": null, "k": "c"}]\n',
                     "array.ndjson:2: 'ts' is null"),
    "far.ndjson": (f'{{"ts": 1, "k": "a"}}\n{{"ts": {FAR}, "k": "c"}}\n', f"far.ndjson:2: 'ts' is {FAR}, too far"),
    "null.csv": ("ts,k\n1,a\n2,b\n,c\n", "null.csv, row 3: 'ts' is null"),
    "far.csv": (f"ts,k\n1,a\n-{FAR},b\n", f"far.csv, row 2: 'ts' is -{FAR}, too far"),
    "text.csv": ("ts,k\n1,a\n2,b\nsoon,c\n", "text.csv, row 3: 'ts' is 'soon'"),
    "text.ndjson": ('{"ts": 1, "k": "a"}\n{"ts": "soon", "k": "b"}\n', "text.ndjson:2: the row does not fit the "
                    "columns seen before: 'ts' is \"soon\""),
}


def oracle(query: str, path: Path) -> Any:
    return pw.sql(query, s=path, engine="oracle")


def in_process(query: str, path: Path) -> Any:
    return pw.sql(query, s=path)


def live(query: str, path: Path) -> Any:
    return pw.run(query, s=path).collect()


def analyzed(query: str, path: Path) -> Any:
    return pw.explain(query, s=path, analyze=True)


@pytest.mark.parametrize("query", [COUNT, RELATION, JOIN], ids=["aggregate", "relation", "twice"])
@pytest.mark.parametrize("entry", [in_process, oracle, live, analyzed])
@pytest.mark.parametrize("name", TEXTS)
def test_it_is_named_in_every_entry_point(name: str, entry: Callable[[str, Path], Any], query: str,
                                          tmp_path: Path) -> None:
    text, place = TEXTS[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(BadRowError) as refused:
        entry(query, tmp_path / name)
    assert f"{tmp_path}/{place}" in str(refused.value)


def parts(folder: Path, kind: str) -> Path:
    """Ten rows in two files; the third of the second has no time."""
    folder.mkdir()
    for number, times in enumerate(([0, 1, 2, 3, 4], [5, 6, None, 8, 9])):
        path = folder / f"{number}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.table({"ts": times, "k": list("abcde")}), path, row_group_size=2)
        elif kind == "csv":
            path.write_text("ts,k\n" + "".join(f"{'' if t is None else t},{k}\n" for t, k in
                                               zip(times, "abcde", strict=True)))
        else:
            path.write_text("".join(f'{{"ts": {"null" if t is None else t}, "k": "{k}"}}\n' for t, k in
                                    zip(times, "abcde", strict=True)))
    return folder


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson"])
def test_it_is_named_in_its_own_file_of_several(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = parts(tmp_path / "s", kind)
    named = f"{path}/1.{kind}{':3' if kind == 'ndjson' else ', row 3'}: 'ts' is null"
    assert main(["run", RELATION, "--stream", f"s={path}", "--engine", "embedded", "--quiet"]) == 2
    assert named in " ".join(capsys.readouterr().err.split())
    for engine in ("embedded", "oracle"):
        with pytest.raises(BadRowError) as refused:
            pw.sql(COUNT, s=path, engine=engine)
        assert named in str(refused.value)


def test_rows_that_a_run_leaves_out_are_counted_on_the_way(tmp_path: Path) -> None:
    """A run that goes on from a checkpoint, after rows that were skipped, still knows the lines."""
    path = tmp_path / "s.ndjson"
    lines = ['{"ts": 1}', "{broken", '{"punctuation": {"tss": 1}}', '{"punctuation": {"ts": 1}}', '{"ts": null}']
    path.write_text("\n".join([*lines, '{"ts": 4}']) + "\n")
    found = FileStream.open(path, tolerant=True)
    assert [row_place(found, number) for number in (1, 4, 5)] == [f"{path}:1", f"{path}:5", f"{path}:6"]
    with pytest.raises(SourceError, match="row 6 of the stream is not there any more"):
        row_place(found, 6)


def test_a_jump_that_stops_the_run_is_named_too(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("ts\n1\n900\n")
    with pytest.raises(BadRowError, match=r"s\.csv, row 2: 'ts' is 900, further ahead"):
        pw.sql(COUNT, s=path, max_jump=20)


def test_lines_of_a_file_that_is_followed_are_named(tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text('{"ts": 1}\n\n{"ts": null}\n')
    source = FollowedFile(path, columns=pa.schema({"ts": pa.int64()}), poll=0.001)
    plan = parse(COUNT, Catalog({"s": source.schema}))
    with pytest.raises(BadRowError, match=r"s\.ndjson:3: 'ts' is null"):
        EmbeddedRun(open_plan(plan), {"s": source}, live=True).run()


def test_a_row_that_a_program_pushed_is_named_by_its_number() -> None:
    query = pw.open_query(COUNT, s="ts bigint")
    query.push("s", [{"ts": 1}, {"ts": 2}])
    for time, problem in ((None, "'ts' is null"), (FAR, f"'ts' is {FAR}, too far from zero")):
        with pytest.raises(BadRowError, match=f"stream 's', row 4: {problem}.*bad_rows='skip'"):
            query.push("s", [{"ts": 3}, {"ts": time}])


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
@pytest.mark.parametrize(("first", "second", "column", "line"), [
    (r'{"ts":1,"k":"\ud800"}', '{"ts":2,"k":"a"}', "k", 1), ('{"ts":1,"k":"a"}', r'{"ts":2,"k":"b\udc00"}', "k", 2),
    ('{"ts":1,"k":["a"]}', r'{"ts":2,"k":["b","\ud800"]}', "k", 2), ('{"ts":1}', r'{"ts":2,"\ud800":1}', None, 2),
], ids=["first", "second", "nested", "key"])
def test_half_of_a_surrogate_pair_is_named(first: str, second: str, column: str | None, line: int, engine: str,
                                           tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text(f"{first}\n{second}\n")
    reason = rf"'{column or '.*'}' has '\\ud[8c]00', half of a surrogate pair, which is no text"
    with pytest.raises(BadRowError, match=rf"s\.ndjson:{line}: {reason}"):
        pw.sql(COUNT, s=path, engine=engine)
    found = pw.sql(COUNT, s=path, engine=engine, bad_rows="aside")
    assert [row["n"] for row in found] == [1]
    (bad,) = found.bad_rows.to_pylist()
    assert (bad["place"], bad["column"]) == (f"{path}:{line}", column)
    assert re.fullmatch(reason, bad["reason"])


@pytest.mark.parametrize("entry", [in_process, live])
@pytest.mark.parametrize("name", ["null.ndjson", "array.ndjson", "far.ndjson", "null.csv", "far.csv"])
def test_rows_are_put_aside_with_their_places_in_files(name: str, entry: Any, tmp_path: Path) -> None:
    text, message = TEXTS[name]
    path = tmp_path / name
    path.write_text(text)
    start: Any = {in_process: pw.sql, live: lambda *args, **options: pw.run(*args, **options).collect()}[entry]
    first = start(COUNT, s=path, bad_rows="aside").bad_rows.to_pylist()[0]
    assert f"{first['place']}: {first['reason']}".startswith(str(tmp_path / message))
    start(COUNT, s=path, bad_rows=f"aside:{tmp_path / 'bad.ndjson'}")
    assert json.loads((tmp_path / "bad.ndjson").read_text().splitlines()[0])["place"] == first["place"]


def test_places_of_many_rows_in_several_files(tmp_path: Path) -> None:
    for part in "ab":
        rows = [f'{{"ts": {n if n % 3 else "null"}, "k": "a"}}\n' for n in range(1, 5_001)]
        rows[7] = "broken\n"
        (tmp_path / f"{part}.ndjson").write_text("".join(rows))
    places = pw.sql(COUNT, s=tmp_path, bad_rows="aside").bad_rows["place"].to_pylist()
    wanted = [f"{tmp_path}/{part}.ndjson:{n}" for part in "ab" for n in range(1, 5_001) if n % 3 == 0 or n == 8]
    assert places == wanted
    found = FileStream.open(tmp_path, tolerant=True)
    asked = RowPlaces(found)
    for number, place in ((10_000, "b.ndjson:5000"), (3, "a.ndjson:3"), (5_001, "b.ndjson:1")):
        assert asked(number) == f"{tmp_path}/{place}"
