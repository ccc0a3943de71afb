"""The join of many windows on one attribute without results in between (Golab 2.2.3, 5.3).

New rows of a step are joined with the other windows one after the other, in one probing order for all. What is born and
gone within the step is found, too: a step is a refresh with restore (Golab's J4). Only rows are kept; a tree of joins
of two would keep every result of its lower joins. A combination is found once: by its member in the last of the windows
that have something new of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.kernels.relations.delta import Delta, Lives, Uids, ticks_of
from panewise.kernels.relations.key_codes import JoinKeys
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.pairing import Side
from panewise.progress.watermarks import NO_BOUND


@dataclass(frozen=True)
class JoinedWindow:
    """One input: its columns, the one that must be equal in all, and whether its rows leave in the order they came."""

    schema: pa.Schema
    key: str
    in_order: bool


@dataclass(frozen=True)
class Combinations:
    """Rows by their slots, one of each window that was joined so far, with their common life."""

    slots: Mapping[int, Ordinals]
    codes: Ordinals
    born: Ordinals
    expires: Ordinals

    def __len__(self) -> int:
        return len(self.codes)


class ManyJoin(RelationOperator):
    """Rows of all windows with equal keys, from the birth of the youngest to the end of the first to go."""

    def __init__(self, windows: Sequence[JoinedWindow], key: pa.DataType, uids: Uids, order: Sequence[int]) -> None:
        self.schema = pa.schema([field for window in windows for field in window.schema])
        self._uids, self._order = uids, order
        self._scalars = [[Scalar.column(window.key)] for window in windows]
        self._keys = JoinKeys(pa.schema([pa.field("k0", key)]))
        self._sides = [Side(window.schema, in_order=window.in_order) for window in windows]
        self.reached = NO_BOUND

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Everything that new rows complete."""
        codes = [self._keys.codes(scalars, delta.lives.table)
                 for scalars, delta in zip(self._scalars, inputs, strict=True)]
        firsts = [side.add(delta.lives, mine, len(self._keys))
                  for side, delta, mine in zip(self._sides, inputs, codes, strict=True)]
        found = [self._completed(window, codes[window], delta.lives, firsts)
                 for window, delta in enumerate(inputs) if len(delta.lives)]
        self.reached = upto
        lives = self._lives([part for part in found if len(part)])
        self._forget()
        return Delta(lives, ticks=ticks_of(*(delta.ticks for delta in inputs)))

    def _completed(self, window: int, codes: Ordinals, lives: Lives, firsts: Sequence[int]) -> Combinations:
        """New rows of one window with all rows of those before it, and with the old ones of those behind it."""
        slots = firsts[window] + np.arange(len(lives))
        partial = Combinations({window: slots}, codes, lives.born, lives.expires)
        for other in (w for w in self._order if w != window):
            if not len(partial):
                break
            side = self._sides[other]
            below = len(side.arena) if other < window else firsts[other]
            rows, partners = side.probe(partial.codes, partial.born, partial.expires, below, self.reached)
            partial = Combinations(
                {**{w: s[rows] for w, s in partial.slots.items()}, other: partners}, partial.codes[rows],
                np.maximum(partial.born[rows], side.arena.born[partners]),
                np.minimum(partial.expires[rows], side.arena.expires[partners]))
        return partial

    def _lives(self, found: Sequence[Combinations]) -> Lives:
        if not found:
            return Lives.none(self.schema)
        slots = [np.concatenate([part.slots[w] for part in found]) for w in range(len(self._sides))]
        columns = [column for side, mine in zip(self._sides, slots, strict=True)
                   for column in side.arena.payload.take(mine).columns]
        born, expires = (np.concatenate([getattr(part, name) for part in found]) for name in ("born", "expires"))
        return Lives(pa.table(columns, schema=self.schema), self._uids.draw(len(born)), born, expires, self._age(slots))

    def _age(self, slots: Sequence[Ordinals]) -> npt.NDArray[np.int64]:
        """Born with the youngest, arrivals of all, newest first (rule U6)."""
        ages = [side.arena.ages_at(mine) for side, mine in zip(self._sides, slots, strict=True)]
        arrivals = np.sort(np.concatenate([age[1:] for age in ages]), axis=0)[::-1]
        return np.concatenate([np.max([age[:1] for age in ages], axis=0), arrivals])

    # -- forgetting

    def _forget(self) -> None:
        for side in self._sides:
            stay = side.arena.compact(side.arena.expires > self.reached) if side.arena.crowded else None
            if stay is not None:
                side.relink(side.codes.values[stay], len(self._keys))
        if len(self._keys) > 4 * sum(len(side.arena) for side in self._sides) + 4096:
            self._renumber()

    def _renumber(self) -> None:
        self._keys.forget()
        codes = [self._keys.codes(scalars, side.arena.payload.table())
                 for scalars, side in zip(self._scalars, self._sides, strict=True)]
        for mine, side in zip(codes, self._sides, strict=True):
            side.relink(mine, len(self._keys))

    # -- saving

    def snapshot(self) -> Saved:
        """The rows of all windows that are not gone."""
        tables: dict[str, pa.Table] = {}
        for number, side in enumerate(self._sides):
            alive = np.flatnonzero(side.arena.expires > self.reached)
            tables |= {f"{number}_{part}": table for part, table in side.arena.saved(alive).items()}
        return {"reached": self.reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self.reached = header["reached"]
        for number, side in enumerate(self._sides):
            side.arena.load({part: tables[f"{number}_{part}"] for part in ("rows", "lives")})
            side.in_order &= bool((np.diff(side.arena.expires) >= 0).all())
        self._renumber()

    def counters(self) -> dict[str, int]:
        """Rows of all windows, those that are gone but not forgotten among them."""
        arenas = [side.arena for side in self._sides]
        return {"rows": sum(map(len, arenas)), "bytes": sum(arena.nbytes + 24 * len(arena) for arena in arenas)}
