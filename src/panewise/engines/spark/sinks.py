"""A sink that commits every micro-batch exactly once, whatever is repeated after a failure.

Tasks write Parquet files aside. When all have succeeded, the driver gives them the names of their batch and then
writes the batch's manifest, which is what makes them count. Spark repeats a batch under the same number: one that has a
manifest is left alone, one that has none replaces its files.

    register_parts(spark)
    results.writeStream.format("panewise_parts").option("path", "out").option("checkpointLocation", "state").start()
    read_parts(spark, "out")

The folder belongs to one query with one checkpoint: numbers of another checkpoint would mean other batches.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from panewise.core.errors import CheckpointError, SourceError

FORMAT = "panewise_parts"
STAGED, COMMITTED, OWNER = "_staged", "_committed", "owner.json"


def register_parts(spark: SparkSession) -> str:
    """Make the sink known to a session; the name to give to ``format``."""
    spark.dataSource.register(PanewiseParts)
    return FORMAT


def committed_parts(folder: str | Path) -> list[Path]:
    """The files of all committed batches, in the order of the batches."""
    home = Path(folder)
    found: list[Path] = []
    for manifest in sorted((home / COMMITTED).glob("[0-9]*.json")):
        found += [home / name for name in json.loads(manifest.read_text())["files"]]
    return found


def read_parts(spark: SparkSession, folder: str | Path) -> DataFrame:
    """What was committed, as a DataFrame; files of a batch that was cut short are not among it."""
    files = committed_parts(folder)
    if not files:
        raise SourceError(f"{folder}: no batch has been committed here")
    return spark.read.parquet(*(str(f.absolute()) for f in files))


class PanewiseParts(DataSource):
    """The data source behind ``format("panewise_parts")``."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format(...)``."""
        return FORMAT

    def streamWriter(self, schema: T.StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        """Structured Streaming."""
        if "path" not in self.options:
            raise SourceError("say where results go: .option('path', FOLDER)")
        return PartsWriter(self.options["path"], self.options.get("checkpointLocation"))


@dataclass
class Written(WriterCommitMessage):
    """What one task has written aside; ``None`` for nothing."""

    name: str | None
    rows: int


class PartsWriter(DataSourceStreamArrowWriter):
    """Files in tasks, manifests on the driver."""

    def __init__(self, folder: str, checkpoint: str | None) -> None:
        self.home, self.checkpoint = Path(folder).absolute(), checkpoint
        for sub in (STAGED, COMMITTED):
            (self.home / sub).mkdir(parents=True, exist_ok=True)
        self._claim()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """One task."""
        writer: pq.ParquetWriter | None = None
        name, rows = f"{uuid.uuid4().hex}.parquet", 0
        try:
            for batch in iterator:
                if batch.num_rows:
                    writer = writer or pq.ParquetWriter(self.home / STAGED / name, batch.schema)
                    writer.write_batch(batch)
                    rows += batch.num_rows
        finally:
            if writer is not None:
                writer.close()
        return Written(name if writer is not None else None, rows)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks have succeeded."""
        written = [m for m in messages if isinstance(m, Written) and m.name is not None]
        manifest = self.home / COMMITTED / f"{batchId:012d}.json"
        if manifest.exists():
            self._forget(written)
            return
        for old in self.home.glob(f"part-{batchId:012d}-*.parquet"):  # of an attempt that was cut short
            old.unlink()
        files = []
        for number, message in enumerate(written):
            files.append(f"part-{batchId:012d}-{number:05d}.parquet")
            (self.home / STAGED / str(message.name)).replace(self.home / files[-1])
        write_whole(manifest, {"batch": batchId, "files": files, "rows": sum(m.rows for m in written)})

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Some task has failed for good."""
        self._forget([m for m in messages if isinstance(m, Written)])

    def _forget(self, written: list[Written]) -> None:
        for message in written:
            if message.name is not None:
                (self.home / STAGED / message.name).unlink(missing_ok=True)

    def _claim(self) -> None:
        """Refuse the folder of a query with another checkpoint: batches of equal numbers would be taken for done."""
        if self.checkpoint is None:
            return
        owner = self.home / COMMITTED / OWNER
        if not owner.exists():
            write_whole(owner, {"checkpoint": self.checkpoint})
        found = json.loads(owner.read_text())["checkpoint"]
        if found != self.checkpoint:
            raise CheckpointError(f"{self.home}: these results belong to the checkpoint {found}, not to "
                                  f"{self.checkpoint}: use a folder of its own")


def write_whole(path: Path, content: dict[str, object]) -> None:
    """A small file that is there as a whole or not at all."""
    staged = path.with_suffix(".writing")
    with staged.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    staged.replace(path)
