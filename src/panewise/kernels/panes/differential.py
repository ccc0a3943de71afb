"""Aggregates of one window, moved to the next by subtracting what left and adding what came (Li 6.2.2, equation 6.4).

Only for functions with an exact inverse. A count of rows beside them says when a group has none left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.aggregates.count import Count
from panewise.core.ordinals import Ordinals
from panewise.kernels.baselines.row_buffer import RowBuffer, filtered
from panewise.kernels.contract.kernel import Mask
from panewise.kernels.contract.partials import (
    BoundAggregate,
    combine_partials,
    finish_partials,
    partial_schema,
    partial_table,
)
from panewise.kernels.groups.grouping import groups_of
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.kernels.window_ids.range_state import END, FIRST

ROWS = "<rows>"


class RunningAggregate:
    """One state per group: the rows that have come into the windows and have not left them."""

    def __init__(self, keys: pa.Schema, aggregates: Sequence[BoundAggregate]) -> None:
        self.keys = keys
        self.aggregates = list(aggregates)
        self._all = [*aggregates, BoundAggregate(ROWS, Count())]
        self._schema = partial_schema(keys, self._all, id_name=WINDOW_ID)
        self.clear()

    def clear(self) -> None:
        """No rows."""
        self._table = self._schema.empty_table()
        self._next = 0

    @property
    def rows(self) -> int:
        """How many groups there are."""
        return int(self._table.num_rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the states."""
        return int(self._table.nbytes)

    def partials(self, rows: pa.Table, first: Ordinals, end: Ordinals, buffer: RowBuffer, wanted: Mask) -> pa.Table:
        """Partials of some rows by the window they come in with and the one they are gone in."""
        some = filtered(rows, wanted)
        keys = pa.table([pa.array(first[wanted]), *buffer.keys_of(some).columns], names=[FIRST, *self.keys.names])
        return partial_table(end[wanted], keys, [*buffer.arguments_of(some), []], self._all, id_name=END)

    def windows(self, arriving: pa.Table, leaving: pa.Table, below: int) -> pa.Table | None:
        """The results of every window before ``below``; at the end exactly the rows that reach ``below`` are left.

        ``arriving`` rows are not part of the states yet, ``leaving`` ones are and end before or at ``below``.
        """
        order = np.argsort(arriving.column(FIRST).to_numpy(), kind="stable")
        coming, begin = arriving.take(pa.array(order)), arriving.column(FIRST).to_numpy()[order]
        going = [(table, table.column(END).to_numpy()) for table in (leaving, arriving)]  # both ascend by their end

        def at(wid: int) -> pa.Table:
            return pa.concat_tables([_equal(table, ends, wid) for table, ends in going])

        results: list[pa.Table] = []
        # windows follow each other without a gap while there are rows, else from the next row on
        wid = self._next if self.rows else int(begin[0]) if len(begin) else below
        while wid < below:
            self._merge(_equal(coming, begin, wid))
            self._subtract(at(wid))
            if self.rows:
                table = self._table.set_column(0, WINDOW_ID, pa.array(np.full(self.rows, wid, np.int64)))
                results.append(finish_partials(table, self.keys.names, self.aggregates, id_name=WINDOW_ID))
                wid += 1
            else:
                later = int(np.searchsorted(begin, wid, side="right"))
                wid = int(begin[later]) if later < len(begin) else below
        self._subtract(at(below))
        self._next = below
        return pa.concat_tables(results) if results else None

    def _merge(self, ranged: pa.Table) -> None:
        if ranged.num_rows:
            both = pa.concat_tables([self._table, self._plain(ranged)])
            self._table = combine_partials(both, self.keys.names, self._all, id_name=WINDOW_ID)

    def _subtract(self, ranged: pa.Table) -> None:
        if not ranged.num_rows:
            return
        part = combine_partials(self._plain(ranged), self.keys.names, self._all, id_name=WINDOW_ID)
        both = pa.concat_tables([self._table, part])
        codes = groups_of(both, self.keys.names)[0]
        place = np.full(int(codes.max()) + 1, -1, np.int64)
        place[codes[: self.rows]] = np.arange(self.rows)
        at = place[codes[self.rows :]]
        touched = np.zeros(self.rows, np.bool_)
        touched[at] = True
        whole = self._table.take(pa.array(at))
        columns = [whole.column(name) for name in (WINDOW_ID, *self.keys.names)]
        for aggregate in self._all:
            names = [f.name for f in aggregate.state_schema]
            columns += aggregate.function.subtract_all(_columns(whole, names), _columns(part, names), aggregate.inputs)
        less = pa.table(columns, schema=self._schema)
        less = less.filter(pa.array(less.column(f"{ROWS}.count").to_numpy() > 0))
        self._table = pa.concat_tables([self._table.filter(pa.array(~touched)), less]).combine_chunks()

    def _plain(self, ranged: pa.Table) -> pa.Table:
        """Ranged partials without their ranges."""
        table = ranged.drop_columns([FIRST])
        return table.set_column(0, WINDOW_ID, pa.array(np.zeros(table.num_rows, np.int64))).cast(self._schema)


def _equal(table: pa.Table, ids: Ordinals, wid: int) -> pa.Table:
    """The rows with this id; ids ascend."""
    low, high = np.searchsorted(ids, wid, side="left"), np.searchsorted(ids, wid, side="right")
    return table.slice(int(low), int(high - low))


def _columns(table: pa.Table, names: Sequence[str]) -> list[pa.Array]:
    return [table.column(name).combine_chunks() for name in names]
