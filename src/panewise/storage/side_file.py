"""A file beside a checkpoint that rows are appended to: after a restart it holds each row once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from panewise.core.bad_rows import BadRow
from panewise.core.errors import CheckpointError, telling
from panewise.storage import disk


class SideFile:
    """Written as rows come; begun anew by a run that does not go on where another stopped.

    A checkpoint keeps the size that :meth:`settle` tells; what stands behind that size when a run goes on was written
    by one that did not live to save it, and comes again.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        self.size, self._begun = 0, False

    def write(self, text: bytes) -> None:
        """Append."""
        with self._plain():
            disk.make_directory(self.path.absolute().parent)
            with disk.DurableFile(self.path, append=self._begun) as file:
                file.write(text)
        self._begun, self.size = True, self.size + len(text)

    def settle(self) -> int:
        """Force what was written to disk, before a checkpoint says that it is there; its size."""
        if self._begun:
            with self._plain():
                disk.sync_file(self.path)
                disk.sync_directory(self.path.absolute().parent)
        return self.size

    def cut(self, size: int) -> None:
        """Go on after so many bytes: what follows was written by a run that did not live to save it."""
        there = self.path.stat().st_size if self.path.exists() else 0
        if there < size:
            raise CheckpointError(f"{self.path} has {there:,} bytes of the {size:,} of {self.what} that were put aside "
                                  "when the checkpoint was saved: restore it, or start again with a new checkpoint")
        if there > size:
            with self._plain(), disk.DurableFile(self.path, append=True) as file:
                file.truncate(size)
                file.sync()
        self._begun, self.size = size > 0, size

    def _plain(self) -> AbstractContextManager[None]:
        return telling(f"{self.path}: {self.what} cannot be written there")


class AsideFile(SideFile):
    """Bad rows as NDJSON."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "bad rows")

    def add(self, rows: Iterable[tuple[str, BadRow]]) -> None:
        """Some more, each with its stream."""
        text = "".join(json.dumps({"stream": s, "place": b.place, "column": b.column, "reason": b.reason, "row": b.row},
                                  ensure_ascii=False) + "\n" for s, b in rows)
        self.write(text.encode("utf-8", "backslashreplace"))
