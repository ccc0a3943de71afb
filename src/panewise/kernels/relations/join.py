"""The join of windows: a pair lives while both rows do (Golab 5.2.1, Patroumpas and Sellis 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import NO_ENDS, Delta, Ends, Lives, Uids, integers, ticks_of
from panewise.kernels.relations.join_numba import count_linked, link, list_linked
from panewise.kernels.relations.leaving_pairs import LeavingPairs
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.pairing import Match, Pairing, Pairs
from panewise.kernels.relations.stores.arena import Growing


class WindowJoin(RelationOperator):
    """Pairs of rows for which the predicate holds, from the birth of the younger to the end of the first to go.

    Over strict inputs (``catalogued``) the pairs are remembered by the rows they come from, so that an end of a row
    becomes the ends of its pairs without probing again (the catalogues of Patroumpas and Sellis 4.2); where nobody
    needs the numbers of pairs, only to be told which leave, they are not remembered at all.
    """

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, uids: Uids, *, left_in_order: bool = False,
                 right_in_order: bool = False, catalogued: bool = False, narrow: bool = False) -> None:
        # a narrow join is asked only which rows meet: of equal names the left one counts, and the left row's age
        self._narrow = narrow
        self.schema = pa.schema([*left, *(f for f in right if not narrow or f.name not in left.names)])
        self._uids = uids
        self._pairing = Pairing(left, right, match, left_in_order=left_in_order, right_in_order=right_in_order)
        self._catalogue = PairCatalogue(self._pairing) if catalogued else None
        self._leaving: LeavingPairs | None = None

    def name_gone(self) -> bool:
        """Over strict inputs pairs that leave are found anew, and the catalogue is not needed."""
        if self._catalogue is None:
            return False
        self._catalogue, self._leaving = None, LeavingPairs(self._pairing)
        return True

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Ends first, then new pairs."""
        left, right = inputs
        ended = self._pairing.left.end(left.ends), self._pairing.right.end(right.ends)
        ends = NO_ENDS if self._catalogue is None else self._catalogue.end(*ended)
        gone = None if self._leaving is None else self._lives(self._leaving.leave(*ended, upto))
        pairs = self._pairing.meet(left, right, upto)
        lives = self._lives(pairs)
        if self._catalogue is not None:
            self._catalogue.add(pairs, lives.uid, upto)
        kept = self._pairing.forget()
        for pairs_by_row in (self._catalogue, self._leaving):
            if pairs_by_row is not None:
                pairs_by_row.renumber(*kept)
        return Delta(lives, ends, ticks_of(left.ticks, right.ticks), gone)

    def _lives(self, pairs: Pairs) -> Lives:
        if not len(pairs):
            return Lives.none(self.schema)
        return Lives(self._pairing.table(pairs).cast(self.schema), self._uids.draw(len(pairs)), pairs.born,
                     pairs.expires,
                     self._pairing.left.arena.ages_at(pairs.left) if self._narrow else self._pairing.age(pairs))

    def snapshot(self) -> Saved:
        """Both sides, and the pairs over strict inputs."""
        tables = self._pairing.saved()
        if self._catalogue is not None:
            tables["pairs"] = self._catalogue.saved()
        return {"reached": self._pairing.reached}, tables

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._pairing.load(tables, header["reached"])
        if self._catalogue is not None:
            self._catalogue.load(tables["pairs"])
        if self._leaving is not None:
            self._leaving.note()

    def counters(self) -> dict[str, int]:
        """Rows of both sides, and catalogued pairs."""
        found = self._pairing.counters
        pairs = len(self._catalogue) if self._catalogue is not None else 0
        return {"rows": found["rows"], "pairs": pairs, "bytes": found["bytes"] + 48 * pairs}


class PairCatalogue:
    """The pairs that are there, by the slots of their rows."""

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing
        self._reset(*(integers() for _ in range(4)))

    def __len__(self) -> int:
        return self._uid.count

    def _reset(self, left: Ordinals, right: Ordinals, uid: Ordinals, expires: Ordinals) -> None:
        self._left, self._right, self._uid, self._expires = map(Growing, (left, right, uid, expires))
        self._nexts = Growing(), Growing()
        self._heads = Growing(), Growing()
        self._checked = len(uid)
        self._link(0)

    def _link(self, first: int) -> None:
        sides = (self._left, self._pairing.left), (self._right, self._pairing.right)
        for (slots, side), nexts, heads in zip(sides, self._nexts, self._heads, strict=True):
            heads.extend_to(len(side.arena), -1)
            nexts.extend_to(len(self), -1)
            link(slots.values[first:], first, heads.values, nexts.values)

    def add(self, pairs: Pairs, uid: Ordinals, upto: int) -> None:
        """Pairs that live on after the step."""
        first = len(self)
        lasting = pairs.expires >= upto
        self._left.append(pairs.left[lasting])
        self._right.append(pairs.right[lasting])
        self._uid.append(uid[lasting])
        self._expires.append(pairs.expires[lasting])
        self._link(first)

    def end(self, left: Ordinals, right: Ordinals) -> Ends:
        """Rows in these slots leave before they said: the ends of their pairs."""
        found = []
        for slots, nexts, heads in zip((left, right), self._nexts, self._heads, strict=True):
            entries = integers(count_linked(slots, heads.values, nexts.values))
            list_linked(slots, heads.values, nexts.values, entries)
            found.append(entries)
        entries = np.sort(np.concatenate(found))
        entries = entries[np.r_[True, entries[1:] != entries[:-1]]] if len(entries) else entries
        at = np.minimum(self._pairing.left.arena.expires[self._left.values[entries]],
                        self._pairing.right.arena.expires[self._right.values[entries]])
        sooner = at < self._expires.values[entries]
        entries, at = entries[sooner], at[sooner]
        self._expires.values[entries] = at
        return Ends(self._uid.values[entries], at)

    def renumber(self, left: Ordinals | None, right: Ordinals | None) -> None:
        """Slots that stayed of either side, or None; pairs that are gone are forgotten with them."""
        crowded = len(self) >= 2 * self._checked + 1024
        if left is None and right is None and not crowded:
            return
        alive = self._expires.values > self._pairing.reached
        slots = [self._left.values[alive], self._right.values[alive]]
        for i, stayed in enumerate((left, right)):
            if stayed is not None:  # a pair that lives has both rows
                slots[i] = np.searchsorted(stayed, slots[i])
        self._reset(slots[0], slots[1], self._uid.values[alive], self._expires.values[alive])

    def saved(self) -> pa.Table:
        """Pairs by the numbers of their rows."""
        alive = self._expires.values > self._pairing.reached
        left, right = self._pairing.left.arena.uid, self._pairing.right.arena.uid
        return pa.table({"left": left[self._left.values[alive]], "right": right[self._right.values[alive]],
                         "uid": self._uid.values[alive], "expires": self._expires.values[alive]})

    def load(self, table: pa.Table) -> None:
        """Become what ``saved`` gave."""
        left, right, uid, expires = (np.array(table.column(n).to_numpy(), np.int64) for n in table.column_names)
        self._reset(self._pairing.left.arena.find(left), self._pairing.right.arena.find(right), uid, expires)
