"""Bad rows and jumps of time in panewise's own file source: the rows that are used, and those that are not, are those
of a query in process, wherever the files are cut."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panewise as pw
from panewise.core.errors import BadRowError, CheckpointError, OtherVersionError, PlanError
from panewise.engines.spark.host.wire import BAD, CONTROL
from panewise.engines.spark.io.source_options import StreamOptions
from panewise.engines.spark.io.sources import Place, Walker
from panewise.files.reader import FileStream

QUERY = "SELECT ts, k FROM s [NOW]"
JUMP = 30


def rows_of(seed: int) -> list[dict[str, Any]]:
    """Time goes on, now and then far ahead, for good or for one row; some rows have none."""
    random, now, made = Random(seed), 0, []
    for number in range(80):
        now += random.choice((0, 1, 2, 3, JUMP if random.random() < 0.1 else 1))
        ts = None if random.random() < 0.1 else now + (random.randint(JUMP, 900) if random.random() < 0.1 else 0)
        made.append({"ts": ts, "k": f"k{number}"})
    return made


def written(folder: Path, kind: str, seed: int) -> Path:
    """In two files, with lines that cannot be read where the format allows them."""
    folder.mkdir()
    rows, random = rows_of(seed), Random(seed)
    for number, part in enumerate((rows[:30], rows[30:])):
        path = folder / f"{number}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(part, pa.schema({"ts": pa.int64(), "k": pa.string()})), path,
                           row_group_size=7)
            continue
        lines = [json.dumps(r) if kind == "ndjson" else f"{'' if r['ts'] is None else r['ts']},{r['k']}" for r in part]
        none = ('{"ts": "soon", "k": "x"}', "{broken") if kind == "ndjson" else ("soon,x",)
        for at in sorted(random.sample(range(1, len(lines)), 4), reverse=True):
            lines.insert(at, random.choice(none))
        path.write_text("\n".join([*(["ts,k"] if kind == "csv" else []), *lines, ""]))
    return folder


def options(path: Path, size: int, **more: Any) -> StreamOptions:
    return StreamOptions(str(path), "ts", rows_per_batch=size, **more)


def read(given: StreamOptions) -> pa.Table:
    """As Spark does: offset by offset, each span in a task of its own."""
    place, batches = Place(), []
    while not place.ended:
        end, spans = Walker(given).walk(Place.of(place.offset()), limit=given.rows_per_batch)
        again = Walker(given).walk(place, until=end)[1]
        assert again == spans
        for span in spans:
            batches += list(Walker(given).read(span))
        place = end
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("kind", ["ndjson", "csv", "parquet"])
@pytest.mark.parametrize("jump", [None, JUMP])
@pytest.mark.parametrize("size", [3, 1000])
def test_used_and_bad_rows_are_those_in_process(kind: str, jump: int | None, size: int, tmp_path: Path) -> None:
    for seed in range(4):
        path = written(tmp_path / f"{seed}", kind, seed)
        expected = pw.sql(QUERY, s=str(path), bad_rows="aside", max_jump=jump, time="ts", progress="ordered",
                          late="consistent")
        stream = FileStream.open(path, time="ts", tolerant=True)
        found = read(options(path, size, bad_rows="skip", max_jump=jump, stored=stored(stream))).to_pylist()
        data = [row for row in found if row[CONTROL] is None and row[BAD] is None]
        assert sorted(r["k"] for r in data if r["ts"] is not None) == sorted(r["k"] for r in used(expected, path))
        told = [json.loads(row[BAD]) for row in found if row[BAD] is not None]
        bad = expected.bad_rows.to_pylist()
        assert [t["reason"] for t in told] == [b["reason"] for b in bad if "is null" not in b["reason"]]
        assert sum(r["ts"] is None for r in data) == sum("is null" in b["reason"] for b in bad)
        assert jump is None or any("max_jump=30" in t["reason"] for t in told)


def used(expected: Any, path: Path) -> list[dict[str, Any]]:
    """All rows of the files that are not among the bad ones."""
    left_out = {_key(b["row"]) for b in expected.bad_rows.to_pylist()}  # what the reader could not read is in no batch
    stream = FileStream.open(path, time="ts", tolerant=True)
    batches = [item for item in stream.items() if isinstance(item, pa.RecordBatch)]
    return [row for batch in batches for row in batch.to_pylist() if row["k"] not in left_out]


def _key(text: str) -> str | None:
    try:
        return str(json.loads(text)["k"])
    except (ValueError, LookupError, TypeError):  # a line that is no row
        return None


def stored(stream: FileStream) -> str:
    return base64.b64encode(stream.stored.serialize().to_pybytes()).decode()


def test_a_jump_stops_the_run_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "s.ndjson").write_text('{"ts": 1}\n{"ts": 2}\n{"ts": 900}\n')
    with pytest.raises(BadRowError, match=r"s\.ndjson:3: 'ts' is 900, further ahead .* max_jump=10 .*bad_rows='skip'"):
        read(options(tmp_path / "s.ndjson", 2, max_jump=10))


def test_a_jump_that_cannot_be_measured_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "s.ndjson").write_text('{"ts": 1}\n')
    given = options(tmp_path / "s.ndjson", 2, max_jump="1 hour")
    with pytest.raises(PlanError, match="max_jump='1 hour' for 'ts'"):
        given.check(given.open())


def test_the_offset_of_another_version_is_refused_by_name() -> None:
    offset = Place("a.ndjson", 7).offset()
    assert Place.of(offset) == Place("a.ndjson", 7)
    with pytest.raises(OtherVersionError, match="the checkpoint was made by an earlier version of panewise's state"):
        Place.of({"place": offset["place"]})
    with pytest.raises(OtherVersionError, match="was made by version 9 of panewise's state"):
        Place.of({**offset, "version": "9"})
    with pytest.raises(CheckpointError, match="of a query over another source, or damaged"):
        Place.of({"segment": "7"})
