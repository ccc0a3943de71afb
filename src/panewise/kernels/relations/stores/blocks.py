"""Rows of groups in blocks with a partial state each, blocks in larger blocks, and so on: a tree that grows at its end.

What is there of a group is the merge of its few largest blocks, whatever left in whatever order: a change concerns one
block per level. Nothing is ever subtracted. Rows that come or leave together, as they do first in, first out, share
their blocks, so where a step brings a group many a row costs the same whatever the length of the window; rows that come
or leave one by one cost one block per level, and there are log n levels. Most groups are small and have one block.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.aggregates.merging import Ranks, StateRow
from panewise.kernels.relations.edges.delta import integers
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.arena import Growing
from panewise.kernels.relations.stores.chains import Chains, listed
from panewise.kernels.relations.stores.states import NumberedStates

SIZE = 32
"""Items per block, and blocks of a group that are merged at every step."""


class CountedChains(Chains):
    """Blocks by group, and how many each has."""

    def __init__(self) -> None:
        super().__init__()
        self._lengths = Growing()

    def put(self, blocks: Ordinals, codes: Ordinals) -> Ordinals:
        """Some more; the groups of which there are more than a block holds now."""
        if not len(blocks):
            return integers()
        self.add(codes, blocks)
        self._lengths.extend_to(len(self.heads), 0)
        np.add.at(self._lengths.values, codes, 1)
        touched = np.unique(codes)
        return touched[self._lengths.values[touched] > SIZE]

    def release(self, numbers: Ordinals) -> Ordinals:
        """The blocks of some groups, which are in no chain any more."""
        self._lengths.values[numbers] = 0
        return super().release(numbers)


class Level:
    """Items (rows, or blocks of the level below) by block, and the states of the blocks."""

    def __init__(self, schema: pa.Schema) -> None:
        self._of_item, self._nexts = Growing(), Growing()
        self._heads, self._filled, self._group, self._there = Growing(), Growing(), Growing(), Growing()
        self._last = Growing()  # by group
        self.states = NumberedStates(schema)
        self.top = CountedChains()
        """The blocks that are in no larger one."""
        self._stale: list[Ordinals] = []

    @property
    def group(self) -> Ordinals:
        """The group of every block."""
        return self._group.values

    @property
    def there(self) -> Ordinals:
        """1 for blocks of which anything is there."""
        return self._there.values

    def add(self, items: Ordinals, codes: Ordinals) -> Ordinals:
        """New items, by group; the new blocks they made."""
        if not len(items):
            return integers()
        blocks = self._heads.count
        self._last.extend_to(int(codes.max()) + 1, -1)
        for part in (self._of_item, self._nexts):
            part.extend_to(int(items.max()) + 1, -1)
        by_block = (self._heads, self._filled, self._group)
        for part in by_block:
            part.extend_to(blocks + len(codes), -1)
        made = _fill(codes, items, SIZE, blocks, self._last.values, self._of_item.values, self._nexts.values,
                    *(part.values for part in by_block))
        for part in by_block:
            part.count = made
        self._there.extend_to(made, 0)
        self.touch(items)
        return np.arange(blocks, made)

    def touch(self, items: Ordinals) -> None:
        """Items that came, left or changed; some may be in no block."""
        if len(items):
            self._stale.append(self._of_item.values[items[items < self._of_item.count]])

    def stale(self) -> Ordinals:
        """Blocks whose states are not what they should be, each once; they are about to be put right."""
        if not self._stale:
            return integers()
        found = np.unique(np.concatenate(self._stale))
        self._stale = []
        return found[found >= 0]

    def items(self, blocks: Ordinals, there: Ordinals) -> tuple[Ordinals, Ordinals]:
        """The items that are there of these blocks (ascending), and the place of the block of each among them."""
        found = listed(blocks, self._heads.values, self._nexts.values, there, 0)
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
        return self.states.nbytes + self.top.nbytes + \
            8 * (2 * self._of_item.count + 4 * self._heads.count + self._last.count)


class GroupBlocks:
    """The trees over the rows of a store, each as high as its group is large."""

    def __init__(self, row: StateRow, rows: AliveRows) -> None:
        self._row, self._rows = row, rows
        self.merged = 0
        """Rows and states that were merged into blocks so far: what the trees cost."""
        self.clear()

    def clear(self) -> None:
        """Start again."""
        self._levels = [Level(self._row.schema)]
        self._height = Growing()  # by group, the level whose blocks are in no larger one

    def entered(self, slots: Ordinals, codes: Ordinals, groups: int) -> None:
        """Rows are there now."""
        self._height.extend_to(groups, 0)
        height, items, number = self._height.values, slots, 0
        while len(items):
            if number == len(self._levels):
                self._levels.append(Level(self._row.schema))
            level = self._levels[number]
            items = level.add(items, codes)
            codes = level.group[items]
            highest = height[codes] == number
            grown = level.top.put(items[highest], codes[highest])
            height[grown] = number + 1
            items = np.concatenate([items[~highest], level.top.release(grown)])
            codes, number = level.group[items], number + 1

    def left(self, slots: Ordinals) -> None:
        """Rows are not there any more."""
        self._levels[0].touch(slots)

    def states(self, groups: Ordinals) -> tuple[Ordinals, list[pa.Array]]:
        """The states of all that is there of some groups (ascending): for each its group's place, and its columns.

        Where states hold positions, these are slots.
        """
        self._refresh()
        of, parts = [integers()], []
        for level in self._levels:
            blocks = level.top.of(groups, level.there)
            if len(blocks):
                of.append(np.searchsorted(groups, level.group[blocks]))
                parts.append(level.states.take(blocks))
        if len(parts) < 2:
            return np.concatenate(of), parts[0] if parts else self._levels[0].states.take(integers())
        return np.concatenate(of), [pa.concat_arrays(columns) for columns in zip(*parts, strict=True)]

    def slots(self, groups: Ordinals) -> tuple[Ordinals, Ordinals]:
        """All rows of some groups (ascending): for each its group's place, and its slot."""
        self._refresh()
        items = integers()
        for number in range(len(self._levels) - 1, -1, -1):
            level = self._levels[number]
            blocks = np.sort(np.concatenate([items, level.top.of(groups, level.there)]))
            items, within = level.items(blocks, self._levels[number - 1].there if number else self._rows.there)
        return np.searchsorted(groups, level.group[blocks][within]), items

    def _refresh(self) -> None:
        """Put right the states of blocks in which anything changed, from the rows upwards."""
        blocks = self._refresh_rows()
        for below, level in pairwise(self._levels):
            level.touch(blocks)
            blocks = level.stale()
            if not len(blocks):
                continue
            items, of = level.items(blocks, below.there)
            states, ranked = below.states.take(items), None
            if self._row.positions:
                numbers = self._row.numbers(states)
                ranked = self._ranks(numbers), np.concatenate(numbers)
                states = self._row.with_positions(states, ranked[0].of)
            self._put(level, blocks, self._row.combined(states, of, len(blocks)), of, ranked)

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
        return Ranks(*(self._rows.arena.ages_at(np.maximum(some, 0)) for some in slots))

    def _put(self, level: Level, blocks: Ordinals, states: list[pa.Array], of: Ordinals,
             ranked: tuple[Ranks, Ordinals] | None) -> None:
        """New states; where they hold ranks these become slots again."""
        if ranked is not None:
            ranks, slots = ranked
            found = [slots[ranks.rows(number)] if len(slots) else number for number in self._row.numbers(states)]
            states = self._row.with_positions(states, found)
        self.merged += len(of)
        level.put(blocks, states, np.bincount(of, minlength=len(blocks)))

    @property
    def nbytes(self) -> int:
        """Bytes kept beside the rows."""
        return sum(level.nbytes for level in self._levels) + 8 * self._height.count


@compiled
def _fill(codes: Ints, items: Ints, size: int, blocks: int, last: Ints, block_of: Ints, nexts: Ints, heads: Ints,
         filled: Ints, group: Ints) -> int:
    """Put items into the last block of their group, or a new one where that is full; how many blocks there are now."""
    for i in range(len(codes)):
        code = codes[i]
        item = items[i]
        block = last[code]
        if block < 0 or filled[block] == size:
            block = blocks
            blocks += 1
            last[code] = block
            heads[block], filled[block], group[block] = -1, 0, code
        block_of[item] = block
        nexts[item] = heads[block]
        heads[block] = item
        filled[block] += 1
    return blocks
