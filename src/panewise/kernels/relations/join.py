"""The join of windows: a pair lives while both rows do (Golab 5.2.1, Patroumpas and Sellis 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.kernels.relations.catalogue import ResultCatalogue
from panewise.kernels.relations.delta import NO_ENDS, Delta, Ends, Lives, Uids, ticks_of
from panewise.kernels.relations.leaving_pairs import LeavingPairs
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.pairing import Match, Pairing, Pairs
from panewise.kernels.relations.stores.catalogues import Vectors


class WindowJoin(RelationOperator):
    """Pairs of rows for which the predicate holds, from the birth of the younger to the end of the first to go.

    A pair has an expiry vector: the sooner of both ends, and the rows of strict inputs it comes from. It is told to
    whoever keeps pairs and can read vectors, and nothing is kept of them here. For others the pairs are remembered by
    these rows (``catalogue``), so that an end of a row becomes the ends of its pairs; and where nobody needs the
    numbers of pairs, only to be told which leave, they are not remembered at all (``leaving_pairs``).
    """

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, uids: Uids, *, left_in_order: bool = False,
                 right_in_order: bool = False, strict: tuple[bool, bool] = (False, False),
                 narrow: bool = False) -> None:
        # a narrow join is asked only which rows meet: of equal names the left one counts, and the left row's age
        self._narrow = narrow
        self.schema = pa.schema([*left, *(f for f in right if not narrow or f.name not in left.names)])
        self._uids = uids
        self._pairing = Pairing(left, right, match, left_in_order=left_in_order, right_in_order=right_in_order)
        sides = self._pairing.left, self._pairing.right
        self._strict, self._vectors = strict, False
        self._catalogue = ResultCatalogue(sides, strict) if any(strict) else None
        self._leaving: LeavingPairs | None = None

    def name_gone(self) -> bool:
        """Over strict inputs pairs that leave are found anew, and the catalogue is not needed."""
        if self._catalogue is None:
            return False
        self._catalogue, self._leaving = None, LeavingPairs(self._pairing)
        return True

    def carry_vectors(self) -> bool:
        """Over strict inputs pairs say which of their rows end them."""
        self._vectors, self._catalogue = self._catalogue is not None, None
        return self._vectors

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Ends first, then new pairs."""
        left, right = inputs
        ended = (self._pairing.left.end(left.ends, left.reached), self._pairing.right.end(right.ends, right.reached))
        ends = NO_ENDS if self._catalogue is None else self._catalogue.end(ended)
        gone = None if self._leaving is None else self._lives(self._leaving.leave(*ended, upto))
        pairs = self._pairing.meet(left, right, upto)
        lives = self._lives(pairs)
        if self._catalogue is not None:
            self._catalogue.add((pairs.left, pairs.right), lives.uid, pairs.expires, upto)
        kept = self._pairing.forget()
        if self._catalogue is not None:
            self._catalogue.renumber(kept, self._pairing.reached)
        if self._leaving is not None:
            self._leaving.renumber(*kept)
        reached = Ends.concat([left.ends, left.reached, right.ends, right.reached]) if self._vectors else NO_ENDS
        return Delta(lives, ends, ticks_of(left.ticks, right.ticks), gone=gone, reached=reached)

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
        found = self._pairing.counters
        pairs, size = (0, 0) if self._catalogue is None else (len(self._catalogue), self._catalogue.nbytes)
        return {"rows": found["rows"], "pairs": pairs, "bytes": found["bytes"] + size}
