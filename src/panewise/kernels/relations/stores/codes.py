"""The values of an edge's rows as codes, until each row leaves: what whoever counts rows by value needs of them.

Where rows leave when they said, a code and an end is all there is of a row, and of rows that stay for ever nothing.
Where they may leave earlier, a row has to be found by its number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import FOREVER, Delta, Lives
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.queues import ExpiryQueue
from panewise.progress.watermarks import NO_BOUND

CODE = pa.schema([pa.field("code", pa.int64())])


class LeavingCodes(ABC):
    """Codes of rows; a step is ``leave`` (rows of earlier steps that go), then ``enter`` (rows of this one)."""

    queue: ExpiryQueue

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows are kept."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes kept."""

    @abstractmethod
    def leave(self, delta: Delta, upto: int) -> tuple[Ordinals, Ordinals]:
        """The codes of rows that are gone below the bound, and the first instant without each."""

    @abstractmethod
    def enter(self, codes: Ordinals, lives: Lives, upto: int) -> None:
        """Rows of the step, by code; those that are there at the bound are kept."""

    @abstractmethod
    def recode(self, moved: Ordinals) -> None:
        """Every code becomes another."""

    @abstractmethod
    def saved(self) -> dict[str, pa.Table]:
        """The rows that are there."""

    @abstractmethod
    def load(self, tables: Mapping[str, pa.Table], reached: int, numbers: Ordinals) -> None:
        """Become what ``saved`` gave, when the i-th code has become ``numbers[i]``."""


class CodesByEnd(LeavingCodes):
    """Of rows that leave when they said: the queue itself holds their codes."""

    def __init__(self, queue: ExpiryQueue) -> None:
        self.queue = queue
        self._count, self._reached = 0, NO_BOUND

    @property
    def count(self) -> int:
        """Rows that will leave."""
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return 16 * self.count

    def leave(self, delta: Delta, upto: int) -> tuple[Ordinals, Ordinals]:
        """By the queue alone."""
        assert not len(delta.ends), "codes without numbers need rows whose ends are known"
        codes, at = self.queue.passed(upto)
        self._count -= len(codes)
        return codes, at

    def enter(self, codes: Ordinals, lives: Lives, upto: int) -> None:
        """Into the queue."""
        leaves = (lives.expires >= upto) & (lives.expires != FOREVER)
        self._insert(codes[leaves], lives.expires[leaves])
        self._reached = upto

    def _insert(self, codes: Ordinals, expires: Ordinals) -> None:
        self.queue.insert(codes, expires, self._reached)
        self._count += len(codes)

    def recode(self, moved: Ordinals) -> None:
        """Through the whole queue."""
        codes, expires = self.queue.entries()
        self._begin(moved[codes], expires.copy())

    def _begin(self, codes: Ordinals, expires: Ordinals) -> None:
        self.queue.clear()
        self._count = 0
        self._insert(codes, expires)

    def saved(self) -> dict[str, pa.Table]:
        """Codes and ends."""
        codes, expires = self.queue.entries()
        return {"codes": pa.table({"code": codes, "expires": expires})}

    def load(self, tables: Mapping[str, pa.Table], reached: int, numbers: Ordinals) -> None:
        """Become what ``saved`` gave."""
        self._reached = reached
        codes, expires = (np.array(tables["codes"].column(n).to_numpy(), np.int64) for n in ("code", "expires"))
        self._begin(numbers[codes], expires)


class CodesByNumber(LeavingCodes):
    """Of rows that may leave before they said: found by their numbers."""

    def __init__(self, queue: ExpiryQueue) -> None:
        self._rows = AliveRows(CODE, queue)
        self.queue = queue

    @property
    def count(self) -> int:
        """Rows that are there."""
        return self._rows.count

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return self._rows.nbytes

    def leave(self, delta: Delta, upto: int) -> tuple[Ordinals, Ordinals]:
        """By ends that were sent, and by the queue."""
        left = self._rows.leave(delta, upto)
        return self._rows.arena.payload.take(left.slots).column(0).to_numpy(), left.at

    def enter(self, codes: Ordinals, lives: Lives, upto: int) -> None:
        """By number."""
        coded = lives.with_table(pa.table([pa.array(codes)], schema=CODE))
        self._rows.enter(coded.filter(lives.expires >= upto), upto)
        self._rows.forget()

    def recode(self, moved: Ordinals) -> None:
        """Of all rows."""
        self._rows.recode(moved)

    def saved(self) -> dict[str, pa.Table]:
        """The rows that are there."""
        return self._rows.saved("right_")

    def load(self, tables: Mapping[str, pa.Table], reached: int, numbers: Ordinals) -> None:
        """Become what ``saved`` gave."""
        self._rows.load(tables, reached, "right_")
        self._rows.recode(numbers)
