"""One first-in-first-out queue per partition in one list (Patroumpas and Sellis 3.3): popping looks at nothing else."""

from __future__ import annotations

import pyarrow as pa

from panewise.core.arrays import Ints
from panewise.core.columns import int_columns
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import integers
from panewise.kernels.relations.stores.arena import Growing


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
        _push_linked(queues, first, self._heads.values, self._tails.values, self._next.values)
        self.count += len(queues)

    def pop(self, touched: Ordinals, reached: Ordinals) -> tuple[Ordinals, Ordinals, Ordinals]:
        """Of each of these queues what it has reached: queues, items and targets."""
        known = touched < self._heads.count
        taken = integers(self.count)
        found = _pop_linked(touched[known], reached[known], self._heads.values, self._next.values, self._target.values,
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
        self.push(*int_columns(table, "queue", "item", "target"))


@compiled
def _push_linked(queues: Ints, first: int, heads: Ints, tails: Ints, nexts: Ints) -> None:
    """Entries from ``first`` on, each behind the others of its queue."""
    for i in range(len(queues)):
        queue = queues[i]
        entry = first + i
        nexts[entry] = -1
        if heads[queue] < 0:
            heads[queue] = entry
        else:
            nexts[tails[queue]] = entry
        tails[queue] = entry


@compiled
def _pop_linked(touched: Ints, reached: Ints, heads: Ints, nexts: Ints, targets: Ints, taken: Ints) -> int:
    """From each queue the entries at its head whose target is reached; how many."""
    found = 0
    for i in range(len(touched)):
        queue = touched[i]
        entry = heads[queue]
        while entry >= 0 and targets[entry] <= reached[i]:
            taken[found] = entry
            found += 1
            entry = nexts[entry]
        heads[queue] = entry
    return found
