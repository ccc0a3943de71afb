"""What an aggregate keeps of its groups between steps; which of these it is follows from the pattern of its input.

* `OnlyStates`: nothing ever leaves (MON), so a state per group is all; no row is kept.
* `KeptRows`: rows leave, first in, first out or not, and must be known when they do. Where all states can be subtracted
  that is enough; else a tree of blocks over them says what is left (`stores.blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.aggregates.merging import Ages, StateRow
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Lives, integers
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.arena import GrowingAges
from panewise.kernels.relations.stores.blocks import GroupBlocks
from panewise.kernels.relations.stores.queues import ExpiryQueue
from panewise.kernels.relations.stores.states import NumberedStates

NO_AGES: Ages = np.empty((1, 0), np.int64)


@dataclass(frozen=True)
class Gone:
    """Rows of earlier steps that left in this one: their columns, the first instant without each, their ages."""

    table: pa.Table
    at: Ordinals
    age: Ages

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True)
class Standing:
    """What some groups have throughout a step: rows of earlier steps that do not leave in it."""

    of: Ordinals
    """For every state the place of its group among those asked for; a group may have several."""
    states: list[pa.Array]
    ages: list[Ages]
    """For every column of positions the ages of the rows that stand there."""
    table: pa.Table
    """Rows that have no states."""
    of_row: Ordinals
    row_age: Ages


@dataclass(frozen=True)
class After:
    """The states of the groups that had events, after the step."""

    groups: Ordinals
    states: list[pa.Array]
    ages: list[Ages]
    """For every column of positions."""


class OnlyStates:
    """A state per group: for inputs whose rows never leave.

    Of every contents a step is ``leave``, ``standing``, then ``keep``. The first of the columns of a ``row`` is its
    group. Of ``carried`` aggregates states are kept; those ``listed`` are made anew from all rows of a group, because
    their states are too large to have many.
    """

    def __init__(self, row: pa.Schema, carried: StateRow) -> None:
        self.row, self.carried, self.listed = row, carried, StateRow([])
        self._states = NumberedStates(carried.schema)
        self._ages = [GrowingAges() for _ in carried.positions]

    def leave(self, delta: Delta, upto: int) -> Gone:
        """No rows: none ever leaves."""
        assert not len(delta.ends), "a row has left an input that only grows"
        assert (delta.lives.expires == FOREVER).all(), "a row will leave an input that only grows"
        return Gone(self.row.empty_table(), integers(), NO_AGES)

    def standing(self, groups: Ordinals) -> Standing:
        """The states of those that have one."""
        has = np.flatnonzero(self._states.has(groups)) if self.carried.parts else integers()
        ages = [ages.room[:, groups[has]] for ages in self._ages]
        return Standing(has, self._states.take(groups[has]), ages, self.row.empty_table(), integers(), NO_AGES)

    def keep(self, lives: Lives, upto: int, groups: int, after: Callable[[], After]) -> None:
        """The states as they are now."""
        if not self.carried.parts:
            return
        now = after()
        if not len(now.groups):
            return
        self._states.put(now.groups, now.states)
        for kept, age in zip(self._ages, now.ages, strict=True):
            fitted = kept.fitted(age, groups)
            kept.room[:, now.groups] = fitted

    def renumber(self, moved: Ordinals, used: Ordinals) -> None:
        """The same states under other numbers."""
        if not self.carried.parts:
            return
        self._states = NumberedStates.of(self.carried.schema, moved[used], self._states.table(used))
        self._ages = [_aged(ages.room[:, used], moved[used]) for ages in self._ages]

    def saved(self, used: Ordinals, moved: Ordinals) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """States, and the ages of the rows that FIRST and LAST chose."""
        if not self.carried.parts:
            return {}, {}
        tables = {"states": self._states.table(used)}
        for i, ages in enumerate(self._ages):
            tables[f"ages:{i}"] = pa.table({f"age{j}": part for j, part in enumerate(ages.room[:, used])})
        return {}, tables

    def load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table], numbers: Ordinals) -> None:
        """Become what ``saved`` gave."""
        if not self.carried.parts:
            return
        self._states = NumberedStates.of(self.carried.schema, numbers, tables["states"])
        self._ages = [_aged(np.stack([column.to_numpy() for column in tables[f"ages:{i}"].columns]), numbers)
                      for i in range(len(self._ages))]

    @property
    def count(self) -> int:
        """No rows."""
        return 0

    @property
    def nbytes(self) -> int:
        """Bytes of the states."""
        return self._states.nbytes + sum(ages.room.nbytes for ages in self._ages)


class KeptRows:
    """The rows that are there, with a tree of blocks where states cannot be subtracted.

    ``listed``: aggregates with large states, which are made anew from all rows of the groups that have events.
    """

    def __init__(self, row: pa.Schema, queue: ExpiryQueue, carried: StateRow, listed: StateRow) -> None:
        self.row, self.carried, self.listed = row, carried, listed
        self.rows = AliveRows(row, queue)
        self.blocks = GroupBlocks(carried, self.rows) if carried.parts or listed.parts else None

    def leave(self, delta: Delta, upto: int) -> Gone:
        """By their own end, or by one that was sent."""
        left = self.rows.leave(delta, upto)
        arena = self.rows.arena
        if self.blocks is None:
            return Gone(arena.payload.take(left.slots), left.at, NO_AGES)
        self.blocks.left(left.slots)
        asked = self.carried.positions or self.listed.parts
        return Gone(arena.payload.take(left.slots), left.at, arena.ages_at(left.slots) if asked else NO_AGES)

    def standing(self, groups: Ordinals) -> Standing:
        """The blocks at the top, and where states are large all rows."""
        arena = self.rows.arena
        none = self.row.empty_table()
        assert self.blocks is not None, "no aggregate merges states"
        of, states = self.blocks.states(groups)
        ages = [arena.ages_at(np.maximum(slots, 0)) for slots in self.carried.numbers(states)]
        if not self.listed.parts:
            return Standing(of, states, ages, none, integers(), NO_AGES)
        of_row, slots = self.blocks.slots(groups)
        return Standing(of, states, ages, arena.payload.take(slots), of_row, arena.ages_at(slots))

    def keep(self, lives: Lives, upto: int, groups: int, after: Callable[[], After]) -> None:
        """The rows; their blocks are put right when the next step asks."""
        slots = self.rows.enter(lives, upto)
        if self.blocks is not None and len(lives):
            self.blocks.entered(slots, lives.table.column(0).to_numpy(), groups)
        if self.rows.forget() is not None:
            self._again(groups)

    def _again(self, groups: int) -> None:
        """The blocks of the rows as they are numbered now."""
        if self.blocks is None:
            return
        self.blocks.clear()
        slots = self.rows.alive()
        self.blocks.entered(slots, self.rows.arena.payload.table().column(0).to_numpy()[slots], groups)

    def renumber(self, moved: Ordinals, used: Ordinals) -> None:
        """The rows say their group."""
        self.rows.recode(moved)
        self._again(len(moved))

    def saved(self, used: Ordinals, moved: Ordinals) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """The rows; blocks follow from them."""
        tables = self.rows.saved()
        rows = tables["rows"]
        codes = pa.array(moved[rows.column(0).to_numpy()])
        return {"reached": self.rows.reached}, {**tables, "rows": rows.set_column(0, rows.schema.field(0), codes)}

    def load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table], numbers: Ordinals) -> None:
        """Become what ``saved`` gave."""
        self.rows.load(tables, header["reached"])
        self.rows.recode(numbers)
        self._again(int(numbers.max()) + 1 if len(numbers) else 0)

    @property
    def count(self) -> int:
        """The rows that are there."""
        return self.rows.count

    @property
    def nbytes(self) -> int:
        """Rows and blocks."""
        return self.rows.nbytes + (self.blocks.nbytes if self.blocks is not None else 0)


GroupContents: TypeAlias = OnlyStates | KeptRows


def _aged(ages: Ages, numbers: Ordinals) -> GrowingAges:
    made = GrowingAges()
    if len(numbers):
        fitted = made.fitted(ages, int(numbers.max()) + 1)
        made.room[:, numbers] = fitted
    return made
