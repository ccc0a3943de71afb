"""DISTINCT as it was before delta*: all rows are kept, and searched when a value needs another one (Golab 2.2.2).

The direct style has no structure that would find it faster. Which row follows is the same as with delta*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ages import NOBODY
from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import Delta, Lives, Uids, integers
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.arena import Growing, renumbered
from panewise.kernels.relations.stores.queues import Scanned


class DistinctBySearch(RelationOperator):
    """A representative stays until it expires; then the row of its value that stays longest is looked for."""

    def __init__(self, schema: pa.Schema, uids: Uids, *, newest: bool = False) -> None:
        self.schema, self._uids, self._newest = schema, uids, newest
        self._codes = KeyTable(schema)
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
        count = _represent_by_search(slots, leaving, self._code.values, arena.born, arena.expires, current, upto, rows,
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
            self._code = Growing(moved[self._code.values])  # -1 for rows that left: they are not looked up

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


@compiled
def _represent_by_search(arrived: Ints, leaving: Ints, codes: Ints, born: Ints, expires: Ints, current: Ints, upto: int,
                        rows: Ints, since: Ints, until: Ints) -> int:
    """The same with all rows in a list that is searched; how many representatives.

    ``codes``, ``born`` and ``expires`` are of all rows kept, ``arrived`` those of the step in the order of birth and
    age, ``current`` by code the end of the representative, ``leaving`` the codes whose representative leaves.
    """
    found = 0
    for slot in arrived:
        code = codes[slot]
        # rows that leave do so before others come
        end, found = _followed(code, current[code], born[slot] + 1, codes, born, expires, found, rows, since, until)
        if end == NOBODY:
            rows[found], since[found], until[found] = slot, born[slot], expires[slot]
            end = expires[slot]
            found += 1
        current[code] = end
    for place in range(len(arrived) + len(leaving)):
        code = codes[arrived[place]] if place < len(arrived) else leaving[place - len(arrived)]
        current[code], found = _followed(code, current[code], upto, codes, born, expires, found, rows, since, until)
    return found


@compiled
def _followed(code: int, end: int, before: int, codes: Ints, born: Ints, expires: Ints, found: int, rows: Ints,
              since: Ints, until: Ints) -> tuple[int, int]:
    """What follows, while representatives leave before an instant: the end of the last, and how many were named."""
    while end != NOBODY and end < before:
        follower = _longest(code, end, codes, born, expires)
        if follower < 0:
            return NOBODY, found
        rows[found], since[found], until[found] = follower, end, expires[follower]
        end = expires[follower]
        found += 1
    return end, found


@compiled
def _longest(code: int, end: int, codes: Ints, born: Ints, expires: Ints) -> int:
    """The row of a value that was there when its representative left and stays longest, the youngest of equals."""
    found, longest = -1, end
    for slot in range(len(codes)):
        if codes[slot] == code and born[slot] < end and expires[slot] >= longest and expires[slot] > end:
            found, longest = slot, expires[slot]
    return found
