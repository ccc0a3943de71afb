"""One owner of a directory at a time.

The lock is the kernel's (``flock``), so it ends with its process, however that ends: a dead owner is taken over without
a wait. The file says who the owner is, for the error a second starter gets. On file systems that do not pass locks
between machines, or when the file was deleted under its owner, two processes may believe they own the directory: the
one whose token is no longer in the file finds out before it commits.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import weakref
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from panewise.core.errors import CheckpointError
from panewise.storage import disk

LOCK = "lock"


class OwnerLock:
    """The lock of a directory, from when it is made until it is closed or the process ends."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.path = directory, directory / LOCK
        self._token = uuid4().hex
        self._descriptor = self._acquired()
        record = {"host": socket.gethostname(), "pid": os.getpid(), "token": self._token,
                  "began": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            disk.rewrite(self._descriptor, self.path, json.dumps(record).encode())
        except BaseException:
            self.close()
            raise
        _held.add(self)

    def _acquired(self) -> int:
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_there(descriptor):
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise CheckpointError(f"{self.directory} is in use by {self._owner()}: one run at a time may write it; "
                                      "wait until that one has ended, stop it, or use a directory of its own") from None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # deleted between opening and locking

    def check(self) -> None:
        """Refuse to go on when the directory has another owner by now."""
        try:
            mine = self._is_there(self._descriptor) and self._record().get("token") == self._token
        except OSError:
            mine = False
        if not mine:
            raise CheckpointError(f"{self.directory} is no longer owned by this run: its lock was removed, or taken "
                                  f"over by {self._owner()}; nothing more is saved from here. Start again from the "
                                  "directory when that run has ended")

    def close(self) -> None:
        """Let the next owner in."""
        _held.discard(self)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            self.close()

    def _is_there(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _record(self) -> dict[str, object]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _owner(self) -> str:
        """The owner, as far as the file says."""
        record = self._record()
        if not record.get("pid"):
            return "another process"
        return f"process {record['pid']} on {record.get('host')}, which began at {record.get('began')}"


_held: weakref.WeakSet[OwnerLock] = weakref.WeakSet()


def _not_in_children() -> None:
    """A forked child would keep the lock of a parent that died."""
    for lock in list(_held):
        lock.close()


os.register_at_fork(after_in_child=_not_in_children)
