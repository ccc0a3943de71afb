"""The contract of a sink, and of one that gives out results only when they can never be taken back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import pyarrow as pa

from panewise.storage import ChunkStore


class Sink(ABC):
    """Takes results as they come: after a crash and a restart some may come a second time."""

    @abstractmethod
    def write(self, table: pa.Table) -> None:
        """Some result rows."""

    def close(self, error: BaseException | None, empty: pa.Table) -> None:
        """The run is over; ``empty`` has the columns of results, for a run that had none."""
        del error, empty


class Transaction(ABC):
    """Takes part in checkpoints: what leaves a run is made durable before one, and given out after it.

    A run that is killed in between finds the checkpoint, or does not: ``recover`` gives out what belongs to
    checkpoints that are there and forgets the rest, whose rows will come again. What it puts into ``chunks``, a part of
    the checkpoint that is its own, is kept in the same commit as the state.
    """

    @abstractmethod
    def recover(self, number: int, chunks: ChunkStore) -> None:
        """A run begins at this checkpoint (0: none)."""

    @abstractmethod
    def prepare(self, number: int, chunks: ChunkStore) -> None:
        """Make everything written since the last checkpoint durable under this number."""

    @abstractmethod
    def commit(self, number: int) -> None:
        """The checkpoint is there: give it out."""


class TransactionalSink(Sink, Transaction):
    """Gives results out with checkpoints."""


class CallbackSink(Sink):
    """Calls a function with every table of results."""

    def __init__(self, function: Callable[[pa.Table], object]) -> None:
        self.function = function

    def write(self, table: pa.Table) -> None:
        """Call it."""
        self.function(table)
