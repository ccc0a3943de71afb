"""Bad rows of micro-batches in a folder: once, whatever is repeated, and only those of one run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from fuzz.injector import failing
from panewise.core.errors import PlanError, SourceError
from panewise.engines.spark.host.wire import BAD
from panewise.engines.spark.io.aside import BadParts


def batch(*bad: str) -> pa.Table:
    """Two results, then bad rows."""
    results = pa.array([1, 2, *[None] * len(bad)], pa.int64())
    return pa.table({"n": results, BAD: pa.array([None, None, *bad], pa.string())})


def lines(folder: Path) -> list[str]:
    return [line for part in sorted(folder.iterdir()) for line in part.read_text().splitlines()]


def test_a_micro_batch_that_is_repeated_has_its_bad_rows_once(tmp_path: Path) -> None:
    parts = BadParts(tmp_path / "bad", goes_on=False)
    assert parts.take(batch("a", "ü"), 0).to_pydict() == {"n": [1, 2]}
    again = BadParts(tmp_path / "bad", goes_on=True)
    again.take(batch("a", "ü"), 0)
    again.take(batch(), 1)
    again.take(batch("c"), 2)
    assert lines(tmp_path / "bad") == ["a", "ü", "c"]


def test_a_folder_of_another_run_or_a_file_is_refused(tmp_path: Path) -> None:
    BadParts(tmp_path / "bad", goes_on=False).take(batch("a"), 0)
    with pytest.raises(PlanError, match="bad rows of another run"):
        BadParts(tmp_path / "bad", goes_on=False)
    (tmp_path / "file").touch()
    with pytest.raises(PlanError, match=r"is a file: .*aside:DIR"):
        BadParts(tmp_path / "file", goes_on=False)


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_a_disk_that_fails_is_an_error_and_no_half_file(fault: str, tmp_path: Path) -> None:
    parts = BadParts(tmp_path / "bad", goes_on=False)
    with failing(1, fault), pytest.raises(SourceError, match="bad rows cannot be written there"):
        parts.take(batch("a"), 0)
    assert not list((tmp_path / "bad").glob("*.ndjson"))
