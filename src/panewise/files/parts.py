"""Result parts under numbers: how a restarted run ends with exactly the rows of an undisturbed one.

A part is written whole or not at all, and writing a number again replaces it, so work that is repeated after a failure
replaces its own results instead of adding to them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from panewise.core.errors import CheckpointError


class NumberedParts:
    """Tables in a folder, one file per number."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{self.folder}: results cannot be kept here: {error}") from error

    def write(self, number: int, table: pa.Table) -> None:
        """Put a part in its place; a reader sees all of it or nothing, also after a power cut."""
        path = self._path(number)
        staged = path.with_suffix(".writing")
        try:
            with staged.open("wb") as file:
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
                file.flush()
                os.fsync(file.fileno())
            staged.replace(path)
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be written: {error.strerror or error}") from error

    def read(self, number: int) -> pa.Table:
        """One part."""
        try:
            with pa.ipc.open_file(str(self._path(number))) as file:
                return file.read_all()
        except (OSError, pa.ArrowInvalid) as error:
            raise CheckpointError(f"{self._path(number)}: cannot be read: {error}") from error

    def numbers(self) -> list[int]:
        """The parts that are there, ascending."""
        return sorted(int(p.stem) for p in self.folder.glob("*.arrow"))

    def drop_above(self, number: int) -> None:
        """Forget parts of work that will be done again."""
        for later in self.numbers():
            if later > number:
                self._path(later).unlink()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:012d}.arrow"
