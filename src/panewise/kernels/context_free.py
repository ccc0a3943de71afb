"""What kernels share whose windows follow from the row alone: who is late, what a promise closes, results from ranges.

A *ranged* partial table says: these keys have this partial in every window of [first, end) (``range_state``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import Ordinals
from panewise.kernels.base import Arguments, Mask, WindowKernel
from panewise.kernels.grouping import group_codes
from panewise.kernels.landmark import endless
from panewise.kernels.panes import WINDOW_ID, explode
from panewise.kernels.partials import BoundAggregate, combine_partials, finish_partials
from panewise.kernels.range_state import END, FIRST, Run
from panewise.progress.late import LatePolicy, decide
from panewise.progress.patterns import Pattern
from panewise.progress.punctuation import Punctuation
from panewise.windows.base import Clock, ContextClass, Rows, WindowSpec, disjoint_ranges

MOST_AT_ONCE = 1_000_000
"""So many partials are put into their windows at a time when many windows close together."""


@dataclass(frozen=True)
class Admitted:
    """The rows of a batch that count somewhere."""

    values: Ordinals
    first: Ordinals
    end: Ordinals
    keys: pa.Table
    arguments: list[list[pa.Array]]
    cut: Mask
    """Which of them missed windows that the kernel itself does not know to be closed."""
    chosen: Mask
    """Where they stood in the batch."""
    late: Mask
    """Which rows of the batch are late."""

    def pick(self, rows: Mask) -> Admitted:
        """Some of them."""
        if rows.all():
            return self
        at = pa.array(rows)
        keys = self.keys.filter(at) if self.keys.num_columns else self.keys
        chosen = self.chosen.copy()
        chosen[self.chosen] = rows
        return Admitted(self.values[rows], self.first[rows], self.end[rows], keys,
                        [[column.filter(at) for column in columns] for columns in self.arguments],
                        self.cut[rows], chosen, self.late)


@dataclass(frozen=True)
class Closing:
    """What a punctuation closes: windows below ``below``, of the groups that match ``patterns``."""

    below: int
    patterns: tuple[tuple[str, Pattern], ...]

    @property
    def linear(self) -> bool:
        """Whether it closes windows of all groups."""
        return not self.patterns

    def covers(self, keys: pa.Table) -> Mask:
        """Which rows belong to a group it names."""
        if self.linear:
            return np.ones(keys.num_rows, np.bool_)
        covered: Mask = np.logical_and.reduce([p.mask(keys.column(a)) for a, p in self.patterns])
        return covered


class ContextFreeKernel(WindowKernel):
    """A kernel of windows whose ids follow from the row alone."""

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP,
                 partition: Sequence[str] = ()) -> None:
        if (spec.context_class is not ContextClass.CF or spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER)
                or endless(spec)):
            raise UnsupportedError(f"{spec.kind} windows do not follow from the row alone or never let go of it: the "
                                   f"strategy {self.name!r} cannot run them; use strategy='auto' or engine='oracle'")
        super().__init__(spec, keys, aggregates, attribute=attribute, late=late, partition=partition)

    def _admit(self, values: Ordinals, keys: pa.Table, arguments: Arguments, bounds: Ordinals | None) -> Admitted:
        """Apply the late policy and count the rows."""
        first, end = wids_of(self.spec, values)
        late = cut = np.zeros(len(values), np.bool_)
        in_force = self._in_force(keys, len(values), bounds)
        if in_force is not None:
            decision = decide(self.late, first, end, values, in_force, self._closed_below, attribute=self.attribute)
            late = decision.late
            self.late_rows += decision.late_rows
            if late.any():
                known = np.maximum(first, self._floor(keys, len(values)))
                cut = (decision.first < end) & (decision.first > known)
                first = decision.first
        self.rows += len(values)
        counted = first < end
        everything = np.ones(len(values), np.bool_)
        rows = Admitted(values, first, end, keys, [list(columns) for columns in arguments], cut, everything, late)
        return rows.pick(counted)

    def _floor(self, keys: pa.Table, rows: int) -> int | Ordinals:
        """The first window that is open by the kernel's own promises, for all rows or for each row's group."""
        if not self.bounds.groups and not self.bounds.selections:
            return self._closed_below(self.bounds.linear)
        bounds = self.bounds.bounds_for({name: keys.column(name) for name in self.keys.names}, rows)
        distinct, places = np.unique(bounds, return_inverse=True)
        return np.array([self._closed_below(bound) for bound in distinct.tolist()], np.int64)[places]

    def _closing(self, punctuation: Punctuation) -> Closing | None:
        """What a punctuation would close; nothing where it says less than is known or speaks of no whole group."""
        others = tuple((a, p) for a, p in punctuation.patterns if a != self.attribute)
        bound = punctuation.closes_below(self.attribute)
        if bound is None or bound <= self.bounds.linear or punctuation.empty:
            return None
        if not {a for a, _ in others} <= set(self.keys.names):
            return None
        return Closing(self._closed_below(bound), others)

    @property
    def closed_below(self) -> int:
        """Windows with smaller ids are closed for every group."""
        return self._closed_below(self.bounds.linear)

    def _results(self, due: pa.Table, closed: int) -> pa.Table:
        """The results of the windows below ``closed`` from a ranged partial table; what begins earlier was cut."""
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


def wids_of(spec: WindowSpec, values: Ordinals) -> tuple[Ordinals, Ordinals]:
    """First and end of the window ids of values; context-free windows look at nothing else."""
    nothing = np.broadcast_to(np.int64(0), len(values))
    return spec.wids(Rows(values, nothing, nothing))


def due_partials(runs: Sequence[Run], schema: pa.Schema, closing: Closing, closed: int) -> tuple[pa.Table, list[Mask]]:
    """The ranged partials that reach a closing window, cut to what is not closed yet, and the covered rows per run."""
    masks = [closing.covers(run.table) for run in runs]
    parts = [schema.empty_table()]
    at = schema.get_field_index(FIRST)
    for run, mask in zip(runs, masks, strict=True):
        wanted = mask & (run.first < closing.below)
        if wanted.any():
            cut = pa.array(np.maximum(run.first[wanted], closed))
            parts.append(run.table.filter(pa.array(wanted)).set_column(at, schema.field(at), cut))
    return pa.concat_tables(parts), masks


def window_counts(first: Ordinals, end: Ordinals, keys: pa.Table) -> tuple[int, int]:
    """How many windows some ranges cover, and how many (window, group) pairs."""
    codes = group_codes(keys.columns)[0] if keys.num_columns and keys.num_rows else None
    windows, pairs = (int(disjoint_ranges(first, end, c)[1].sum()) for c in (None, codes))
    return windows, pairs
