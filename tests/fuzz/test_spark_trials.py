"""A short version of ``make fuzz spark-faults``: the driver's side of Spark, without a JVM."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fuzz.spark_trials import rows_of
from fuzz.test_storage_trials import fuzz
from panewise.core.errors import CheckpointError
from panewise.engines.spark.io.sinks import COMMITTED, STAGED, PartsWriter, committed_parts
from panewise.storage.lock import OwnerLock


def test_what_the_driver_writes_survives_every_fault() -> None:
    found = fuzz("spark-faults", "--every", "23")
    assert found["durable calls"] > 100
    assert found["faults"]["kill"] == found["faults"]["ENOSPC"] == found["faults"]["EIO"] > 8


def test_two_drivers_that_commit_one_batch_give_it_out_once(tmp_path: Path) -> None:
    one, other = (PartsWriter(str(tmp_path / "out"), str(tmp_path / "spark")) for _ in range(2))
    staged = [writer.write(iter([rows_of(1, 0)])) for writer in (one, other)]
    with closing(OwnerLock(tmp_path / "out" / COMMITTED)), pytest.raises(CheckpointError, match="in use by process"):
        one.commit([staged[0]], 0)
    one.commit([staged[0]], 0)
    other.commit([staged[1]], 0)
    assert len(committed_parts(tmp_path / "out")) == 1
    assert not list((tmp_path / "out" / STAGED).iterdir())
