"""Rows of groups in blocks with a partial state each, blocks in larger blocks, and so on: a tree that grows at its end.

What is there of a group is the merge of its few largest blocks, whatever left in whatever order: a change concerns one
block per level. Nothing is ever subtracted. Rows that come or leave together, as they do first in, first out, share
their blocks, so a row costs the same whatever the length of the window; rows that leave one by one anywhere cost
one block per level, and there are log n levels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import integers
from panewise.kernels.relations.existence_numba import count_chained, list_chained
from panewise.kernels.relations.join_numba import link
from panewise.kernels.relations.merging import Ranks, StateRow
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.arena import Growing
from panewise.kernels.relations.stores.blocks_numba import fill
from panewise.kernels.relations.stores.states import NumberedStates

SIZE = 16
"""Items per block, and blocks of a group that are merged at every step."""


class Level:
    """Items (rows, or the blocks of the level below) by block, and the states of the blocks."""

    def __init__(self, schema: pa.Schema) -> None:
        self._of_item, self._nexts = Growing(), Growing()
        self._heads, self._filled, self._group, self._there = Growing(), Growing(), Growing(), Growing()
        self._last = Growing()  # by group
        self.states = NumberedStates(schema)
        self._stale: list[Ordinals] = []

    @property
    def group(self) -> Ordinals:
        """The group of every block."""
        return self._group.values

    @property
    def there(self) -> Ordinals:
        """1 for blocks of which anything is there."""
        return self._there.values

    def add(self, codes: Ordinals, groups: int) -> int:
        """New items, by group; the number of the first new block."""
        first, blocks = self._of_item.count, self._heads.count
        self._last.extend_to(groups, -1)
        for part in (self._of_item, self._nexts):
            part.extend_to(first + len(codes), -1)
        by_block = (self._heads, self._filled, self._group)
        for part in by_block:
            part.extend_to(blocks + len(codes), -1)
        made = fill(codes, first, SIZE, blocks, self._last.values, self._of_item.values, self._nexts.values,
                    *(part.values for part in by_block))
        for part in by_block:
            part.count = made
        self._there.extend_to(made, 0)
        self.touch(np.arange(first, first + len(codes)))
        return blocks

    def touch(self, items: Ordinals) -> None:
        """Items that came, left or changed."""
        if len(items):
            self._stale.append(self._of_item.values[items])

    def stale(self) -> Ordinals:
        """Blocks whose states are not what they should be, each once; they are about to be put right."""
        if not self._stale:
            return integers()
        found = np.unique(np.concatenate(self._stale))
        self._stale = []
        return found[found >= 0]

    def items(self, blocks: Ordinals, there: Ordinals) -> tuple[Ordinals, Ordinals]:
        """The items that are there of these blocks (ascending), and the place of the block of each among them."""
        arguments = (blocks, self._heads.values, self._nexts.values, there, self._of_item.count, 0)
        found = integers(count_chained(*arguments))
        list_chained(*arguments, found)
        return found, np.searchsorted(blocks, self._of_item.values[found])

    def put(self, blocks: Ordinals, states: list[pa.Array], items: Ordinals) -> None:
        """The states of blocks, and how many items of each are there."""
        here = items > 0
        self._there.values[blocks] = here
        if here.all():
            self.states.put(blocks, states)
            return
        kept = pa.array(np.flatnonzero(here))
        self.states.put(blocks[here], [column.take(kept) for column in states])
        self.states.drop(blocks[~here])

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return self.states.nbytes + 8 * (2 * self._of_item.count + 4 * self._heads.count + self._last.count)


class GroupBlocks:
    """The tree over the rows of a store. After rows left call ``left``, after rows entered ``entered``."""

    def __init__(self, row: StateRow, rows: AliveRows) -> None:
        self._row, self._rows = row, rows
        self.recomputed = 0
        """Rows and states that were merged so far: what the tree costs."""
        self.clear()

    def clear(self) -> None:
        """Start again."""
        self._levels = [Level(self._row.schema)]
        self._heads, self._nexts, self._chained = Growing(), Growing(), Growing()

    def entered(self, codes: Ordinals, groups: int) -> None:
        """Rows took the next slots."""
        for level in self._levels:
            first = level.add(codes, groups)
            codes = level.group[first:]  # new blocks are new items one level up
        while self._chain(codes, groups) > SIZE:
            top = Level(self._row.schema)
            top.add(self._levels[-1].group, groups)
            self._levels.append(top)
            self._heads, self._nexts, self._chained = Growing(), Growing(), Growing()
            codes = top.group

    def _chain(self, codes: Ordinals, groups: int) -> int:
        """New blocks at the top; how many the longest of their chains has now."""
        first = self._nexts.count
        self._heads.extend_to(groups, -1)
        self._chained.extend_to(groups, 0)
        self._nexts.extend_to(first + len(codes), -1)
        link(codes, first, self._heads.values, self._nexts.values)
        np.add.at(self._chained.values, codes, 1)
        return int(self._chained.values[codes].max()) if len(codes) else 0

    def left(self, slots: Ordinals) -> None:
        """Rows are not there any more."""
        self._levels[0].touch(slots)

    def states(self, groups: Ordinals) -> tuple[Ordinals, list[pa.Array]]:
        """The states of all that is there of some groups (ascending): for each its group's place, and its columns.

        Where states hold positions, these are slots.
        """
        self._refresh()
        top = self._levels[-1]
        arguments = (groups, self._heads.values, self._nexts.values, top.there, self._nexts.count, 0)
        blocks = integers(count_chained(*arguments))
        list_chained(*arguments, blocks)
        return np.searchsorted(groups, top.group[blocks]), top.states.take(blocks)

    def slots(self, groups: Ordinals) -> tuple[Ordinals, Ordinals]:
        """All rows of some groups (ascending): for each its group's place, and its slot."""
        self._refresh()
        top = self._levels[-1]
        arguments = (groups, self._heads.values, self._nexts.values, top.there, self._nexts.count, 0)
        items = integers(count_chained(*arguments))
        list_chained(*arguments, items)
        of = np.searchsorted(groups, top.group[items])
        for number in range(len(self._levels) - 1, -1, -1):
            there = self._levels[number - 1].there if number else self._rows.there
            order = np.argsort(items)
            items, within = self._levels[number].items(items[order], there)
            of = of[order][within]
        return of, items

    def _refresh(self) -> None:
        """Put right the states of blocks in which anything changed, from the rows upwards."""
        blocks = self._refresh_rows()
        for below, level in zip(self._levels[:-1], self._levels[1:], strict=True):
            level.touch(blocks)
            blocks = level.stale()
            if not len(blocks):
                return
            items, of = level.items(blocks, below.there)
            states, ranks = below.states.take(items), None
            if self._row.positions:
                numbers = self._row.numbers(states)
                ranks = self._ranks(numbers)
                states = self._row.with_positions(states, ranks.of)
            self._put(level, blocks, self._row.combined(states, of, len(blocks)), of,
                      None if ranks is None else (ranks, np.concatenate(numbers)))

    def _refresh_rows(self) -> Ordinals:
        level = self._levels[0]
        blocks = level.stale()
        if not len(blocks):
            return blocks
        slots, of = level.items(blocks, self._rows.there)
        ranks = self._ranks([slots]) if self._row.positions else None
        states = self._row.of_rows(self._rows.arena.payload.take(slots), None if ranks is None else ranks.of[0], of,
                                   len(blocks)) if self._row.parts else []
        self._put(level, blocks, states, of, None if ranks is None else (ranks, slots))
        return blocks

    def _ranks(self, slots: list[Ordinals]) -> Ranks:
        arena = self._rows.arena
        return Ranks(*(arena.ages_at(np.maximum(some, 0)) if len(arena) else _no_ages() for some in slots))

    def _put(self, level: Level, blocks: Ordinals, states: list[pa.Array], of: Ordinals,
             ranked: tuple[Ranks, Ordinals] | None) -> None:
        if ranked is not None and len(blocks):
            ranks, slots = ranked
            found = [slots[ranks.rows(number)] if len(slots) else number for number in self._row.numbers(states)]
            states = self._row.with_positions(states, found)
        self.recomputed += len(of)
        level.put(blocks, states, np.bincount(of, minlength=len(blocks)))

    @property
    def nbytes(self) -> int:
        """Bytes kept beside the rows."""
        return sum(level.nbytes for level in self._levels) + 8 * (2 * self._heads.count + self._nexts.count)


def _no_ages() -> npt.NDArray[np.int64]:
    return np.empty((1, 0), np.int64)
