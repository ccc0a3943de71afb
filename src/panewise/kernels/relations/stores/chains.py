"""Items that hang on numbers (rows on their key, results on a row, blocks on a group): a chain for each number."""

from __future__ import annotations

import numpy as np

from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.kernels.relations.stores.arena import Growing


class Chains:
    """The items of every number, the newest first; an item whose number is below zero is in no chain."""

    def __init__(self) -> None:
        self._heads, self._nexts = Growing(), Growing()

    @property
    def heads(self) -> Ints:
        """The first item of each number, -1 where there is none."""
        return self._heads.values

    @property
    def nexts(self) -> Ints:
        """What follows each item in its chain, -1 behind the last."""
        return self._nexts.values

    def append(self, numbers: Ints, upto: int) -> None:
        """The next items, each before the others of its number; numbers are below ``upto``."""
        first = self._nexts.count
        self._heads.extend_to(upto, -1)
        self._nexts.extend_to(first + len(numbers), -1)
        _link(numbers, np.arange(first, first + len(numbers)), self.heads, self.nexts)

    def add(self, numbers: Ints, items: Ints) -> None:
        """Any items, each before the others of its number."""
        self._heads.extend_to(int(numbers.max()) + 1, -1)
        self._nexts.extend_to(int(items.max()) + 1, -1)
        _link(numbers, items, self.heads, self.nexts)

    def of(self, numbers: Ints, worth: Ints | None = None, above: int = 0) -> Ints:
        """The items of some numbers: all of them, or those that are worth more than so much."""
        return listed(numbers, self.heads, self.nexts, self.nexts if worth is None else worth,
                       -2 if worth is None else above)

    def release(self, numbers: Ints) -> Ints:
        """The items of some numbers, which are in no chain any more."""
        found = self.of(numbers)
        self.heads[numbers] = -1
        return found

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return 8 * (self._heads.count + self._nexts.count)


@compiled
def _link(numbers: Ints, items: Ints, heads: Ints, nexts: Ints) -> None:
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            nexts[items[i]] = heads[numbers[i]]
            heads[numbers[i]] = items[i]
        else:
            nexts[items[i]] = -1


@compiled
def listed(numbers: Ints, heads: Ints, nexts: Ints, worth: Ints, above: int) -> Ints:
    """The items on the chains of these numbers that are worth more than so much."""
    found, count = np.empty(len(numbers) + 16, np.int64), 0
    for i in range(len(numbers)):
        item = heads[numbers[i]] if numbers[i] < len(heads) else -1
        while item >= 0:
            if worth[item] > above:
                if count == len(found):
                    found = np.append(found, found)
                found[count] = item
                count += 1
            item = nexts[item]
    return found[:count]
