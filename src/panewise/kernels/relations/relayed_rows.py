"""The relation of another plan as a leaf: what happens to it arrives as rows, dated by their instants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.kernels.relations.delta import FOREVER, Delta, Ends, Lives, Uids, integers
from panewise.kernels.relations.live_codes import LiveCodes
from panewise.kernels.relations.operator import Saved
from panewise.kernels.relations.stores.arena import never
from panewise.kernels.relations.waiting import SourceRows

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
        self._codes = LiveCodes(schema)
        self._uid, self._code = integers(), integers()
        """The copies that are there, oldest first."""

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
        there, holds = np.concatenate([self._uid, uid]), np.concatenate([self._code, codes[~goes]])
        left = _first_copies(holds, codes[goes])
        ended = events.born[goes]
        new = left >= len(self._uid)
        expires = never(len(came))
        expires[left[new] - len(self._uid)] = ended[new]
        ends = Ends(there[left[~new]], ended[~new])
        stays = np.ones(len(there), np.bool_)
        stays[left] = False
        self._uid, self._code = there[stays], holds[stays]
        self._forget()
        return Delta(Lives(came.table, uid, came.born, expires, came.age), ends)

    def _forget(self) -> None:
        """Values nobody holds any more lose their numbers."""
        used = np.unique(self._code)
        if self._codes.crowded(len(used)):
            self._code = self._codes.keep(used)[self._code]

    def snapshot(self) -> Saved:
        """What is there, and what waits."""
        header, tables = super().snapshot()
        used, place = np.unique(self._code, return_inverse=True)
        there = pa.table({"uid": self._uid, "value": place.astype(np.int64)})
        return header | {"values": len(used)}, tables | {"values": self._codes.values(used), "there": there}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        super().restore(header, tables)
        numbers = self._codes.load(tables["values"], int(header["values"]))
        self._uid = np.array(tables["there"].column("uid").to_numpy(), np.int64)
        self._code = numbers[tables["there"].column("value").to_numpy()] if len(self._uid) else integers()

    def counters(self) -> dict[str, int]:
        """Copies that are there, and changes that wait."""
        found = super().counters()
        return found | {"rows": len(self._uid), "bytes": found["bytes"] + 16 * len(self._uid)}


def _first_copies(holds: Ordinals, leaving: Ordinals) -> Ordinals:
    """Places of the copies that leave: of each value as many as leave, the oldest first.

    >>> _first_copies(np.array([7, 8, 7, 7]), np.array([7, 8, 7])).tolist()
    [0, 1, 2]
    """
    order = np.argsort(holds, kind="stable")
    by_value = holds[order]
    first = np.searchsorted(by_value, leaving)
    again = np.argsort(leaving, kind="stable")
    ranked = leaving[again]
    number = np.empty(len(leaving), np.int64)
    number[again] = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
    places: Ordinals = order[first + number]
    return places
