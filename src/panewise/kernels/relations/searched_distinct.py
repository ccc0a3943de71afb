"""DISTINCT as it was before delta*: all rows are kept, and searched when a value needs another one (Golab 2.2.2).

The direct style has no structure that would find it faster. Which row follows is the same as with delta*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.kernels.relations.delta import Delta, Lives, Uids, integers
from panewise.kernels.relations.distinct_numba import NOBODY, represent_by_search
from panewise.kernels.relations.live_codes import LiveCodes, renumbered
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.arena import Growing
from panewise.kernels.relations.stores.queues import Scanned


class DistinctBySearch(RelationOperator):
    """A representative stays until it expires; then the row of its value that stays longest is looked for."""

    def __init__(self, schema: pa.Schema, uids: Uids, *, newest: bool = False) -> None:
        self.schema, self._uids, self._newest = schema, uids, newest
        self._codes = LiveCodes(schema)
        self._rows = AliveRows(schema, Scanned())
        self._code, self._current = Growing(), Growing()  # by slot its value; by value the end of its representative

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Values with new rows, and values whose representative leaves."""
        (delta,) = inputs
        assert not len(delta.ends), "a search needs rows whose ends are known"
        lives = delta.lives.longest_first()
        lives = lives.youngest_first() if self._newest else lives
        codes = self._codes.codes(lives.table, len(lives))
        self._code.append(codes)
        self._current.extend_to(len(self._codes), NOBODY)
        slots = self._rows.enter(lives, upto)  # also those that leave in this step: they may be shown
        arena, current = self._rows.arena, self._current.values
        leaving = np.flatnonzero((current != NOBODY) & (current < upto))
        rows, since, until = integers(len(arena)), integers(len(arena)), integers(len(arena))
        count = represent_by_search(slots, leaving, self._code.values, arena.born, arena.expires, current, upto, rows,
                                    since, until)
        named = arena.lives(rows[:count])
        out = Lives(named.table, named.uid, since[:count], until[:count], named.age).by_birth()
        out = Lives(out.table, self._uids.draw(len(out)), out.born, out.expires, out.age)
        self._rows.leave(delta, upto)
        self._forget()
        return Delta(out, ticks=delta.ticks)

    def _forget(self) -> None:
        kept = self._rows.forget()
        if kept is not None:
            self._code = Growing(self._code.values[kept])
        used = np.flatnonzero(self._current.values != NOBODY)
        if self._codes.crowded(len(used)):
            moved = self._codes.keep(used)
            self._current = renumbered(self._current.values[used], moved[used])
            self._code = Growing(moved[self._code.values])  # -1 for rows that left: nobody looks for them

    # -- saving

    def snapshot(self) -> Saved:
        """All rows, and the representatives' ends by value."""
        shown = np.flatnonzero(self._current.values != NOBODY)
        place = np.full(max(len(self._codes), 1), -1, np.int64)
        place[shown] = np.arange(len(shown))
        tables = self._rows.saved()
        tables["codes"] = pa.table({"code": place[self._code.values[self._rows.alive()]]})
        tables["values"] = self._codes.values(shown)
        tables["ends"] = pa.table({"current": self._current.values[shown]})
        return {"reached": self._rows.reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        ends = tables["ends"].column("current").to_numpy()
        numbers = self._codes.load(tables["values"], len(ends))
        self._current = renumbered(ends, numbers)
        self._rows.load(tables, header["reached"])
        self._code = Growing(numbers[tables["codes"].column("code").to_numpy()])

    def counters(self) -> dict[str, int]:
        """The rows that are there."""
        return {"rows": self._rows.count, "bytes": self._rows.nbytes + 8 * (self._code.count + self._current.count)}
