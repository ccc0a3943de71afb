"""A stream in files from any place: the same rows wherever reading begins, whatever the text looks like."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panewise.engines.spark.io.file_pieces import Piece, pieces
from panewise.engines.spark.io.source_options import StreamOptions
from panewise.engines.spark.io.sources import ROWS_PER_TASK, Place, Walker
from panewise.files import ndjson
from panewise.files.reader import FileStream

PLAIN = "".join(f"{i},k{i % 3}\n" for i in range(40))


@pytest.mark.parametrize("text", [
    "t,k\n" + PLAIN,
    "\nt,k\n" + PLAIN.replace("7,k1\n", "7,k1\n\n"),
    "t,k\r\n" + PLAIN.replace("\n", "\r\n"),
    "t,k\n" + PLAIN.replace("k1", '"k, ""1"""').removesuffix("\n"),
], ids=["plain", "with empty lines", "with carriage returns", "with quotes"])
def test_csv_gives_the_same_rows_from_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(ndjson, "BLOCK", 50)
    path = tmp_path / "s.csv"
    path.write_bytes(text.encode())
    stream = FileStream.open(path)
    whole = stream.table()
    assert whole.num_rows == 40
    for start in range(41):
        found = list(pieces(stream, path, start, "t"))
        assert pa.concat_tables([whole.slice(0, 0), *(p.read()[0] for p in found if isinstance(p, Piece))]) \
            == whole.slice(start)
        assert [p.at for p in found][:1] == ([start] if start < 40 else [])
        counted = list(pieces(stream, path, start, "t", columns=[]))
        assert sum(p.size for p in counted if isinstance(p, Piece)) == 40 - start


def test_a_long_row_group_is_shared_among_tasks(tmp_path: Path) -> None:
    rows = 3 * ROWS_PER_TASK
    pq.write_table(pa.table({"t": np.arange(rows)}), tmp_path / "s.parquet", row_group_size=rows)
    options = StreamOptions(str(tmp_path / "s.parquet"), "t")
    _, spans = Walker(options).walk(Place())
    assert len(spans) >= 3
    assert sum(s.stop - s.start for s in spans) == rows
