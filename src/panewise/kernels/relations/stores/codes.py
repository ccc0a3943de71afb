"""The values of an edge's rows as codes, until each row leaves: all that counting rows by value needs.

Where rows leave when they said, a code and an end is all there is of a row, and of rows that stay for ever nothing.
Where they may leave earlier, a row has to be found by its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Lives
from panewise.kernels.relations.edges.operator import beneath, under
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.queues import ExpiryQueue
from panewise.progress.watermarks import NO_BOUND

CODE = pa.schema([pa.field("code", pa.int64())])


class CodesByEnd:
    """Of rows that leave when they said: the queue itself holds their codes.

    A step is ``leave`` (rows of earlier steps that go), then ``enter`` (rows of this one).
    """

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
        """The codes of rows that are gone below the bound, and the first instant without each."""
        assert not len(delta.ends), "codes without numbers need rows whose ends are known"
        codes, at = self.queue.passed(upto)
        self._count -= len(codes)
        return codes, at

    def enter(self, codes: Ordinals, lives: Lives, upto: int) -> None:
        """Rows of the step, by code; those that are there at the bound are kept."""
        leaves = (lives.expires >= upto) & (lives.expires != FOREVER)
        self._insert(codes[leaves], lives.expires[leaves])
        self._reached = upto

    def _insert(self, codes: Ordinals, expires: Ordinals) -> None:
        self.queue.insert(codes, expires, self._reached)
        self._count += len(codes)

    def recode(self, moved: Ordinals) -> None:
        """Every code becomes another."""
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
        codes, expires = int_columns(tables["codes"])
        self._begin(numbers[codes], expires)


class CodesByNumber:
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
        """As of codes by end; also by ends that were sent."""
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
        return under("right_", self._rows.saved())

    def load(self, tables: Mapping[str, pa.Table], reached: int, numbers: Ordinals) -> None:
        """Become what ``saved`` gave."""
        self._rows.load(beneath("right_", tables), reached)
        self._rows.recode(numbers)


LeavingCodes: TypeAlias = CodesByEnd | CodesByNumber
