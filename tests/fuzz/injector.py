"""Faults under the storage layer: the n-th durable call of a run fails, or the process is gone before it is made."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from panewise.storage import disk

FAULTS = ("kill", "ENOSPC", "EIO")


@dataclass
class Injector:
    """Does something at one durable call, counted from 0; all calls are noted."""

    at: int = -1
    fault: str = ""
    below: Path | None = None
    """Only calls about paths below this one count."""
    calls: list[tuple[str, str]] = field(default_factory=list)

    @property
    def struck(self) -> bool:
        """Whether the call was reached."""
        return 0 <= self.at < len(self.calls)

    def __call__(self, call: str, path: Path) -> None:
        if self.below is not None and self.below not in path.parents and path != self.below:
            return
        self.calls.append((call, path.name))
        if len(self.calls) - 1 == self.at:
            strike(self.fault, path)


def strike(fault: str, path: Path) -> None:
    """Die, or fail as a disk does."""
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    number = getattr(errno, fault)
    raise OSError(number, os.strerror(number), str(path))


@contextmanager
def failing(at: int, fault: str) -> Iterator[Injector]:
    """The call of this number fails."""
    injector = Injector(at, fault)
    with disk.injected(injector):
        yield injector


def told(say: Callable[[], object]) -> Callable[[str, Path], None]:
    """Say a word at every durable call, so that another process can choose a moment."""
    def fault(call: str, path: Path) -> None:
        say()

    return fault
