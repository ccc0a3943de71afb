"""The join of windows: a pair lives while both rows do (Golab 5.2.1, Patroumpas and Sellis 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from panewise.kernels.relations.edges.delta import NO_ENDS, Delta, Ends, Lives, Uids, ticks_of
from panewise.kernels.relations.edges.departures import Departures
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.joins.catalogue import ResultCatalogue
from panewise.kernels.relations.joins.leaving_pairs import LeavingPairs
from panewise.kernels.relations.joins.pairing import Match, Pairing, Pairs
from panewise.kernels.relations.stores.catalogues import Vectors

T = TypeVar("T")


class WindowJoin(RelationOperator):
    """Pairs of rows for which the predicate holds, from the birth of the younger to the end of the first to go.

    A pair has an expiry vector: the sooner of both ends, and the rows of strict inputs it comes from. ``tells`` says
    who hears of it: a consumer that reads vectors, and nothing is kept of the pairs here. For others the pairs are
    remembered by these rows (``catalogue``), so that an end of a row becomes the ends of its pairs; and where pairs
    that leave have to be named and no number is asked for, they are not remembered at all (``leaving_pairs``).
    Where rows meet ``at_birth`` only, and never leave, none is kept for those that come later.
    """

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, uids: Uids, *,
                 leave: tuple[Departures, Departures], tells: Departures = Departures.EARLY,
                 narrow: bool = False, at_birth: bool = False) -> None:
        self._at_birth = at_birth
        # a narrow join is asked only which rows meet: of equal names the left one counts, and the left row's age
        self._narrow = narrow
        self.schema = pa.schema([*left, *(f for f in right if not narrow or f.name not in left.names)])
        self._uids = uids
        self._pairing = Pairing(left, right, match, left_in_order=leave[0].in_order,
                                right_in_order=leave[1].in_order)
        sides = self._pairing.left, self._pairing.right
        self._strict, self._vectors = (leave[0].strict, leave[1].strict), tells is Departures.VECTORS
        sends = any(self._strict) and tells in {Departures.EARLY, Departures.ALL}
        self._catalogue = ResultCatalogue(self._of_strict([side.arena for side in sides])) if sends else None
        self._leaving = LeavingPairs(self._pairing) if tells is Departures.NAMED else None

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Ends first, then new pairs."""
        left, right = inputs
        ended = (self._pairing.left.end(left.ends, left.reached), self._pairing.right.end(right.ends, right.reached))
        ends = NO_ENDS if self._catalogue is None else self._catalogue.end(self._of_strict(ended))
        gone = None if self._leaving is None else self._lives(self._leaving.leave(*ended, upto))
        pairs = self._pairing.meet(left, right, upto)
        lives = self._lives(pairs)
        if self._catalogue is not None:
            self._catalogue.add(self._of_strict((pairs.left, pairs.right)), lives.uid, pairs.expires, upto)
        if self._at_birth:
            self._pairing.sides.clear()
            return Delta(lives, NO_ENDS, ticks_of(left.ticks, right.ticks))
        kept = self._pairing.forget()
        if self._catalogue is not None:
            self._catalogue.renumber(self._of_strict(kept), self._pairing.reached)
        if self._leaving is not None:
            self._leaving.renumber(*kept)
        reached = Ends.concat([left.ends, left.reached, right.ends, right.reached]) if self._vectors else NO_ENDS
        return Delta(lives, ends, ticks_of(left.ticks, right.ticks), gone=gone, reached=reached)

    def _of_strict(self, parts: Iterable[T]) -> list[T]:
        """What there is of the inputs whose rows may leave before they said."""
        return list(compress(parts, self._strict))

    def _lives(self, pairs: Pairs) -> Lives:
        if not len(pairs):
            return Lives.none(self.schema)
        return Lives(self._pairing.table(pairs).cast(self.schema), self._uids.draw(len(pairs)), pairs.born,
                     pairs.expires,
                     self._pairing.left.arena.ages_at(pairs.left) if self._narrow else self._pairing.age(pairs),
                     self._order(pairs) if self._vectors else None)

    def _order(self, pairs: Pairs) -> Vectors:
        """The order components of both rows."""
        sides = zip((self._pairing.left, self._pairing.right), (pairs.left, pairs.right), self._strict, strict=True)
        return np.concatenate([side.vectors(slots, strict=strict) for side, slots, strict in sides])

    def snapshot(self) -> Saved:
        """Both sides, and the pairs over strict inputs."""
        tables = self._pairing.saved()
        if self._catalogue is not None:
            tables["pairs"] = self._catalogue.saved(self._pairing.reached)
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
        found = self._pairing.sides.counters()
        pairs, size = (0, 0) if self._catalogue is None else (len(self._catalogue), self._catalogue.nbytes)
        return {"rows": found["rows"], "pairs": pairs, "bytes": found["bytes"] + size}
