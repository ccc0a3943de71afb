"""Bounded queues between sources and a query: the faster side waits.

Every source has a queue of its own, so a full or an empty one blocks no other. Single rows that wait together leave
together: an idle query takes each at once, a busy one finds a batch. A punctuation ends the batch before it, so
progress is never held up to fill one (it changes when rows travel, never what they mean).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Any, TypeAlias

from panewise.engines.embedded.positions import AnyItem, Item, length

QUEUE_ROWS = 100_000
BATCH_ROWS = 10_000


class Ended:
    """A source has no more."""


@dataclass(frozen=True)
class Failed:
    """A source broke."""

    error: BaseException


class ClosedInboxError(Exception):
    """The queue is closed: its reader must stop."""


Message: TypeAlias = Item | Ended | Failed


class Inbox:
    """The queues of one run, one per stream; ``rows`` is how many rows each may hold."""

    def __init__(self, streams: Sequence[str], *, rows: int = QUEUE_ROWS, batch_rows: int = BATCH_ROWS) -> None:
        self._queues: dict[str, deque[AnyItem | Ended | Failed]] = {name: deque() for name in streams}
        self._held = dict.fromkeys(streams, 0)
        self._limit, self._batch = max(rows, 1), max(batch_rows, 1)
        self._turn: deque[str] = deque(streams)
        self._changed = Condition()
        self._closed = False
        self._reading, self._writers = False, 0
        """Which side waits, so that no thread is woken in vain."""

    def put(self, stream: str, item: AnyItem | Ended | Failed) -> None:
        """Add an item of a stream, when there is room for it."""
        # a single row is the common case and the one whose cost counts
        size = 1 if type(item) is dict or isinstance(item, Ended | Failed) else max(length(item), 1)
        with self._changed:
            # a batch larger than the whole queue may enter an empty one
            while not self._closed and self._held[stream] and self._held[stream] + size > self._limit \
                    and not isinstance(item, Ended | Failed):
                self._writers += 1
                self._changed.wait()
                self._writers -= 1
            if self._closed:
                raise ClosedInboxError(stream)
            self._queues[stream].append(item)
            self._held[stream] += size
            if self._reading:
                self._changed.notify_all()

    def take(self, timeout: float | None = None) -> tuple[str, Message] | None:
        """The next item of any stream, in turn; None when the time is over or the inbox was closed."""
        with self._changed:
            self._reading = True
            self._changed.wait_for(lambda: self._closed or any(self._queues.values()), timeout)
            self._reading = False
            if self._closed:
                return None
            for _ in range(len(self._turn)):
                stream = self._turn[0]
                self._turn.rotate(-1)
                if self._queues[stream]:
                    message = self._next(stream)
                    if self._writers:
                        self._changed.notify_all()
                    return stream, message
            return None

    def _next(self, stream: str) -> Message:
        queue = self._queues[stream]
        first = queue.popleft()
        if not isinstance(first, Mapping):
            self._held[stream] -= 1 if isinstance(first, Ended | Failed) else max(length(first), 1)
            return first
        rows: list[Mapping[str, Any]] = [first]
        while queue and len(rows) < self._batch and (type(queue[0]) is dict or isinstance(queue[0], Mapping)):
            rows.append(queue.popleft())  # type: ignore[arg-type]
        self._held[stream] -= len(rows)
        return rows

    def close(self) -> None:
        """Nothing is taken any more: readers that wait for room stop."""
        with self._changed:
            self._closed = True
            for queue in self._queues.values():
                queue.clear()
            self._changed.notify_all()

    @property
    def held(self) -> dict[str, int]:
        """Rows waiting now, by stream."""
        with self._changed:
            return dict(self._held)
