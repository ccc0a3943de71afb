"""Aggregates over the current contents of a relation: one row per group that has any, replaced when it changes.

A group that lost its last row vanishes (Patroumpas and Sellis 4.2); what changes twice at one instant is put out once.
Without keys all rows are one group, which has a row also when it has no rows, from the beginning on, as in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.aggregates.order import Last
from panewise.core.ages import NOBODY
from panewise.core.beginning import ALWAYS, BEGINNING
from panewise.core.columns import flat
from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.functions import evaluate
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.aggregates.cell_values import RunningStates
from panewise.kernels.relations.aggregates.group_contents import Gone, GroupContents, KeptRows, OnlyStates
from panewise.kernels.relations.aggregates.merging import Merged, StateRow, has_small_states, is_subtractable
from panewise.kernels.relations.aggregates.step_states import StepStates
from panewise.kernels.relations.edges.closing import ClosedGroups, Closer
from panewise.kernels.relations.edges.delta import FOREVER, NO_ENDS, Delta, Ends, Lives, Uids, gather, integers
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.negation.sweep import Cells, cells_of, signs, summed
from panewise.kernels.relations.stores.arena import Growing, Payload, renumbered
from panewise.kernels.relations.stores.queues import ExpiryQueue

GROUP = "group"
SAME, OTHER = FOREVER - 1, FOREVER
"""What stands for the value shown before, where every value is put out anew: that of no rows, and any other."""


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
    """One row per group. With ``every`` a row is put out anew whenever its group changes, equal or not.

    Without a ``queue`` no row of the input ever leaves, and none is kept; nor is anything of groups that are over,
    whose row will never be replaced.
    """

    def __init__(self, grouped: GroupedBy, uids: Uids, queue: ExpiryQueue | None, *, every: bool = False) -> None:
        self._grouped, self._uids, self._every = grouped, uids, every
        self._closing = ClosedGroups(grouped.closers if queue is None and not every else ())
        self._taken = list(dict.fromkeys(scalar for part in grouped.arguments for scalar in part))
        types = dict(zip((s for part in grouped.arguments for s in part),
                         (t for a in grouped.aggregates for t in a.inputs), strict=True))
        self._row = pa.schema([pa.field(GROUP, pa.int64()),
                               *(pa.field(f"a{i}", types[s]) for i, s in enumerate(self._taken))])
        self.schema = pa.schema([*grouped.keys, *(a.result_field for a in grouped.aggregates)])
        self._codes = KeyTable(grouped.keys)
        self._counts, self._shown, self._slot = Growing(), Growing(), Growing()
        self._groups = 0  # that have rows
        self._current = Payload(pa.schema([a.result_field for a in grouped.aggregates]))
        self._running = {a.name: RunningStates(a) for a in grouped.aggregates if is_subtractable(a)}
        self._whole, self._begun = not len(grouped.keys), False
        self._of_no_rows = pa.table(
            [pa.array([a.function.finish(a.function.init())], a.result_field.type) for a in grouped.aggregates],
            schema=self._current.schema)
        self.contents: GroupContents = self._contents(queue)

    def _contents(self, queue: ExpiryQueue | None) -> GroupContents:
        """What is kept of the input, by its pattern."""
        merged = [Merged(aggregate, self._places(i)) for i, aggregate in enumerate(self._grouped.aggregates)
                  if aggregate.name not in self._running]
        if self._every:
            merged.append(NEWEST)
        if queue is None:
            return OnlyStates(self._row, StateRow(merged))
        small = [has_small_states(part.aggregate) for part in merged]
        return KeptRows(self._row, queue, *(StateRow([part for part, is_small in zip(merged, small, strict=True)
                                                      if is_small is wanted]) for wanted in (True, False)))

    def _places(self, number: int) -> tuple[int, ...]:
        """The columns of a row that an aggregate takes."""
        return tuple(1 + self._taken.index(scalar) for scalar in self._grouped.arguments[number])

    # -- one step

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Groups with any event: their values after each instant at which one happens."""
        (delta,) = inputs
        lives = self._coded(delta.lives)
        codes = lives.table.column(0).to_numpy()
        groups = max(len(self._codes), 1)
        for part, value in ((self._counts, 0), (self._shown, -1), (self._slot, -1)):
            part.extend_to(groups, value)
        begins, was_empty = self._begin(upto), bool(self._whole and self._counts.values[0] == 0)
        gone = self.contents.leave(delta, upto)
        brief = lives.expires < upto
        cells = cells_of(np.concatenate([codes, codes[brief], gone.table.column(0).to_numpy()]),
                         np.concatenate([lives.born, lives.expires[brief], gone.at]))
        sign = signs(len(codes), int(np.count_nonzero(brief)) + len(gone))
        after = cells.running(summed(cells, sign), self._counts.values)
        self._count(cells, after)
        states = StepStates(self.contents, cells, lives, gone, upto)
        values = self._values(cells, after > 0, (lives, brief, gone, sign), states)
        out, ends = self._replaced(cells, after, values, states, SAME if was_empty else OTHER)
        if begins is not None:
            out, ends = self._since_the_beginning(begins, ends, out), NO_ENDS
        self.contents.keep(lives.filter(~brief), upto, groups, states.after)
        settled = self._close(upto) if self._closing else integers()
        self._forget_groups()
        return Delta(out, ends, delta.ticks, settled)

    def _begin(self, upto: int) -> int | None:
        """Show the value of no rows, together with what was always there; its number, where that is now."""
        if not self._whole or self._begun or upto <= ALWAYS:
            return None
        self._begun, self._slot.values[0] = True, self._current.count
        if not self._every:
            self._current.append(self._of_no_rows)
        (uid,) = self._uids.draw(1).tolist()
        self._shown.values[0] = uid
        return int(uid)

    def _since_the_beginning(self, uid: int, ends: Ends, out: Lives) -> Lives:
        """What is shown in the first step: the value of no rows, until another takes its place.

        Where rows were always there it never held, and nothing is computed of it.
        """
        until = ends.at if len(ends) else np.array([FOREVER])
        if until[0] <= ALWAYS:
            return out
        number = np.array([uid])
        age = np.array([[BEGINNING], [NOBODY if self._every else uid]])
        return Lives.concat([Lives(self._of_no_rows, number, np.array([BEGINNING]), until, age), out])

    def _count(self, cells: Cells, after: Ordinals) -> None:
        """Rows by group, and groups that have any."""
        touched = cells.code[cells.starts]
        before = np.count_nonzero(self._counts.values[touched] > 0)
        self._counts.values[cells.code] = after
        self._groups += int(np.count_nonzero(self._counts.values[touched] > 0) - before)

    def _coded(self, lives: Lives) -> Lives:
        grouped, table = self._grouped, lives.table
        with rows_born(lives.born, lives.age):
            found = evaluate([*grouped.key_scalars, *self._taken], table) if len(lives) else \
                [pa.nulls(0, f.type) for f in [*grouped.keys, *list(self._row)[1:]]]
        keys = pa.table(found[: len(grouped.keys)], schema=grouped.keys) if len(grouped.keys) else pa.table({})
        codes = self._codes.codes(keys, len(lives))
        return lives.with_table(pa.table([pa.array(codes), *found[len(grouped.keys) :]], schema=self._row))

    def _values(self, cells: Cells, there: Any, events: tuple[Lives, Any, Gone, Ordinals],
                states: StepStates) -> pa.Table:
        """The value of every aggregate after each cell at which its group has rows."""
        lives, brief, gone, sign = events
        kept = pa.array(np.flatnonzero(there))
        rows = None
        columns: list[pa.Array] = []
        for number, aggregate in enumerate(self._grouped.aggregates):
            if aggregate.name in self._running:
                running = self._running[aggregate.name]
                running.extend_to(max(len(self._codes), 1))
                if rows is None:
                    rows = pa.concat_tables([lives.table, lives.filter(brief).table, gone.table]).combine_chunks()
                one = running.of_rows([flat(rows.column(p)) for p in self._places(number)], rows.num_rows)
                found = running.at(cells, one, sign)
            else:
                found = states.of(Merged(aggregate, self._places(number)))
            columns.append(aggregate.function.finish_all([s.take(kept) for s in found], aggregate.inputs))
        return pa.table(columns, schema=self._current.schema) if columns else pa.table({})

    def _replaced(self, cells: Cells, after: Ordinals, values: pa.Table, states: StepStates,
                  shown_before: int) -> tuple[Lives, Ends]:
        """New rows where a value changed, and the ends of those they replace."""
        starts = cells.starts
        touched = cells.code[starts]
        shown = self._shown.values[touched] >= 0
        there = after > 0
        place = np.cumsum(there) - 1  # of the values
        if self._whole:
            place[~there], values = values.num_rows, pa.concat_tables([values, self._of_no_rows]).combine_chunks()
        shows = there | self._whole
        worth = np.full(len(cells), -1, np.int64)  # equal numbers for equal rows, -1 where nothing is shown
        before = np.full(len(touched), -1, np.int64)
        if self._every:
            worth[shows], before[shown] = np.where(there, place, SAME)[shows], shown_before
        elif not values.num_columns:
            worth[shows], before[shown] = 0, 0
        else:
            old = self._current.take(self._slot.values[touched[shown]])
            both = pa.concat_tables([old, values])
            numbers = group_codes(both.columns)[0] if both.num_rows else integers()
            before[shown], worth[shows] = numbers[: old.num_rows], numbers[old.num_rows :][place[shows]]
        previous = integers(len(cells))
        previous[1:] = worth[:-1]
        previous[starts] = before
        changed = np.flatnonzero(worth != previous)
        code, at = cells.code[changed], cells.at[changed]
        until = np.full(len(changed), FOREVER, np.int64)
        same = code[1:] == code[:-1]
        until[:-1][same] = at[1:][same]
        begins = worth[changed] >= 0
        table = self._table(code[begins], gather(values, place[changed[begins]]))
        uid = self._uids.draw(int(np.count_nonzero(begins)))
        first = np.r_[True, ~same] if len(code) else np.empty(0, np.bool_)
        stops = first & (self._shown.values[code] >= 0)
        ends = Ends(self._shown.values[code[stops]], at[stops])
        self._note(code, np.r_[~same, True] if len(code) else first, begins, uid, table)
        born = at[begins]
        age = np.stack([born, uid])
        if self._every and len(cells):  # as young as its newest row; older than all without any
            age = states.ages(NEWEST)[:, changed[begins]]
            empty = ~there[changed[begins]]
            age[0, empty], age[1:, empty] = BEGINNING, NOBODY
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
        if self._current.count > 2 * self._groups + 1024:  # every group that has rows is shown
            there = np.flatnonzero(self._shown.values >= 0)
            self._current.keep(self._slot.values[there])
            self._slot.values[there] = np.arange(len(there))

    def _close(self, upto: int) -> Ordinals:
        """Forget groups that are over; the rows that were shown of them stay."""
        over = self._closing.over(self._codes, upto)
        over = over[self._counts.values[over] > 0]
        settled = self._shown.values[over]
        self._counts.values[over], self._shown.values[over] = 0, -1
        self._groups -= len(over)
        for column in (column for running in self._running.values() for column in running.columns):
            column.values[over] = 0
        return np.sort(settled[settled >= 0])

    def _forget_groups(self) -> None:
        if not self._codes.crowded(self._groups):
            return
        used = np.flatnonzero(self._counts.values > 0)
        moved = self._codes.keep(used)
        self._counts, self._shown, self._slot = (renumbered(part.values[used], moved[used])
                                                 for part in (self._counts, self._shown, self._slot))
        for running in self._running.values():
            running.columns = [renumbered(column.values[used], moved[used]) for column in running.columns]
        self.contents.renumber(moved, used)
        self._closing.forget()

    # -- saving

    def snapshot(self) -> Saved:
        """Groups with what is shown of them, and what is kept of their rows."""
        used = np.flatnonzero(self._counts.values > 0)
        moved = np.full(max(len(self._codes), 1), -1, np.int64)
        moved[used] = np.arange(len(used))
        header, tables = self.contents.saved(used, moved)
        used = np.zeros(1, np.int64) if self._begun else used  # shown with rows or without
        tables["keys"] = self._codes.values(used)
        tables["groups"] = pa.table({"count": self._counts.values[used], "shown": self._shown.values[used]})
        tables["current"] = self._current.take(self._slot.values[used]) if not self._every else pa.table({})
        for name, running in self._running.items():
            tables[f"state:{name}"] = pa.table({f"s{i}": c.values[used] for i, c in enumerate(running.columns)})
        return header, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        groups = tables["groups"]
        self._groups = int(np.count_nonzero(groups.column("count").to_numpy()))
        self._begun = self._whole and groups.num_rows > 0
        numbers = self._codes.load(tables["keys"], groups.num_rows)
        if self._whole:  # all rows are one group
            numbers = np.zeros(groups.num_rows, np.int64)
        self._counts, self._shown = (renumbered(groups.column(n).to_numpy(), numbers) for n in ("count", "shown"))
        self._slot = renumbered(np.arange(groups.num_rows), numbers)
        if not self._every:
            self._current = Payload(self._current.schema)
            self._current.append(tables["current"].combine_chunks())
        for name, running in self._running.items():
            saved = tables[f"state:{name}"]
            running.columns = [renumbered(c.to_numpy(), numbers) for c in saved.columns]
        self.contents.load(header, tables, numbers[: self._groups])
        self._closing.forget()

    def counters(self) -> dict[str, int]:
        """Rows that are kept, and groups."""
        states = 8 * sum(len(running.columns) for running in self._running.values())
        return {"rows": self.contents.count, "groups": self._groups,
                "bytes": self.contents.nbytes + self._current.nbytes + (24 + states) * self._counts.count}


NEWEST = Merged(BoundAggregate("", Last(), (pa.int64(),)), (0,))
"""The youngest row of a group; of what column does not matter."""
