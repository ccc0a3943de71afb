"""Results in numbered parts that appear with checkpoints: nothing is lost, nothing twice, whenever the run is killed.

The order is: the part is written under a hidden name and forced to disk, the checkpoint is written and says which parts
there are, the part gets its name. A kill before the checkpoint leaves a hidden part that the next run deletes (its rows
come again); a kill after it leaves one that the next run gives its name. A part that can be seen is never changed, and
the next run refuses to go on when one is missing or is not what was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa

from panewise.core.errors import CheckpointError, SourceError, telling
from panewise.engines.embedded.sinks.base import TransactionalSink
from panewise.files.formats import SUFFIXES
from panewise.files.kept import ResultPages
from panewise.files.writer import table_as
from panewise.storage import ChunkStore, disk
from panewise.storage.ledger import Ledger
from panewise.storage.listed import ListedFile

STAGED = ".staged"


class PartsSink(TransactionalSink):
    """A directory of ``part-NUMBER`` files (Parquet, NDJSON or CSV), one per checkpoint that had results."""

    def __init__(self, directory: str | Path, suffix: str = ".parquet") -> None:
        if suffix not in SUFFIXES:
            raise SourceError(f"parts cannot be {suffix!r} files: use one of {', '.join(SUFFIXES)}")
        self.directory, self.suffix = Path(directory), suffix
        with self._plain():
            disk.make_directory(self.directory.absolute())
        self._pending: list[pa.Table] = []
        self._ledger: Ledger | None = None

    def write(self, table: pa.Table) -> None:
        """Kept until the next checkpoint."""
        self._pending.append(table)

    def recover(self, number: int, chunks: ChunkStore) -> None:
        """Name the parts of checkpoints that are there, delete the others; what was named must be as it was."""
        self._pending.clear()
        self._ledger = Ledger(chunks)
        listed = {one.name: one for one in (ListedFile(*entry) for entry in self._ledger)}
        with self._plain():
            for staged in sorted(self.directory.glob(f".part-*{STAGED}.*")):
                name = staged.name[1:].replace(STAGED, "")
                if name in listed:
                    disk.replace(staged, self.directory / name)
                else:
                    disk.remove(staged)
            disk.sync_directory(self.directory)
            there = {path.name for path in self.directory.glob("part-*")}
        if strange := sorted(there - set(listed)):
            raise CheckpointError(f"{self.directory} has {strange[-1]}, which the checkpoint (it has reached {number}) "
                                  "knows nothing of: the results belong to another run; use a directory of its own")
        for one in listed.values():
            one.check(self.directory, "restore it, or start again with new directories for results and checkpoint")

    def prepare(self, number: int, chunks: ChunkStore) -> None:
        """Write the part under a hidden name, and into the list of parts."""
        if not self._pending:
            return
        data = table_as(SUFFIXES[self.suffix], pa.concat_tables(self._pending))
        with self._plain():
            disk.write_file(self._staged(number), [data])
            disk.sync_directory(self.directory)
        self._ledger = self._ledger or Ledger(chunks)
        self._ledger.add(ListedFile.of(self._name(number), data).as_json())
        self._pending.clear()

    def commit(self, number: int) -> None:
        """Give the part its name."""
        staged = self._staged(number)
        if staged.exists():
            with self._plain():
                disk.replace(staged, self.directory / self._name(number))
                disk.sync_directory(self.directory)

    def _name(self, number: int) -> str:
        return f"part-{number:012d}{self.suffix}"

    def _staged(self, number: int) -> Path:
        return self.directory / f".part-{number:012d}{STAGED}{self.suffix}"

    def _plain(self) -> AbstractContextManager[None]:
        return telling(f"{self.directory}: cannot hold results")


class KeptResults(TransactionalSink):
    """Results inside the checkpoint, so that a run can begin with those of all runs before it."""

    def __init__(self) -> None:
        self._pages: ResultPages | None = None
        self._pending: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        """Kept until the next checkpoint."""
        self._pending.append(table)

    def recover(self, number: int, chunks: ChunkStore) -> None:
        """Results of checkpoints that were never completed are not there: their rows come again."""
        self._pending.clear()
        self._pages = ResultPages(chunks)

    def prepare(self, number: int, chunks: ChunkStore) -> None:
        """They are kept with the state, in the same commit."""
        if self._pending:
            self._pages = self._pages or ResultPages(chunks)
            self._pages.add(pa.concat_tables(self._pending))
            self._pending.clear()

    def commit(self, number: int) -> None:
        """Nothing is left to do."""

    def earlier(self) -> Iterator[pa.Table]:
        """The results of runs before this one."""
        return iter(()) if self._pages is None else self._pages.tables()
