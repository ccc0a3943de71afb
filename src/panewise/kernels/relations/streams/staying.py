"""Results of internal windows beside external ones: they stay as long as the rows of the external inputs do.

Operators work as if all windows were external (Golab 3.3.2); hidden columns say which rows of the inputs each result
comes from, and until when those stay where that is known. At the top, what was born stays until the first of these rows
goes, whatever the operators below have taken back meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Lives
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.joins.catalogue import ResultCatalogue
from panewise.kernels.relations.stores.arena import Arena
from panewise.progress.watermarks import NO_BOUND

ROW, UNTIL = "<row ", "<until "
NOTHING = pa.schema([])
ABSENT = {ROW: 0, UNTIL: FOREVER}
"""What a row says of an input it does not come from, by kind of column."""


def row_column(number: int) -> str:
    """The hidden column with the numbers of an input's rows."""
    return f"{ROW}{number}>"


def until_column(number: int) -> str:
    """The hidden column with their ends."""
    return f"{UNTIL}{number}>"


def is_hidden(name: str) -> bool:
    """Whether a column is one of these."""
    return name.startswith((ROW, UNTIL))


class NoteRows(RelationOperator):
    """Adds hidden columns: the number of each row, and its own end where that is final."""

    def __init__(self, schema: pa.Schema, number: int, *, rows: bool, until: bool) -> None:
        self.row, self.until = row_column(number), until_column(number)
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

    ``until`` are the columns that say when; of ``strict`` inputs the ends are not known beforehand, so results that
    last are kept with the numbers of these rows.
    """

    def __init__(self, schema: pa.Schema, until: Sequence[str], strict: Sequence[NoteRows]) -> None:
        self.schema, self._until, self._notes = schema, list(until), list(strict)
        self._arenas = [Arena(NOTHING) for _ in strict]
        self._catalogue = ResultCatalogue(self._arenas)
        self._reached = NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Rows that go take their results with them; then what is new."""
        (delta,) = inputs
        lives = delta.lives
        ends = self._catalogue.end([self._told(note, arena) for note, arena in
                                    zip(self._notes, self._arenas, strict=True)])
        slots = [arena.find(lives.table.column(note.row).to_numpy())
                 for note, arena in zip(self._notes, self._arenas, strict=True)]
        known = [lives.table.column(name).to_numpy() for name in self._until]
        expires = np.minimum.reduce([np.full(len(lives), FOREVER, np.int64), *known, *self._catalogue.ends(slots)])
        self._reached = upto
        if self._notes:
            self._catalogue.add(slots, lives.uid, expires, upto)
            kept = [arena.compact(arena.expires > upto) if arena.crowded else None for arena in self._arenas]
            self._catalogue.renumber(kept, upto)
        return Delta(Lives(lives.table, lives.uid, lives.born, expires, lives.age), ends, delta.ticks)

    @staticmethod
    def _told(note: NoteRows, arena: Arena) -> Ordinals:
        """What happened below: rows that go sooner than they said, and new ones."""
        ended = arena.end(note.told.ends)
        arena.append(note.told.lives.with_table(NOTHING.empty_table()))
        return ended

    # -- saving

    def snapshot(self) -> Saved:
        """Results with the numbers of the rows they come from, and those rows."""
        tables = {"results": self._catalogue.saved(self._reached)}
        for i, arena in enumerate(self._arenas):
            tables[f"input{i}"] = arena.saved(np.flatnonzero(arena.expires > self._reached))["lives"]
        return {"reached": self._reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._reached = header["reached"]
        for i, arena in enumerate(self._arenas):
            arena.load({"rows": NOTHING.empty_table(), "lives": tables[f"input{i}"]})
        self._catalogue.load(tables["results"])

    def counters(self) -> dict[str, int]:
        """Results that last, and the rows they hang on."""
        rows = sum(map(len, self._arenas))
        return {"rows": rows, "pairs": len(self._catalogue), "bytes": 48 * rows + self._catalogue.nbytes}
