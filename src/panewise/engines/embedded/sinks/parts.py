"""Results in numbered parts that appear with checkpoints: nothing is lost, nothing twice, whenever the run is killed.

The order is: the part is written under a hidden name and forced to disk, the checkpoint is written, the part gets its
name. A kill before the checkpoint leaves a hidden part that the next run deletes (its rows come again); a kill after it
leaves one that the next run gives its name. A part that can be seen is never changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from panewise.core.errors import CheckpointError, SourceError
from panewise.engines.embedded.checkpoint import sync_directory
from panewise.engines.embedded.sinks.base import TransactionalSink
from panewise.files.formats import SUFFIXES
from panewise.files.parts import NumberedParts
from panewise.files.writer import ResultFile

STAGED = ".staged"


class PartsSink(TransactionalSink):
    """A directory of ``part-NUMBER`` files (Parquet, NDJSON or CSV), one per checkpoint that had results."""

    def __init__(self, directory: str | Path, suffix: str = ".parquet") -> None:
        if suffix not in SUFFIXES:
            raise SourceError(f"parts cannot be {suffix!r} files: use one of {', '.join(SUFFIXES)}")
        self.directory, self.suffix = Path(directory), suffix
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"{self.directory}: cannot hold results: {error.strerror or error}") from error
        self._pending: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        """Kept until the next checkpoint."""
        self._pending.append(table)

    def recover(self, number: int) -> None:
        """Name the parts of checkpoints that are there, delete the others."""
        self._pending.clear()
        seen = [int(p.stem.removeprefix("part-")) for p in self.directory.glob(f"part-*{self.suffix}")]
        if seen and max(seen) > number:
            raise CheckpointError(f"{self.directory} has part {max(seen)}, but the checkpoint has only reached "
                                  f"{number}: the results belong to another run; use a directory of its own")
        for staged in sorted(self.directory.glob(f".part-*{STAGED}{self.suffix}")):
            if int(staged.name.removeprefix(".part-").split(".")[0]) <= number:
                staged.replace(self.directory / staged.name[1:].replace(STAGED, ""))
            else:
                staged.unlink()
        sync_directory(self.directory)

    def prepare(self, number: int) -> None:
        """Write the part where nobody looks."""
        if not self._pending:
            return
        table = pa.concat_tables(self._pending)
        staged = self._staged(number)
        with ResultFile(staged, table.schema) as file:
            file.write(table)
        descriptor = os.open(staged, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_directory(self.directory)
        self._pending.clear()

    def commit(self, number: int) -> None:
        """Give the part its name."""
        staged = self._staged(number)
        if staged.exists():
            staged.replace(self.directory / f"part-{number:012d}{self.suffix}")
            sync_directory(self.directory)

    def _staged(self, number: int) -> Path:
        return self.directory / f".part-{number:012d}{STAGED}{self.suffix}"


class KeptResults(TransactionalSink):
    """Results inside the checkpoint directory, so that a run can begin with those of all runs before it."""

    def __init__(self, folder: str | Path) -> None:
        self.parts = NumberedParts(folder)
        self._pending: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        """Kept until the next checkpoint."""
        self._pending.append(table)

    def recover(self, number: int) -> None:
        """Parts of checkpoints that were never completed: their rows come again."""
        self._pending.clear()
        self.parts.drop_above(number)

    def prepare(self, number: int) -> None:
        """Only ever read by a run that knows the checkpoint, so the part needs no second name."""
        if self._pending:
            self.parts.write(number, pa.concat_tables(self._pending))
            self._pending.clear()

    def commit(self, number: int) -> None:
        """Nothing is left to do."""

    def earlier(self) -> Iterator[pa.Table]:
        """The results of runs before this one."""
        return map(self.parts.read, self.parts.numbers())
