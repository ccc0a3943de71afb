"""A table beside the streams: rows that are inserted at an instant and stay until they are deleted.

A deletion takes the oldest row with equal columns, that of the time aside. Where updates do not reach back (NRR), a key
that was deleted may not come back for another entity: rows already joined with it would seem to belong to the new one
(Golab 3.3.1). The key is the declared one; without one a row as a whole is its own.

A row is as old as its time, then as its place in the table (`core.ages`): those that came are numbered as their
instants are complete, so that the number does not depend on the order of arrival of other inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ages import first_in_table
from panewise.core.beginning import ALWAYS
from panewise.core.columns import int_columns
from panewise.core.errors import SchemaError
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import FOREVER, NO_ENDS, Delta, Ends, Lives, Mask, Uids, integers
from panewise.kernels.relations.edges.operator import Saved
from panewise.kernels.relations.edges.waiting import SourceRows
from panewise.kernels.relations.leaves.table_keys import TableKeys
from panewise.kernels.relations.stores.arena import never
from panewise.kernels.relations.stores.copies import Copies

DELETED = 0
"""What stands in place of the end of a row that deletes."""


class TableRows(SourceRows):
    """The history of one table. Of each ``key`` there is one row at most; ``fresh``: what has left stays away."""

    def __init__(self, name: str, schema: pa.Schema, uids: Uids, *, time: str | None = None,
                 key: Sequence[str] = (), fresh: bool = False, ticking: bool = False, number: int = 0) -> None:
        super().__init__(schema, uids, ticking=ticking)
        self._next = first_in_table(number)
        self.name = name
        self._codes = KeyTable(pa.schema([field for field in schema if field.name != time]))
        self._fresh = fresh
        keys = pa.schema([schema.field(c) for c in key]) if key else self._codes.schema
        self._keys = TableKeys(name, keys, unique=bool(key), fresh=fresh)
        self._looked = bool(key)
        """Whether keys are looked at: rows as wholes only from the first deletion on."""
        self._copies = Copies()

    def receive(self, table: pa.Table, due: Ordinals, times: Ordinals, arrivals: Ordinals,
                signs: Ordinals | None) -> None:
        """Rows that all come, or that say whether they do."""
        if signs is None:
            super().receive(table, due, times, arrivals, None)
        else:
            self.change(table.select(self.schema.names), due, times, arrivals, signs)

    def change(self, table: pa.Table, due: Ordinals, times: Ordinals, arrivals: Ordinals, signs: Ordinals) -> None:
        """Rows that come (+1) or go (-1)."""
        age = np.stack([times, arrivals])
        expires = np.where(signs < 0, DELETED, FOREVER)
        self.waiting.add(due, Lives(table, integers(len(due)), times, expires, age))

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Insertions and deletions in the order of their instants."""
        events = self.waiting.release(upto)
        gone = events.expires == DELETED
        codes = self._codes.codes(events.table.select(self._codes.schema.names), len(events))
        uid = np.zeros(len(events), np.int64)
        uid[~gone] = self._uids.draw(int(np.count_nonzero(~gone)))
        expires = never(len(events))
        if self._fresh and not self._looked and gone.any():
            self._looked, rows = True, self._codes.values(self._copies.code)
            self._keys.change(rows, np.full(rows.num_rows, ALWAYS), np.ones(rows.num_rows, np.int64))
        before = len(self._copies)
        self._copies.add(uid[~gone], codes[~gone])
        ends = self._delete(events, gone, codes, before, expires) if gone.any() else NO_ENDS
        if self._looked and len(events):
            self._keys.change(events.table, events.born, np.where(gone, -1, 1))
        lives = self._aged(Lives(events.table, uid, events.born, expires, events.age).filter(~gone))
        return Delta(lives, ends, np.unique(events.born) if self._ticking else None)

    def _aged(self, lives: Lives) -> Lives:
        places = np.arange(self._next, self._next + len(lives))
        self._next += len(lives)
        return replace(lives, age=np.stack([lives.age[0], places]))

    def _delete(self, events: Lives, gone: Mask, codes: Ordinals, before: int, expires: Ordinals) -> Ends:
        """Take out what is deleted: rows of earlier steps, by ends, and rows of this one."""
        left, deletions, came = self._copies.first(codes[gone]), np.flatnonzero(gone), np.flatnonzero(~gone)
        new = left >= before
        inserted = np.full(len(left), -1)
        inserted[new] = came[left[new] - before]
        wrong = np.flatnonzero((left < 0) | (inserted > deletions))
        if len(wrong):
            place = int(deletions[wrong[0]])
            raise SchemaError(f"table {self.name}: {events.table.slice(place, 1).to_pylist()[0]} is deleted at "
                              f"{events.born[place]}, but it is not there; delete only what was inserted before")
        at = events.born[deletions]
        expires[inserted[new]] = at[new]
        ends = Ends(self._copies.uid[left[~new]], at[~new])
        self._copies.drop(left)
        return ends

    def snapshot(self) -> Saved:
        """What is there, what waits, and the keys where they are looked at."""
        header, tables = super().snapshot()
        tables |= {"values": self._codes.values(self._copies.code), "there": pa.table({"uid": self._copies.uid})}
        return header | {"looked": self._looked, "next": self._next}, tables | self._keys.saved()

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        super().restore(header, tables)
        self._looked, self._next = header["looked"], header["next"]
        self._keys.load(tables)
        (uid,) = int_columns(tables["there"])
        self._copies = Copies(uid, self._codes.load(tables["values"], len(uid)))

