"""In which order items reach a query: inputs take turns, or each comes when it comes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from threading import Thread
from typing import TypeAlias

from panewise.engines.embedded.inbox import QUEUE_ROWS, ClosedInboxError, Ended, Failed, Inbox
from panewise.engines.embedded.positions import AnyItem, Item

Arrival: TypeAlias = tuple[str, Item | Ended]


class Arrivals(ABC):
    """Items of several inputs, one after the other."""

    open: set[str]
    """The inputs that have not ended."""

    @abstractmethod
    def take(self, patience: float | None) -> Arrival | None:
        """The next item, or None when none came in so many seconds."""

    def close(self) -> None:
        """Nothing is read any more; a waiting ``take`` returns."""
        return


class InTurn(Arrivals):
    """One item of each input in turn, read when it is wanted: the same inputs give the same order."""

    def __init__(self, inputs: Mapping[str, Iterator[AnyItem]], turn: int = 0) -> None:
        self.inputs, self.open, self.turn = inputs, set(inputs), turn
        self._names = list(inputs)

    def take(self, patience: float | None) -> Arrival | None:
        """From the next input that has not ended."""
        del patience
        name = self._names[self.turn % len(self._names)]
        self.turn += 1
        if name not in self.open:
            return None
        item = next(self.inputs[name], None)
        if item is None:
            self.open.discard(name)
            return name, Ended()
        return name, [item] if isinstance(item, Mapping) else item


class Live(Arrivals):
    """Every input read by a thread of its own into a bounded queue."""

    def __init__(self, inputs: Mapping[str, Iterator[AnyItem]], *, queue_rows: int = QUEUE_ROWS) -> None:
        self.open = set(inputs)
        self.inbox = Inbox(list(inputs), rows=queue_rows)
        # daemons: a thread that waits for a pipe or a slow iterator must not keep the process alive
        self._threads = [Thread(target=_read, args=(self.inbox, name, items), name=f"source {name}", daemon=True)
                         for name, items in inputs.items()]
        for thread in self._threads:
            thread.start()

    def take(self, patience: float | None) -> Arrival | None:
        """Whatever comes first; a source that broke is heard after what it had sent."""
        arrival = self.inbox.take(patience)
        if arrival is None:
            return None
        name, item = arrival
        if isinstance(item, Failed):
            raise item.error
        if isinstance(item, Ended):
            self.open.discard(name)
        return name, item

    def close(self) -> None:
        """Readers that wait for room go home."""
        self.inbox.close()


def _read(inbox: Inbox, name: str, items: Iterator[AnyItem]) -> None:
    try:
        for item in items:
            inbox.put(name, item)
        inbox.put(name, Ended())
    except ClosedInboxError:
        return
    except BaseException as error:
        with suppress(ClosedInboxError):
            inbox.put(name, Failed(error))
    finally:
        if isinstance(items, Generator):
            items.close()
