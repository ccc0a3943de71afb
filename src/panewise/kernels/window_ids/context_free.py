"""What kernels share whose windows follow from the row alone: late rows, what a promise closes, results from ranges.

A *ranged* partial table says: these keys have this partial in every window of [first, end) (``range_state``).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from panewise.core.arrays import of_each
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.kernel import Arguments, Mask, WindowKernel, chosen_rows
from panewise.kernels.contract.partials import combine_partials, finish_partials
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.growing.landmark import endless
from panewise.kernels.panes.pane_tables import WINDOW_ID, explode
from panewise.kernels.window_ids.range_state import END, FIRST
from panewise.windows.base import Clock, ContextClass, Rows, WindowSpec, disjoint_ranges, ids_in_ranges

Wids: TypeAlias = tuple[Ordinals, Ordinals]
"""By row the first id of its windows, and the one after the last."""
MOST_AT_ONCE = 1_000_000
"""So many partials are put into their windows at a time when many windows close together."""


@dataclass(frozen=True)
class Admitted:
    """The rows of a batch that count somewhere."""

    values: Ordinals
    first: Ordinals
    end: Ordinals
    keys: pa.Table
    arguments: Arguments
    tardy: Mask
    """Which of them are late: their windows do not follow from their values."""
    late: Mask
    """Which rows of the batch are late."""

    def pick(self, rows: Mask) -> Admitted:
        """Some of them."""
        if rows.all():
            return self
        return Admitted(self.values[rows], self.first[rows], self.end[rows],
                        *chosen_rows(rows, self.keys, self.arguments), self.tardy[rows], self.late)


class ContextFreeKernel(WindowKernel):
    """A kernel of windows whose ids follow from the row alone."""

    def _prepare(self) -> None:
        if not follows_from_row(self.spec):
            raise UnsupportedError(
                f"{self.spec.kind} windows do not follow from the row alone or never let go of it: the strategy "
                f"{self.name!r} cannot run them; use strategy='auto' or engine='oracle'")

    @abstractmethod
    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *, bounds: Ordinals | None = None,
                wids: Wids | None = None) -> Mask:
        """As of every kernel; ``wids`` are the windows of each row, where they are known."""

    def _admit(self, values: Ordinals, keys: pa.Table, arguments: Arguments, bounds: Ordinals | None,
               wids: Wids | None = None) -> Admitted:
        """Apply the late policy and count the rows."""
        first, end = wids or wids_of(self.spec, values)
        decision = self._lateness(values, keys, first, end, bounds)
        self.rows += len(values)
        rows = Admitted(values, decision.first, end, keys, arguments, decision.late, decision.late)
        return rows.pick(decision.first < end)

    def _floor(self, keys: pa.Table, rows: int) -> int | Ordinals:
        """The first window that is open by the kernel's own promises, for all rows or for each row's group."""
        if not self.bounds.groups and not self.bounds.selections:
            return self._closed_below(self.bounds.linear)
        bounds = self.bounds.bounds_for({name: keys.column(name) for name in self.keys.names}, rows)
        return of_each(self._closed_below, bounds)

    @property
    def closed_below(self) -> int:
        """Windows with smaller ids are closed for every group."""
        return self._closed_below(self.bounds.linear)

    @abstractmethod
    def _held_ranges(self) -> tuple[Ordinals, Ordinals, pa.Table]:
        """For everything that is held the open windows it is in, first and end, and its keys."""

    def open_windows(self) -> list[int]:
        """The ids of windows that hold rows and are not closed."""
        first, end, _ = self._held_ranges()
        return [int(w) for w in ids_in_ranges(first, end)]

    def counters(self) -> dict[str, int]:
        """How much state there is."""
        first, end, keys = self._held_ranges()
        codes = group_codes(keys.columns)[0] if keys.num_columns and keys.num_rows else None
        windows, pairs = (int(disjoint_ranges(first, end, c)[1].sum()) for c in (None, codes))
        return {"rows": self.rows, "late": self.late_rows, "window_groups": pairs, "open_windows": windows}

    def _results(self, due: pa.Table, closed: int) -> pa.Table:
        """The results of the windows below ``closed`` from a ranged partial table; ranges begin with open windows."""
        names = self.keys.names
        due = due.select([END, FIRST, *names, *(f.name for a in self.aggregates for f in a.state_schema)])
        first, end = due.column(FIRST).to_numpy(), np.minimum(due.column(END).to_numpy(), closed)
        parts: list[pa.Table] = []
        for low, high in _steps(first, end):
            inside = (first < high) & (end > low)
            ranged = due.filter(pa.array(inside)).drop_columns([FIRST])
            windows = explode(ranged, np.maximum(first[inside], low), np.minimum(end[inside], high))
            table = combine_partials(windows, names, self.aggregates, id_name=WINDOW_ID)
            parts.append(finish_partials(table, names, self.aggregates, id_name=WINDOW_ID).cast(self.result_schema))
        return pa.concat_tables(parts) if parts else self.nothing


def _steps(first: Ordinals, end: Ordinals) -> list[tuple[int, int]]:
    """The windows to put together, in ranges that need not too many partials each."""
    used = first < end
    if not used.any():
        return []
    low, high = int(first[used].min()), int(end[used].max())
    total = int((end[used] - first[used]).sum())
    if total <= MOST_AT_ONCE:
        return [(low, high)]
    starts, lengths = disjoint_ranges(first[used], end[used])
    pieces = -(-total // MOST_AT_ONCE)
    ids = int(lengths.sum())
    # cut the windows that exist, not the ids between them, into equal shares
    marks = np.linspace(0, ids, pieces + 1)[1:-1].astype(np.int64)
    ends = np.cumsum(lengths)
    at = np.searchsorted(ends, marks, side="right")
    borders = np.unique(starts[at] + marks - (ends[at] - lengths[at])).tolist()
    edges = [low, *(b for b in borders if low < b < high), high]
    return list(pairwise(edges))


def follows_from_row(spec: WindowSpec) -> bool:
    """Whether the window ids of a row follow from the row alone, and have an end."""
    return spec.context_class is ContextClass.CF and not endless(spec) and \
        spec.clock not in (Clock.ORDER, Clock.PARTITION_ORDER)


def wids_of(spec: WindowSpec, values: Ordinals) -> Wids:
    """First and end of the window ids of values; context-free windows look at nothing else."""
    nothing = np.broadcast_to(np.int64(0), len(values))
    return spec.wids(Rows(values, nothing, nothing))

