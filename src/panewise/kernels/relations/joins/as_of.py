"""A stream or window with a table whose updates do not reach back (NRR): every row keeps what it met (Golab 3.3.1).

A row meets the table as it was before the row's own instant (Definition 2). Table rows are kept for good, because a
row may show long after its instant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.functions import truth
from panewise.kernels.relations.edges.ages_numba import sort_newest_first
from panewise.kernels.relations.edges.delta import Delta, Lives, Uids
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import RelationOperator, Saved
from panewise.kernels.relations.joins.key_codes import JoinKeys
from panewise.kernels.relations.joins.pairing import Match, Side
from panewise.progress.watermarks import NO_BOUND


class AsOfJoin(RelationOperator):
    """Rows beside the table rows that were there before them; lives and ends are those of the row, ages begin so."""

    def __init__(self, left: pa.Schema, table: pa.Schema, match: Match, uids: Uids) -> None:
        self.schema = pa.schema([*left, *table])
        self._match, self._uids = match, uids
        self._keys = JoinKeys(match.keys)
        self._table = Side(table, in_order=False)

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Table rows first: those of an instant are seen by later rows only."""
        rows, table = inputs
        codes = self._keys.of_rows(self._match.right, table.lives.table)
        asking = self._keys.of_rows(self._match.left, rows.lives.table)
        self._table.end(table.ends)
        self._table.add(table.lives, codes, len(self._keys))
        lives = rows.lives
        times = lives.age[0]
        # alive in the instant before each row
        found, slots = self._table.probe(asking, times - 1, times, len(self._table.arena), NO_BOUND)
        met = lives.take(found)
        both = pa.table([*met.table.columns, *self._table.arena.payload.take(slots).columns], schema=self.schema)
        out = Lives(both, met.uid, met.born, met.expires, self._age(met.age, slots), own_times=met.own_times)
        if self._match.residual is not None and len(out):
            with rows_born(out.born, out.age):
                out = out.filter(truth(self._match.residual, out.table))
        out = replace(out.numbered(self._uids), aged=False)
        return Delta(out, ticks=rows.ticks)

    def _age(self, met: npt.NDArray[np.int64], slots: Ordinals) -> npt.NDArray[np.int64]:
        """Of one row the results are in the order of the table's rows."""
        age = np.concatenate([met, self._table.arena.ages_at(slots)[1:]])
        sort_newest_first(age[1:])  # the figures of rows that are not there stay last
        return age

    def snapshot(self) -> Saved:
        """The table."""
        return {}, self._table.arena.saved()

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        self._table.arena.load(tables)
        self._keys.clear()
        codes = self._keys.of_rows(self._match.right, self._table.arena.payload.table())
        self._table.relink(codes if len(codes) else np.empty(0, np.int64), len(self._keys))

    def counters(self) -> dict[str, int]:
        """Table rows."""
        return {"rows": len(self._table.arena), "bytes": self._table.arena.nbytes}
