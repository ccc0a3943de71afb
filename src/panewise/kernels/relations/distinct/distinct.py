"""DISTINCT: one row per value that is there (Golab 3.5.2, Patroumpas and Sellis 4.2).

Where the ends of rows are known, delta* names a representative and keeps one spare row for it, so its state is at most
twice its output. Over strict inputs counters say when a value comes and when its last copy goes; the copies have equal
columns, so which of them is shown makes no difference. ``newest_row`` is for duplicates that replace the row before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import SPARE as SPARE_CODES
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.distinct.representatives import CURRENT, Representatives, ending, represent
from panewise.kernels.relations.edges.closing import ClosedGroups, Closer
from panewise.kernels.relations.edges.delta import Delta, Ends, Lives, Uids, by_age, integers
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.negation.sweep import cells_of, turns_of
from panewise.kernels.relations.stores.arena import Growing, renumbered
from panewise.kernels.relations.stores.codes import CodesByNumber
from panewise.kernels.relations.stores.queues import Calendar, ExpiryQueue
from panewise.progress.watermarks import NO_BOUND


class DistinctByEnd(RelationOperator):
    """Delta*: a representative stays until it expires; the row that stays longest follows it (erratum E8).

    Rows of one value have equal columns, so of a representative its end is kept, of a spare row its end and age. Of
    rows that never leave nothing is kept when their value cannot come again (``closers``; Li 3.10).

    Which representatives leave, a step with at least as many rows as there are values finds by a look at all values,
    which costs less than its rows do. Shorter steps ask a calendar, which is made anew after such a step.

    With ``newest`` (RECENT), where all rows of a value that are there came together, the youngest represents it.
    """

    def __init__(self, schema: pa.Schema, uids: Uids, closers: Sequence[Closer] = (), *, newest: bool = False) -> None:
        self.schema, self._uids, self._closing, self._newest = schema, uids, ClosedGroups(closers), newest
        self._codes = KeyTable(schema)
        self._held = Representatives()
        self._queue: Calendar | None = None
        self._reached, self._look_at = NO_BOUND, SPARE_CODES

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Values with new rows, and values whose representative leaves."""
        (delta,) = inputs
        assert not len(delta.ends), "delta* needs rows whose ends are known"
        lives = delta.lives.longest_first()
        lives = lives.youngest_first() if self._newest else lives
        codes = self._codes.codes(lives.table, len(lives))
        age = self._held.fitted(lives.age, len(self._codes))
        leaving = self._leaving(upto, len(codes))
        room = 2 * (len(codes) + len(leaving))  # a row or spare is named at most once
        named, since, until, ages = integers(room), integers(room), integers(room), np.empty((len(age), room), np.int64)
        count = represent(codes, lives.born, lives.expires, age, leaving, self._held.lines, upto, named, since, until,
                          ages)
        named, since, until = named[:count], since[:count], until[:count]
        order = by_age(since, ages[:, :count])
        if order is not None:
            named, since, until, ages = named[order], since[order], until[order], ages[:, order]
        if self._queue is not None:
            staying = until >= upto
            self._queue.insert(named[staying], until[staying], self._reached)
        self._reached = upto
        out = Lives(self._codes.values(named), self._uids.draw(count), since, until, ages[:, :count])
        if self._closing:
            self._held.forget(self._closing.over(self._codes, upto))
        self._forget()
        return Delta(out, ticks=delta.ticks)

    def _leaving(self, upto: int, rows: int) -> Ordinals:
        """Values whose representative may leave in a step of so many rows."""
        if rows >= self._held.count:
            self._queue = None
            return ending(self._held.lines, upto)
        if self._queue is None:
            self._queue = Calendar()
            there = self._held.shown
            self._queue.insert(there, self._held.lines[there, CURRENT], self._reached)
        return self._queue.due(upto)

    def _forget(self) -> None:
        if len(self._codes) < self._look_at:
            return
        keep = self._held.shown
        if self._codes.crowded(len(keep)):
            moved = self._codes.keep(keep)[keep]
            self._begin(self._held.lines[keep], moved)
        self._look_at = len(self._codes) + max(SPARE_CODES, len(self._codes) // 8)  # a look costs as much as many rows

    def _begin(self, lines: npt.NDArray[np.int64], numbers: Ordinals) -> None:
        """Hold these, whose values have these numbers now."""
        self._held.begin(lines, numbers)
        self._closing.forget()
        self._queue = None

    # -- saving

    def snapshot(self) -> Saved:
        """Representatives by value, and the spare rows."""
        there = self._held.shown
        current, spare, *ages = self._held.lines[there].T
        ends = {"current": current, "spare": spare, **{f"age{i}": age for i, age in enumerate(ages)}}
        return {"reached": self._reached}, {"values": self._codes.values(there), "ends": pa.table(ends)}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        ends = tables["ends"]
        self._reached = header["reached"]
        numbers = self._codes.load(tables["values"], ends.num_rows)
        self._begin(np.stack([column.to_numpy() for column in ends.columns], axis=1), numbers)

    def counters(self) -> dict[str, int]:
        """Values that are shown, and spare rows."""
        return {"rows": len(self._held.shown) + self._held.spares, "bytes": self._codes.nbytes + self._held.nbytes}


class DistinctByCount(RelationOperator):
    """Counters: a value is there while any copy is. With ``by`` these columns alone say which rows are copies.

    A value has the age of the oldest copy that it comes with, or with ``newest`` (RECENT) of the youngest.
    """

    def __init__(self, schema: pa.Schema, uids: Uids, queue: ExpiryQueue, by: Sequence[str] | None = None, *,
                 newest: bool = False) -> None:
        self.schema, self._uids, self._newest = schema, uids, newest
        self._by = schema.names if by is None else list(by)
        self._codes = KeyTable(pa.schema([schema.field(name) for name in self._by]))
        self._rows = CodesByNumber(queue)
        self._counts, self._shown = Growing(), Growing()  # copies, and the number of the row that is shown, by code
        self._reached = NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Copies that come and go, and what they turn on and off."""
        (delta,) = inputs
        lives = delta.lives
        codes = self._codes.codes(lives.table.select(self._by), len(lives))
        self._counts.extend_to(len(self._codes), 0)
        self._shown.extend_to(len(self._codes), -1)
        turns = turns_of(codes, lives, self._rows.leave(delta, upto), upto, self._counts.values)
        self._rows.enter(codes, lives, upto)
        first = self._first(lives, codes, turns.code[turns.on], turns.at[turns.on])
        out = Lives(first.table, self._uids.draw(len(first)), turns.at[turns.on], turns.ends()[turns.on], first.age)
        off = ~turns.on & np.r_[True, turns.code[1:] != turns.code[:-1]]  # what was on before the step
        ends = Ends(self._shown.values[turns.code[off]], turns.at[off])
        last = np.r_[turns.code[1:] != turns.code[:-1], True] & turns.on
        self._shown.values[turns.code[off]] = -1
        self._shown.values[turns.code[last]] = out.uid[last[turns.on]]
        self._reached = upto
        self._forget()
        return Delta(out, ends, delta.ticks)

    def _first(self, lives: Lives, codes: Ordinals, wanted: Ordinals, at: Ordinals) -> Lives:
        """A row for every value that comes, born when it does."""
        aged = by_age(lives.born, lives.age)
        aged = np.arange(len(codes)) if aged is None else aged
        aged = aged[lives.expires[aged] > lives.born[aged]]
        order = aged[np.argsort(codes[aged], kind="stable")]
        cells = cells_of(np.concatenate([codes[order], wanted]), np.concatenate([lives.born[order], at]))
        of_rows, of_wanted = cells.of_event[: len(order)], cells.of_event[len(order) :]
        if self._newest:
            return lives.take(order[np.searchsorted(of_rows, of_wanted, side="right") - 1])
        return lives.take(order[np.searchsorted(of_rows, of_wanted)])

    def _forget(self) -> None:
        if not self._codes.crowded(self._rows.count):
            return
        used = np.flatnonzero(self._counts.values > 0)
        moved = self._codes.keep(used)
        self._counts, self._shown = (renumbered(part.values[used], moved[used])
                                     for part in (self._counts, self._shown))
        self._rows.recode(moved)

    # -- saving

    def snapshot(self) -> Saved:
        """Values with their copies."""
        counts = pa.table({"count": self._counts.values, "shown": self._shown.values})
        return {"reached": self._reached}, {**self._rows.saved(), "values": self._codes.table(), "counts": counts}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        numbers = self._codes.load(tables["values"], tables["counts"].num_rows)
        self._counts, self._shown = (renumbered(tables["counts"].column(n).to_numpy(), numbers)
                                     for n in ("count", "shown"))
        self._reached = header["reached"]
        self._rows.load(tables, self._reached, numbers)

    def counters(self) -> dict[str, int]:
        """The copies that are there."""
        return {"rows": self._rows.count,
                "bytes": self._codes.nbytes + self._rows.nbytes + 16 * self._counts.count}
