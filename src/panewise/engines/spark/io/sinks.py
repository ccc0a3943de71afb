"""A sink that commits every micro-batch exactly once, whatever is repeated after a failure.

Tasks write Parquet files aside. When all have succeeded, the driver gives them the names of their batch and then
writes the batch's manifest, which is what makes them count: it has the length and checksum of each. Spark repeats a
batch under the same number: one that has a manifest is left alone, one that has none replaces its files. A file or a
manifest that is missing or not what was written is refused by name, when results are read and when the query starts.

    register_parts(spark)
    results.writeStream.format("panewise_parts").option("path", "out").option("checkpointLocation", "state").start()
    read_parts(spark, "out")

The folder belongs to one query with one checkpoint: numbers of another checkpoint would mean other batches.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from panewise.core.errors import CheckpointError, SourceError, telling
from panewise.storage import disk
from panewise.storage.listed import ListedFile
from panewise.storage.lock import OwnerLock
from panewise.storage.sealed import seal, unseal

FORMAT = "panewise_parts"
STAGED, COMMITTED, OWNER = "_staged", "_committed", "owner"
MANIFEST = ".manifest"
NO_RESULTS = "cannot hold results"
REMEDY = "restore it from a copy, or start again with a new folder and a new checkpoint"


def register_parts(spark: SparkSession) -> str:
    """Make the sink known to a session; the name to give to ``format``."""
    spark.dataSource.register(PanewiseParts)
    return FORMAT


def committed_parts(folder: str | Path) -> list[Path]:
    """The files of all committed batches, in the order of the batches, each as it was written."""
    home = Path(folder)
    found: list[Path] = []
    for _, files in sorted(_manifests(home).items()):
        for one in files:
            one.check(home, REMEDY)
            found.append(home / one.name)
    return found


def _manifests(home: Path) -> dict[int, list[ListedFile]]:
    """What every batch has committed; none may be missing between two others."""
    names = sorted((home / COMMITTED).glob(f"[0-9]*{MANIFEST}"))
    if (home / COMMITTED / f"{0:012d}.json").exists():
        raise CheckpointError(f"{home} was written by panewise 0.1, whose result folders this version does not read: "
                              "read them as Parquet, or start with a new folder")
    owner = read_sealed(home / COMMITTED / OWNER, OWNER)["folder"] if names else None
    found = {}
    for path in names:
        about = read_sealed(path, "batch")
        if about["folder"] != owner or path.name != _manifest_name(about["batch"]):
            raise CheckpointError(f"{path} belongs to another folder or another batch: files were swapped; {REMEDY}")
        found[about["batch"]] = [ListedFile(*one) for one in about["files"]]
    for number in range(min(found, default=0), max(found, default=0)):
        if number not in found:
            raise CheckpointError(f"{home / COMMITTED / _manifest_name(number)} is missing: {REMEDY}")
    return found


def _manifest_name(batch: int) -> str:
    return f"{batch:012d}{MANIFEST}"


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
    length: int = 0
    checksum: str = ""


class PartsWriter(DataSourceStreamArrowWriter):
    """Files in tasks, manifests on the driver."""

    def __init__(self, folder: str, checkpoint: str | None) -> None:
        self.home, self.checkpoint = Path(folder).absolute(), checkpoint
        with telling(f"{self.home}: {NO_RESULTS}"):
            for sub in (STAGED, COMMITTED):
                disk.make_directory(self.home / sub)
            self.folder = self._claim()
            committed_parts(self.home)
            self._check_checkpoint()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """One task."""
        rows = 0
        file: _HashedFile | None = None
        writer: pq.ParquetWriter | None = None
        name = f"{uuid.uuid4().hex}.parquet"
        with telling(f"{self.home}: {NO_RESULTS}"):
            try:
                for batch in iterator:
                    if batch.num_rows:
                        if writer is None:
                            file = _HashedFile(self.home / STAGED / name)
                            writer = pq.ParquetWriter(file, batch.schema)
                        writer.write_batch(batch)
                        rows += batch.num_rows
            finally:
                if writer is not None:
                    writer.close()
            if file is None:
                return Written(None, 0)
            disk.sync_file(self.home / STAGED / name)
            return Written(name, rows, file.tell(), file.digest.hexdigest())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """All tasks have succeeded."""
        written = [m for m in messages if isinstance(m, Written) and m.name is not None]
        manifest = self.home / COMMITTED / _manifest_name(batchId)
        # of two drivers one comes after the other
        with telling(f"{self.home}: {NO_RESULTS}"), closing(OwnerLock(self.home / COMMITTED)):
            if manifest.exists():
                self._forget(written)
                return
            for old in self.home.glob(f"part-{batchId:012d}-*.parquet"):  # of an attempt that was cut short
                disk.remove(old)
            files = []
            for number, message in enumerate(written):
                files.append(ListedFile(f"part-{batchId:012d}-{number:05d}.parquet", message.length, message.checksum))
                disk.replace(self.home / STAGED / str(message.name), self.home / files[-1].name)
            disk.sync_directory(self.home)
            write_sealed(manifest, "batch", {"batch": batchId, "folder": self.folder,
                                             "rows": sum(m.rows for m in written),
                                             "files": [one.as_json() for one in files]})

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Some task has failed for good."""
        self._forget([m for m in messages if isinstance(m, Written)])

    def _forget(self, written: list[Written]) -> None:
        for message in written:
            if message.name is not None:
                disk.remove(self.home / STAGED / message.name)

    def _claim(self) -> str:
        """The name of the folder, in all of its manifests.

        The folder of a query with another checkpoint is refused: batches of equal numbers would be taken for done.
        """
        owner = self.home / COMMITTED / OWNER
        if not owner.exists():
            if any((self.home / COMMITTED).glob(f"[0-9]*{MANIFEST}")):
                raise CheckpointError(f"{owner} is missing: {REMEDY}")
            write_sealed(owner, OWNER, {"checkpoint": self.checkpoint, "folder": uuid.uuid4().hex})
        about = read_sealed(owner, OWNER)
        if None not in (self.checkpoint, about["checkpoint"]) and about["checkpoint"] != self.checkpoint:
            raise CheckpointError(f"{self.home}: these results belong to the checkpoint {about['checkpoint']}, not to "
                                  f"{self.checkpoint}: use a folder of its own")
        return str(about["folder"])

    def _check_checkpoint(self) -> None:
        """Spark writes that a batch is done after we have committed it: where its notes can be read, none is ahead."""
        if self.checkpoint is None:
            return
        notes = Path(self.checkpoint.removeprefix("file://").removeprefix("file:")) / "commits"
        done = max((int(p.name) for p in notes.glob("[0-9]*") if p.name.isdigit()), default=-1)
        newest = max(_manifests(self.home), default=-1)
        if done > newest:
            raise CheckpointError(f"{self.home / COMMITTED / _manifest_name(done)} is missing: the checkpoint "
                                  f"{self.checkpoint} has done batch {done}; {REMEDY}")


class _HashedFile(disk.DurableFile):
    """Knows the checksum of what was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.digest = hashlib.sha256()

    def write(self, data: object) -> int:
        """Count it in."""
        self.digest.update(memoryview(data))  # type: ignore[arg-type]
        return super().write(data)


def write_sealed(path: Path, kind: str, content: dict[str, Any]) -> None:
    """A small file that is there as a whole or not at all."""
    disk.write_whole(path, seal({"kind": kind}, json.dumps(content).encode()))


def read_sealed(path: Path, kind: str) -> dict[str, Any]:
    """A small file, if it is exactly what was written."""
    try:
        data = disk.read(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing: {REMEDY}") from None
    header, content = unseal(data, path, remedy=REMEDY)
    if header != {"kind": kind}:
        raise CheckpointError(f"{path} is a {header.get('kind')!r}, not a {kind!r}: files were swapped; {REMEDY}")
    return dict(json.loads(content))
