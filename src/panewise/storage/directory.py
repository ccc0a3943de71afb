"""Chunks in a directory: a commit is one file that takes the place of another, everything else is written before it.

    lock                  who owns the directory
    manifest-0            two manifests, of the last commit and of the one before it
    manifest-1
    chunks/000000000007-0001-5f0c9a1e
                          the chunk files that either of them lists: commit, number, owner

A commit writes its chunks under new names and forces them to disk, then puts its manifest in the place of the older
one, then deletes the files that neither manifest lists. A process that dies before the manifest has its name leaves the
commit before, one that dies after it leaves this commit. Both manifests are there from the beginning, so one that is
missing was deleted. A file is read only if its seal, its length and its checksum are what the manifest says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from uuid import uuid4

from panewise.core.errors import CheckpointError, OtherVersionError
from panewise.storage import disk
from panewise.storage.lock import LOCK, OwnerLock
from panewise.storage.manifest import KIND as MANIFEST
from panewise.storage.manifest import Entry, Manifest
from panewise.storage.sealed import checksum, seal, unseal

SLOTS = ("manifest-0", "manifest-1")
CHUNKS = "chunks"
KIND = "chunk"
EARLIER = "query.json"
"""The mark of checkpoints that panewise 0.1 has written."""
NEW_ONE = "restore the directory from a copy, or start with a new one"


class DirectoryChunks:
    """The chunks of one directory; the object owns the directory until it is closed.

    ``beside`` names what others may keep in the directory.
    """

    def __init__(self, path: str | Path, *, beside: tuple[str, ...] = ()) -> None:
        self.path = Path(path).absolute()
        self._chunks = self.path / CHUNKS
        self._beside = beside
        self._changed: dict[str, Entry] = {}
        self._removed: set[str] = set()
        self._written = 0
        self._mark = uuid4().hex[:8]
        """In the names of this owner's files: one that lost its lock must not write over those of the next."""
        self._failed = False
        with self._plain("cannot be a checkpoint directory"):
            disk.make_directory(self.path)
            self._refuse_foreign()
            self._lock = OwnerLock(self.path)
        try:
            with self._plain("cannot be opened"):
                self._now, self._before, self._newest = self._opened()
            self._epoch = self._now.epoch + 1
            self._check_files(self._now)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> DirectoryChunks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the next owner in; changes that were not committed are forgotten."""
        self._lock.close()

    @property
    def number(self) -> int:
        """Of the last commit."""
        return self._now.number

    # -- the contract

    def get(self, name: str) -> bytes | None:
        """The chunk; one that is not exactly what was written is refused."""
        entry = self._entry(name)
        return None if entry is None else self._read(self._now, name, entry)

    def put(self, name: str, data: bytes) -> None:
        """Written at once, under a name that no manifest lists yet."""
        self._written += 1
        file = f"{self._now.number + 1:012d}-{self._written:04d}-{self._mark}"
        pieces = seal({"kind": KIND, "store": self._now.store, "name": name}, data)
        with self._plain("cannot be written"):
            disk.write_file(self._chunks / file, pieces)
        self._changed[name] = Entry(file, sum(map(len, pieces)), checksum(pieces[0]))
        self._removed.discard(name)

    def remove(self, name: str) -> None:
        """From the next commit on."""
        self._changed.pop(name, None)
        self._removed.add(name)

    def names(self) -> list[str]:
        """Sorted."""
        return sorted((set(self._now.entries) - self._removed) | set(self._changed))

    def commit(self) -> int:
        """Everything since the last commit, or nothing; its number."""
        if self._failed:
            raise CheckpointError(f"{self.path}: a commit has failed, and whether it is on disk is not known: start "
                                  "again from the directory, which tells")
        entries = {n: e for n, e in self._now.entries.items() if n not in self._removed} | self._changed
        made = Manifest(self._now.store, self._now.number + 1, self._epoch, MappingProxyType(entries))
        older = SLOTS[1 - SLOTS.index(self._newest)]
        with self._plain("cannot be written"):
            disk.sync_directory(self._chunks)
            self._check_owner()
            disk.write_whole(self.path / older, [made.sealed()])
            self._before, self._now, self._newest = self._now, made, older
            self._changed, self._removed, self._written = {}, set(), 0
            self._sweep()
        return made.number

    # -- opening

    def _opened(self) -> tuple[Manifest, Manifest, str]:
        """The newest manifest, the one before it, and the name of the newest."""
        there = [slot for slot in SLOTS if (self.path / slot).exists()]
        disk.make_directory(self._chunks)
        if not there or (there == [SLOTS[0]] and not self._manifest(SLOTS[0]).number):
            return self._created(bool(there))
        if len(there) == 1:
            missing = next(slot for slot in SLOTS if slot not in there)
            raise CheckpointError(f"{self.path / missing} is missing, and it may be the newest. "
                                  f"{self._way_back(there[0], missing)}")
        found = {}
        for slot in SLOTS:
            try:
                found[slot] = self._manifest(slot)
            except OtherVersionError:
                raise
            except CheckpointError as error:
                other = SLOTS[1 - SLOTS.index(slot)]
                raise CheckpointError(f"{error}. {self._way_back(other, slot)}") from None
        newest, older = sorted(SLOTS, key=lambda slot: found[slot].number, reverse=True)
        now, before = found[newest], found[older]
        if now.store != before.store or now.number - before.number > 1 or (now.number == before.number
                                                                             and now != before):
            raise CheckpointError(f"{self.path}: {' and '.join(SLOTS)} do not belong together: one of them is of "
                                  f"another checkpoint, or of another time; {NEW_ONE}")
        self._now, self._before = now, before
        self._sweep()  # what a crash has left
        return now, before, newest

    def _created(self, begun: bool) -> tuple[Manifest, Manifest, str]:
        """Both manifests of an empty store; a creation that was cut short is done again."""
        if begun:
            first = self._manifest(SLOTS[0])
        else:
            first = Manifest(uuid4().hex)
            disk.write_whole(self.path / SLOTS[0], [first.sealed()])
        second = Manifest(first.store, 1)
        disk.write_whole(self.path / SLOTS[1], [second.sealed()])
        return second, first, SLOTS[1]

    def _refuse_foreign(self) -> None:
        """Leave alone what panewise has not written, and what another version of it has."""
        if any((self.path / slot).exists() for slot in SLOTS):
            return
        if (self.path / EARLIER).exists():
            raise CheckpointError(f"{self.path} was written by panewise 0.1 ({EARLIER}), whose checkpoints this "
                                  "version does not read: go on with panewise 0.1, or start with a new directory")
        ours = {LOCK, f"{SLOTS[0]}.writing", *self._beside}
        others = sorted(entry.name for entry in self.path.iterdir() if entry.name not in ours)
        if others == [CHUNKS] and not any(self._chunks.iterdir()):
            return  # a beginning that was cut short
        if CHUNKS in others:
            raise CheckpointError(f"{self.path}: {' and '.join(SLOTS)} are missing, which say what belongs to the "
                                  f"checkpoint; {NEW_ONE}")
        if others:
            raise CheckpointError(f"{self.path} is not empty, and no checkpoint that panewise has written (it has "
                                  f"{others[0]!r}): use a directory of its own")

    def _manifest(self, slot: str) -> Manifest:
        path = self.path / slot
        header, contents = unseal(self._bytes(path), path, remedy=NEW_ONE)
        if header.get("kind") != MANIFEST:
            raise CheckpointError(f"{path} is a {header.get('kind')}, not a manifest: files were swapped; {NEW_ONE}")
        return Manifest.of(header, contents)

    def _check_files(self, manifest: Manifest) -> None:
        """Every file that must be there is there, with its length; checksums are compared when it is read."""
        for name, entry in manifest.entries.items():
            path = self._chunks / entry.file
            try:
                length = path.stat().st_size
            except OSError as error:
                raise self._damaged(f"{path}, which holds {name!r}, is missing ({error.strerror})") from None
            if length != entry.length:
                raise self._damaged(f"{path}, which holds {name!r}, is damaged: it has {length:,} bytes instead of "
                                    f"{entry.length:,}")

    # -- files

    def _entry(self, name: str) -> Entry | None:
        if name in self._changed:
            return self._changed[name]
        return None if name in self._removed else self._now.entries.get(name)

    def _read(self, manifest: Manifest, name: str, entry: Entry) -> bytes:
        try:
            return self._checked(manifest, name, entry)
        except CheckpointError as error:
            raise self._damaged(str(error)) from None

    def _checked(self, manifest: Manifest, name: str, entry: Entry) -> bytes:
        path = self._chunks / entry.file
        data = self._bytes(path)
        header, contents = unseal(data, path, remedy="it cannot be used")
        if header != {"kind": KIND, "store": manifest.store, "name": name} or checksum(data) != entry.checksum:
            raise CheckpointError(f"{path} is not the file that {name!r} was written to: files were swapped")
        return contents

    def _bytes(self, path: Path) -> bytes:
        try:
            return disk.read(path)
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error

    def _damaged(self, what: str) -> CheckpointError:
        other = SLOTS[1 - SLOTS.index(self._newest)]
        return CheckpointError(f"{what}. {self._way_back(other, self._newest)}")

    def _way_back(self, good: str, bad: str) -> str:
        """What to do about a damaged state: the other one, if it is complete."""
        try:
            other = self._manifest(good)
            for name, entry in other.entries.items():
                self._checked(other, name, entry)
        except CheckpointError:
            return f"No other state in {self.path} is complete: {NEW_ONE}"
        return (f"The state of commit {other.number} is complete: copy {good} over {bad} to go on from there; results "
                "that were given out since then are given out a second time")

    def _check_owner(self) -> None:
        """An owner that lost its lock, or whose directory has moved on without it, must not write over the new one."""
        self._lock.check()
        older = SLOTS[1 - SLOTS.index(self._newest)]
        if (self._manifest(self._newest), self._manifest(older)) != (self._now, self._before):
            raise CheckpointError(f"{self.path} was changed by another run: nothing more is saved from here")

    def _sweep(self) -> None:
        """Delete the chunk files that neither manifest lists."""
        needed = self._now.files | self._before.files
        with os.scandir(self._chunks) as found:
            names = [entry.name for entry in found]
        for name in names:
            if name not in needed:
                disk.remove(self._chunks / name)

    @contextmanager
    def _plain(self, what: str) -> Iterator[None]:
        """Errors of the disk as errors of the checkpoint; after one, nothing more is committed."""
        try:
            yield
        except OSError as error:
            self._failed = True
            raise CheckpointError(f"{self.path} {what}: {error.strerror or error}"
                                  f"{'' if error.filename is None else f' ({error.filename})'}") from error
        except CheckpointError:
            self._failed = True
            raise
