"""EXCEPT ALL: of k1 copies on the left and k2 on the right the k1 - k2 youngest of the left (rule U10).

The events of Golab 2.2.2 with both counts compared at each (errata E9, E10), net per instant. Values that nothing
happens to are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import Ints
from panewise.core.columns import int_columns, one_zero
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.functions.unions import EXCEPT_ALL, in_types, united
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import Delta, Ends, Lives, Uids, integers, ticks_of
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import RelationOperator, Saved, beneath, under
from panewise.kernels.relations.joins.pairing import Side
from panewise.kernels.relations.negation.sweep import cells_of, signs, starts_of
from panewise.kernels.relations.stores.arena import Growing, renumbered
from panewise.kernels.relations.stores.codes import LeavingCodes
from panewise.kernels.relations.stores.queues import Calendar
from panewise.progress.watermarks import NO_BOUND

BEFORE = -(2**63)
HIDDEN = BEFORE + 1
"""In place of the instant since when a row is shown: before the step, or not at all."""


class Difference(RelationOperator):
    """Left rows that no right copy cancels."""

    def __init__(self, left: pa.Schema, right: pa.Schema, uids: Uids, copies: LeavingCodes) -> None:
        self.schema, self._uids = united([left, right], EXCEPT_ALL), uids  # values are compared by position
        self._codes = KeyTable(self.schema)
        self._left = Side(self.schema, in_order=False)
        self._shown = Growing()
        self._left_ends = Calendar()  # the own ends of left rows change what others show
        self._right = copies
        self._counts = Growing()
        self._reached = NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Values with any event; their left rows, the right's counts at every instant."""
        left, right = (self._typed(delta) for delta in inputs)
        arena = self._left.arena
        said = arena.expires.copy() if left.shortens else None
        ended = self._left.end(left.ends, left.reached)
        due = self._left_ends.due(upto)
        due = due[arena.expires[due] > self._reached - 1] if len(due) else due
        first = self._left.add(left.lives, self._valued(left.lives.table), max(len(self._codes), 1))
        self._shown.extend_to(len(arena), -1)
        lasting = left.lives.expires >= upto
        self._left_ends.insert(first + np.flatnonzero(lasting), left.lives.expires[lasting], self._reached)
        codes, at, sign = self._right_events(right, upto)
        self._counts.extend_to(max(len(self._codes), 1), 0)
        own = np.concatenate([np.union1d(ended, due), np.arange(first, len(arena))])
        touched = np.union1d(codes, self._left.codes.values[own])
        out, ends = self._surplus(touched, (codes, at, sign), first, said, upto)
        self._reached = upto
        self._forget()
        return Delta(out, ends, ticks_of(left.ticks, right.ticks))

    def _typed(self, given: Delta) -> Delta:
        """Rows of a side in the types that both sides meet in; what a cast makes of text may be a zero with a sign."""
        table = given.lives.table
        if table.schema.equals(self.schema):
            return given
        with rows_born(given.lives.born, given.lives.age):
            cast = in_types(table, self.schema)
        columns = [new if new.type == old.type else one_zero(new)
                   for old, new in zip(table.columns, cast.columns, strict=True)]
        return replace(given, lives=given.lives.with_table(pa.table(columns, schema=self.schema)))

    def _valued(self, table: pa.Table) -> Ordinals:
        return self._codes.codes(table, table.num_rows)

    def _right_events(self, right: Delta, upto: int) -> tuple[Ordinals, Ordinals, Ordinals]:
        lives = right.lives
        codes = self._valued(lives.table)
        gone, gone_at = self._right.leave(right, upto)
        brief = lives.expires < upto
        self._right.enter(codes, lives, upto)
        sign = signs(len(codes), int(np.count_nonzero(brief)) + len(gone))
        return (np.concatenate([codes, codes[brief], gone]),
                np.concatenate([lives.born, lives.expires[brief], gone_at]), sign)

    def _surplus(self, touched: Ordinals, events: tuple[Ordinals, Ordinals, Ordinals], first: int,
                 said: Ordinals | None, upto: int) -> tuple[Lives, Ends]:
        arena = self._left.arena
        slots = self._rows_of(touched)
        codes = self._left.codes.values[slots]
        order = np.lexsort((*arena.ages_at(slots)[::-1], codes))
        slots, codes = slots[order], codes[order]
        born, expires = arena.born[slots], arena.expires[slots]
        new, leaves = slots >= first, expires < upto
        code, at, sign = events
        cells = cells_of(np.concatenate([codes[new], codes[leaves], code]),
                         np.concatenate([born[new], expires[leaves], at]))
        change = np.zeros(len(cells), np.int64)
        np.add.at(change, cells.of_event[np.count_nonzero(new) + np.count_nonzero(leaves) :], sign)
        after = cells.running(change, self._counts.values)
        self._counts.values[cells.code] = after
        places = np.arange(len(slots))
        room = 4 * (len(slots) + len(code)) + 8  # an event shows or hides one row, a new row perhaps one more
        shown = np.where(self._shown.values[slots] >= 0, BEFORE, HIDDEN)
        rows, since, until = integers(room), integers(room), integers(room)
        count = _youngest(starts_of(cells.code, touched), cells.at, after, starts_of(codes, touched), born, expires,
                         places[np.lexsort((born, codes))], places[np.lexsort((expires, codes))], shown,
                         np.where(new, 0, 1), rows, since, until)
        return self._told(slots, rows[:count], since[:count], until[:count], said, upto)

    def _rows_of(self, touched: Ordinals) -> Ordinals:
        return self._left.chains.of(touched, self._left.arena.expires,
                                    self._reached - 1 if self._reached != NO_BOUND else NO_BOUND)

    def _told(self, slots: Ordinals, rows: Ordinals, since: Ordinals, until: Ordinals, said: Ordinals | None,
              upto: int) -> tuple[Lives, Ends]:
        arena = self._left.arena
        at = slots[rows]
        announced = arena.expires if said is None else np.concatenate([said, arena.expires[len(said) :]])
        going = since == BEFORE
        stopped = going & (until < announced[at])
        ends = Ends(self._shown.values[at[stopped]], until[stopped])
        fresh = np.flatnonzero(~going)
        fresh = fresh[np.argsort(since[fresh], kind="stable")]
        lives = arena.lives(at[fresh])
        uid = self._uids.draw(len(fresh))
        self._shown.values[at[going & (until < upto)]] = -1
        lasting = until[fresh] >= upto
        self._shown.values[at[fresh][lasting]] = uid[lasting]
        return Lives(lives.table, uid, since[fresh], until[fresh], lives.age), ends

    def _forget(self) -> None:
        side = self._left
        alive = side.arena.expires >= self._reached
        stay = side.forget(alive, max(len(self._codes), 1)) if side.arena.crowded else None
        if stay is not None:
            self._shown = Growing(self._shown.values[stay])
            self._left_ends.rebuild(side.arena.expires, self._reached)
        if self._codes.crowded(len(side.arena) + self._right.count):
            used = np.unique(np.r_[side.codes.values, np.flatnonzero(self._counts.values > 0)])
            moved = self._codes.keep(used)
            self._counts = renumbered(self._counts.values[used], moved[used])
            side.relink(moved[side.codes.values], max(len(self._codes), 1))
            self._right.recode(moved)

    # -- saving

    def snapshot(self) -> Saved:
        """Left rows with what shows them, right rows by value."""
        alive = np.flatnonzero(self._left.arena.expires >= self._reached)
        tables = under("left_", self._left.saved(alive))
        tables["shown"] = pa.table({"uid": self._shown.values[alive], "code": self._left.codes.values[alive]})
        tables |= self._right.saved()
        tables["values"] = self._codes.values(np.arange(len(self._codes)))
        tables["counts"] = pa.table({"count": self._counts.values[: len(self._codes)]})
        return {"reached": self._reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._reached = header["reached"]
        numbers = self._codes.load(tables["values"], tables["values"].num_rows)
        self._left.load(beneath("left_", tables))
        shown, codes = int_columns(tables["shown"])
        self._shown = Growing(shown)
        self._left.relink(numbers[codes], max(len(self._codes), 1))
        self._left_ends.rebuild(self._left.arena.expires, self._reached)
        self._right.load(tables, header["reached"], numbers)
        self._counts = renumbered(tables["counts"].column(0).to_numpy(), numbers)
        self._counts.extend_to(1, 0)

    def counters(self) -> dict[str, int]:
        """Left rows, and right copies."""
        return {"rows": len(self._left.arena) + self._right.count,
                "bytes": self._left.nbytes + 8 * len(self._left.arena) + self._right.nbytes}


@compiled
def _next_shown(row: int, high: int, alive: Ints, shown: Ints) -> int:
    row += 1
    while row < high and (alive[row] != 1 or shown[row] == HIDDEN):
        row += 1
    return row


@compiled
def _youngest(cell_starts: Ints, cell_at: Ints, right_after: Ints, row_starts: Ints, born: Ints, expires: Ints,
             by_birth: Ints, by_end: Ints, shown: Ints, alive: Ints, rows: Ints, since: Ints, until: Ints) -> int:
    """Which rows are among the left's surplus, from when to when; how many such parts.

    Values have cells (instants, with the number of right copies after each) and left rows by age; ``by_birth`` and
    ``by_end`` list the rows of a value in the order they come and go. ``alive`` is 1 for rows of before; ``shown`` is
    ``BEFORE`` where they were in the result, else ``HIDDEN``, and has since when each is shown on the way. Parts end at
    a row's own end unless something hides it before.
    """
    found = 0
    for value in range(len(cell_starts) - 1):
        low, high = row_starts[value], row_starts[value + 1]
        count, shows, oldest = 0, 0, high  # rows, rows shown, the oldest of those
        for row in range(high - 1, low - 1, -1):
            if alive[row] == 1:
                count += 1
                if shown[row] == BEFORE:
                    shows += 1
                    oldest = row
        coming, going = low, low
        for cell in range(cell_starts[value], cell_starts[value + 1]):
            at = cell_at[cell]
            while going < high and expires[by_end[going]] <= at:
                row = by_end[going]
                going += 1
                if alive[row] == 1:
                    alive[row] = 2
                    count -= 1
                    if shown[row] != HIDDEN:
                        rows[found], since[found], until[found] = row, shown[row], expires[row]
                        found += 1
                        shown[row] = HIDDEN
                        shows -= 1
                        if row == oldest:
                            oldest = _next_shown(oldest, high, alive, shown)
            while coming < high and born[by_birth[coming]] <= at:
                row = by_birth[coming]
                coming += 1
                if alive[row] == 0 and expires[row] > at:
                    alive[row] = 1
                    count += 1
                    if row > oldest:
                        shown[row] = at
                        shows += 1
            wanted = max(count - right_after[cell], 0)
            while shows > wanted:
                if shown[oldest] != at:
                    rows[found], since[found], until[found] = oldest, shown[oldest], at
                    found += 1
                shown[oldest] = HIDDEN
                shows -= 1
                oldest = _next_shown(oldest, high, alive, shown)
            while shows < wanted:
                oldest -= 1
                while alive[oldest] != 1:
                    oldest -= 1
                shown[oldest] = at
                shows += 1
        for row in range(low, high):
            if alive[row] == 1 and shown[row] != HIDDEN:
                rows[found], since[found], until[found] = row, shown[row], expires[row]
                found += 1
    return found
