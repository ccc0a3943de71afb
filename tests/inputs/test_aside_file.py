"""Bad rows that were put aside are part of what a restarted run relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

import panewise as pw
from fuzz.injector import failing
from panewise.core.errors import CheckpointError, SourceError
from panewise.dataflow import Query
from panewise.storage import disk

TEXT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"


def opened(path: Path) -> Query:
    return pw.open_query(TEXT, s="ts bigint", bad_rows=f"aside:{path}")


def saved(path: Path) -> bytes:
    """A query that has put two rows aside, saved, and then one more that is not saved."""
    query = opened(path)
    query.push("s", [{"ts": 1}, {"ts": None}, {"ts": None}])
    state = query.snapshot()
    query.push("s", [{"ts": None}])
    return bytes(state)


def test_what_a_run_did_not_live_to_save_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "bad.ndjson"
    state = saved(path)
    assert len(path.read_text().splitlines()) == 3
    query = opened(path)
    query.restore(state)
    query.push("s", [{"ts": None}])
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:40])])
def test_rows_put_aside_that_are_gone_are_an_error(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "bad.ndjson"
    state = saved(path)
    assert callable(damage)
    damage(path)
    with pytest.raises(CheckpointError, match="were put aside"):
        opened(path).restore(state)


def test_they_are_on_disk_before_a_state_says_so(tmp_path: Path) -> None:
    calls: list[str] = []
    query = opened(tmp_path / "bad.ndjson")
    query.push("s", [{"ts": None}])
    with disk.injected(lambda call, path: calls.append(call)):
        query.snapshot()
    assert calls == ["fsync", "fsync dir"]


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_a_disk_that_fails_is_named(tmp_path: Path, fault: str) -> None:
    query = opened(tmp_path / "bad.ndjson")
    with failing(1, fault), pytest.raises(SourceError, match="bad rows cannot be written"):
        query.push("s", [{"ts": None}])
