"""The only module that changes a disk: every durable call of panewise is made here, so a test can fail each of them.

A test installs a *fault*, a function that is told each call before it is made (a write: when half of it is done) and
may raise ``OSError`` or end the process. Nothing above this module needs to know.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

Fault: TypeAlias = Callable[[str, Path], None]
"""Told the name of a call and the path it is about."""

CALLS = ("mkdir", "open", "write", "fsync", "rename", "unlink", "fsync dir", "read")

_faults: list[Fault] = []


@contextmanager
def injected(fault: Fault) -> Iterator[None]:
    """Tell a function of every call, until the block ends.

    >>> seen = []
    >>> with injected(lambda call, path: seen.append(call)):
    ...     contents = read(__file__)
    >>> seen
    ['read']
    """
    _faults.append(fault)
    try:
        yield
    finally:
        _faults.remove(fault)


def _about_to(call: str, path: Path) -> None:
    for fault in tuple(_faults):
        fault(call, path)


def make_directory(path: Path) -> None:
    """A directory and those above it, with their names on disk; one that is there is left alone."""
    if path.is_dir():
        return
    if path.parent != path:
        make_directory(path.parent)
    _about_to("mkdir", path)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def read(path: str | Path) -> bytes:
    """All bytes of a file."""
    _about_to("read", Path(path))
    return Path(path).read_bytes()


def write_file(path: Path, pieces: Iterable[bytes]) -> None:
    """A file with these bytes, forced to disk; its name is not yet (``sync_directory``)."""
    with DurableFile(path) as file:
        for piece in pieces:
            file.write(piece)
        file.sync()


def write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    """A file that is there as a whole or as it was before, also after a power cut."""
    staged = path.with_name(f"{path.name}.writing")
    write_file(staged, pieces)
    replace(staged, path)
    sync_directory(path.parent)


def replace(source: Path, target: Path) -> None:
    """Give a file another name, in place of what has it."""
    _about_to("rename", target)
    source.replace(target)


def remove(path: Path) -> None:
    """Delete a file; one that is gone already is no error."""
    _about_to("unlink", path)
    path.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Force a file to disk that others have written."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _about_to("fsync", path)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Force the names in a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _about_to("fsync dir", path)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rewrite(descriptor: int, path: Path, data: bytes) -> None:
    """Other bytes in an open file, in place: for a lock, whose file must stay the same one."""
    _about_to("write", path)
    os.ftruncate(descriptor, 0)
    _write_all(descriptor, data, 0)
    _about_to("fsync", path)
    os.fsync(descriptor)


class DurableFile(io.RawIOBase):
    """A file that is written from its beginning, by us or by Arrow's writers, and can be forced to disk."""

    def __init__(self, path: Path, *, append: bool = False) -> None:
        super().__init__()
        self.path = path
        _about_to("open", path)
        flags = os.O_RDWR if append else os.O_WRONLY | os.O_TRUNC
        self._descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._at = os.fstat(self._descriptor).st_size if append else 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: object) -> int:
        """All of it: a disk that takes less says why."""
        view = memoryview(data).cast("B")  # type: ignore[arg-type]
        done = 0
        if _faults:
            done = len(view) // 2
            self._at = _write_all(self._descriptor, view[:done], self._at)
            _about_to("write", self.path)
        self._at = _write_all(self._descriptor, view[done:], self._at)
        return len(view)

    def tell(self) -> int:
        """How many bytes were written."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Keep only the first bytes."""
        self._at = self._at if size is None else size
        os.ftruncate(self._descriptor, self._at)
        return self._at

    def sync(self) -> None:
        """Force what was written to disk."""
        _about_to("fsync", self.path)
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Without forcing anything."""
        if not self.closed:
            super().close()
            os.close(self._descriptor)


def _write_all(descriptor: int, data: bytes | memoryview, at: int) -> int:
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, at)
        view, at = view[count:], at + count
    return at
