"""One first-in-first-out queue per partition in one list (Patroumpas and Sellis 3.3): popping looks at nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import integers
from panewise.kernels.relations.stores.arena import Growing
from panewise.kernels.relations.stores.linked_numba import pop_linked, push_linked


class LinkedQueues:
    """Numbers with a target each; those at the head of a queue come out when the queue has reached their target."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._queue, self._item, self._target, self._next = Growing(), Growing(), Growing(), Growing()
        self._heads, self._tails = Growing(), Growing()
        self.count = 0

    def push(self, queues: Ordinals, items: Ordinals, targets: Ordinals) -> None:
        """Some more; targets ascend in each queue."""
        if not len(queues):
            return
        first = self._queue.count
        self._queue.append(queues)
        self._item.append(items)
        self._target.append(targets)
        self._next.extend_to(first + len(queues), -1)
        for ends in (self._heads, self._tails):
            ends.extend_to(int(queues.max()) + 1, -1)
        push_linked(queues, first, self._heads.values, self._tails.values, self._next.values)
        self.count += len(queues)

    def pop(self, touched: Ordinals, reached: Ordinals) -> tuple[Ordinals, Ordinals, Ordinals]:
        """Of each of these queues what it has reached: queues, items and targets."""
        known = touched < self._heads.count
        taken = integers(self.count)
        found = pop_linked(touched[known], reached[known], self._heads.values, self._next.values, self._target.values,
                           taken)
        taken = taken[:found]
        popped = self._queue.values[taken], self._item.values[taken], self._target.values[taken]
        self.count -= found
        self._item.values[taken] = -1
        if self._queue.count > 2 * self.count + 1024:
            queues, items, targets = self.entries()
            self._clear()
            self.push(queues, items, targets)
        return popped

    def entries(self) -> tuple[Ordinals, Ordinals, Ordinals]:
        """All that is queued, in the order it came."""
        there = self._item.values >= 0
        return self._queue.values[there], self._item.values[there], self._target.values[there]

    def saved(self) -> pa.Table:
        """As a table."""
        return pa.table(dict(zip(("queue", "item", "target"), self.entries(), strict=True)))

    def load(self, table: pa.Table) -> None:
        """Become what ``saved`` gave."""
        self._clear()
        self.push(*(np.array(table.column(n).to_numpy(), np.int64) for n in ("queue", "item", "target")))
