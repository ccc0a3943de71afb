"""The contract of a chunk store: named bytes that are read one by one and changed all together.

    store.get("state")              what the last commit left
    store.put("state", data)        seen by ``get`` from now on, kept only if a commit follows
    store.remove("old")

In a directory ``commit`` keeps everything since the last one, or, if the process dies, nothing of it; what is in
Spark's state store Spark commits with the micro-batch.

Operators cut their state into chunks (by pane, by key bucket, as a journal with a snapshot) and do not know where the
chunks are.
"""

from __future__ import annotations

from typing import Protocol

from panewise.core.errors import CheckpointError
from panewise.storage.sealed import seal, unseal

KIND = "chunks"


class ChunkStore(Protocol):
    """Named chunks of bytes."""

    def get(self, name: str) -> bytes | None:
        """The chunk, checked; ``None`` if there is none of this name."""

    def put(self, name: str, data: bytes) -> None:
        """Add or replace a chunk."""

    def remove(self, name: str) -> None:
        """Forget a chunk; one that is not there is no error."""

    def names(self) -> list[str]:
        """The chunks that are there, sorted."""


class CommittedChunks(ChunkStore, Protocol):
    """Chunks that their user commits."""

    def commit(self) -> int:
        """Keep all changes since the last commit, together; the number of this commit."""


class MemoryChunks:
    """Chunks that end with the process.

    >>> store = MemoryChunks()
    >>> store.put("a", b"1"); store.put("b", b"2"); store.remove("a")
    >>> store.names(), store.get("a"), store.get("b"), store.commit()
    (['b'], None, b'2', 1)
    """

    def __init__(self) -> None:
        self._chunks: dict[str, bytes] = {}
        self.number = 0
        """Of the last commit."""

    def get(self, name: str) -> bytes | None:
        """The chunk, if it is there."""
        return self._chunks.get(name)

    def put(self, name: str, data: bytes) -> None:
        """Add or replace."""
        self._chunks[name] = data

    def remove(self, name: str) -> None:
        """Forget."""
        self._chunks.pop(name, None)

    def names(self) -> list[str]:
        """Sorted."""
        return sorted(self._chunks)

    def commit(self) -> int:
        """Nothing can come between."""
        self.number += 1
        return self.number

    def copied(self, name: str, store: ChunkStore) -> int:
        """A chunk is in another store, too; how long it is."""
        store.put(name, self._chunks[name])
        return len(self._chunks[name])

    def packed(self) -> bytes:
        """All chunks in one piece."""
        lengths = [[name, len(self._chunks[name])] for name in self.names()]
        return b"".join(seal({"kind": KIND, "chunks": lengths}, b"".join(map(self._chunks.__getitem__, self.names()))))

    @classmethod
    def unpacked(cls, data: bytes) -> MemoryChunks:
        """Back.

        >>> store = MemoryChunks()
        >>> store.put("a", b"1"); store.put("b", b"")
        >>> MemoryChunks.unpacked(store.packed()).names()
        ['a', 'b']
        """
        about, contents = unseal(data, "the saved state")
        if about.get("kind") != KIND:
            raise CheckpointError(f"this is a {about.get('kind')!r} of panewise, not the state of a query: start again "
                                  "without it")
        store, at = cls(), 0
        for name, length in about["chunks"]:
            store.put(name, contents[at : at + length])
            at += length
        return store


class Scoped:
    """The chunks of a store whose names begin alike, for a part of a program that shares the store with others.

    >>> store = MemoryChunks()
    >>> Scoped(store, "sink").put("page", b"x")
    >>> store.names(), Scoped(store, "sink").names()
    (['sink/page'], ['page'])
    """

    def __init__(self, store: ChunkStore, scope: str) -> None:
        self._store, self._prefix = store, f"{scope}/"

    def get(self, name: str) -> bytes | None:
        """The chunk, if it is there."""
        return self._store.get(self._prefix + name)

    def put(self, name: str, data: bytes) -> None:
        """Add or replace."""
        self._store.put(self._prefix + name, data)

    def remove(self, name: str) -> None:
        """Forget."""
        self._store.remove(self._prefix + name)

    def names(self) -> list[str]:
        """Those of this scope, without its name."""
        return [n.removeprefix(self._prefix) for n in self._store.names() if n.startswith(self._prefix)]
