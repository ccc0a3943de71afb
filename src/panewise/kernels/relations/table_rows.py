"""A table beside the streams: rows that are inserted at an instant and stay until they are deleted.

A deletion takes the oldest row with equal columns, that of the time aside. Where updates do not reach back (NRR), a key
that was deleted may not come back for another entity: rows already joined with it would seem to belong to the new one
(Golab 3.3.1).

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
from panewise.core.errors import SchemaError
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import FOREVER, Delta, Ends, Lives, Uids, integers
from panewise.kernels.relations.live_codes import LiveCodes
from panewise.kernels.relations.operator import Saved
from panewise.kernels.relations.stores.arena import Growing, never
from panewise.kernels.relations.waiting import SourceRows

DELETED = 0
"""What stands in place of the end of a row that deletes."""


class TableRows(SourceRows):
    """The history of one table. ``fresh`` are the columns whose values may not come back once deleted."""

    def __init__(self, name: str, schema: pa.Schema, uids: Uids, *, time: str | None = None,
                 fresh: Sequence[str] = (), ticking: bool = False, number: int = 0) -> None:
        super().__init__(schema, uids, ticking=ticking)
        self._next = first_in_table(number)
        self.name, self._fresh = name, list(fresh)
        self._codes = LiveCodes(pa.schema([field for field in schema if field.name != time]))
        self._uid, self._code = Growing(), Growing()  # rows that are there, oldest first
        self._deleted: dict[str, int] = {}

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
        ended: list[tuple[int, int]] = []
        if gone.any() or self._deleted:
            ended = self._delete(events, gone, codes, uid, expires)
        else:
            self._uid.append(uid)
            self._code.append(codes)
        lives = self._aged(Lives(events.table, uid, events.born, expires, events.age).filter(~gone))
        ends = Ends(np.array([u for u, _ in ended], np.int64), np.array([at for _, at in ended], np.int64))
        return Delta(lives, ends, np.unique(events.born) if self._ticking else None)

    def _aged(self, lives: Lives) -> Lives:
        places = np.arange(self._next, self._next + len(lives))
        self._next += len(lives)
        return replace(lives, age=np.stack([lives.age[0], places]))

    def _delete(self, events: Lives, gone: Any, codes: Ordinals, uid: Ordinals,
                expires: Ordinals) -> list[tuple[int, int]]:
        """Row by row: deletions are rare beside the rows of streams."""
        born_now = {int(u): place for place, u in enumerate(uid)}
        ended: list[tuple[int, int]] = []
        keys = [repr(row) for row in events.table.select(self._fresh).to_pylist()] if self._fresh else []
        for place in range(len(events)):
            at = int(events.born[place])
            if not gone[place]:
                if keys and self._deleted.get(keys[place], at) < at:
                    raise SchemaError(f"table {self.name}: {keys[place]} at {at} uses a key that was deleted at "
                                      f"{self._deleted[keys[place]]}; use a fresh key, or declare the table a "
                                      "retroactive relation")
                self._uid.append(uid[place : place + 1])
                self._code.append(codes[place : place + 1])
                continue
            found = np.flatnonzero(self._code.values == codes[place])
            if not len(found):
                raise SchemaError(f"table {self.name}: {events.table.slice(place, 1).to_pylist()[0]} is deleted at "
                                  f"{at}, but it is not there; delete only what was inserted before")
            oldest = int(self._uid.values[found[0]])
            if oldest in born_now:
                expires[born_now[oldest]] = at
            else:
                ended.append((oldest, at))
            kept = np.delete(np.arange(self._uid.count), found[0])
            self._uid, self._code = Growing(self._uid.values[kept]), Growing(self._code.values[kept])
            if keys:
                self._deleted[keys[place]] = at
        return ended

    def snapshot(self) -> Saved:
        """What is there, what waits, and keys that were deleted."""
        header, tables = super().snapshot()
        tables |= {"values": self._codes.values(self._code.values), "there": pa.table({"uid": self._uid.values})}
        return header | {"deleted": self._deleted, "next": self._next}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        super().restore(header, tables)
        self._deleted, self._next = dict(header["deleted"]), header["next"]
        self._uid = Growing(np.array(tables["there"].column("uid").to_numpy(), np.int64))
        self._code = Growing(self._codes.load(tables["values"], self._uid.count))

