"""Checkpoints in a directory: numbered files, each complete or not there, the newest two kept.

A file is the state (Arrow) and, behind it, its checksum: a disk that lost or changed a byte is noticed before anything
is restored. The number is what transactional sinks call the results that belong to a checkpoint.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from panewise.core.errors import CheckpointError

MAGIC = b"PWSTATE2"
TRAILER = hashlib.sha256().digest_size + len(MAGIC)
KEPT = 2


class CheckpointDirectory:
    """Where one query keeps its state between runs."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.number = 0
        """Of the newest checkpoint; 0 when there is none yet."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{self.path} cannot be a checkpoint directory: {error}") from error

    def load(self) -> bytes | None:
        """The newest state; None when there is none yet.

        A damaged one is never passed over in silence: results that belong to it may already be with their readers.
        """
        numbers = self.numbers()
        if not numbers:
            return None
        self.number = numbers[-1]
        try:
            return self._read(self.number)
        except CheckpointError as error:
            raise CheckpointError(f"{error}. {self._way_back(numbers[:-1])}") from error

    def save(self, data: bytes) -> int:
        """Add a state, forced to disk before it gets its name; the number it has."""
        number = self.number + 1
        temporary = self.path / "state.tmp"
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.write(hashlib.sha256(data).digest() + MAGIC)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._file(number))
            sync_directory(self.path)
            for old in self.numbers():
                if old <= number - KEPT:
                    self._file(old).unlink(missing_ok=True)
        except OSError as error:
            raise CheckpointError(f"the checkpoint in {self.path} cannot be written: {error}") from error
        self.number = number
        return number

    def numbers(self) -> list[int]:
        """The checkpoints that are there, ascending."""
        try:
            return sorted(int(file.stem.removeprefix("state-")) for file in self.path.glob("state-*.arrow"))
        except ValueError as error:
            raise CheckpointError(f"{self.path} has state files that are not ours: {error}") from error

    def _read(self, number: int) -> bytes:
        file = self._file(number)
        try:
            data = file.read_bytes()
        except OSError as error:
            raise CheckpointError(f"the checkpoint {file} cannot be read: {error}") from error
        state, trailer = data[:-TRAILER], data[-TRAILER:]
        if not trailer.endswith(MAGIC) or trailer[: -len(MAGIC)] != hashlib.sha256(state).digest():
            raise CheckpointError(f"the checkpoint {file} is damaged: its checksum does not fit")
        return state

    def _way_back(self, older: list[int]) -> str:
        for number in reversed(older):
            try:
                self._read(number)
            except CheckpointError:
                continue
            return (f"The one before it, {self._file(number).name}, is complete: delete the damaged file to go on from "
                    "there; results since then are then output a second time")
        return "There is no older one: start again with a new directory"

    def _file(self, number: int) -> Path:
        return self.path / f"state-{number:012d}.arrow"


def sync_directory(path: Path) -> None:
    """Make names durable, too."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
