"""A list that grows for ever in a chunk store: pages of entries, of which only the last is written again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from panewise.storage.chunks import ChunkStore

PAGE = 256


class Ledger:
    """JSON values in the order in which they were added.

    >>> from panewise.storage.chunks import MemoryChunks
    >>> store = MemoryChunks()
    >>> ledger = Ledger(store, page=2)
    >>> for number in range(5):
    ...     ledger.add({"part": number})
    >>> store.names(), [entry["part"] for entry in Ledger(store, page=2)]
    (['000000000000', '000000000001', '000000000002'], [0, 1, 2, 3, 4])
    """

    def __init__(self, chunks: ChunkStore, *, page: int = PAGE) -> None:
        self._chunks, self._page = chunks, page
        pages = chunks.names()
        self._number = max(len(pages) - 1, 0)
        self._last: list[Any] = self._read(self._number) if pages else []

    def __iter__(self) -> Iterator[Any]:
        for number in range(self._number):
            yield from self._read(number)
        yield from self._last

    def add(self, entry: Any) -> None:
        """One more, kept with the next commit."""
        if len(self._last) == self._page:
            self._number, self._last = self._number + 1, []
        self._last.append(entry)
        self._chunks.put(_name(self._number), json.dumps(self._last).encode())

    def _read(self, number: int) -> list[Any]:
        return list(json.loads(self._chunks.get(_name(number)) or b"[]"))


def _name(number: int) -> str:
    return f"{number:012d}"
