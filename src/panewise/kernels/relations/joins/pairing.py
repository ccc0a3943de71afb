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

from panewise.core.arrays import Ints
from panewise.core.compiling import compiled
from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.functions import truth
from panewise.kernels.relations.edges.delta import NO_ENDS, Delta, Ends, Lives, Mask, integers
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import beneath, under
from panewise.kernels.relations.joins.key_codes import JoinKeys
from panewise.kernels.relations.stores.arena import Arena, Growing
from panewise.kernels.relations.stores.catalogues import ExpiryCatalogues, Vectors
from panewise.kernels.relations.stores.chains import Chains
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
        self.codes, self.chains = Growing(), Chains()
        self._catalogues = ExpiryCatalogues()
        self._partners = 1.0

    def end(self, ends: Ends, reached: Ends = NO_ENDS) -> Ordinals:
        """Rows leave before they said, by an end or by an order component that is reached: their slots, each once."""
        slots = self.arena.end(ends, self._catalogues.reached(reached) if len(reached) else None)
        self.in_order = self.in_order and not len(slots)
        return slots

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
        self.chains.append(codes, keys)
        return first

    def forget(self, alive: Mask, keys: int, *, always: bool = False) -> Ordinals | None:
        """Forget rows that are gone, if that is worth it: the slots that stay, or None."""
        stay = self.arena.compact(alive, always=always)
        if stay is not None:
            self._catalogues.keep(stay)
            self.in_order = self._in_order and self._ascending()
            self.relink(self.codes.values[stay], keys)
        return stay

    def clear(self, keys: int) -> None:
        """Forget all rows."""
        self.forget(np.zeros(len(self.arena), np.bool_), keys, always=True)

    def saved(self, slots: Ordinals) -> dict[str, pa.Table]:
        """Some rows."""
        return self.arena.saved(slots) | self._catalogues.saved(slots)

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Become what ``saved`` gave; keys are still to be linked."""
        self.arena.load(tables)
        self._catalogues.load(tables.get("order"), len(self.arena))
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
        self.codes, self.chains = Growing(codes), Chains()
        self.chains.append(codes, keys)

    def probe(self, codes: Ordinals, born: Ordinals, expires: Ordinals, below: int,
              gone: int) -> tuple[Ordinals, Ordinals]:
        """Rows that ask, and slots below a given one that live together with them."""
        if not len(codes) or not below:
            return integers(), integers()
        arguments = (codes, born, expires, self.chains.heads, self.chains.nexts, self.arena.born,
                     self.arena.expires, below, self.in_order, gone)
        room = int(self._partners * len(codes)) + 64
        rows, slots = integers(room), integers(room)
        count = _list_pairs(*arguments, rows, slots)
        self._partners = 1.25 * count / len(codes)  # the next to ask have about as many: one walk is then enough
        if count > room:
            rows, slots = integers(count), integers(count)
            _list_pairs(*arguments, rows, slots)
        return rows[:count], slots[:count]


class Sides:
    """The rows of all inputs of a join, with keys that are numbered together."""

    def __init__(self, schemas: Sequence[pa.Schema], in_order: Sequence[bool], keys: pa.Schema,
                 scalars: Sequence[Sequence[Scalar]]) -> None:
        self.all = [Side(schema, in_order=ordered) for schema, ordered in zip(schemas, in_order, strict=True)]
        self.keys, self._scalars = JoinKeys(keys), scalars

    def codes(self, number: int, lives: Lives) -> Ordinals:
        """The keys of new rows of one input."""
        with rows_born(lives.born, lives.age):
            return self.keys.of_rows(self._scalars[number], lives.table)

    def forget(self, least: int, *, always: bool = False) -> list[Ordinals | None]:
        """Forget rows that end before an instant, when that is worth a look: of each side the slots that stay."""
        kept = [side.forget(side.arena.expires >= least, len(self.keys), always=always)
                if always or side.arena.crowded else None for side in self.all]
        self._shrink()
        return kept

    def clear(self) -> None:
        """Forget all rows: none of them meets one that comes later."""
        for side in self.all:
            side.clear(len(self.keys))
        self._shrink()

    def _shrink(self) -> None:
        if len(self.keys) > 4 * sum(len(side.arena) for side in self.all) + 4096:
            self._renumber()

    def _renumber(self) -> None:
        self.keys.clear()
        codes = [self.keys.of_rows(scalars, side.arena.payload.table())
                 for scalars, side in zip(self._scalars, self.all, strict=True)]
        for mine, side in zip(codes, self.all, strict=True):
            side.relink(mine, len(self.keys))

    def saved(self, least: int) -> dict[str, pa.Table]:
        """Rows of all sides that do not end before an instant."""
        tables: dict[str, pa.Table] = {}
        for number, side in enumerate(self.all):
            tables |= under(f"{number}_", side.saved(np.flatnonzero(side.arena.expires >= least)))
        return tables

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        """Become what ``saved`` gave."""
        for number, side in enumerate(self.all):
            side.load(beneath(f"{number}_", tables))
        self._renumber()

    def counters(self) -> dict[str, int]:
        """Rows of all sides, those that are gone but not forgotten among them."""
        return {"rows": sum(len(side.arena) for side in self.all), "bytes": sum(side.nbytes for side in self.all)}


class Pairing:
    """Two sides and what makes their rows match."""

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, *, left_in_order: bool,
                 right_in_order: bool) -> None:
        self.sides = Sides((left, right), (left_in_order, right_in_order), match.keys, (match.left, match.right))
        self.left, self.right = self.sides.all
        self.match = match
        self.reached = NO_BOUND
        self._shown = [name for name in right.names if name not in left.names]  # of equal names the left one counts

    def meet(self, left: Delta, right: Delta, upto: int) -> Pairs:
        """New pairs of a step; ends of rows have been taken in before (``Side.end``)."""
        one, other, keys = left.lives, right.lives, self.sides.keys
        codes = self.sides.codes(0, one), self.sides.codes(1, other)
        first_left, first_right = self.left.add(one, codes[0], len(keys)), self.right.add(other, codes[1], len(keys))
        rows, slots = self.right.probe(codes[0], one.born, one.expires, len(self.right.arena), self.reached)
        others, olds = self.left.probe(codes[1], other.born, other.expires, first_left, self.reached)
        pairs = self.lived(np.concatenate([rows + first_left, olds]), np.concatenate([slots, others + first_right]))
        self.reached = upto
        return self.holding(pairs)

    def holding(self, pairs: Pairs) -> Pairs:
        """Those for which also the rest of the predicate holds."""
        if self.match.residual is None or not len(pairs):
            return pairs
        with rows_born(pairs.born):
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

    # -- forgetting and saving: a row that ends with the step stays, its departure and that of its pairs come next

    def forget(self) -> list[Ordinals | None]:
        """Forget rows that are gone when that is worth a look: for each side the slots that stay, or None."""
        return self.sides.forget(self.reached)

    def saved(self) -> dict[str, pa.Table]:
        """Rows of both sides that are not gone."""
        return self.sides.saved(self.reached)

    def load(self, tables: Mapping[str, pa.Table], reached: int) -> None:
        """Become what ``saved`` gave."""
        self.reached = reached
        self.sides.load(tables)


@compiled
def _list_pairs(codes: Ints, born: Ints, expires: Ints, heads: Ints, nexts: Ints, other_born: Ints,
               other_expires: Ints, below: int, in_order: bool, gone: int, rows: Ints, slots: Ints) -> int:
    """Rows of the chains, in slots below ``below``, that live together with the rows that ask, and how many there are.

    ``in_order``: rows leave in the order of their slots, so a chain may be left at the first that is gone. Where there
    are more than there is room for, only as many are listed.
    """
    found, room = 0, len(rows)
    for i in range(len(codes)):
        code = codes[i]
        if code < 0 or code >= len(heads):
            continue
        slot = heads[code]
        while slot >= 0:
            if other_expires[slot] <= gone:
                if in_order:
                    break
            elif slot < below and max(born[i], other_born[slot]) < min(expires[i], other_expires[slot]):
                if found < room:
                    rows[found] = i
                    slots[found] = slot
                found += 1
            slot = nexts[slot]
    return found
