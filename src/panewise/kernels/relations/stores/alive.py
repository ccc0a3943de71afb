"""The rows of an edge that are there now: kept until they leave, by their own end or by one that was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import Delta, Lives, integers
from panewise.kernels.relations.edges.operator import Saved
from panewise.kernels.relations.stores.arena import Arena, Growing, Payload
from panewise.kernels.relations.stores.catalogues import ExpiryCatalogues
from panewise.kernels.relations.stores.queues import ExpiryQueue
from panewise.progress.watermarks import NO_BOUND


@dataclass(frozen=True)
class Left:
    """Rows that left in a step: where they were, and the first instant without each."""

    slots: Ordinals
    at: Ordinals

    def __len__(self) -> int:
        return len(self.slots)


class AliveRows:
    """Rows by slot with a queue for their ends, and of rows with expiry vectors a catalogue for every order component.

    A step is ``leave`` (rows of earlier steps that go), ``enter`` (rows of this step that stay after it), and, when
    no slots of the step are in use any more, ``forget``.
    """

    def __init__(self, schema: pa.Schema, queue: ExpiryQueue) -> None:
        self.arena = Arena(schema)
        self.queue = queue
        self._catalogues = ExpiryCatalogues()
        self._there = Growing()
        self.reached = NO_BOUND
        self.count = 0

    @property
    def there(self) -> Ordinals:
        """1 for slots whose row is there."""
        return self._there.values

    def leave(self, delta: Delta, upto: int) -> Left:
        """Rows of earlier steps that are gone below the bound."""
        early, at = self._early(delta)
        due = self.queue.due(upto)
        due = due[self.there[due] == 1] if len(due) else due
        self.there[due] = 0
        slots, at = np.concatenate([early, due]), np.concatenate([at, self.arena.expires[due]])
        self.count -= len(slots)
        return Left(slots, at)

    def _early(self, delta: Delta) -> tuple[Ordinals, Ordinals]:
        """Rows that leave before they said: by an end that was sent, or by an order component that is reached."""
        if not delta.shortens or not len(self.arena):
            return integers(), integers()
        slots = self.arena.find(delta.ends.uid)
        here = (slots >= 0) & (self.there[slots] == 1)
        slots, at = slots[here], delta.ends.at[here]
        self.there[slots] = 0
        if not len(delta.reached):
            return slots, at
        found, instants = self._catalogues.reached(delta.reached)
        out = integers(len(found))
        out = out[: _take_out(found, instants, self.there, self.arena.expires, out)]
        return np.concatenate([slots, out]), np.concatenate([at, self.arena.expires[out]])

    def enter(self, lives: Lives, upto: int) -> Ordinals:
        """Keep rows that are there at the bound; their slots."""
        slots = self.arena.append(lives)
        self._catalogues.add(lives.order, len(slots))
        self._there.append(np.ones(len(slots), np.int64))
        self.queue.insert(slots, lives.expires, self.reached)
        self.count += len(slots)
        self.reached = upto
        return slots

    def settle(self, uids: Ordinals) -> None:
        """Rows that are never asked for again: they stay, and need not be kept."""
        slots = self.arena.find(uids) if len(uids) and len(self.arena) else uids[:0]
        slots = slots[slots >= 0]
        self.drop(slots[self.there[slots] == 1])

    def drop(self, slots: Ordinals) -> None:
        """Remove rows that are there; their departure is not reported."""
        self.there[slots] = 0
        self.count -= len(slots)

    def forget(self) -> Ordinals | None:
        """Give up the room of rows that left, if they are the most: the slots that stay, or None."""
        kept = self.arena.compact(self.there == 1) if self.arena.crowded else None
        if kept is not None:
            self._there = Growing(np.ones(len(kept), np.int64))
            self._catalogues.keep(kept)
            self.queue.rebuild(self.arena.expires, self.reached)
        return kept

    def recode(self, moved: Ordinals) -> None:
        """The first column, of codes, gets other codes; of rows that left it does not matter."""
        table = self.arena.payload.table()
        codes = moved[table.column(0).to_numpy()]
        self.arena.payload = Payload(table.schema)
        self.arena.payload.append(table.set_column(0, table.schema.field(0), pa.array(codes)))

    def alive(self) -> Ordinals:
        """The slots of all rows that are there."""
        return np.flatnonzero(self.there == 1)

    def current(self) -> pa.Table:
        """All rows that are there, in the order they came."""
        return self.arena.payload.take(self.alive())

    # -- saving

    def saved(self) -> dict[str, pa.Table]:
        """The rows that are there."""
        alive = self.alive()
        return self.arena.saved(alive) | self._catalogues.saved(alive)

    def load(self, tables: Mapping[str, pa.Table], reached: int) -> None:
        """Become what ``saved`` gave."""
        self.arena.load(tables)
        self._catalogues.load(tables.get("order"), len(self.arena))
        self._there = Growing(np.ones(len(self.arena), np.int64))
        self.count, self.reached = len(self.arena), reached
        self.queue.rebuild(self.arena.expires, reached)

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return self.arena.nbytes + 24 * len(self.arena) + self._catalogues.nbytes


class KeepsAlive:
    """How an operator that keeps only the rows that are there, as ``_rows``, is saved and counted."""

    _rows: AliveRows

    def snapshot(self) -> Saved:
        """The rows that are there."""
        return {"reached": self._rows.reached}, self._rows.saved()

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._rows.load(tables, header["reached"])

    def counters(self) -> dict[str, int]:
        """The rows that are there."""
        return {"rows": self._rows.count, "bytes": self._rows.nbytes}


@compiled
def _take_out(slots: Ints, at: Ints, there: Ints, expires: Ints, out: Ints) -> int:
    """Slots that are there and leave sooner than they said, each once: the first of its components counts."""
    count = 0
    for i in range(len(slots)):
        slot = slots[i]
        if at[i] < expires[slot]:
            expires[slot] = at[i]
            if there[slot] == 1:
                there[slot] = 0
                out[count] = slot
                count += 1
    return count
