"""The join of many windows on one attribute without results in between (Golab 2.2.3, 5.3; algorithms 2 to 5).

New rows of a step are joined with the other windows one after the other, in one probing order for all. Only rows are
kept; a tree of joins of two would keep every result of its lower joins. A combination is found once: by its member in
the last of the windows that have something new of it. How that is done (``Manner``) never changes what is found:

- *eager evaluation*: every new row probes by itself (J1, J2); *lazy*: new rows of a key between two refreshes probe
  together, and what they find is then given to each that lived with it (J4). Where rows are born at refreshes only,
  because the windows have a SLIDE, that is everything that holds at a refresh and nothing else (J3), and a row that
  will be gone at the next one is gone.
- *eager expiry*: rows that are gone leave the windows at every step (J1); *lazy*: they are skipped by their ends, and
  forgotten when they are the most (J2).

Over strict inputs an end of a row is noted with the row, which stays until the step is over: what it met before its end
is still found. Results have expiry vectors; for a consumer that cannot read them they are remembered by their rows, so
that an end becomes their ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.kernels.relations.edges.ages_numba import sort_newest_first
from panewise.kernels.relations.edges.delta import NO_ENDS, Delta, Ends, Lives, Uids, integers, ticks_of
from panewise.kernels.relations.edges.departures import Departures
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.joins.catalogue import ResultCatalogue
from panewise.kernels.relations.joins.pairing import Sides
from panewise.kernels.relations.joins.probe_groups import Groups, Refreshes
from panewise.kernels.relations.stores.arena import Growing
from panewise.progress.watermarks import FINISHED, NO_BOUND


@dataclass(frozen=True)
class JoinedWindow:
    """One input: its columns, and the one that must be equal in all."""

    schema: pa.Schema
    key: str
    departures: Departures


@dataclass(frozen=True)
class Manner:
    """Who is probed when, and how rows are evaluated and expire."""

    order: tuple[int, ...]
    refreshes: Refreshes | None = None
    """Lazy evaluation: between two of these, new rows of a key probe together; None: every row by itself."""
    born_at_refreshes: bool = False
    """No input has a row that is born in between."""
    eager_expiry: bool = False


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

    def __init__(self, windows: Sequence[JoinedWindow], key: pa.DataType, uids: Uids, manner: Manner, *,
                 tells: Departures = Departures.EARLY) -> None:
        self.schema = pa.schema([field for window in windows for field in window.schema])
        self._uids, self._manner = uids, manner
        self._joined = Sides([window.schema for window in windows],
                             [window.departures.in_order for window in windows], pa.schema([pa.field("k0", key)]),
                             [[Scalar.column(window.key)] for window in windows])
        self._sides, self._keys = self._joined.all, self._joined.keys
        strict = [window.departures.strict for window in windows]
        self._strict, self._vectors = strict, tells is Departures.VECTORS
        arenas = [side.arena for side in compress(self._sides, strict)]
        self._catalogue = ResultCatalogue(arenas) if arenas and not self._vectors else None
        self.reached = NO_BOUND
        self._probes = 0
        self._room = Growing()

    @property
    def _gone(self) -> int:
        """A row with this end or a sooner one meets no row that is still to come."""
        if self._manner.born_at_refreshes and self._manner.refreshes is not None and self.reached > NO_BOUND:
            return min(self._manner.refreshes.next_from(self.reached), FINISHED)
        return self.reached

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Ends first, then everything that new rows complete."""
        ended = [side.end(delta.ends, delta.reached) if delta.shortens else integers()
                 for side, delta in zip(self._sides, inputs, strict=True)]
        ends = self._catalogue.end(list(compress(ended, self._strict))) if self._catalogue is not None else NO_ENDS
        codes = [self._joined.codes(number, delta.lives) for number, delta in enumerate(inputs)]
        firsts = [side.add(delta.lives, mine, len(self._keys))
                  for side, delta, mine in zip(self._sides, inputs, codes, strict=True)]
        completed = self._by_row if self._manner.refreshes is None else self._by_key
        found = [completed(window, codes[window], delta.lives, firsts)
                 for window, delta in enumerate(inputs) if len(delta.lives)]
        self.reached = upto
        lives = self._lives([part for part in found if len(part)], upto)
        self._forget()
        reached = Ends.concat([part for delta in inputs for part in (delta.ends, delta.reached)]) \
            if self._vectors else NO_ENDS
        return Delta(lives, ends, ticks_of(*(delta.ticks for delta in inputs)), reached=reached)

    # -- new rows of one window, with all rows of those before it, and with the old ones of those behind it

    def _by_row(self, window: int, codes: Ordinals, lives: Lives, firsts: Sequence[int]) -> Combinations:
        """Each by itself."""
        slots = firsts[window] + np.arange(len(lives))
        asking = Combinations({window: slots}, codes, lives.born, lives.expires)
        return self._walked(window, asking, firsts)[0]

    def _by_key(self, window: int, codes: Ordinals, lives: Lives, firsts: Sequence[int]) -> Combinations:
        """Those of a key together: each look at another window is for all of them."""
        assert self._manner.refreshes is not None
        self._room.extend_to(len(self._keys), -1)
        groups = Groups.of(lives, codes, self._manner.refreshes, self._room.values)
        found, asked = self._walked(window, Combinations({}, groups.codes, groups.born, groups.expires), firsts)
        places, rows, born, expires = groups.met(asked, found.born, found.expires, lives)
        slots = {w: mine[places] for w, mine in found.slots.items()}
        return Combinations({window: firsts[window] + rows, **slots}, codes[rows], born, expires)

    def _walked(self, window: int, asking: Combinations, firsts: Sequence[int]) -> tuple[Combinations, Ordinals]:
        """Through the other windows in their order: what is found, and who of those that asked found it."""
        partial, asked = asking, np.arange(len(asking))
        for other in (w for w in self._manner.order if w != window):
            side = self._sides[other]
            below = len(side.arena) if other < window else firsts[other]
            self._probes += len(partial)
            rows, partners = side.probe(partial.codes, partial.born, partial.expires, below, self._gone)
            partial = Combinations(
                {**{w: s[rows] for w, s in partial.slots.items()}, other: partners}, partial.codes[rows],
                np.maximum(partial.born[rows], side.arena.born[partners]),
                np.minimum(partial.expires[rows], side.arena.expires[partners]))
            asked = asked[rows]
        return partial, asked

    def _lives(self, found: Sequence[Combinations], upto: int) -> Lives:
        if not found:
            return Lives.none(self.schema)
        slots = [np.concatenate([part.slots[w] for part in found]) for w in range(len(self._sides))]
        columns = [column for side, mine in zip(self._sides, slots, strict=True)
                   for column in side.arena.payload.take(mine).columns]
        born, expires = (np.concatenate([getattr(part, name) for part in found]) for name in ("born", "expires"))
        uid = self._uids.draw(len(born))
        if self._catalogue is not None:
            self._catalogue.add(list(compress(slots, self._strict)), uid, expires, upto)
        order = np.concatenate([side.vectors(mine, strict=strict) for side, mine, strict in
                                zip(self._sides, slots, self._strict, strict=True)]) if self._vectors else None
        return Lives(pa.table(columns, schema=self.schema), uid, born, expires, self._age(slots), order)

    def _age(self, slots: Sequence[Ordinals]) -> npt.NDArray[np.int64]:
        """Born with the youngest, arrivals of all, newest first (rule U6)."""
        arenas = [side.arena for side in self._sides]
        age = np.empty((1 + sum(arena.depth - 1 for arena in arenas), len(slots[0])), np.int64)
        times, at = integers(len(slots[0])), 1
        for number, (arena, mine) in enumerate(zip(arenas, slots, strict=True)):
            arena.write_ages(mine, times, age[at : at + arena.depth - 1])
            np.maximum(age[0] if number else times, times, out=age[0])
            at += arena.depth - 1
        sort_newest_first(age[1:])
        return age

    # -- forgetting

    def _forget(self) -> None:
        gone = self._gone
        kept = self._joined.forget(gone + 1, always=self._manner.eager_expiry)
        if self._catalogue is not None:
            self._catalogue.renumber(list(compress(kept, self._strict)), gone)

    # -- saving

    def snapshot(self) -> Saved:
        """The rows of all windows that are not gone."""
        tables = self._joined.saved(self._gone + 1)
        if self._catalogue is not None:
            tables["results"] = self._catalogue.saved(self._gone)
        return {"reached": self.reached, "probes": self._probes}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self.reached, self._probes = header["reached"], header["probes"]
        self._joined.load(tables)
        if self._catalogue is not None:
            self._catalogue.load(tables["results"])

    def counters(self) -> dict[str, int]:
        """Rows of all windows, those that are gone but not forgotten among them, and look-ups of a key in a window."""
        found = self._joined.counters() | {"probes": self._probes}
        if self._catalogue is not None:
            found |= {"results": len(self._catalogue), "bytes": found["bytes"] + self._catalogue.nbytes}
        return found
