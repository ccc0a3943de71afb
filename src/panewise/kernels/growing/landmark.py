"""Landmark windows: a row never leaves, so its window ids have no end; the state has one (Li 5.1.4, 6.1.3).

A partial says: these keys have it in every window from ``wid.first`` on. When windows of a group close, its partials up
to there become one running partial, so a group holds that one and those of windows that are still open. Of the
endlessly many windows, those up to the first that contains all rows exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.aggregates.base import Codes
from panewise.core.arrays import counted_up, of_each
from panewise.core.columns import int_columns
from panewise.core.errors import TooManyWindowsError, UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Arguments, Closing, Mask, WindowKernel, chosen_rows
from panewise.kernels.contract.partials import (
    combine_partials,
    finish_partials,
    partial_schema,
    partial_table,
)
from panewise.kernels.groups.grouping import groups_of
from panewise.kernels.groups.key_table import KeyTable, by_number
from panewise.kernels.growing.running_merges import running_merge
from panewise.kernels.panes.pane_tables import WINDOW_ID
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.windows.base import MOST_WINDOWS, Rows, WindowSpec, disjoint_ranges, ids_in_ranges
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.linear import LinearWindow

START = "wid.first"
PENDING = 10_000
"""New partials are merged into the state when they outnumber it, and there are at least so many."""


def endless(spec: WindowSpec) -> bool:
    """Whether the window ids of a row have no end."""
    return isinstance(spec, LandmarkWindow) or (isinstance(spec, LinearWindow) and spec.alpha == 0)


class LandmarkKernel(WindowKernel):
    """One running partial per group, and partials of the windows that are still open."""

    name = "landmark"

    def _prepare(self) -> None:
        if not endless(self.spec):
            raise UnsupportedError(f"rows leave {self.spec.kind} windows; the kernel is for windows they never leave")
        self._schema = partial_schema(self.keys, self.aggregates, id_name=START)
        self._tables: list[pa.Table] = []
        self._reach = Reach(self.keys, self.partition)
        self._closed = NO_BOUND
        self._overtaken = False  # rows have shown that windows exist which are closed already

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *,
                bounds: Ordinals | None = None) -> Mask:
        """Fold a batch into the partials of the windows at which its rows come in."""
        nothing = np.broadcast_to(np.int64(0), len(values))
        first, end = self.spec.wids(Rows(values, nothing, nothing))
        decision, kept = self._lateness(values, keys, first, end, bounds), first < end
        start, late = decision.first, decision.late
        if self.late is not LatePolicy.GENEROUS:  # generous keeps a row even where it is too late for all windows
            kept &= start < end
        self.rows += len(values)
        if not kept.any():
            return late
        ahead = max(self._closed, FINISHED if self.bounds.groups or self.bounds.selections else NO_BOUND)
        self._overtaken |= self._reach.extend(first[kept], chosen_rows(kept, keys, ())[0], ahead)
        counted = kept & (start < end)
        keys, arguments = chosen_rows(counted, keys, arguments)
        self._add(partial_table(start[counted], keys, arguments, self.aggregates, id_name=START))
        return late

    def ripe(self) -> pa.Table:
        """Windows that were closed before a row showed that they exist: the first window with all rows has moved on."""
        if not self._overtaken:
            return self.nothing
        self._overtaken = False
        return self._collect(None)

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Put out the running merges of the windows it closes."""
        closing = self._promised(punctuation)
        if closing is None or (closing.linear and closing.below <= self._closed):  # finer than the slide
            return self.nothing
        if closing.linear:
            self._closed = closing.below
        results = self._collect(closing)
        if self._closed == FINISHED:
            self._tables = []
        return results

    def _collect(self, closing: Closing | None) -> pa.Table:
        """Results of all windows that exist and are closed, of all groups or of those that are named."""
        state = self._compact()
        if state.num_rows == 0:
            return self.nothing
        untouched = state.slice(0, 0)
        if closing is not None and not closing.linear:
            chosen = closing.covers(state)
            untouched, state = state.filter(pa.array(~chosen)), state.filter(pa.array(chosen))
        groups, first = groups_of(state, self.keys.names)
        stop = self._stops(state.take(pa.array(first)))[groups]
        start: Ordinals = state.column(START).to_numpy()
        due = np.flatnonzero(start < stop)
        if not len(due):
            return self.nothing
        due = due[np.lexsort((start[due], groups[due]))]
        groups, start, stop = groups[due], start[due], stop[due]
        last = np.r_[groups[1:] != groups[:-1], True]
        until = np.where(last, stop, np.r_[start[1:], 0])
        if int((stop - start).max()) > MOST_WINDOWS:
            raise TooManyWindowsError(f"between two rows lie {int((stop - start).max()):,} windows, and at most "
                                      f"{MOST_WINDOWS:,} can be listed: choose a longer SLIDE")
        merged = running_merge(state.take(pa.array(due)), groups, self.aggregates)
        self._tables = [untouched, _without(state, due), _renumbered(merged.filter(pa.array(last)), stop[last])]
        counts = until - start
        at = np.repeat(np.arange(len(due)), counts)
        wids = counted_up(start, counts)
        order = np.argsort(wids, kind="stable")
        finished = finish_partials(merged, self.keys.names, self.aggregates, id_name=START)
        results = finished.take(pa.array(at[order])).set_column(0, WINDOW_ID, pa.array(wids[order]))
        return results.cast(self.result_schema)

    def _stops(self, groups: pa.Table) -> Ordinals:
        """For every group the first window that is open or does not exist yet."""
        columns = {name: groups.column(name) for name in self.keys.names}
        bounds = self.bounds.bounds_for(columns, groups.num_rows)
        return np.minimum(of_each(self._closed_below, bounds), self._reach.of(groups) + 1)

    # -- state

    def _add(self, table: pa.Table) -> None:
        self._tables.append(table)
        rows = [t.num_rows for t in self._tables]
        if sum(rows[1:]) > max(rows[0], PENDING):
            self._compact()

    def _compact(self) -> pa.Table:
        """One partial per group and window at which rows came in."""
        if len(self._tables) != 1:
            table = pa.concat_tables([self._schema.empty_table(), *self._tables]).combine_chunks()
            self._tables = [combine_partials(table, self.keys.names, self.aggregates, id_name=START)]
        return self._tables[0]

    # -- counters

    @property
    def closed_below(self) -> int:
        """Windows with smaller ids are closed for every group."""
        return self._closed

    def _open(self) -> tuple[Ordinals, Ordinals, Codes]:
        """For every partial the windows it is in that exist and are open, and its group."""
        state = self._compact()
        start: Ordinals = state.column(START).to_numpy()
        end = np.maximum(start, self._reach.of(state) + 1) if state.num_rows else start
        return start, end, groups_of(state, self.keys.names)[0]

    def open_windows(self) -> list[int]:
        """The ids of windows that hold rows and are not closed, up to the first with all rows."""
        start, end, _ = self._open()
        return [int(w) for w in ids_in_ranges(start, end)]

    def counters(self) -> dict[str, int]:
        """How much state there is; the running partial of a group counts as one."""
        state = self._compact()
        start, end, groups = self._open()
        windows, pairs = (int(disjoint_ranges(start, end, c)[1].sum()) for c in (None, groups))
        return {"rows": self.rows, "late": self.late_rows, "buffered": 0, "partials": state.num_rows,
                "window_groups": pairs, "bytes": state.nbytes, "open_windows": windows}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        header = {"closed": self._closed, "overtaken": self._overtaken}
        return header, {"state": self._compact(), **self._reach.saved()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self._closed, self._overtaken = header["closed"], header["overtaken"]
        self._tables = [tables["state"].cast(self._schema)]
        self._reach.load(tables)


class Reach:
    """How far windows go: the first window that contains all rows, of the stream or of each partition."""

    def __init__(self, keys: pa.Schema, partition: Sequence[str]) -> None:
        self._partitions = KeyTable(pa.schema([keys.field(name) for name in partition]))
        self._wids = np.empty(0, np.int64)

    def _codes(self, keys: pa.Table, rows: int) -> Codes:
        codes = self._partitions.codes(keys.select(self._partitions.schema.names), rows)
        new = len(self._partitions) - len(self._wids)
        self._wids = np.append(self._wids, np.full(new, NO_BOUND))
        return codes

    def extend(self, wids: Ordinals, keys: pa.Table, closed: int) -> bool:
        """Rows came in at these windows; whether windows below ``closed`` exist now that did not before."""
        codes = self._codes(keys, len(wids))
        before = self._wids.copy()
        np.maximum.at(self._wids, codes, wids)
        passed = (before != NO_BOUND) & (self._wids > before) & (before < closed - 1)
        return bool(passed.any())

    def of(self, keys: pa.Table) -> Ordinals:
        """The reach of each row's partition; all are known."""
        return self._wids[self._codes(keys, keys.num_rows)]

    def saved(self) -> dict[str, pa.Table]:
        """Partitions and how far their windows go."""
        return {"partitions": self._partitions.table(), "reach": pa.table({WINDOW_ID: self._wids})}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        (wids,) = int_columns(tables["reach"])
        self._wids = by_number(wids, self._partitions.load(tables["partitions"], len(wids)))


def _without(table: pa.Table, rows: Codes) -> pa.Table:
    keep = np.ones(table.num_rows, np.bool_)
    keep[rows] = False
    return table.filter(pa.array(keep))


def _renumbered(table: pa.Table, start: Ordinals) -> pa.Table:
    return table.set_column(0, table.schema.field(0), pa.array(start))
