"""Results kept beside Spark's checkpoint: not twice, and only with the folder of Spark they were kept with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from panewise.core.errors import CheckpointError
from panewise.engines.spark.files.kept_batches import KeptBatches
from panewise.storage import DirectoryChunks


def batches(home: Path, numbers: range, query: str = "a") -> None:
    """As Spark does it: our results first, then its own note that the batch is done."""
    spark = home / "spark"
    (spark / "commits").mkdir(parents=True, exist_ok=True)
    (spark / "metadata").write_text(json.dumps({"id": query}))
    with DirectoryChunks(home / "kept") as store:
        kept = KeptBatches(store, spark)
        for number in numbers:
            if not kept.has(number):
                kept.add(number, pa.table({"n": [number]}))
            (spark / "commits" / str(number)).write_text("v1")


def rows(home: Path) -> list[int]:
    with DirectoryChunks(home / "kept") as store:
        return [row["n"] for table in KeptBatches(store, home / "spark").tables() for row in table.to_pylist()]


def test_a_batch_that_spark_repeats_is_kept_once(tmp_path: Path) -> None:
    batches(tmp_path, range(3))
    (tmp_path / "spark" / "commits" / "2").unlink()  # killed before Spark wrote it
    batches(tmp_path, range(2, 5))
    assert rows(tmp_path) == [0, 1, 2, 3, 4]


def test_a_folder_of_spark_that_is_gone_behind_or_of_another_query_is_refused(tmp_path: Path) -> None:
    batches(tmp_path / "a", range(5))
    batches(tmp_path / "b", range(5), query="b")
    shutil.copytree(tmp_path / "a", tmp_path / "behind")
    for number in (3, 4):
        (tmp_path / "behind" / "spark" / "commits" / str(number)).unlink()
    with pytest.raises(CheckpointError, match="has reached micro-batch 2, the results beside it 4"):
        rows(tmp_path / "behind")
    shutil.rmtree(tmp_path / "a" / "spark")
    with pytest.raises(CheckpointError, match=r"is not the checkpoint of Spark .*start with a new directory"):
        rows(tmp_path / "a")
    shutil.copytree(tmp_path / "b" / "spark", tmp_path / "a" / "spark")
    with pytest.raises(CheckpointError, match="query b, not a"):
        rows(tmp_path / "a")
