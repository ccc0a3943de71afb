"""State as a snapshot and a journal of what came since, in a store of chunks.

Saving all of a shard after every micro-batch would cost what it keeps, not what came. So what came is saved, as entries
of a journal, and the whole only when that is shorter, or when the journal has grown as long as it: per row, state is
written a constant number of times, however much is kept. To read it back is to take in the journal after the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from panewise.core.errors import CheckpointError
from panewise.storage import ChunkStore, MemoryChunks, Scoped

DAMAGED = ("the state in the checkpoint is damaged and cannot be read: restore the folder from a copy, or start with a "
           "new one")
SNAPSHOT = "snapshot"
FEW_BYTES = 1 << 20
"""A journal so short is never worth a snapshot."""
LONGEST = 32
"""Entries after which a snapshot is taken anyway: each is a message to read when the query starts again."""


class Journal:
    """Where the snapshot and the entries of one shard are."""

    def __init__(self, store: ChunkStore) -> None:
        self.store = store
        self._first, self._stop, self._bytes = 1, 1, 0
        self._snapshot: dict[str, int] = {}
        """The chunks of the snapshot, and how long they are."""

    def state(self) -> dict[str, Any]:
        """What must be saved to find it again."""
        return {"first": self._first, "stop": self._stop, "bytes": self._bytes, "snapshot": self._snapshot}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what was saved."""
        self._first, self._stop = int(state["first"]), int(state["stop"])
        self._bytes, self._snapshot = int(state["bytes"]), dict(state["snapshot"])

    def snapshot(self) -> ChunkStore | None:
        """The last snapshot, if there was one."""
        return Scoped(self.store, SNAPSHOT) if self._snapshot else None

    def entries(self) -> Iterator[bytes]:
        """What came since, in order."""
        return map(self._read, range(self._first, self._stop))

    def _read(self, number: int) -> bytes:
        data = self.store.get(_entry(number))
        if data is None:
            raise CheckpointError(DAMAGED)
        return data

    def append(self, came: int, entry: Callable[[], bytes], snapshot: Callable[[ChunkStore], None]) -> None:
        """Save what came, about so many bytes, or everything: whatever is less in the long run."""
        room = max(FEW_BYTES, sum(self._snapshot.values()))
        if self._bytes + came <= room and self._stop - self._first < LONGEST:
            made = entry()
            self.store.put(_entry(self._stop), made)
            self._stop, self._bytes = self._stop + 1, self._bytes + len(made)
            return
        chunks, kept = MemoryChunks(), Scoped(self.store, SNAPSHOT)
        snapshot(chunks)
        lengths = {name: chunks.copied(name, kept) for name in chunks.names()}
        for name in self._snapshot.keys() - lengths.keys():
            kept.remove(name)
        for number in range(self._first, self._stop):
            self.store.remove(_entry(number))
        self._first, self._bytes, self._snapshot = self._stop, 0, lengths


def _entry(number: int) -> str:
    return f"journal/{number}"
