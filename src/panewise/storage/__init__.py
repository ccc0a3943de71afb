"""State on disk: named chunks that change together or not at all, owned by one run at a time.

``disk`` makes every call that changes a disk, ``sealed`` puts version and checksum around bytes, ``chunks`` is the
contract of a store with its form in memory, ``directory`` its form on disk, ``manifest`` the list of what must be
there, ``lock`` who may write. ``docs/reliability.md`` says what all of it promises.
"""

from panewise.storage.chunks import ChunkStore, CommittedChunks, MemoryChunks, Scoped
from panewise.storage.directory import DirectoryChunks

__all__ = ["ChunkStore", "CommittedChunks", "DirectoryChunks", "MemoryChunks", "Scoped"]
