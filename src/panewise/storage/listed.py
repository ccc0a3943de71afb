"""Files that others read as they are, without a seal of ours: what each must be like is listed elsewhere."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panewise.core.errors import CheckpointError
from panewise.storage import disk


@dataclass(frozen=True)
class ListedFile:
    """A file by its name, length and checksum."""

    name: str
    length: int
    checksum: str

    @classmethod
    def of(cls, name: str, data: bytes) -> ListedFile:
        """A file of these bytes."""
        return cls(name, len(data), hashlib.sha256(data).hexdigest())

    def as_json(self) -> list[Any]:
        """For a list on disk."""
        return [self.name, self.length, self.checksum]

    def check(self, folder: Path, remedy: str) -> None:
        """Refuse a file that is missing, or not what was written."""
        path = folder / self.name
        try:
            data = disk.read(path)
        except FileNotFoundError:
            raise CheckpointError(f"{path} is missing, a result that was given out: {remedy}") from None
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error
        if self != ListedFile.of(self.name, data):
            raise CheckpointError(f"{path} is damaged or was changed: it is not the result that was given out; "
                                  f"{remedy}")
