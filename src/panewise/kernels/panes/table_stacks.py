"""Windows from panes for any aggregate, each pane merged a constant number of times: two stacks of partial tables.

The front stack holds, for every pane from the window's first up to a split, the merge of the panes from it to the
split; the back is the merge of all panes after the split. A window is the front's top merged with the back. When the
front is used up the panes of the back become the front. Medians, distinct values and sketches are merged three times
per pane so, however many panes a window has.

The stacks are only a cache of what the kernel's state holds: they may be forgotten at any time and are not saved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.partials import BoundAggregate, combine_partials
from panewise.kernels.panes.pane_tables import PANE_ID, WINDOW_ID


class TableStacks:
    """Two stacks over the panes of all groups; ``panes`` of them make a window, and window w ends with pane w."""

    def __init__(self, key_names: Sequence[str], aggregates: Sequence[BoundAggregate], panes: int) -> None:
        self.key_names, self.aggregates, self.panes = list(key_names), list(aggregates), panes
        self.merges = 0
        """How many pairs of tables were merged so far."""
        self.forget()

    def forget(self) -> None:
        """Begin anew at the next window."""
        self._next: int | None = None
        self._front: list[tuple[int, pa.Table]] = []  # the oldest pane at the end
        self._back: pa.Table | None = None
        self._behind: list[tuple[int, pa.Table]] = []  # the panes of the back, one by one

    @property
    def empty(self) -> bool:
        """Whether no pane is in the stacks."""
        return not self._front and not self._behind

    def windows(self, due: pa.Table, first_wid: int, end_wid: int) -> pa.Table:
        """Partial table by window id of the windows [first_wid, end_wid).

        ``due`` is a partial table by pane with every pane that such a window has; those that the windows just before
        had are known already and left aside.
        """
        if self._next != first_wid:
            self.forget()
        else:
            due = due.filter(pa.array(due.column(PANE_ID).to_numpy() >= first_wid))
        coming = self._by_pane(due)[::-1]
        found: list[pa.Table] = []
        wid = first_wid
        while wid < end_wid:
            if self.empty:
                if not coming:
                    break
                wid = max(wid, coming[-1][0])
                if wid >= end_wid:
                    break
            while coming and coming[-1][0] <= wid:
                self._push(*coming.pop())
            self._expire(wid + 1 - self.panes)
            if not self._front:
                wid += 1
                continue
            # windows are equal until a pane comes or goes: many more than rows where SLIDE is short
            changed = min(end_wid, self._front[-1][0] + self.panes, coming[-1][0] if coming else end_wid)
            found.append(_repeated(self._merged(self._front[-1][1], self._back), wid, changed))
            wid = changed
        self._next = end_wid
        schema = due.schema.set(0, pa.field(WINDOW_ID, pa.int64()))
        return pa.concat_tables([schema.empty_table(), *found])

    def _push(self, pane: int, table: pa.Table) -> None:
        self._behind.append((pane, table))
        self._back = self._merged(table, self._back)

    def _expire(self, start: int) -> None:
        while self._front and self._front[-1][0] < start:
            self._front.pop()
        if self._front:
            return
        suffix: pa.Table | None = None
        for pane, table in reversed(self._behind):
            if pane < start:
                break
            suffix = self._merged(table, suffix)
            self._front.append((pane, suffix))
        self._behind, self._back = [], None

    def _merged(self, left: pa.Table, right: pa.Table | None) -> pa.Table:
        if right is None:
            return left
        self.merges += 1
        return combine_partials(pa.concat_tables([left, right]), self.key_names, self.aggregates, id_name=PANE_ID)

    def _by_pane(self, due: pa.Table) -> list[tuple[int, pa.Table]]:
        """The panes of a table, ascending, all with the same id, so that rows of one group merge."""
        table = combine_partials(due, self.key_names, self.aggregates, id_name=PANE_ID)
        panes: Ordinals = table.column(PANE_ID).to_numpy()
        rows = table.set_column(0, table.schema.field(0), pa.array(np.zeros(len(panes), np.int64)))
        starts = np.flatnonzero(np.r_[True, panes[1:] != panes[:-1]][: len(panes)])
        ends = [*starts[1:].tolist(), len(panes)]
        return [(int(panes[a]), rows.slice(a, b - a)) for a, b in zip(starts.tolist(), ends, strict=False)]


def _repeated(table: pa.Table, first_wid: int, end_wid: int) -> pa.Table:
    """A partial table once for every window."""
    rows, count = table.num_rows, end_wid - first_wid
    if count > 1:
        table = table.take(pa.array(np.tile(np.arange(rows), count)))
    ids = np.repeat(np.arange(first_wid, end_wid), rows)
    return table.set_column(0, pa.field(WINDOW_ID, pa.int64()), pa.array(ids))
