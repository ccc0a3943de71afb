"""Results of internal windows beside external ones: they stay as long as the rows of the external inputs do.

Operators work as if all windows were external (Golab 3.3.2); hidden columns say which rows of the inputs each result
comes from, and until when those stay where that is known. At the top, what was born stays until the first of these rows
goes, whatever the operators below have taken back meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import FOREVER, NO_ENDS, Delta, Ends, Lives, integers
from panewise.kernels.relations.join_numba import count_linked, link, list_linked
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.pairing import Side
from panewise.kernels.relations.stores.arena import Growing
from panewise.progress.watermarks import NO_BOUND

ROW, UNTIL = "<row ", "<until "
NOTHING = pa.schema([])
ABSENT = {ROW: 0, UNTIL: FOREVER}
"""What a row says of an input it does not come from, by kind of column."""


def is_hidden(name: str) -> bool:
    """Whether a column is one of these."""
    return name.startswith((ROW, UNTIL))


class NoteRows(RelationOperator):
    """Adds hidden columns: the number of each row, and its own end where that is final."""

    def __init__(self, schema: pa.Schema, number: int, *, rows: bool, until: bool) -> None:
        self.row, self.until = f"{ROW}{number}>", f"{UNTIL}{number}>"
        self._shown = [*([self.row] if rows else []), *([self.until] if until else [])]
        self.schema = pa.schema([*schema, *(pa.field(name, pa.int64()) for name in self._shown)])
        self.told = Delta(Lives.none(schema))
        """What happened in the last step, for those above who ask which rows have gone."""

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """A column or two more."""
        (delta,) = inputs
        self.told, lives = delta, delta.lives
        values = {self.row: lives.uid, self.until: lives.expires}
        columns = [*lives.table.columns, *(pa.array(values[name]) for name in self._shown)]
        return Delta(lives.with_table(pa.table(columns, schema=self.schema)), delta.ends, delta.ticks)


class PadRows(RelationOperator):
    """The same rows with all these hidden columns, last and in this order."""

    def __init__(self, schema: pa.Schema, hidden: Sequence[str]) -> None:
        self._shown = [name for name in schema.names if not is_hidden(name)]
        self._hidden = list(hidden)
        self.schema = pa.schema([*(schema.field(name) for name in self._shown),
                                 *(pa.field(name, pa.int64()) for name in hidden)])

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """What is missing is said of no row."""
        (delta,) = inputs
        table, count = delta.lives.table, len(delta.lives)
        columns = [table.column(name) if name in table.column_names else
                   pa.array(np.full(count, ABSENT[ROW if name.startswith(ROW) else UNTIL], np.int64))
                   for name in [*self._shown, *self._hidden]]
        return Delta(delta.lives.with_table(pa.table(columns, schema=self.schema)), delta.ends, delta.ticks)


class StayOn(RelationOperator):
    """What was born, until the first of the rows it comes from goes.

    ``until`` are the columns that say when; of ``strict`` inputs nobody knows beforehand, so results that last are
    remembered by the numbers of these rows.
    """

    def __init__(self, schema: pa.Schema, until: Sequence[str], strict: Sequence[NoteRows]) -> None:
        self.schema, self._until = schema, list(until)
        self._inputs = [_Input(note) for note in strict]
        self._uid, self._expires = Growing(), Growing()
        self._checked, self._reached = 0, NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Rows that go take their results with them; then what is new."""
        (delta,) = inputs
        lives = delta.lives
        ends = self._end() if self._inputs else NO_ENDS
        slots = [one.slots(lives) for one in self._inputs]
        known = [lives.table.column(name).to_numpy() for name in self._until]
        expires = reduce(np.minimum, [*known, *(one.ends(at) for one, at in zip(self._inputs, slots, strict=True))],
                         np.full(len(lives), FOREVER, np.int64))
        self._reached = upto
        if self._inputs:
            self._keep(lives.uid, expires, slots, upto)
        return Delta(Lives(lives.table, lives.uid, lives.born, expires, lives.age), ends, delta.ticks)

    def _end(self) -> Ends:
        """Results of earlier steps that go before they said."""
        entries = np.unique(np.concatenate([one.take() for one in self._inputs]))
        at = reduce(np.minimum, [one.ends(one.held.values[entries]) for one in self._inputs])
        sooner = at < self._expires.values[entries]
        entries, at = entries[sooner], at[sooner]
        self._expires.values[entries] = at
        return Ends(self._uid.values[entries], at)

    def _keep(self, uid: Ordinals, expires: Ordinals, slots: Sequence[Ordinals], upto: int) -> None:
        lasting = expires >= upto
        self._uid.append(uid[lasting])
        self._expires.append(expires[lasting])
        for one, at in zip(self._inputs, slots, strict=True):
            one.hang(at[lasting])
        if max(self._uid.count, *(len(one.side.arena) for one in self._inputs)) >= 2 * self._checked + 1024:
            self._forget()

    def _forget(self) -> None:
        """Results that have gone, and rows that have."""
        alive = self._expires.values > self._reached
        self._uid, self._expires = Growing(self._uid.values[alive]), Growing(self._expires.values[alive])
        for one in self._inputs:
            one.forget(alive, self._reached)
        self._checked = max(self._uid.count, *(len(one.side.arena) for one in self._inputs))

    # -- saving

    def snapshot(self) -> Saved:
        """Results with the numbers of the rows they come from, and those rows."""
        alive = self._expires.values > self._reached
        held = {f"row{i}": one.numbers(alive) for i, one in enumerate(self._inputs)}
        tables = {"results": pa.table({"uid": self._uid.values[alive], "expires": self._expires.values[alive], **held})}
        for i, one in enumerate(self._inputs):
            arena = one.side.arena
            tables[f"input{i}"] = arena.saved(np.flatnonzero(arena.expires > self._reached))["lives"]
        return {"reached": self._reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        results = {name: np.array(tables["results"].column(name).to_numpy(), np.int64)
                   for name in tables["results"].column_names}
        self._reached = header["reached"]
        self._uid, self._expires = Growing(results["uid"]), Growing(results["expires"])
        for i, one in enumerate(self._inputs):
            one.side.arena.load({"rows": NOTHING.empty_table(), "lives": tables[f"input{i}"]})
            one.relink(one.find(results[f"row{i}"]))

    def counters(self) -> dict[str, int]:
        """Results that last, and the rows they hang on."""
        rows = sum(len(one.side.arena) for one in self._inputs)
        held = self._uid.count
        return {"rows": rows, "pairs": held, "bytes": 48 * rows + 16 * held * (1 + len(self._inputs))}


class _Input:
    """The rows of a strict input, each with the results that hang on it."""

    def __init__(self, note: NoteRows) -> None:
        self.note = note
        self.side = Side(NOTHING, in_order=False)
        self.held = Growing()
        """By result the slot of its row, -1 where it comes from none."""
        self._heads, self._nexts = Growing(), Growing()

    def take(self) -> Ordinals:
        """What happened below: the results on rows that go sooner than they said."""
        told = self.note.told
        slots = self.side.end(told.ends)
        entries = integers(count_linked(slots, self._heads.values, self._nexts.values))
        list_linked(slots, self._heads.values, self._nexts.values, entries)
        self.side.arena.append(told.lives.with_table(NOTHING.empty_table()))
        self._heads.extend_to(len(self.side.arena), -1)
        return entries

    def slots(self, lives: Lives) -> Ordinals:
        """The rows that new results come from."""
        return self.find(lives.table.column(self.note.row).to_numpy())

    def find(self, numbers: Ordinals) -> Ordinals:
        """Rows by number; -1 for none."""
        return self.side.arena.find(numbers)

    def ends(self, slots: Ordinals) -> Ordinals:
        """Until when they stay, as far as it is known."""
        return _at(self.side.arena.expires, slots, FOREVER)

    def hang(self, slots: Ordinals) -> None:
        """New results on their rows."""
        first = self.held.count
        self.held.append(slots)
        self._nexts.extend_to(self.held.count, -1)
        link(slots, first, self._heads.values, self._nexts.values)

    def numbers(self, alive: Any) -> Ordinals:
        """The numbers of the rows of some results; 0 for none."""
        return _at(self.side.arena.uid, self.held.values[alive], ABSENT[ROW])

    def forget(self, alive: Any, reached: int) -> None:
        """Keep rows that are there and some results; a result that is there has all its rows."""
        numbers = self.numbers(alive)
        arena = self.side.arena
        kept = arena.lives(np.flatnonzero(arena.expires > reached))
        self.side = Side(NOTHING, in_order=False)
        self.side.arena.append(kept)
        self.relink(self.find(numbers))

    def relink(self, slots: Ordinals) -> None:
        """All results anew."""
        self.held, self._heads, self._nexts = Growing(), Growing(), Growing()
        self._heads.extend_to(len(self.side.arena), -1)
        self.hang(slots)


def _at(values: Ordinals, slots: Ordinals, otherwise: int) -> Ordinals:
    found, there = np.full(len(slots), otherwise, np.int64), slots >= 0
    found[there] = values[slots[there]]
    return found
