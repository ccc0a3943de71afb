"""DISTINCT where every duplicate replaces the row before it: the last end of a value is all there is to know.

A value is there until the row leaves that leaves last; where windows reach up to now that is the newest row, and the
window itself need not be kept (law L4 of Patroumpas and Sellis). The state is one end per value. Which end it will be
is not known when the value comes, so ends are sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ages import NOBODY
from panewise.core.arrays import highest_so_far
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Ends, Lives, Uids
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.stores.arena import Growing, renumbered
from panewise.kernels.relations.stores.queues import Calendar
from panewise.progress.watermarks import NO_BOUND

BEFORE = -1
"""In place of a row: the value was there before the step."""


@dataclass(frozen=True)
class Stretches:
    """When values are there without a break, by code, then instant."""

    code: Ordinals
    row: Ordinals
    """The row that begins it; of several at one instant the last."""
    end: Ordinals
    last: npt.NDArray[np.bool_]
    """Whether it is the last one of its value."""


def stretches(code: Ordinals, row: Ordinals, born: Ordinals, end: Ordinals) -> Stretches:
    """Lives of equal codes that touch or overlap, put together.

    >>> found = stretches(*(np.array(a) for a in ([7, 7, 7, 8], [0, 1, 2, 3], [1, 3, 9, 2], [5, 6, 12, 4])))
    >>> found.code.tolist(), found.row.tolist(), found.end.tolist()
    ([7, 7, 8], [0, 2, 3], [6, 12, 4])
    """
    order = np.lexsort((born, code))
    code, row, born, end = code[order], row[order], born[order], end[order]
    changed = np.r_[True, code[1:] != code[:-1]][: len(code)]
    number = np.cumsum(changed) - 1
    reached = highest_so_far(end, number)
    begins = changed.copy()
    begins[1:] |= born[1:] > reached[:-1]
    starts = np.flatnonzero(begins)
    stops = np.r_[starts[1:], len(code)][: len(starts)] - 1
    codes, last = code[starts], np.ones(len(starts), np.bool_)
    last[:-1] = codes[1:] != codes[:-1]
    later = np.flatnonzero(begins | np.r_[True, born[1:] != born[:-1]][: len(code)])  # where an instant begins
    together = np.r_[later[1:], len(code)][np.searchsorted(later, starts)] - 1
    return Stretches(codes, row[together], reached[stops], last)


class DistinctByNewest(RelationOperator):
    """One end per value that is there."""

    def __init__(self, schema: pa.Schema, uids: Uids) -> None:
        self.schema, self._uids = schema, uids
        self._codes = KeyTable(schema)
        self._ends, self._shown, self._queued = Growing(), Growing(), Growing()  # by code
        self._queue = Calendar()
        self._reached = NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Values with new rows, and values that may leave."""
        (delta,) = inputs
        assert not len(delta.ends), "needs rows whose ends are known"
        lives = delta.lives.filter(delta.lives.expires > delta.lives.born).by_birth()
        codes = self._codes.codes(lives.table, len(lives))
        for part, value in ((self._ends, NOBODY), (self._shown, -1), (self._queued, 0)):
            part.extend_to(len(self._codes), value)
        due = np.unique(self._queue.due(upto))
        self._queued.values[due] = 0
        there = np.unique(np.concatenate([codes, due]))
        there = there[self._ends.values[there] != NOBODY]
        found = stretches(np.concatenate([there, codes]),
                          np.concatenate([np.full(len(there), BEFORE), np.arange(len(codes))]),
                          np.concatenate([np.full(len(there), NOBODY), lives.born]),
                          np.concatenate([self._ends.values[there], lives.expires]))
        out, ends = self._changed(found, lives, found.end < upto)
        last, last_end = found.code[found.last], found.end[found.last]
        self._ends.values[last] = np.where(last_end < upto, NOBODY, last_end)
        waiting = last[(last_end >= upto) & (last_end != FOREVER) & (self._queued.values[last] == 0)]
        self._queue.insert(waiting, self._ends.values[waiting], self._reached)
        self._queued.values[waiting] = 1
        self._reached = upto
        self._forget()
        return Delta(out, ends, delta.ticks)

    def _changed(self, found: Stretches, lives: Lives, gone: npt.NDArray[np.bool_]) -> tuple[Lives, Ends]:
        old = found.row == BEFORE
        over = found.code[old & gone]
        ends = Ends(self._shown.values[over], found.end[old & gone])
        self._shown.values[over] = -1
        rows = lives.take(found.row[~old])
        out = Lives(rows.table, self._uids.draw(len(rows)), rows.born, np.where(gone, found.end, FOREVER)[~old],
                    rows.age)
        self._shown.values[found.code[~old & ~gone]] = out.uid[~gone[~old]]
        return out, ends

    def _forget(self) -> None:
        if len(self._codes) <= 4096 or not self._codes.crowded(int(np.count_nonzero(self._ends.values != NOBODY))):
            return
        keep = np.flatnonzero(self._ends.values != NOBODY)
        moved = self._codes.keep(keep)[keep]
        self._begin(*(renumbered(part.values[keep], moved) for part in (self._ends, self._shown)))

    def _begin(self, ends: Growing, shown: Growing) -> None:
        """Hold these, each waiting for its end."""
        self._ends, self._shown = ends, shown
        self._queued = Growing(np.ones(ends.count, np.int64))
        self._queue.rebuild(ends.values, self._reached)

    # -- saving

    def snapshot(self) -> Saved:
        """Values with their ends."""
        there = np.flatnonzero(self._ends.values != NOBODY)
        tables = {"values": self._codes.values(there),
                  "ends": pa.table({"end": self._ends.values[there], "shown": self._shown.values[there]})}
        return {"reached": self._reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        ends = tables["ends"]
        self._reached = header["reached"]
        numbers = self._codes.load(tables["values"], ends.num_rows)
        self._begin(*(renumbered(ends.column(name).to_numpy(), numbers) for name in ("end", "shown")))

    def counters(self) -> dict[str, int]:
        """Values that are there."""
        return {"rows": int(np.count_nonzero(self._ends.values != NOBODY)), "bytes": 24 * self._ends.count}
