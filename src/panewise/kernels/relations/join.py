"""The join of windows: a pair lives while both rows do (Golab 5.2.1, Patroumpas and Sellis 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from panewise.kernels.relations.catalogue import ResultCatalogue
from panewise.kernels.relations.delta import NO_ENDS, Delta, Lives, Uids, ticks_of
from panewise.kernels.relations.operator import RelationOperator, Saved
from panewise.kernels.relations.pairing import Match, Pairing


class WindowJoin(RelationOperator):
    """Pairs of rows for which the predicate holds, from the birth of the younger to the end of the first to go.

    Over strict inputs the pairs are remembered by the rows they come from (``catalogue``), so that an end of a row
    becomes the ends of its pairs.
    """

    def __init__(self, left: pa.Schema, right: pa.Schema, match: Match, uids: Uids, *, left_in_order: bool = False,
                 right_in_order: bool = False, strict: tuple[bool, bool] = (False, False),
                 narrow: bool = False) -> None:
        # a narrow join is asked only which rows meet: of equal names the left one counts
        self.schema = pa.schema([*left, *(f for f in right if not narrow or f.name not in left.names)])
        self._uids = uids
        self._pairing = Pairing(left, right, match, left_in_order=left_in_order, right_in_order=right_in_order)
        sides = self._pairing.left, self._pairing.right
        self._catalogue = ResultCatalogue(sides, strict) if any(strict) else None

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Ends first, then new pairs."""
        left, right = inputs
        ends = NO_ENDS
        if len(left.ends) or len(right.ends):
            ended = self._pairing.left.end(left.ends), self._pairing.right.end(right.ends)
            if self._catalogue is not None:
                ends = self._catalogue.end(ended)
        pairs = self._pairing.meet(left, right, upto)
        uid = self._uids.draw(len(pairs))
        lives = Lives.none(self.schema) if not len(pairs) else \
            Lives(self._pairing.table(pairs).cast(self.schema), uid, pairs.born, pairs.expires,
                  self._pairing.age(pairs))
        if self._catalogue is not None:
            self._catalogue.add((pairs.left, pairs.right), uid, pairs.expires, upto)
        kept = self._pairing.forget()
        if self._catalogue is not None:
            self._catalogue.renumber(kept, self._pairing.reached)
        return Delta(lives, ends, ticks_of(left.ticks, right.ticks))

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

    def counters(self) -> dict[str, int]:
        """Rows of both sides, and catalogued pairs."""
        found = self._pairing.counters
        pairs, size = (0, 0) if self._catalogue is None else (len(self._catalogue), self._catalogue.nbytes)
        return {"rows": found["rows"], "pairs": pairs, "bytes": found["bytes"] + size}
