"""From a changing relation back to a stream: what came, what went, all of it at every refresh (Golab 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.arrays import counted_up
from panewise.core.beginning import BEGINNING
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.changes import Changes, NetChanges
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Lives, Uids, gather, stacked, ticks_of
from panewise.kernels.relations.edges.operator import RelationOperator, Saved, beneath, under
from panewise.kernels.relations.edges.refresh import RefreshClock
from panewise.kernels.relations.edges.waiting import Waiting
from panewise.kernels.relations.negation.sweep import cells_of
from panewise.kernels.relations.stores.alive import AliveRows, KeepsAlive
from panewise.kernels.relations.stores.arena import Growing, never, renumbered
from panewise.kernels.relations.stores.queues import ExpiryQueue
from panewise.windows.base import WindowSpec
from panewise.windows.refreshing import refreshes_at_or_after


class Produced(RelationOperator):
    """Every row a relation ever held, once, dated by the instant at which it first appeared (INTERNAL, Golab 3.3.2).

    With ``ticking`` something changes when there is another row, else whenever anything below does.
    """

    def __init__(self, schema: pa.Schema, uids: Uids, *, ticking: bool = False) -> None:
        self.schema, self._uids, self._ticking = schema, uids, ticking

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """What was born; what ends does not matter, nor what was there from the beginning."""
        lives = inputs[0].lives
        lives = lives.filter(lives.born > BEGINNING)
        out = dated(lives.table, lives.born, lives.age, self._uids)
        return Delta(out, ticks=np.unique(out.born) if self._ticking else inputs[0].ticks)


class ChangesAsStream(RelationOperator):
    """What came (Istream) or what went (Dstream), as bags of values: a replaced copy is no change.

    What was there from the beginning has not come.

    With ``refreshes`` of a window events are put out at the next of its refreshes (the restore form).
    """

    def __init__(self, schema: pa.Schema, uids: Uids, queue: ExpiryQueue, *, sign: int,
                 refreshes: WindowSpec | None = None, ticking: bool = False) -> None:
        self.schema, self._uids, self._sign, self._refreshes = schema, uids, sign, refreshes
        self._net = NetChanges(schema, queue)
        self._waiting = Waiting(schema)
        self._ticking = ticking

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """The net changes of one direction."""
        changes = self._net.step(inputs[0], upto)
        chosen = np.flatnonzero((changes.sign == self._sign) & (changes.at > BEGINNING))
        table, at, age = gather(changes.table, chosen), changes.at[chosen], changes.age[:, chosen]
        if self._refreshes is not None:
            at = refreshes_at_or_after(self._refreshes, at)
            self._waiting.add(at, dated(table, at, age, None))
            lives = self._waiting.release(upto)
            table, at, age = lives.table, lives.born, lives.age
        out = dated(table, at, age, self._uids)
        return Delta(out, ticks=np.unique(at) if self._ticking else None)

    def snapshot(self) -> Saved:
        """The rows that are there, and events that wait for a refresh."""
        header, tables = self._net.snapshot()
        return header, tables | under("waiting_", self._waiting.saved())

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._net.restore(header, tables)
        self._waiting.load(beneath("waiting_", tables))

    def counters(self) -> dict[str, int]:
        """The rows of the relation."""
        return self._net.counters()


class SnapshotStream(KeepsAlive, RelationOperator):
    """The whole relation at every refresh of its windows (Rstream); without a clock, whenever anything can change."""

    def __init__(self, schema: pa.Schema, uids: Uids, queue: ExpiryQueue, clock: RefreshClock | None, *,
                 ticking: bool = False) -> None:
        self.schema, self._uids, self._clock, self._ticking = schema, uids, clock, ticking
        self._rows = AliveRows(schema, queue)

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Every row at every refresh it lives to see."""
        (delta,) = inputs
        ticks = self._clock.due(upto) if self._clock is not None else delta.ticks
        assert ticks is not None, "the windows were not asked when they change"
        out = self.snapshots(delta, ticks, upto)
        return Delta(out, ticks=ticks_of(ticks, delta.ticks) if self._ticking else None)

    def snapshots(self, delta: Delta, ticks: Ordinals, upto: int) -> Lives:
        """The relation at these instants."""
        lives = delta.lives
        slots = self._rows.alive()
        left = self._rows.leave(delta, upto)
        arena = self._rows.arena
        until = never(len(arena))
        until[left.slots] = left.at
        born = np.concatenate([arena.born[slots], lives.born])
        ends = np.concatenate([until[slots], np.where(lives.expires < upto, lives.expires, FOREVER)])
        first, last = np.searchsorted(ticks, born), np.searchsorted(ticks, ends)
        seen = np.maximum(last - first, 0)
        table = pa.concat_tables([arena.payload.take(slots), lives.table]).combine_chunks()
        age = stacked([arena.ages_at(slots), lives.age])
        rows = np.repeat(np.arange(len(seen)), seen)
        tick = counted_up(first, seen)
        self._rows.enter(lives.filter(lives.expires >= upto), upto)
        self._rows.forget()
        order = np.lexsort((rows, tick))
        rows, tick = rows[order], tick[order]
        return dated(gather(table, rows), ticks[tick], age[:, rows], self._uids)

    def snapshot(self) -> Saved:
        """The rows that are there, and the next refreshes."""
        header, tables = super().snapshot()
        return header | {"clock": self._clock.saved() if self._clock is not None else None}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        super().restore(header, tables)
        if self._clock is not None:
            self._clock.load(header["clock"])


class RestoredSnapshots(RelationOperator):
    """Rstream-restore: at every refresh the relation, and what came and went since the refresh before.

    Of equal copies the oldest leave first: what goes beyond the copies of the last refresh was short-lived.
    """

    def __init__(self, schema: pa.Schema, uids: Uids, queues: tuple[ExpiryQueue, ExpiryQueue], spec: WindowSpec,
                 shown: RefreshClock, *, ticking: bool = False) -> None:
        self.schema, self._uids, self._spec, self._ticking = schema, uids, spec, ticking
        self._shown = shown  # what the windows of the continuous relation show
        self._clock = RefreshClock([spec])
        self._snapshots = SnapshotStream(schema, uids, queues[0], self._clock)
        self._net = NetChanges(schema, queues[1])
        self._events = Waiting(schema)  # changes until the refresh that tells them; went if expires is 0
        self._codes = KeyTable(schema)
        self._before = Growing()  # copies at the last refresh, by code

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Changes of the continuous relation, gathered by refresh."""
        (delta,) = inputs
        changes = self._from_the_beginning(self._net.step(delta, upto))
        at = refreshes_at_or_after(self._spec, changes.at)
        self._note(changes, at)
        shown = self._shown.taken()
        self._clock.go_on(*(refreshes_at_or_after(self._spec, ends) for ends in (shown.since, shown.until)))
        due = self._events.release(upto)
        short = self._short(due)
        whole = self._snapshots.snapshots(delta, self._clock.due(upto), upto)
        both = Lives.concat([short, whole]).by_birth()
        out = Lives(both.table, self._uids.draw(len(both)), both.born, both.expires, both.age)
        return Delta(out, ticks=np.unique(out.born) if self._ticking else None)

    def _from_the_beginning(self, changes: Changes) -> Changes:
        """Changes without what was there before all: that is as if the last refresh had shown it."""
        first = changes.at == BEGINNING
        if not first.any():
            return changes
        codes = self._codes.codes(gather(changes.table, np.flatnonzero(first)), int(np.count_nonzero(first)))
        self._before.extend_to(len(self._codes), 0)
        np.add.at(self._before.values, codes, 1)
        later = np.flatnonzero(~first)
        return Changes(gather(changes.table, later), changes.at[later], changes.sign[later], changes.age[:, later])

    def _note(self, changes: Changes, at: Ordinals) -> None:
        if not len(at):
            return
        came = at[changes.sign > 0]
        if len(came):
            self._clock.begin(0, int(came.min()))
        self._clock.go_on(at, at)
        lives = dated(changes.table, at, changes.age, None)
        self._events.add(at, Lives(lives.table, lives.uid, at, np.where(changes.sign > 0, FOREVER, 0), lives.age))

    def _short(self, events: Lives) -> Lives:
        codes = self._codes.codes(events.table, len(events))
        self._before.extend_to(len(self._codes), 0)
        cells = cells_of(codes, events.born)
        came, went = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int64)
        is_gone = events.expires == 0
        np.add.at(came, cells.of_event[~is_gone], 1)
        np.add.at(went, cells.of_event[is_gone], 1)
        after = cells.running(came - went, self._before.values)
        before = after - came + went
        self._before.values[cells.code] = after
        short = np.maximum(went - before, 0)
        first = np.empty(len(cells), np.int64)
        first[cells.of_event[::-1]] = np.arange(len(events))[::-1]
        rows = np.repeat(first, short)
        found = events.take(rows)
        self._forget()
        return dated(found.table, found.born, found.age, None)

    def _forget(self) -> None:
        used = int(np.count_nonzero(self._before.values)) if len(self._codes) > 4096 else len(self._codes)
        if self._codes.crowded(used):
            kept = np.flatnonzero(self._before.values)
            moved = self._codes.keep(kept)
            self._before = renumbered(self._before.values[kept], moved[kept])

    def snapshot(self) -> Saved:
        """The relation, events since the last refresh, copies at it."""
        (one, rows), (other, net) = self._snapshots.snapshot(), self._net.snapshot()
        tables = under("rows:", rows) | under("net:", net) | under("events_", self._events.saved())
        tables |= {"values": self._codes.values(np.arange(len(self._codes))),
                   "before": pa.table({"before": self._before.values})}
        return {"rows": one, "net": other}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        for name, part in (("rows", self._snapshots), ("net", self._net)):
            part.restore(header[name], beneath(f"{name}:", tables))
        self._events.load(beneath("events_", tables))
        numbers = self._codes.load(tables["values"], tables["before"].num_rows)
        self._before = renumbered(tables["before"].column(0).to_numpy(), numbers)

    def counters(self) -> dict[str, int]:
        """The rows of the relation, twice: as it is, and as it is told."""
        one, other = self._snapshots.counters(), self._net.counters()
        return {name: one[name] + other[name] for name in one}


def dated(table: pa.Table, at: Ordinals, age: npt.NDArray[np.int64], uids: Uids | None) -> Lives:
    """Rows of a stream, each from its instant on, as old as that instant and the rows it comes from."""
    uid = uids.draw(len(at)) if uids is not None else np.zeros(len(at), np.int64)
    return Lives(table, uid, at, never(len(at)), np.concatenate([at[None, :], age[1:]]))
