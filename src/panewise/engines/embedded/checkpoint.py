"""Checkpoints in a directory: one file, replaced atomically, so a killed run leaves the last complete one."""

from __future__ import annotations

import os
from pathlib import Path

from panewise.core.errors import CheckpointError

STATE_FILE = "embedded-state.arrow"


class CheckpointDirectory:
    """Where one query keeps its state between runs."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{self.path} cannot be a checkpoint directory: {error}") from error

    def load(self) -> bytes | None:
        """The last complete state; None when there is none yet."""
        try:
            return (self.path / STATE_FILE).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckpointError(f"the checkpoint in {self.path} cannot be read: {error}") from error

    def save(self, data: bytes) -> None:
        """Replace the state: written beside the old one, forced to disk, then renamed over it."""
        temporary = self.path / f"{STATE_FILE}.tmp"
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path / STATE_FILE)
            directory = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise CheckpointError(f"the checkpoint in {self.path} cannot be written: {error}") from error
