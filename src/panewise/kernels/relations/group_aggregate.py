"""Aggregates over the current contents of a relation: one row per group that has any, replaced when it changes.

A group that lost its last row vanishes (Patroumpas and Sellis 4.2); what changes twice at one instant is told once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar, evaluate
from panewise.kernels.grouping import group_codes
from panewise.kernels.partials import BoundAggregate
from panewise.kernels.relations.cell_values import (
    Members,
    RunningStates,
    is_subtractable,
    merged_states,
    newest_at,
)
from panewise.kernels.relations.closing import Closer, Closing
from panewise.kernels.relations.delta import FOREVER, Delta, Ends, Lives, Uids, gather, integers, stacked
from panewise.kernels.relations.existence_numba import count_chained, list_chained
from panewise.kernels.relations.join_numba import link
from panewise.kernels.relations.live_codes import LiveCodes, renumbered
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.stores.alive import AliveRows, Left
from panewise.kernels.relations.stores.arena import Growing, Payload
from panewise.kernels.relations.stores.queues import ExpiryQueue
from panewise.kernels.relations.sweep import Cells, cells_of, signs, summed

GROUP = "group"


@dataclass(frozen=True)
class GroupedBy:
    """What a query groups by and what it computes: key columns, and aggregates with the columns they take."""

    keys: pa.Schema
    key_scalars: Sequence[Scalar]
    aggregates: Sequence[BoundAggregate]
    arguments: Sequence[Sequence[Scalar]]
    closers: Sequence[Closer] = ()
    """When groups are over, if their rows stay for ever."""


class GroupAggregate(RelationOperator):
    """One row per group. With ``every`` a row is told anew whenever its group changes, equal or not.

    Rows that ``stay`` for ever are kept only where a value is made of all of them; and nothing is kept of groups that
    are over, whose row will never be replaced.
    """

    def __init__(self, grouped: GroupedBy, uids: Uids, queue: ExpiryQueue, *, every: bool = False,
                 stay: bool = False) -> None:
        self._grouped, self._uids, self._every, self._stay = grouped, uids, every, stay
        self._closing = Closing(grouped.closers if stay and not every else ())
        self._taken = list(dict.fromkeys(scalar for part in grouped.arguments for scalar in part))
        types = dict(zip((s for part in grouped.arguments for s in part),
                         (t for a in grouped.aggregates for t in a.inputs), strict=True))
        self._row = pa.schema([pa.field(GROUP, pa.int64()),
                               *(pa.field(f"a{i}", types[s]) for i, s in enumerate(self._taken))])
        self.schema = pa.schema([*grouped.keys, *(a.result_field for a in grouped.aggregates)])
        self._codes = LiveCodes(grouped.keys)
        self._rows = AliveRows(self._row, queue)
        self._counts, self._shown, self._slot = Growing(), Growing(), Growing()
        self._current = Payload(pa.schema([a.result_field for a in grouped.aggregates]))
        self._running = {a.name: RunningStates(a) for a in grouped.aggregates if is_subtractable(a)}
        self._merging = len(self._running) < len(grouped.aggregates) or every
        self._heads, self._nexts = Growing(), Growing()

    # -- one step

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Groups with any event: their values after each instant at which one happens."""
        (delta,) = inputs
        lives = self._coded(delta.lives)
        codes = lives.table.column(0).to_numpy()
        groups = max(len(self._codes), 1)
        for part, value in ((self._counts, 0), (self._shown, -1), (self._slot, -1), (self._heads, -1)):
            part.extend_to(groups, value)
        left = self._rows.leave(delta, upto)
        gone = self._rows.arena.payload.take(left.slots)
        brief = lives.expires < upto
        cells = cells_of(np.concatenate([codes, codes[brief], gone.column(0).to_numpy()]),
                         np.concatenate([lives.born, lives.expires[brief], left.at]))
        sign = signs(len(codes), int(np.count_nonzero(brief)) + len(left))
        after = cells.running(summed(cells, sign), self._counts.values)
        self._counts.values[cells.code] = after
        members = self._members(cells, lives, left, upto) if self._merging and len(cells) else None
        values = self._values(cells, after > 0, (lives, brief, gone, sign), members)
        out, ends = self._replaced(cells, after, values, members)
        self._keep(lives.filter(~brief), upto)
        settled = self._close(upto) if self._closing else integers()
        self._forget()
        return Delta(out, ends, delta.ticks, settled)

    def _coded(self, lives: Lives) -> Lives:
        grouped, table = self._grouped, lives.table
        found = evaluate([*grouped.key_scalars, *self._taken], table) if len(lives) else \
            [pa.nulls(0, f.type) for f in [*grouped.keys, *list(self._row)[1:]]]
        keys = pa.table(found[: len(grouped.keys)], schema=grouped.keys) if len(grouped.keys) else pa.table({})
        codes = self._codes.codes(keys, len(lives))
        return lives.with_table(pa.table([pa.array(codes), *found[len(grouped.keys) :]], schema=self._row))

    def _members(self, cells: Cells, lives: Lives, left: Left, upto: int) -> Members:
        """All rows of the groups that have cells, by age, with the cells they count in."""
        touched = cells.code[cells.starts]
        arguments = (touched, self._heads.values, self._nexts.values, self._rows.there, len(self._rows.arena), 0)
        slots = integers(count_chained(*arguments))
        list_chained(*arguments, slots)
        slots = np.concatenate([slots, left.slots])
        old = self._rows.arena
        table = pa.concat_tables([old.payload.take(slots), lives.table]).combine_chunks()
        code = table.column(0).to_numpy()
        end = np.concatenate([np.full(len(slots) - len(left), FOREVER), left.at,
                              np.where(lives.expires < upto, lives.expires, FOREVER)])
        first = np.searchsorted(touched, code)
        starts, lasts = cells.starts, np.r_[cells.starts[1:], len(cells)]
        low = np.concatenate([starts[first[: len(slots)]], cells.of_event[: len(lives)]])
        high = lasts[first]
        ending = np.flatnonzero(end != FOREVER)
        high[ending] = _cell_at(cells, code[ending], end[ending])
        age = stacked([old.ages_at(slots), lives.age])
        order = np.lexsort(age[::-1])
        counting = order[low[order] < high[order]]
        return Members(gather(table, counting), low[counting], high[counting], age[:, counting])

    def _values(self, cells: Cells, there: Any, events: tuple[Lives, Any, pa.Table, Ordinals],
                members: Members | None) -> pa.Table:
        """The value of every aggregate after each cell at which its group has rows."""
        lives, brief, gone, sign = events
        kept = pa.array(np.flatnonzero(there))
        rows = None
        columns: list[pa.Array] = []
        for aggregate, scalars in zip(self._grouped.aggregates, self._grouped.arguments, strict=True):
            places = [1 + self._taken.index(scalar) for scalar in scalars]
            if aggregate.name in self._running:
                running = self._running[aggregate.name]
                running.extend_to(max(len(self._codes), 1))
                if rows is None:
                    rows = pa.concat_tables([lives.table, lives.filter(brief).table, gone]).combine_chunks()
                one = running.of_rows([_flat(rows.column(p)) for p in places], rows.num_rows)
                states = running.at(cells, one, sign)
            elif members is not None:
                states = merged_states(aggregate, members, [_flat(members.table.column(p)) for p in places], len(cells))
            else:
                states = aggregate.function.partials([pa.nulls(0, t) for t in aggregate.inputs] + (
                    [pa.array([], pa.int64())] if aggregate.function.needs_order else []), integers(), 0,
                    aggregate.inputs)
            columns.append(aggregate.function.finish_all([s.take(kept) for s in states], aggregate.inputs))
        return pa.table(columns, schema=self._current.schema) if columns else pa.table({})

    def _replaced(self, cells: Cells, after: Ordinals, values: pa.Table,
                  members: Members | None) -> tuple[Lives, Ends]:
        """New rows where a value changed, and the ends of those they replace."""
        starts = cells.starts
        touched = cells.code[starts]
        shown = self._shown.values[touched] >= 0
        worth = np.full(len(cells), -1, np.int64)  # equal numbers for equal rows, -1 where the group is empty
        before = np.full(len(touched), -1, np.int64)
        if self._every or not values.num_columns:
            worth[after > 0] = np.arange(np.count_nonzero(after > 0)) if self._every else 0
            before[shown] = FOREVER if self._every else 0
        else:
            old = self._current.take(self._slot.values[touched[shown]])
            both = pa.concat_tables([old, values])
            numbers = group_codes(both.columns)[0] if both.num_rows else integers()
            before[shown], worth[after > 0] = numbers[: old.num_rows], numbers[old.num_rows :]
        previous = integers(len(cells))
        previous[1:] = worth[:-1]
        previous[starts] = before
        changed = np.flatnonzero(worth != previous)
        code, at = cells.code[changed], cells.at[changed]
        until = np.full(len(changed), FOREVER, np.int64)
        same = code[1:] == code[:-1]
        until[:-1][same] = at[1:][same]
        begins = worth[changed] >= 0
        place = np.cumsum(after > 0) - 1
        table = self._table(code[begins], gather(values, place[changed[begins]]))
        uid = self._uids.draw(int(np.count_nonzero(begins)))
        first = np.r_[True, ~same] if len(code) else np.empty(0, np.bool_)
        stops = first & (self._shown.values[code] >= 0)
        ends = Ends(self._shown.values[code[stops]], at[stops])
        self._note(code, np.r_[~same, True] if len(code) else first, begins, uid, table)
        born = at[begins]
        age = np.stack([born, uid])
        if self._every and members is not None:  # as young as its newest row
            age = members.age[:, newest_at(members, len(cells))[changed[begins]]]
        return Lives(table, uid, born, until[begins], age), ends

    def _table(self, codes: Ordinals, values: pa.Table) -> pa.Table:
        keys = self._codes.values(codes)
        return pa.table([*keys.columns, *values.columns], schema=self.schema).combine_chunks()

    def _note(self, code: Ordinals, last: Any, begins: Any, uid: Ordinals, table: pa.Table) -> None:
        """What is shown of each group after the step."""
        self._shown.values[code] = -1
        kept = (last & begins)[begins]
        groups = code[begins][kept]
        self._shown.values[groups] = uid[kept]
        if self._every:
            return
        first = self._current.count
        self._current.append(gather(table.select(self._current.schema.names), np.flatnonzero(kept)))
        self._slot.values[groups] = np.arange(first, first + len(groups))
        if self._current.count > 2 * np.count_nonzero(self._shown.values >= 0) + 1024:
            there = np.flatnonzero(self._shown.values >= 0)
            self._current.keep(self._slot.values[there])
            self._slot.values[there] = np.arange(len(there))

    # -- keeping

    def _close(self, upto: int) -> Ordinals:
        """Forget groups that are over; the rows that were shown of them stay."""
        over = self._closing.over(self._codes, upto)
        over = over[self._counts.values[over] > 0]
        settled = self._shown.values[over]
        if self._merging and len(over):
            arguments = (over, self._heads.values, self._nexts.values, self._rows.there, len(self._rows.arena), 0)
            slots = integers(count_chained(*arguments))
            list_chained(*arguments, slots)
            self._rows.drop(slots)
        self._counts.values[over], self._shown.values[over] = 0, -1
        for column in (column for running in self._running.values() for column in running.columns):
            column.values[over] = 0
        return np.sort(settled[settled >= 0])

    def _keep(self, lives: Lives, upto: int) -> None:
        if self._stay and not self._merging:  # their states are all there is to know
            self._rows.reached = upto
            return
        slots = self._rows.enter(lives, upto)
        codes = lives.table.column(0).to_numpy()
        if self._merging and len(slots):
            self._nexts.extend_to(len(self._rows.arena), -1)
            link(codes, int(slots[0]), self._heads.values, self._nexts.values)

    def _forget(self) -> None:
        if self._rows.forget() is not None:
            self._relink()
        if self._codes.crowded(int(np.count_nonzero(self._counts.values > 0)) if len(self._codes) > 4096 else
                               len(self._codes)):
            self._forget_groups()

    def _relink(self) -> None:
        if not self._merging:
            return
        self._heads, self._nexts = Growing(), Growing()
        self._heads.extend_to(max(len(self._codes), 1), -1)
        self._nexts.extend_to(len(self._rows.arena), -1)
        codes = self._rows.arena.payload.table().column(0).to_numpy()
        codes = np.where(self._rows.there == 1, codes, -1)
        link(codes, 0, self._heads.values, self._nexts.values)

    def _forget_groups(self) -> None:
        used = np.flatnonzero(self._counts.values > 0)
        moved = self._codes.keep(used)
        self._counts, self._shown, self._slot = (renumbered(part.values[used], moved[used])
                                                 for part in (self._counts, self._shown, self._slot))
        for running in self._running.values():
            running.columns = [renumbered(column.values[used], moved[used]) for column in running.columns]
        self._rows.recode(moved)
        self._relink()
        self._closing.forget()

    # -- saving

    def snapshot(self) -> Saved:
        """Groups with what is shown of them, and the rows that are there."""
        used = np.flatnonzero(self._counts.values > 0)
        moved = np.full(max(len(self._codes), 1), -1, np.int64)
        moved[used] = np.arange(len(used))
        tables = self._rows.saved()
        rows = tables["rows"]
        tables["rows"] = rows.set_column(0, self._row.field(0), pa.array(moved[rows.column(0).to_numpy()]))
        tables["keys"] = self._codes.values(used)
        tables["groups"] = pa.table({"count": self._counts.values[used], "shown": self._shown.values[used]})
        tables["current"] = self._current.take(self._slot.values[used]) if not self._every else pa.table({})
        for name, running in self._running.items():
            tables[f"state:{name}"] = pa.table({f"s{i}": c.values[used] for i, c in enumerate(running.columns)})
        return {"reached": self._rows.reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        groups = tables["groups"]
        numbers = self._codes.load(tables["keys"], groups.num_rows)
        if not len(self._grouped.keys):  # all rows are one group
            numbers = np.zeros(groups.num_rows, np.int64)
        self._counts, self._shown = (renumbered(groups.column(n).to_numpy(), numbers) for n in ("count", "shown"))
        self._slot = renumbered(np.arange(groups.num_rows), numbers)
        if not self._every:
            self._current = Payload(self._current.schema)
            self._current.append(tables["current"].combine_chunks())
        for name, running in self._running.items():
            saved = tables[f"state:{name}"]
            running.columns = [renumbered(c.to_numpy(), numbers) for c in saved.columns]
        self._rows.load(tables, header["reached"])
        self._rows.recode(numbers)
        self._relink()
        self._closing.forget()

    def counters(self) -> dict[str, int]:
        """Rows that count, and groups."""
        return {"rows": self._rows.count, "groups": int(np.count_nonzero(self._counts.values > 0)),
                "bytes": self._rows.nbytes + self._current.nbytes + 40 * self._counts.count}


def _cell_at(cells: Cells, code: Ordinals, at: Ordinals) -> Ordinals:
    """The cell of a group at an instant; there is one."""
    order = np.lexsort((np.r_[cells.at, at], np.r_[cells.code, code]))
    is_cell = order < len(cells)
    last = np.maximum.accumulate(np.where(is_cell, order, -1))
    found = integers(len(at))
    asked = ~is_cell
    found[order[asked] - len(cells)] = last[asked]
    return found


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
