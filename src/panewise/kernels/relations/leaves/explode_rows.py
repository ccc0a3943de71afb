"""Rows of collections in a relation: an element is there as long as its row.

Over inputs whose rows may leave before they said, the operator keeps the number of every row that is there and the
numbers of its elements, so that an end of the row becomes the ends of all of them. Otherwise it keeps nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ages import first_element
from panewise.core.arrays import counted_up
from panewise.core.columns import int_columns
from panewise.core.generators import Generator, elements
from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.functions import evaluate
from panewise.kernels.relations.edges.ages_numba import sort_newest_first
from panewise.kernels.relations.edges.delta import NO_ENDS, Delta, Ends, Lives, Uids, gather, integers
from panewise.kernels.relations.edges.failing import rows_born
from panewise.kernels.relations.edges.operator import RelationOperator, Saved


class ExplodeRows(RelationOperator):
    """A row for every element, behind the columns of its row that something reads."""

    def __init__(self, schema: pa.Schema, generator: Generator, collection: Scalar, names: Sequence[str], uids: Uids, *,
                 outer: bool, number: int, read: Collection[str] | None, strict: bool) -> None:
        self._generator, self._collection, self._outer = generator, collection, outer
        self._first, self._uids = first_element(number), uids
        self._kept = [name for name in schema.names if read is None or name in read]
        made = elements(generator, self._collections(schema.empty_table()), outer=outer).named(names)
        self.schema = pa.schema([*(schema.field(name) for name in self._kept),
                                 *(pa.field(name, column.type) for name, column in zip(names, made, strict=True))])
        self._strict = strict
        self._rows, self._starts, self._counts, self._expires = (integers() for _ in range(4))

    def _collections(self, table: pa.Table) -> pa.Array:
        return evaluate([self._collection], table)[0]

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Ends of rows of earlier steps, then the elements of new ones."""
        (delta,) = inputs
        ends = self._ends(delta.ends) if self._strict else NO_ENDS
        lives = self._exploded(delta.lives)
        if self._strict:
            self._forget(upto)
        return Delta(lives, ends, delta.ticks)

    def _exploded(self, lives: Lives) -> Lives:
        if not len(lives):
            return Lives.none(self.schema)
        with rows_born(lives.born, lives.age):
            made = elements(self._generator, self._collections(lives.table), outer=self._outer)
        parents, uid = made.parents, self._uids.draw(len(made.parents))
        if self._strict and len(parents):
            starts = np.flatnonzero(np.diff(parents, prepend=-1))
            self._note(lives.uid[parents[starts]], uid[starts], np.diff(starts, append=len(parents)),
                       lives.expires[parents[starts]])
        shown = gather(lives.table.select(self._kept), parents) if self._kept else None
        table = pa.Table.from_arrays([*(shown.columns if shown is not None else ()), *made.columns], schema=self.schema)
        age = np.concatenate([lives.age.take(parents, axis=1), (self._first + made.index)[np.newaxis]])
        sort_newest_first(age[1:])
        return Lives(table.combine_chunks(), uid, lives.born[parents], lives.expires[parents], age,
                     own_times=None if lives.own_times is None else lives.own_times[parents], aged=lives.aged)

    # -- rows that may leave early

    def _note(self, rows: Ordinals, starts: Ordinals, counts: Ordinals, expires: Ordinals) -> None:
        self._rows, self._starts = np.concatenate([self._rows, rows]), np.concatenate([self._starts, starts])
        self._counts = np.concatenate([self._counts, counts])
        self._expires = np.concatenate([self._expires, expires])

    def _ends(self, ends: Ends) -> Ends:
        if not len(ends) or not len(self._rows):
            return NO_ENDS
        places = np.searchsorted(self._rows, ends.uid)
        known = places < len(self._rows)
        known[known] = self._rows[places[known]] == ends.uid[known]
        places, at = places[known], ends.at[known]
        if not len(places):
            return NO_ENDS
        counts = self._counts[places]
        self._expires[places] = np.minimum(self._expires[places], at)
        return Ends(counted_up(self._starts[places], counts), np.repeat(at, counts))

    def _forget(self, upto: int) -> None:
        there = self._expires > upto
        if not there.all():
            self._rows, self._starts, self._counts, self._expires = (
                part[there] for part in (self._rows, self._starts, self._counts, self._expires))

    # -- saving

    def snapshot(self) -> Saved:
        """The numbers of rows and of their elements."""
        if not self._strict:
            return {}, {}
        return {}, {"rows": pa.table({"row": self._rows, "start": self._starts, "count": self._counts,
                                      "expires": self._expires})}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        if self._strict:
            self._rows, self._starts, self._counts, self._expires = int_columns(tables["rows"])

    def counters(self) -> dict[str, int]:
        """Rows whose elements may have to end early."""
        return {"rows": len(self._rows), "bytes": 32 * len(self._rows)} if self._strict else {}
