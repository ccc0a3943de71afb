"""A row of a file on which an expression fails is named with its file, and its line or row in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panewise as pw
from panewise.core.errors import EvaluationError

QUERIES = {
    "rows": "SELECT 1 / v AS x FROM s", "condition": "SELECT v FROM s WHERE 1 / v > 0 AND ts > 1",
    "aggregate": "SELECT sum(1 / v) [RANGE 10, SLIDE 10, WA ts] AS x FROM s",
    "below": "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s WHERE 1 / v > 0",
    "relation": "SELECT 1 / v AS x FROM s [RANGE 5]",
    "elements": "SELECT 1 / x AS y FROM s LATERAL VIEW explode(array(v, 1)) t AS x",
}


def in_process(query: str, path: Path) -> Any:
    return pw.sql(query, s=path)


def live(query: str, path: Path) -> Any:
    return pw.run(query, s=path).collect()


def ndjson(folder: Path) -> str:
    (folder / "s.ndjson").write_text('{"ts": 1, "v": 1}\n\n{"punctuation": {"ts": 1}}\n{"ts": 2, "v": 1}\n'
                                     '{"ts": 3, "v": 0}\n{"ts": 4, "v": 1}\n')
    return f"{folder}/s.ndjson:5"


def csv(folder: Path) -> str:
    (folder / "s.csv").write_text("ts,v\n1,1\n2,1\n3,0\n4,1\n")
    return f"{folder}/s.csv, row 3"


def parquet(folder: Path) -> str:
    pq.write_table(pa.table({"ts": [1, 2, 3, 4], "v": [1, 1, 0, 1]}), folder / "s.parquet", row_group_size=2)
    return f"{folder}/s.parquet, row 3"


def two_files(folder: Path) -> str:
    for number, values in enumerate(([1, 1], [0, 1])):
        lines = [f'{{"ts": {2 * number + at + 1}, "v": {v}}}\n' for at, v in enumerate(values)]
        (folder / f"{number}.ndjson").write_text("".join(lines))
    return f"{folder}/1.ndjson:1"


@pytest.mark.parametrize("run", [in_process, live])
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("write", [ndjson, csv, parquet, two_files])
def test_the_file_and_the_row_are_named(write: Callable[[Path], str], query: str, run: Callable[[str, Path], Any],
                                        tmp_path: Path) -> None:
    place = write(tmp_path)
    files = sorted(tmp_path.iterdir())
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO") as caught:
        run(QUERIES[query], files[0] if len(files) == 1 else tmp_path)
    assert caught.value.place.removesuffix(", came in at 3") == f"stream 's', {place}"


def test_rows_that_were_left_out_count(tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text('{"ts": 1, "v": 1}\n{"ts": null, "v": 1}\n{"ts": 2,\n{"ts": 3, "v": 0}\n')
    for query in QUERIES.values():
        with pytest.raises(EvaluationError) as caught:
            pw.sql(query, s=path, bad_rows="skip")
        assert f"stream 's', {path}:4" in caught.value.place


def test_a_file_that_is_gone_leaves_the_number(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"

    def divided(value: int) -> float:
        path.unlink(missing_ok=True)
        return 1 / value

    path.write_text("ts,v\n1,1\n2,0\n")
    with pytest.raises(EvaluationError, match="row 2"):
        pw.sql("SELECT f(v) AS x FROM s WHERE ts > 0", s=path, functions={"f": divided})
