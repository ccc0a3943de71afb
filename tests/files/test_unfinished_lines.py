"""A file that ends in the middle of a line is told apart from one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from panewise.core.errors import SourceError
from panewise.files.reader import FileStream


def test_a_last_line_that_is_cut_short_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text('{"ts": 1}\n{"ts": 2, "k')
    with pytest.raises(SourceError, match=r"s\.ndjson:2: not JSON.*--follow waits for the rest"):
        FileStream.open(path)
    path.write_text('{"ts": 1}\n{"ts": 2, "k\n{"ts": 3}\n')
    with pytest.raises(SourceError, match=r"s\.ndjson:2: not JSON") as caught:
        FileStream.open(path)
    assert "--follow" not in str(caught.value)


def test_a_last_line_without_its_end_is_a_row_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    path.write_text('{"ts": 1}\n{"ts": 2}')
    assert FileStream.open(path).table().num_rows == 2
