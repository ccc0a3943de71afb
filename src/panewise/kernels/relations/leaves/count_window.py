"""A window over rows as a relation: the n newest of the stream, or of each partition (Patroumpas and Sellis 3.3).

Positions are counted by birth, ties by arrival (erratum P4). A row enters and leaves when the row at a known position
comes, so within a step the instant is known where that row is in it; else an end is sent when it comes. All rows of one
instant count at once. With ``position`` rows show their place in a column of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import run_starts
from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.functions import truth
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends, Lives, Uids, integers
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import RelationOperator, Saved, beneath, under
from panewise.kernels.relations.stores.arena import Arena, Growing, renumbered
from panewise.kernels.relations.stores.linked import LinkedQueues
from panewise.windows.base import WindowSpec


class CountedWindow(RelationOperator):
    """Rows while their position is in the scope of the window."""

    def __init__(self, schema: pa.Schema, spec: WindowSpec, uids: Uids, *, partition: Sequence[str] = (),
                 predicate: Scalar | None = None, ticking: bool = False, position: str | None = None) -> None:
        self.predicate, self._position = predicate, position
        self.schema = schema if position is None else schema.append(pa.field(position, pa.int64()))
        self.spec = spec.plain
        self._uids, self._ticking = uids, ticking
        self._partition = list(partition)
        self._keys = KeyTable(pa.schema([schema.field(name) for name in self._partition]))
        self._counts = Growing()  # rows so far by partition
        self._held = Arena(self.schema)  # rows that have not entered yet
        self._gone = 0
        self._entering, self._leaving = LinkedQueues(), LinkedQueues()

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """New rows take the next positions; they push others out, or in."""
        lives = inputs[0].lives
        if self.predicate is not None and len(lives):
            with rows_born(lives.born, lives.age):
                lives = lives.filter(truth(self.predicate, lives.table))
        if not len(lives):
            return Delta(Lives.none(self.schema), ticks=integers() if self._ticking else None)
        lives = lives.ordered(lives.age[0])
        times = lives.age[0]
        places = _Places(self._keys.codes(lives.table.select(self._partition), len(lives)), times, self._counts)
        enter, leave = self.spec.lifetime(places.positions)
        self._counts.values[places.touched] = places.reached
        if self._position is not None:
            lives = lives.with_table(lives.table.append_column(self._position, pa.array(places.positions)))
        out = self._admit(lives, places, enter, leave)
        _, uid, target = self._popped(self._leaving, places)
        ends = Ends(uid, places.instants(_, target))
        return Delta(self._numbered(out, places), ends, np.unique(times) if self._ticking else None)

    def _admit(self, lives: Lives, places: _Places, enter: Ordinals,
               leave: Ordinals) -> tuple[Lives, Ordinals, Ordinals]:
        """Rows that enter now, with their partitions and the position that pushes each out."""
        codes = places.codes
        now = enter <= places.reached_of(codes)
        held, slots, entered = self._popped(self._entering, places)
        born = places.instants(codes[now], enter[now])
        ready = lives.filter(now)
        parts = [Lives(ready.table, ready.uid, born, ready.expires, ready.age)]
        partition, last = [codes[now]], [leave[now]]
        if len(slots):
            before = self._held.lives(slots)
            parts.insert(0, Lives(before.table, before.uid, places.instants(held, entered), before.expires, before.age))
            partition.insert(0, held)
            last.insert(0, self._held.born[slots])  # where it is noted while a row waits
            self._gone += len(slots)
        if not now.all():
            rest = lives.filter(~now)
            slots = self._held.append(Lives(rest.table, rest.uid, leave[~now], rest.expires, rest.age))
            self._entering.push(codes[~now], slots, enter[~now])
        self._forget()
        return Lives.concat(parts), np.concatenate(partition), np.concatenate(last)

    @staticmethod
    def _popped(queues: LinkedQueues, places: _Places) -> tuple[Ordinals, Ordinals, Ordinals]:
        return queues.pop(places.touched, places.reached)

    def _numbered(self, entering: tuple[Lives, Ordinals, Ordinals], places: _Places) -> Lives:
        lives, partition, last = entering
        known = last <= places.reached_of(partition)
        expires = np.full(len(lives), FOREVER, np.int64)
        expires[known] = places.instants(partition[known], last[known])
        seen = lives.born < expires
        if not seen.all():
            lives, expires, partition, last, known = (lives.filter(seen), expires[seen], partition[seen], last[seen],
                                                      known[seen])
        uid = self._uids.draw(len(lives))
        self._leaving.push(partition[~known], uid[~known], last[~known])
        return Lives(lives.table, uid, lives.born, expires, lives.age)

    def _forget(self) -> None:
        if 2 * self._gone <= len(self._held) or len(self._held) < 1024:
            return
        queues, slots, targets = self._entering.entries()
        order = np.argsort(slots)
        kept = self._held.lives(slots[order])
        self._held, self._gone = Arena(self.schema), 0
        self._held.append(kept)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self._entering = LinkedQueues()
        self._entering.push(queues, place, targets)

    # -- saving

    def snapshot(self) -> Saved:
        """Partitions with their counts, and rows that wait for a position."""
        queues, slots, targets = self._entering.entries()
        held = under("held_", self._held.saved(slots))
        entering = pa.table({"queue": queues, "item": np.arange(len(queues)), "target": targets})
        partitions = self._keys.table().append_column("", pa.array(self._counts.values)) if self._partition else \
            pa.table({"": self._counts.values})
        return {}, {**held, "entering": entering, "leaving": self._leaving.saved(), "partitions": partitions}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        partitions = tables["partitions"].combine_chunks()
        self._keys = KeyTable(self._keys.schema)
        numbers = self._keys.codes(partitions.select(self._partition), partitions.num_rows)
        self._counts = renumbered(partitions.column("").to_numpy(), numbers)
        self._held, self._gone = Arena(self.schema), 0
        self._held.load(beneath("held_", tables))
        for queues, table in ((self._entering, tables["entering"]), (self._leaving, tables["leaving"])):
            queues.load(table.set_column(0, "queue", pa.array(numbers[table.column("queue").to_numpy()])))

    def counters(self) -> dict[str, int]:
        """Rows whose end is to come, and rows that have not entered."""
        return {"rows": self._leaving.count + self._entering.count, "partitions": self._counts.count,
                "bytes": self._held.nbytes + 32 * (self._leaving.count + self._entering.count)}


class _Places:
    """The positions of new rows in their partitions, and the instant of each position."""

    def __init__(self, codes: Ordinals, times: Ordinals, counts: Growing) -> None:
        self.codes = codes
        counts.extend_to(int(codes.max()) + 1, 0)
        order = np.argsort(codes, kind="stable")  # rows come by age
        sorted_codes = codes[order]
        starts = run_starts(sorted_codes)
        lengths = np.diff(np.r_[starts, len(order)])
        self.touched = sorted_codes[starts]
        before = counts.values[self.touched]
        self.reached = before + lengths
        self.positions = np.empty(len(codes), np.int64)
        self.positions[order] = np.arange(len(codes)) - np.repeat(starts - before, lengths) + 1
        self._times, self._offset = times[order], starts - before - 1
        self._counts = counts

    def _row(self, partitions: Ordinals) -> Ordinals:
        found: Ordinals = np.searchsorted(self.touched, partitions).astype(np.int64, copy=False)
        return found

    def reached_of(self, partitions: Ordinals) -> Ordinals:
        """How many rows each partition, which is among those touched, has now."""
        found: Ordinals = self.reached[self._row(partitions)]
        return found

    def instants(self, partitions: Ordinals, positions: Ordinals) -> Ordinals:
        """When the row at a position, which is new, came."""
        found: Ordinals = self._times[self._offset[self._row(partitions)] + positions]
        return found
