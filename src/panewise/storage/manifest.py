"""What belongs to one committed state: every chunk with its file, its length and its checksum."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from panewise.storage.sealed import seal

KIND = "manifest"


@dataclass(frozen=True)
class Entry:
    """Where a chunk is, and what its file must be like."""

    file: str
    length: int
    checksum: str


@dataclass(frozen=True)
class Manifest:
    """One committed state of a store."""

    store: str
    """The store it belongs to: a random name, in the seal of all of its files."""
    number: int = 0
    """Of the commit."""
    epoch: int = 0
    """Of the owner who committed: each has a larger one than the owner before."""
    entries: Mapping[str, Entry] = field(default_factory=lambda: MappingProxyType({}))

    def sealed(self) -> bytes:
        """As a file has it."""
        header = {"kind": KIND, "store": self.store, "number": self.number, "epoch": self.epoch}
        listed = {name: [e.file, e.length, e.checksum] for name, e in sorted(self.entries.items())}
        return b"".join(seal(header, json.dumps(listed, separators=(",", ":")).encode()))

    @classmethod
    def of(cls, header: Mapping[str, Any], contents: bytes) -> Manifest:
        """From what was sealed."""
        entries = {name: Entry(*entry) for name, entry in json.loads(contents).items()}
        return cls(header["store"], header["number"], header["epoch"], MappingProxyType(entries))

    @property
    def files(self) -> set[str]:
        """All files it needs."""
        return {entry.file for entry in self.entries.values()}
