"""DISTINCT: one row per value that is there (Golab 3.5.2, Patroumpas and Sellis 4.2).

Where the ends of rows are known, delta* names a representative and keeps one spare row for it, so its state is at most
twice its output. Over strict inputs counters say when a value comes and when its last copy goes; the copies have equal
columns, so nobody can tell which is shown. ``newest_row`` is for duplicates that replace the row before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import FOREVER, Delta, Ends, Lives, Uids, integers
from panewise.kernels.relations.distinct_numba import NOBODY, represent
from panewise.kernels.relations.live_codes import LiveCodes, renumbered
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.arena import Arena, Growing
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue
from panewise.kernels.relations.sweep import cells_of, signs, summed, turns_of
from panewise.progress.watermarks import NO_BOUND

CODE = pa.schema([pa.field("code", pa.int64())])


class DistinctByEnd(RelationOperator):
    """Delta*: a representative stays until it expires; the row that stays longest follows it (erratum E8)."""

    def __init__(self, schema: pa.Schema, uids: Uids) -> None:
        self.schema, self._uids = schema, uids
        self._codes = LiveCodes(schema)
        self._current, self._spare, self._spare_end = Growing(), Growing(), Growing()
        self._spares = Arena(schema)
        self._queue = Calendar()
        self._reached = NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Values with new rows, and values whose representative leaves."""
        (delta,) = inputs
        assert not len(delta.ends), "delta* needs rows whose ends are known"
        lives = delta.lives.by_birth()
        codes = self._codes.codes(lives.table, len(lives))
        for part, value in ((self._current, NOBODY), (self._spare, -1), (self._spare_end, 0)):
            part.extend_to(len(self._codes), value)
        leaving = self._queue.due(upto)
        leaving = leaving[self._current.values[leaving] < upto]
        room = 2 * (len(codes) + len(leaving))  # a row or spare is named at most once, a value touched at most once
        touched, rows, since, until = integers(room), integers(room), integers(room), integers(room)
        count, values = represent(codes, lives.born, lives.expires, leaving, self._current.values, self._spare.values,
                                  self._spare_end.values, upto, touched, rows, since, until)
        out, touched = self._named(lives, rows[:count], since[:count], until[:count]), touched[:values]
        self._keep_spares(lives, touched)
        current = self._current.values[touched]
        lasting = (current != NOBODY) & (current != FOREVER)
        self._queue.insert(touched[lasting], current[lasting], self._reached)
        self._reached = upto
        self._forget()
        return Delta(out, ticks=delta.ticks)

    def _named(self, lives: Lives, rows: np.ndarray[Any, Any], since: Any, until: Any) -> Lives:
        old = rows < 0
        parts = [self._spares.lives(-rows[old] - 2), lives.take(rows[~old])]
        born, expires = np.r_[since[old], since[~old]], np.r_[until[old], until[~old]]
        both = Lives.concat(parts)
        both = Lives(both.table, both.uid, born, expires, both.age).by_birth()
        return Lives(both.table, self._uids.draw(len(both)), both.born, both.expires, both.age)

    def _keep_spares(self, lives: Lives, touched: np.ndarray[Any, Any]) -> None:
        """Spare rows of this step stay; the others of the step are never needed again."""
        spare = self._spare.values[touched]
        new = spare >= 0
        slots = self._spares.append(lives.take(spare[new]))
        self._spare.values[touched[new]] = -slots - 2

    def _forget(self) -> None:
        spare = self._spare.values
        held = np.flatnonzero(spare < -1)
        if len(self._spares) > 2 * len(held) + 1024:
            kept = self._spares.lives(-spare[held] - 2)
            self._spares = Arena(self.schema)
            spare[held] = -self._spares.append(kept) - 2
        used = int(np.count_nonzero(self._current.values != NOBODY)) if len(self._codes) > 4096 else len(self._codes)
        if self._codes.crowded(used):
            keep = np.flatnonzero(self._current.values != NOBODY)
            moved = self._codes.keep(keep)[keep]
            self._current, self._spare, self._spare_end = (renumbered(part.values[keep], moved) for part in (
                self._current, self._spare, self._spare_end))
            self._queue.rebuild(self._current.values, self._reached)

    # -- saving

    def snapshot(self) -> Saved:
        """Representatives by value, and the spare rows."""
        there = np.flatnonzero(self._current.values != NOBODY)
        spare = self._spare.values[there]
        held = spare < -1
        tables = {f"spare_{name}": table for name, table in self._spares.saved(-spare[held] - 2).items()}
        tables["values"] = self._codes.values(there)
        tables["ends"] = pa.table({"current": self._current.values[there], "spared": held.astype(np.int64)})
        return {"reached": self._reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        ends, values = tables["ends"], tables["values"]
        self._reached = header["reached"]
        numbers = self._codes.load(values, ends.num_rows)
        self._spares.load({name: tables[f"spare_{name}"] for name in ("rows", "lives")})
        spared = numbers[np.flatnonzero(ends.column("spared").to_numpy())]
        self._current = renumbered(ends.column("current").to_numpy(), numbers)
        self._spare, self._spare_end = Growing(np.full(ends.num_rows, -1)), Growing(np.zeros(ends.num_rows, np.int64))
        self._spare.values[spared] = -np.arange(len(spared)) - 2
        self._spare_end.values[spared] = self._spares.expires
        self._queue.rebuild(self._current.values, self._reached)

    def counters(self) -> dict[str, int]:
        """Values that are shown, and spare rows."""
        shown = int(np.count_nonzero(self._current.values != NOBODY))
        spares = int(np.count_nonzero(self._spare.values < -1))
        return {"rows": shown + spares, "bytes": self._spares.nbytes + 24 * self._current.count}


class DistinctByCount(RelationOperator):
    """Counters: a value is there while any copy is. With ``by`` these columns alone say which rows are copies."""

    def __init__(self, schema: pa.Schema, uids: Uids, queue: ExpiryQueue, by: Sequence[str] | None = None) -> None:
        self.schema, self._uids = schema, uids
        self._by = schema.names if by is None else list(by)
        self._codes = LiveCodes(pa.schema([schema.field(name) for name in self._by]))
        self._rows = AliveRows(CODE, queue)
        self._counts, self._shown = Growing(), Growing()  # copies, and the number of the row that is shown, by code

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Copies that come and go, and what they turn on and off."""
        (delta,) = inputs
        lives = delta.lives
        codes = self._codes.codes(lives.table.select(self._by), len(lives))
        self._counts.extend_to(len(self._codes), 0)
        self._shown.extend_to(len(self._codes), -1)
        left = self._rows.leave(delta, upto)
        gone = self._rows.arena.payload.take(left.slots).column(0).to_numpy()
        brief = lives.expires < upto
        cells = cells_of(np.concatenate([codes, codes[brief], gone]),
                         np.concatenate([lives.born, lives.expires[brief], left.at]))
        change = summed(cells, signs(len(codes), int(np.count_nonzero(brief)) + len(gone)))
        after = cells.running(change, self._counts.values)
        turns = turns_of(cells, after, self._counts.values)
        self._counts.values[cells.code] = after  # of equal codes the last assignment stays
        coded = lives.with_table(pa.table([pa.array(codes)], schema=CODE))
        self._rows.enter(coded.filter(~brief), upto)
        first = self._first(lives, codes, turns.code[turns.on], turns.at[turns.on])
        out = Lives(first.table, self._uids.draw(len(first)), turns.at[turns.on], turns.ends()[turns.on], first.age)
        off = ~turns.on & np.r_[True, turns.code[1:] != turns.code[:-1]]  # what was on before the step
        ends = Ends(self._shown.values[turns.code[off]], turns.at[off])
        last = np.r_[turns.code[1:] != turns.code[:-1], True] & turns.on
        self._shown.values[turns.code[off]] = -1
        self._shown.values[turns.code[last]] = out.uid[last[turns.on]]
        self._rows.forget()
        self._forget()
        return Delta(out, ends, delta.ticks)

    @staticmethod
    def _first(lives: Lives, codes: Ordinals, wanted: Ordinals, at: Ordinals) -> Lives:
        """A row for every value that comes, born when it does."""
        order = np.lexsort((lives.born, codes))
        cells = cells_of(np.concatenate([codes[order], wanted]), np.concatenate([lives.born[order], at]))
        return lives.take(order[np.searchsorted(cells.of_event[: len(order)], cells.of_event[len(order) :])])

    def _forget(self) -> None:
        if not self._codes.crowded(self._rows.count):
            return
        used = np.flatnonzero(self._counts.values > 0)
        moved = self._codes.keep(used)
        self._counts, self._shown = (renumbered(part.values[used], moved[used])
                                     for part in (self._counts, self._shown))
        self._rows.recode(moved)

    # -- saving

    def snapshot(self) -> Saved:
        """Values with their copies."""
        used = np.flatnonzero(self._counts.values > 0)
        moved = np.full(max(len(self._codes), 1), -1, np.int64)
        moved[used] = np.arange(len(used))
        tables = self._rows.saved()
        codes = tables["rows"].column(0).to_numpy()
        tables["rows"] = pa.table([pa.array(moved[codes])], schema=CODE)
        tables["values"] = self._codes.values(used)
        tables["counts"] = pa.table({"count": self._counts.values[used], "shown": self._shown.values[used]})
        return {"reached": self._rows.reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        numbers = self._codes.load(tables["values"], tables["counts"].num_rows)
        self._counts, self._shown = (renumbered(tables["counts"].column(n).to_numpy(), numbers)
                                     for n in ("count", "shown"))
        self._rows.load(tables, header["reached"])
        self._rows.recode(numbers)

    def counters(self) -> dict[str, int]:
        """The copies that are there."""
        return {"rows": self._rows.count, "bytes": self._rows.nbytes + 16 * self._counts.count}
