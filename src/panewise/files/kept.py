"""Results kept in a chunk store, so that a restarted run can begin with those of all runs before it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from panewise.kernels.contract.state_file import table_bytes, table_from_bytes
from panewise.storage import ChunkStore

PAGE_BYTES = 4 << 20
"""The last page is written again with every commit until it has so many bytes: few files, and little written twice."""


class ResultPages:
    """Tables in the order in which they came, some of them in one chunk.

    >>> from panewise.storage import MemoryChunks
    >>> store = MemoryChunks()
    >>> pages = ResultPages(store)
    >>> pages.add(pa.table({"n": [1]})); pages.add(pa.table({"n": [2]}))
    >>> store.names(), [table["n"].to_pylist() for table in ResultPages(store).tables()]
    (['000000000000'], [[1, 2]])
    """

    def __init__(self, chunks: ChunkStore) -> None:
        self._chunks = chunks
        names = chunks.names()
        self._number = len(names)
        """Of the next page, or of the last one while it is open."""
        self._open: pa.Table | None = None
        if names:
            last = self._read(self._number - 1)
            if last.nbytes < PAGE_BYTES:
                self._number, self._open = self._number - 1, last

    def add(self, table: pa.Table) -> None:
        """Some more results, kept with the next commit."""
        if self._open is not None and self._open.schema == table.schema:
            table = pa.concat_tables([self._open, table])
        elif self._open is not None:
            self._number += 1
        self._chunks.put(_name(self._number), table_bytes(table))
        self._open = table
        if table.nbytes >= PAGE_BYTES:
            self._number, self._open = self._number + 1, None

    def tables(self) -> Iterator[pa.Table]:
        """All of them."""
        return map(self._read, range(len(self._chunks.names())))

    def _read(self, number: int) -> pa.Table:
        return table_from_bytes(self._chunks.get(_name(number)) or b"")


def _name(number: int) -> str:
    return f"{number:012d}"
