"""Groups that are over: no row of theirs can come any more, so that nothing of them need be kept (Li 3.10, P9).

A key that holds a time is over when all that still comes is later: below a *slab*, a bound on one time, or a *box*, a
bound on every time that says when a row was born (Li 7.2). Which bounds follow from the instants that are complete is
the plan's business (`planner.closing`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.arrays import of_each
from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.relations.edges.delta import FOREVER, Delta, Lives, Mask
from panewise.kernels.relations.edges.operator import RelationOperator
from panewise.kernels.relations.stores.arena import Growing

LONG_AGO = -(2**63)


@dataclass(frozen=True)
class Closer:
    """Keys whose columns at ``places`` are all below ``bound(upto)`` are over when all below ``upto`` is told.

    A null is no time: it closes nothing alone, and of several times it does not count.
    """

    places: tuple[int, ...]
    bound: Callable[[int], int]


class ClosedGroups:
    """For every key the latest time that must be passed, one by one for all closers."""

    def __init__(self, closers: Sequence[Closer]) -> None:
        self._closers = list(closers)
        self._latest = [Growing() for _ in self._closers]

    def __bool__(self) -> bool:
        return bool(self._closers)

    def forget(self) -> None:
        """Keys have other numbers now."""
        self._latest = [Growing() for _ in self._closers]

    def over(self, codes: KeyTable, upto: int) -> Ordinals:
        """Which keys are over, those that were returned before among them."""
        self._note(codes)
        found = np.zeros(len(codes), np.bool_)
        for closer, latest in zip(self._closers, self._latest, strict=True):
            found |= latest.values < closer.bound(upto)
        return np.flatnonzero(found)

    def _note(self, codes: KeyTable) -> None:
        known = self._latest[0].count
        if known == len(codes):
            return
        new = codes.values(np.arange(known, len(codes)))
        for closer, latest in zip(self._closers, self._latest, strict=True):
            latest.append(latest_times(new.select(list(closer.places))))


def latest_times(table: pa.Table) -> Ordinals:
    """The latest time in each row; one of nulls alone is never passed."""
    found: Ordinals = np.maximum.reduce([_times(table.column(name), name) for name in table.column_names])
    return np.where(found == LONG_AGO, FOREVER, found)


def _times(column: pa.ChunkedArray, name: str) -> Ordinals:
    if not column.null_count:
        return to_ordinals(column, name)
    found = np.full(len(column), LONG_AGO)
    there = column.is_valid()
    found[pc.indices_nonzero(there)] = to_ordinals(column.filter(there), name)
    return found


class OpenGroups(RelationOperator):
    """Rows of a stream but those that came too late for their group; ``columns`` are the keys of the groups.

    An aggregate, or DISTINCT, over rows that never leave forgets a group when no row of it can come in time any more. A
    late row comes in at the bound that it came behind; if its group was over at that instant it is not taken in,
    whether something of the group is still kept or not. So nothing depends on where steps are cut.
    """

    def __init__(self, schema: pa.Schema, closers: Sequence[Closer], columns: Sequence[str | None]) -> None:
        self.schema = schema
        self._closers = [(closer, [str(columns[place]) for place in closer.places]) for closer in closers]

    def step(self, inputs: Sequence[Delta], upto: int) -> Delta:
        """Rows in time are never of a group that is over, so mostly there is nothing to do."""
        (delta,) = inputs
        if delta.lives.own_times is None:
            return delta
        late = delta.lives.late
        places = np.flatnonzero(late)
        over = np.zeros(len(late), np.bool_)
        over[places] = self._over(delta.lives.take(places))
        return replace(delta, lives=delta.lives.filter(~over))

    def _over(self, lives: Lives) -> Mask:
        found = np.zeros(len(lives), np.bool_)
        for closer, names in self._closers:
            found |= latest_times(lives.table.select(names)) < of_each(closer.bound, lives.born)
        return found
