"""The contract of a chunk store: named bytes that are read one by one and changed all together.

    store.get("state")              what the last commit left
    store.put("state", data)        seen by ``get`` from now on, kept only if ``commit`` follows
    store.remove("old")
    store.commit()                  everything since the last commit is kept, or, if the process dies, nothing of it

Operators cut their state into chunks (by pane, by key bucket, as a journal with a snapshot) and do not know where the
chunks are.
"""

from __future__ import annotations

from typing import Protocol


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

    def commit(self) -> int:
        """Of the whole store: a scope has no commits of its own."""
        return self._store.commit()
