"""Panes by position that are being filled, of aggregates whose states get smaller when a pane is full.

Batches cut panes: a pane has an entry of the log per batch that brought some of its rows. What the list of a pane
leaves out is known when its last row has come, not before. Then the states of its entries become one, in the place of
the first, and are settled; the others stay in the log with nothing in them. Only these aggregates pay for that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.grouping import group_codes
from panewise.kernels.state_columns import Ints, StateColumns


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass
class OpenPanes:
    """Entries of the log whose panes are not full."""

    starts: Ordinals = field(default_factory=_none)
    lasts: Ordinals = field(default_factory=_none)
    """The last position of the entry's pane."""
    partitions: Ints = field(default_factory=_none)
    groups: Ints = field(default_factory=_none)
    heap: Ints = field(default_factory=_none)

    def add(self, starts: Ordinals, lasts: Ordinals, partitions: Ints, groups: Ints, heap: Ints) -> None:
        """Note new entries."""
        new = (starts, lasts, partitions, groups, heap)
        for column, values in zip(fields(self), new, strict=True):
            setattr(self, column.name, np.concatenate([getattr(self, column.name), values]))

    def settle(self, columns: StateColumns, counts: Ints | None = None) -> None:
        """Make the states of full panes small; ``counts`` are the positions taken by partition, None: no more come."""
        full = np.ones(len(self.lasts), np.bool_) if counts is None else self.lasts <= counts[self.partitions]
        if not full.any():
            return
        codes, first = group_codes([self.starts[full], self.groups[full]])
        columns.settle(self.heap[full], first[codes])
        for column in fields(self):
            setattr(self, column.name, getattr(self, column.name)[~full])

    def renumber(self, groups: Ints | None, heap: Ints | None) -> None:
        """Groups or the heap were packed: old numbers to new ones."""
        if groups is not None:
            self.groups = groups[self.groups]
        if heap is not None:
            self.heap = heap[self.heap]

    def saved(self) -> pa.Table:
        """All of them."""
        return pa.table({column.name: pa.array(getattr(self, column.name)) for column in fields(self)})

    @classmethod
    def loaded(cls, table: pa.Table) -> OpenPanes:
        """What ``saved`` gave."""
        return cls(*(np.array(table.column(column.name).to_numpy(), np.int64) for column in fields(cls)))
