"""Groups that are over: no row of theirs can come any more, so that nothing of them need be kept (Li 3.10, P9).

A key that holds a time is over when all that still comes is later: below a *slab*, a bound on one time, or a *box*, a
bound on every time that says when a row was born (Li 7.2). Which bounds follow from the instants that are complete is
the plan's business (`planner.closing`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.kernels.relations.delta import FOREVER
from panewise.kernels.relations.live_codes import LiveCodes
from panewise.kernels.relations.stores.arena import Growing

LONG_AGO = -(2**63)


@dataclass(frozen=True)
class Closer:
    """Keys whose columns at ``places`` are all below ``bound(upto)`` are over when all below ``upto`` is told.

    A null is no time: it closes nothing alone, and of several times it does not count.
    """

    places: tuple[int, ...]
    bound: Callable[[int], int]


class Closing:
    """For every key the latest time that must be passed, one by one for all closers."""

    def __init__(self, closers: Sequence[Closer]) -> None:
        self._closers = list(closers)
        self._latest = [Growing() for _ in self._closers]

    def __bool__(self) -> bool:
        return bool(self._closers)

    def forget(self) -> None:
        """Keys have other numbers now."""
        self._latest = [Growing() for _ in self._closers]

    def over(self, codes: LiveCodes, upto: int) -> Ordinals:
        """Which keys are over, all that were told so far among them."""
        self._note(codes)
        found = np.zeros(len(codes), np.bool_)
        for closer, latest in zip(self._closers, self._latest, strict=True):
            found |= latest.values < closer.bound(upto)
        return np.flatnonzero(found)

    def _note(self, codes: LiveCodes) -> None:
        known = self._latest[0].count
        if known == len(codes):
            return
        new = codes.values(np.arange(known, len(codes)))
        for closer, latest in zip(self._closers, self._latest, strict=True):
            columns = [_times(new.column(place), codes.schema.names[place]) for place in closer.places]
            found = np.maximum.reduce(columns)
            latest.append(np.where(found == LONG_AGO, FOREVER, found))


def _times(column: pa.ChunkedArray, name: str) -> Ordinals:
    if not column.null_count:
        return to_ordinals(column, name)
    found = np.full(len(column), LONG_AGO)
    there = column.is_valid()
    found[pc.indices_nonzero(there)] = to_ordinals(column.filter(there), name)
    return found
