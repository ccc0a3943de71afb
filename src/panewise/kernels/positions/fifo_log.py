"""A log of states in final order, one sequence per group, over which windows slide.

Entries are only put behind the others, and windows are asked for in ascending order, so both ends of a window only move
forward: a queue. Two stacks hold its merge (Tangwongsan, Hirzel and Schneider 2015 call the columnar form a flattened
two-stack): the front stack is stored in place of the entries it covers, so a log costs one state per entry, every
entry is merged three times in all, and a window costs one merge, however long it is. Nothing is ever subtracted, so
min and max need no rescan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.arrays import counted_up
from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.state_columns import PAIRS_AT_ONCE, Ints, StateColumns, States, states_from, states_table
from panewise.kernels.positions import fifo_numba as loops
from panewise.kernels.positions.fifo_numba import END, HEAD, MID, TAIL
from panewise.windows.base import disjoint_ranges


@dataclass(frozen=True)
class Windows:
    """Windows to be put together: entries with ``above < coordinate <= upto`` of one partition each.

    Those of partition p are ``ranges[0, p]`` to ``ranges[1, p]``; both ends ascend in a partition.
    """

    ids: Ordinals
    above: Ordinals
    upto: Ordinals
    ranges: Ints

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Found:
    """Windows that have entries, ascending by id: place of the window, group, merged states."""

    windows: Ints
    groups: Ints
    states: States
    slow: list[list[pa.Array]]
    """Merged states of the aggregates that have no element-wise form."""
    ready: dict[str, pa.Array] = field(default_factory=dict)
    """Results that need no merged states, by name."""


class FifoLog:
    """The logs of all groups. ``partition_of`` (given to every call) says whose windows a group's entries are in."""

    def __init__(self, columns: StateColumns) -> None:
        self.columns = columns
        self.pointers: Ints = np.zeros((END + 1, 0), np.int64)
        self._allocate(0)
        self._back_ints = np.empty((0, len(columns.int_neutral)), np.int64)
        self._back_floats = np.empty((0, len(columns.float_neutral)), np.float64)
        self._top = 0

    def _allocate(self, size: int) -> None:
        self._coordinates, self._payload = np.empty(size, np.int64), np.empty(size, np.int64)
        self._ints = np.empty((size, len(self.columns.int_neutral)), np.int64)
        self._floats = np.empty((size, len(self.columns.float_neutral)), np.float64)

    @property
    def _arena(self) -> tuple[Any, ...]:
        return self._coordinates, self._payload, self._ints, self._floats

    # -- entries in

    def append(self, coordinates: Ordinals, groups: Ints, states: States, order: Ints | None = None, *,
               share: bool = True) -> None:
        """Put entries behind those of their groups; in this order every group's coordinates ascend.

        Equal coordinates of a group ``share`` an entry where all states are numbers.
        """
        places = np.arange(len(coordinates)) if order is None else order
        self.append_from(coordinates if order is None else coordinates[order], places, groups, states, share=share)

    def append_from(self, coordinates: Ordinals, places: Ints, groups: Ints, states: States, *,
                    share: bool = True) -> None:
        """The same of rows that lie at these places of larger arrays; coordinates are in the order of the places."""
        if len(places) == 0:
            return
        states = self.columns.fitted(states)
        self._fit()
        owners = groups[places]
        self.grow(int(owners.max()) + 1)
        if self.pointers.shape[1] <= 4 * len(owners) + 1024:
            counts = np.bincount(owners, minlength=self.pointers.shape[1])
            touched = np.flatnonzero(counts)
            added = counts[touched]
        else:
            touched, added = np.unique(owners, return_counts=True)
        needed = int(loops.growth(touched, added, self.pointers))
        if self._top + needed > len(self._coordinates):
            every = np.zeros(self.pointers.shape[1], np.int64)
            every[touched] = added
            self._repack(every)
        self._top = loops.make_room(touched, added, self.pointers, self._top, *self._arena)
        loops.append(coordinates, places, owners, states.heap, states.ints, states.floats,
                     share and not self.columns.slow, self.pointers, self._coordinates, self._payload, self._ints,
                     self._floats, self.columns.int_operations, self.columns.float_operations)

    def _fit(self) -> None:
        """Have a column for every digit of sums of floats; those that are new have nothing in older entries."""
        missing = len(self.columns.int_neutral) - self._ints.shape[1]
        if missing:
            self._ints, self._back_ints = (np.concatenate([part, np.zeros((len(part), missing), np.int64)], axis=1)
                                           for part in (self._ints, self._back_ints))

    def grow(self, groups: int) -> None:
        """Have pointers for so many groups."""
        known = self.pointers.shape[1]
        if groups <= known:
            return
        self._fit()
        more = max(groups, 2 * known) - known
        self.pointers = np.concatenate([self.pointers, np.zeros((END + 1, more), np.int64)], axis=1)
        self._back_ints = np.concatenate([self._back_ints, np.tile(self.columns.int_neutral, (more, 1))])
        self._back_floats = np.concatenate([self._back_floats, np.tile(self.columns.float_neutral, (more, 1))])

    def _repack(self, added: Ints) -> None:
        sizes = self.lengths + added
        needed = int(np.where(sizes > 0, np.maximum(2 * sizes, 4), 0).sum())
        old = self._arena
        self._allocate(2 * needed)
        self._top = loops.repack(added, self.pointers, *old, *self._arena)

    # -- windows out

    def sweep(self, windows: Windows, partition_of: Ints, *, settled: bool = False) -> Found:
        """Merge the entries of windows, which must not lie before any asked for earlier.

        ``settled`` says that nothing more comes to any of these entries, and those that settle have.
        """
        self._fit()
        groups = self._live(windows.ranges, partition_of)
        counts = np.zeros(len(windows), np.int64)
        total = int(loops.count_results(groups, partition_of, windows.ranges, windows.above, windows.upto,
                                        self.pointers, self._coordinates, counts))
        place = _places(counts, windows.ids)
        columns = self.columns
        at, owner, first, end = (np.empty(total, np.int64) for _ in range(4))
        ints = np.empty((len(columns.int_neutral), total), np.int64)
        floats = np.empty((len(columns.float_neutral), total), np.float64)
        loops.sweep(groups, partition_of, windows.ranges, windows.above, windows.upto, self.pointers,
                    self._coordinates, self._ints, self._floats, self._back_ints, self._back_floats,
                    columns.int_operations, columns.float_operations, columns.int_neutral, columns.float_neutral,
                    place, at, owner, ints, floats, first, end)
        ready = self._slid(first, end) if settled and any(a.function.slides for a in columns.slow) else {}
        slow = self._slow(first, end, ready) if len(ready) < len(columns.slow) else [[] for _ in columns.slow]
        return Found(at, owner, States(ints, floats, np.zeros(total, np.int64)), slow, ready)

    def _slid(self, first: Ints, end: Ints) -> dict[str, pa.Array]:
        """Results of functions that slide: windows of a group follow each other, so every entry is in a range of them.

        Entries of a group lie together, hence by place both ends of all windows ascend.
        """
        order = np.lexsort((end, first))
        starts, lengths = disjoint_ranges(first, end)
        places = counted_up(starts, lengths)
        low = np.searchsorted(end[order], places, side="right")
        high = np.searchsorted(first[order], places, side="right")
        found = self.columns.slid(self._payload[places], low, high, len(first))
        back = pa.array(np.argsort(order))
        return {name: column.take(back) for name, column in found.items()}

    def _slow(self, first: Ints, end: Ints, ready: dict[str, pa.Array]) -> list[list[pa.Array]]:
        """Windows taken apart into entries, a bounded number of pairs at a time; a window's entries in arrival order.

        This costs as much as the windows are long.
        """
        sizes = np.append(0, np.cumsum(end - first))
        pieces: list[list[list[pa.Array]]] = []
        low = high = 0
        while high < len(first) or not pieces:
            high = int(np.searchsorted(sizes, sizes[low] + PAIRS_AT_ONCE, side="right")) - 1
            high = min(max(low + 1, high), len(first))  # one window at least, however long it is
            results, heap = np.empty((2, int(sizes[high] - sizes[low])), np.int64)
            loops.explode(first[low:high], end[low:high], self._payload, results, heap)
            order = np.argsort(heap, kind="stable")
            pieces.append(self.columns.merged(results[order], heap[order], high - low, ready))
            low = high
        return [[pa.concat_arrays([piece[a][c] for piece in pieces]) for c in range(len(pieces[0][a]))]
                for a in range(len(self.columns.slow))]

    def count(self, windows: Windows, partition_of: Ints) -> int:
        """How many (window, group) pairs have entries."""
        return int(loops.count_results(self._live(windows.ranges, partition_of), partition_of, windows.ranges,
                                       windows.above, windows.upto, self.pointers, self._coordinates,
                                       np.zeros(len(windows), np.int64)))

    def drop(self, limits: Ints, partition_of: Ints) -> None:
        """Forget entries up to the limit of their partition."""
        self._fit()
        columns = self.columns
        loops.drop(np.flatnonzero(self.lengths), partition_of, limits, self.pointers, self._coordinates, self._ints,
                   self._floats, self._back_ints, self._back_floats, columns.int_operations, columns.float_operations,
                   columns.int_neutral, columns.float_neutral)
        if len(self._coordinates) > max(1 << 16, 16 * len(self)):  # a burst is over
            self._repack(np.zeros(self.pointers.shape[1], np.int64))

    def _live(self, ranges: Ints, partition_of: Ints) -> Ints:
        """Groups with entries whose partitions have windows."""
        live = np.flatnonzero(self.lengths)
        if ranges.shape[1] > 1:
            asked = ranges[1] > ranges[0]
            live = live[asked[partition_of[live]]]
        return live

    # -- what there is

    @property
    def lengths(self) -> Ints:
        """Entries per group."""
        lengths: Ints = self.pointers[END] - self.pointers[HEAD]
        return lengths

    def __len__(self) -> int:
        return int(self.lengths.sum())

    @property
    def nbytes(self) -> int:
        """Bytes of entries that are needed."""
        return len(self) * (16 + 8 * (len(self.columns.int_neutral) + len(self.columns.float_neutral)))

    def entries(self) -> tuple[Ordinals, Ints, States]:
        """Coordinates, groups and stored states of all entries, group by group."""
        self._fit()
        groups = np.flatnonzero(self.lengths)
        total = len(self)
        out, payload = np.empty(total, np.int64), np.empty(total, np.int64)
        ints = np.empty((self._ints.shape[1], total), np.int64)
        floats = np.empty((self._floats.shape[1], total), np.float64)
        loops.gather(groups, self.pointers, self._coordinates, self._payload, self._ints, self._floats, out, payload,
                     ints, floats)
        return out, np.repeat(groups, self.lengths[groups]), States(ints, floats, payload)

    def renumber_heap(self, numbers: Ints) -> None:
        """The heap was packed: old numbers to new ones."""
        lengths = self.lengths
        places = counted_up(self.pointers[HEAD], lengths)
        self._payload[places] = numbers[self._payload[places]]

    def keep_groups(self, groups: Ints) -> None:
        """Forget all groups but these, which come to be numbered 0, 1, 2, …; the others have no entries."""
        self.grow(int(groups.max(initial=-1)) + 1)
        self.pointers = np.ascontiguousarray(self.pointers[:, groups])
        self._back_ints, self._back_floats = self._back_ints[groups], self._back_floats[groups]

    # -- saving

    def saved(self) -> dict[str, pa.Table]:
        """Two tables: the entries, and per group with entries what the two stacks are."""
        coordinates, groups, states = self.entries()
        live = np.flatnonzero(self.lengths)
        back = States(np.ascontiguousarray(self._back_ints[live].T), np.ascontiguousarray(self._back_floats[live].T),
                      np.zeros(len(live), np.int64))
        heads = self.pointers[HEAD, live]
        stacks = {"group": live, "mid": self.pointers[MID, live] - heads, "tail": self.pointers[TAIL, live] - heads}
        return {"entries": states_table(states, {"group": groups, "at": coordinates}),
                "stacks": states_table(back, stacks)}

    def load(self, entries: pa.Table, stacks: pa.Table) -> None:
        """Become what ``saved`` gave; the log is empty."""
        self._fit()
        groups, coordinates = int_columns(entries, "group", "at")
        states = states_from(entries, self.columns)
        self.append(coordinates, groups, states, share=False)  # some hold the merge of those after them
        live, mid, tail = int_columns(stacks, "group", "mid", "tail")
        back = states_from(stacks, self.columns)
        self._back_ints[live], self._back_floats[live] = back.ints.T, back.floats.T
        self.pointers[MID, live], self.pointers[TAIL, live] = self.pointers[HEAD, live] + np.stack([mid, tail])


def _places(counts: Ints, ids: Ordinals) -> Ints:
    """Where the results of each window begin when windows ascend by id."""
    if np.all(ids[1:] >= ids[:-1]):
        return np.cumsum(counts) - counts
    order = np.argsort(ids, kind="stable")
    ordered = counts[order]
    places = np.empty(len(counts), np.int64)
    places[order] = np.cumsum(ordered) - ordered
    return places
