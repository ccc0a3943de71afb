"""The relation of another plan as a leaf: what happens to it arrives as rows, dated by their instants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends, Lives, Uids, integers
from panewise.kernels.relations.edges.operator import Saved
from panewise.kernels.relations.edges.waiting import SourceRows
from panewise.kernels.relations.stores.arena import never
from panewise.kernels.relations.stores.copies import Copies

GONE = 0
"""What stands in place of the end of a row that says that another has left."""


class RelayedLives(SourceRows):
    """Rows that say in the column ``ends`` when they will leave."""

    def __init__(self, schema: pa.Schema, uids: Uids, ends: str) -> None:
        super().__init__(schema, uids)
        self._ends = ends

    def receive(self, table: pa.Table, due: Ordinals, times: Ordinals, arrivals: Ordinals,
                signs: Ordinals | None) -> None:
        """Rows with their ends; one without an end stays for ever."""
        del signs
        ends = table.column(self._ends)
        stay = ends.is_null().to_numpy()
        expires = never(len(due))
        if not stay.all():
            expires[~stay] = to_ordinals(ends.drop_null(), self._ends)
        lives = Lives(table.select(self.schema.names), integers(len(due)), times, expires, np.stack([times, arrivals]))
        self.waiting.add(due, lives)


class RelayedChanges(SourceRows):
    """Copies of values that come (1 in the column ``change``) and go (-1); of equal ones the oldest leaves first."""

    def __init__(self, schema: pa.Schema, uids: Uids, change: str) -> None:
        super().__init__(schema, uids)
        self._change = change
        self._codes = KeyTable(schema)
        self._copies = Copies()

    def receive(self, table: pa.Table, due: Ordinals, times: Ordinals, arrivals: Ordinals,
                signs: Ordinals | None) -> None:
        """Changes; at one instant what goes is first."""
        del signs
        goes = table.column(self._change).to_numpy() < 0
        age = np.stack([times, np.where(goes, 0, 1), arrivals])
        expires = np.where(goes, GONE, FOREVER)
        self.waiting.add(due, Lives(table.select(self.schema.names), integers(len(due)), times, expires, age))

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """The n-th copy of a value that leaves is the n-th that came."""
        events = self.waiting.release(upto)
        goes = events.expires == GONE
        codes = self._codes.codes(events.table, len(events))
        came = events.filter(~goes)
        uid = self._uids.draw(len(came))
        before = len(self._copies)
        self._copies.add(uid, codes[~goes])
        left, ended = self._copies.first(codes[goes]), events.born[goes]
        new = left >= before
        expires = never(len(came))
        expires[left[new] - before] = ended[new]
        ends = Ends(self._copies.uid[left[~new]], ended[~new])
        self._copies.drop(left)
        self._forget()
        return Delta(Lives(came.table, uid, came.born, expires, came.age), ends)

    def _forget(self) -> None:
        """Values that no copy has any more lose their numbers."""
        used = np.unique(self._copies.code)
        if self._codes.crowded(len(used)):
            self._copies = Copies(self._copies.uid, self._codes.keep(used)[self._copies.code])

    def snapshot(self) -> Saved:
        """What is there, and what waits."""
        header, tables = super().snapshot()
        used, place = np.unique(self._copies.code, return_inverse=True)
        there = pa.table({"uid": self._copies.uid, "value": place.astype(np.int64)})
        return header | {"values": len(used)}, tables | {"values": self._codes.values(used), "there": there}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        super().restore(header, tables)
        numbers = self._codes.load(tables["values"], int(header["values"]))
        uid, values = int_columns(tables["there"])
        self._copies = Copies(uid, numbers[values])

    def counters(self) -> dict[str, int]:
        """Copies that are there, and changes that wait."""
        found = super().counters()
        return found | {"rows": len(self._copies), "bytes": found["bytes"] + 16 * len(self._copies)}
