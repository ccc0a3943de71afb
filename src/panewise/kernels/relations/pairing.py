"""Which rows of two relations live at the same time and match: the state of every operator on pairs.

Both sides are kept by slot with a chain per key (a symmetric hash join). New rows of the left meet all rows of the
right, new rows of the right the old ones of the left, so a pair is found once. Rows that are gone are skipped by
their ends, and forgotten when they are the most: expiry costs nothing per row (lazy expiration, Golab's J2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.functions import truth
from panewise.kernels.relations.delta import NO_ENDS, Delta, Ends, Lives, Mask, integers
from panewise.kernels.relations.join_numba import link, list_pairs
from panewise.kernels.relations.key_codes import JoinKeys
from panewise.kernels.relations.stores.arena import Arena, Growing
from panewise.kernels.relations.stores.catalogues import ExpiryCatalogues, Vectors
from panewise.progress.watermarks import NO_BOUND


@dataclass(frozen=True)
class Match:
    """The predicate of a join: equal keys, and what must hold besides."""

    left: Sequence[Scalar]
    right: Sequence[Scalar]
    keys: pa.Schema
    residual: Scalar | None = None


@dataclass(frozen=True)
class Pairs:
    """Pairs by the slots of both rows, with their common life."""

    left: Ordinals
    right: Ordinals
    born: Ordinals
    expires: Ordinals

    def __len__(self) -> int:
        return len(self.left)

    def take(self, places: Ordinals | npt.NDArray[np.bool_]) -> Pairs:
        """Some of them."""
        return Pairs(self.left[places], self.right[places], self.born[places], self.expires[places])


class Side:
    """The rows of one input, with a chain per key."""

    def __init__(self, schema: pa.Schema, *, in_order: bool) -> None:
        self.arena = Arena(schema)
        self._in_order = in_order  # rows leave in the order they came (WKS)
        self.in_order = in_order  # and those that are kept now do: no late row is among them, and none left early
        self.codes, self.nexts, self.heads = Growing(), Growing(), Growing()
        self._catalogues = ExpiryCatalogues()
        self._partners = 1.0

    def end(self, ends: Ends, reached: Ends = NO_ENDS) -> Ordinals:
        """Rows leave before they said, by an end or by an order component that is reached: their slots, each once."""
        slots = self.arena.find(ends.uid)
        here = slots >= 0
        slots, at = slots[here], ends.at[here]
        if len(reached):
            more, instants = self._catalogues.reached(reached)
            slots, at = np.concatenate([slots, more]), np.concatenate([at, instants])
        sooner = at < self.arena.expires[slots]
        if not sooner.any():
            return slots[:0]
        self.in_order = False
        slots, at = slots[sooner], at[sooner]
        np.minimum.at(self.arena.expires, slots, at)  # the first of several components counts
        return np.unique(slots) if len(reached) else slots

    def vectors(self, slots: Ordinals, *, strict: bool) -> Vectors:
        """The order components of some rows: those they came with, or, where ends are sent for them, the rows alone."""
        given = self._catalogues.of(slots)
        return given if len(given) or not strict else self.arena.uid[slots][None, :]

    def add(self, lives: Lives, codes: Ordinals, keys: int) -> int:
        """Keep new rows; the first of their slots."""
        first = len(self.arena)
        self.arena.append(lives)
        self.in_order = self.in_order and self._ascending(max(first - 1, 0))
        self._catalogues.add(lives.order, len(lives))
        self.codes.append(codes)
        self._link(codes, first, keys)
        return first

    def _link(self, codes: Ordinals, first: int, keys: int) -> None:
        self.heads.extend_to(keys, -1)
        self.nexts.extend_to(first + len(codes), -1)
        link(codes, first, self.heads.values, self.nexts.values)

    def forget(self, alive: Mask, keys: int, *, always: bool = False) -> Ordinals | None:
        """Forget rows that are gone, if that is worth it: the slots that stay, or None."""
        stay = self.arena.compact(alive, always=always)
        if stay is not None:
            self._catalogues.keep(stay)
            self.in_order = self._in_order and self._ascending()
            self.relink(self.codes.values[stay], keys)
        return stay

    def saved(self, slots: Ordinals) -> dict[str, pa.Table]:
        """Some rows."""
        return self.arena.saved(slots) | self._catalogues.saved(slots)

    def load(self, tables: Mapping[str, pa.Table], prefix: str) -> None:
        """Become what ``saved`` gave, under names with a prefix; keys are still to be linked."""
        self.arena.load({part: tables[f"{prefix}{part}"] for part in ("rows", "lives")})
        self._catalogues.load(tables.get(f"{prefix}order"), len(self.arena))
        self.in_order = self._in_order and self._ascending()

    def _ascending(self, first: int = 0) -> bool:
        expires = self.arena.expires[first:]
        return bool((expires[1:] >= expires[:-1]).all())

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return self.arena.nbytes + 24 * len(self.arena) + self._catalogues.nbytes

    def relink(self, codes: Ordinals, keys: int) -> None:
        """Chains from nothing, after rows were forgotten or keys numbered anew."""
        self.codes, self.nexts, self.heads = Growing(codes), Growing(), Growing()
        self._link(codes, 0, keys)

    def probe(self, codes: Ordinals, born: Ordinals, expires: Ordinals, below: int,
              gone: int) -> tuple[Ordinals, Ordinals]:
        """Rows that ask, and slots below a given one that live together with them."""
        if not len(codes) or not below:
            return integers(), integers()
        arguments = (codes, born, expires, self.heads.values, self.nexts.values, self.arena.born,
                     self.arena.expires, below, self.in_order, gone)
        room = int(self._partners * len(codes)) + 64
        rows, slots = integers(room), integers(room)
        count = list_pairs(*arguments, rows, slots)
        self._partners = 1.25 * count / len(codes)  # the next to ask have about as many: one walk is then enough
        if count > room:
            rows, slots = integers(count), integers(count)
            list_pairs(*arguments, rows, slots)
        return rows[:count], slots[:count]


class Pairing:
    """Two sides and what makes their rows match."""

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, *, left_in_order: bool,
                 right_in_order: bool) -> None:
        self.left, self.right = Side(left, in_order=left_in_order), Side(right, in_order=right_in_order)
        self.match = match
        self._keys = JoinKeys(match.keys)
        self.reached = NO_BOUND
        self._shown = [name for name in right.names if name not in left.names]  # of equal names the left one counts

    def meet(self, left: Delta, right: Delta, upto: int) -> Pairs:
        """New pairs of a step; ends of rows have been told before (``Side.end``)."""
        codes = [self._keys.codes(scalars, delta.lives.table)
                 for scalars, delta in ((self.match.left, left), (self.match.right, right))]
        first_left = self.left.add(left.lives, codes[0], len(self._keys))
        first_right = self.right.add(right.lives, codes[1], len(self._keys))
        one, other = left.lives, right.lives
        rows, slots = self.right.probe(codes[0], one.born, one.expires, len(self.right.arena), self.reached)
        others, olds = self.left.probe(codes[1], other.born, other.expires, first_left, self.reached)
        pairs = self.lived(np.concatenate([rows + first_left, olds]), np.concatenate([slots, others + first_right]))
        self.reached = upto
        return self.holding(pairs)

    def holding(self, pairs: Pairs) -> Pairs:
        """Those for which also the rest of the predicate holds."""
        if self.match.residual is None or not len(pairs):
            return pairs
        return pairs.take(np.flatnonzero(truth(self.match.residual, self.table(pairs))))

    def lived(self, left: Ordinals, right: Ordinals) -> Pairs:
        """Rows in these slots, side by side, while both are there."""
        one, other = self.left.arena, self.right.arena
        return Pairs(left, right, np.maximum(one.born[left], other.born[right]),
                     np.minimum(one.expires[left], other.expires[right]))

    def table(self, pairs: Pairs) -> pa.Table:
        """Both rows side by side."""
        left, right = self.left.arena.payload.take(pairs.left), self.right.arena.payload.take(pairs.right)
        shown = [right.column(name) for name in self._shown]
        return pa.table([*left.columns, *shown], names=[*left.column_names, *self._shown])

    def age(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        """Born with the younger, arrivals of both, newest first (rule U6)."""
        left, right = self.left.arena.ages_at(pairs.left), self.right.arena.ages_at(pairs.right)
        time = np.maximum(left[:1], right[:1])
        if len(left) == len(right) == 2:
            return np.concatenate([time, np.maximum(left[1:], right[1:]), np.minimum(left[1:], right[1:])])
        return np.concatenate([time, np.sort(np.concatenate([left[1:], right[1:]]), axis=0)[::-1]])

    # -- forgetting

    def forget(self) -> tuple[Ordinals | None, Ordinals | None]:
        """Forget rows that are gone when that is worth a look: for each side the slots that stay, or None."""
        kept: list[Ordinals | None] = []
        for side in (self.left, self.right):
            # a row that ends with the step is still to be told to leave, and so are its pairs
            look = side.arena.crowded
            kept.append(side.forget(side.arena.expires >= self.reached, len(self._keys)) if look else None)
        rows = len(self.left.arena) + len(self.right.arena)
        if len(self._keys) > 4 * rows + 4096:
            self._renumber()
        return kept[0], kept[1]

    def _renumber(self) -> None:
        self._keys.forget()
        sides = ((self.match.left, self.left), (self.match.right, self.right))
        codes = [self._keys.codes(scalars, side.arena.payload.table()) for scalars, side in sides]
        for found, (_, side) in zip(codes, sides, strict=True):
            side.relink(found, len(self._keys))

    # -- saving

    def saved(self) -> dict[str, pa.Table]:
        """Rows of both sides that are not gone."""
        found: dict[str, pa.Table] = {}
        for name, side in (("left", self.left), ("right", self.right)):
            alive = np.flatnonzero(side.arena.expires >= self.reached)
            found |= {f"{name}_{part}": table for part, table in side.saved(alive).items()}
        return found

    def load(self, tables: Mapping[str, pa.Table], reached: int) -> None:
        """Become what ``saved`` gave."""
        self.reached = reached
        for name, side in (("left", self.left), ("right", self.right)):
            side.load(tables, f"{name}_")
        self._renumber()

    @property
    def counters(self) -> dict[str, int]:
        """Rows of both sides, those that are gone but not forgotten among them."""
        sides = (self.left, self.right)
        return {"rows": sum(len(s.arena) for s in sides), "bytes": sum(s.nbytes for s in sides)}
