"""State as a snapshot and a journal of what came since, in a store of chunks.

Saving all of a shard after every micro-batch would cost what it keeps, not what came. So what came is saved, as entries
of a journal, and the whole only when that is shorter, or when the journal has grown as long as it: per row, state is
written a constant number of times, however much is kept. To read it back is to take in the journal after the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from panewise.core.errors import CheckpointError
from panewise.engines.spark.shard import ChunkStore
from panewise.engines.spark.shard_progress import DAMAGED

SNAPSHOT = 0
"""The chunk of the snapshot; entries of the journal are counted from 1."""
FEW_BYTES = 1 << 20
"""A journal so short is never worth a snapshot."""
LONGEST = 32
"""Entries after which a snapshot is taken anyway: each is a message to read when the query starts again."""


class Journal:
    """Where the snapshot and the entries of one shard are."""

    def __init__(self, store: ChunkStore) -> None:
        self.store = store
        self._first, self._stop, self._bytes, self._snapshot_bytes = 1, 1, 0, 0

    def state(self) -> dict[str, int]:
        """What must be saved to find it again."""
        return {"first": self._first, "stop": self._stop, "bytes": self._bytes, "snapshot": self._snapshot_bytes}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what was saved."""
        self._first, self._stop = int(state["first"]), int(state["stop"])
        self._bytes, self._snapshot_bytes = int(state["bytes"]), int(state["snapshot"])

    def snapshot(self) -> bytes | None:
        """The last snapshot, if there was one."""
        return self._read(SNAPSHOT) if self._snapshot_bytes else None

    def entries(self) -> Iterator[bytes]:
        """What came since, in order."""
        return map(self._read, range(self._first, self._stop))

    def _read(self, chunk: int) -> bytes:
        data = self.store.get(chunk)
        if data is None:
            raise CheckpointError(DAMAGED)
        return data

    def append(self, came: int, entry: Callable[[], bytes], snapshot: Callable[[], bytes]) -> None:
        """Save what came, about so many bytes, or everything: whatever is less in the long run."""
        room = max(FEW_BYTES, self._snapshot_bytes)
        if self._bytes + came <= room and self._stop - self._first < LONGEST:
            made = entry()
            self.store.put(self._stop, made)
            self._stop, self._bytes = self._stop + 1, self._bytes + len(made)
            return
        data = snapshot()
        self.store.put(SNAPSHOT, data)
        for number in range(self._first, self._stop):
            self.store.remove(number)
        self._first, self._bytes, self._snapshot_bytes = self._stop, 0, len(data)
