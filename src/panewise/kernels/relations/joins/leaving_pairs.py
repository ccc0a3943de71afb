"""Pairs that leave, found by asking again: a row that leaves meets the rows of the other side once more.

An operator above that only needs to know which pairs leave needs no catalogue: rows are kept anyway, with a chain per
key, and a pair leaves with the first of its rows. Nothing is kept per pair, however many partners a row has.
"""

from __future__ import annotations

import numpy as np

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.joins.pairing import Pairing, Pairs, Side
from panewise.kernels.relations.stores.queues import Calendar


class LeavingPairs:
    """Which rows of either side leave next, and their partners."""

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing
        self._queues = Calendar(), Calendar()
        self._noted = [0, 0]
        """How many rows of each side are in its queue."""

    def leave(self, left: Ordinals, right: Ordinals, upto: int) -> Pairs:
        """All pairs that leave below a bound; rows in these slots leave before they said."""
        one, other = self._pairing.left, self._pairing.right
        left, right = self._leaving(one, 0, left, upto), self._leaving(other, 1, right, upto)
        # a pair whose rows leave at one instant leaves with its left one
        with_left = self._partners(one, left, other, one.arena.expires[left] - 1)
        with_right = self._partners(other, right, one, other.arena.expires[right])
        pairs = self._pairing.lived(np.concatenate([with_left[0], with_right[1]]),
                                    np.concatenate([with_left[1], with_right[0]]))
        return self._pairing.holding(pairs)

    def _leaving(self, side: Side, number: int, ended: Ordinals, upto: int) -> Ordinals:
        """Slots of rows that leave in the step, each once."""
        due = self._queues[number].due(upto)
        if len(due):  # not those that left before, and said so
            due = due[side.arena.expires[due] >= self._pairing.reached]
            ended = np.unique(np.concatenate([ended, due]))
        return ended

    def _partners(self, side: Side, slots: Ordinals, other: Side, at: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Rows of one side, and rows of the other that are there at an instant."""
        if not len(slots):
            return slots, slots
        rows, partners = other.probe(side.codes.values[slots], at, at + 1, len(other.arena), self._pairing.reached - 1)
        return slots[rows], partners

    def note(self) -> None:
        """Rows that came in the step are there from now on."""
        for number, side in enumerate((self._pairing.left, self._pairing.right)):
            first = self._noted[number]
            slots = np.arange(first, len(side.arena))
            self._queues[number].insert(slots, side.arena.expires[first:], self._pairing.reached)
            self._noted[number] = len(side.arena)

    def renumber(self, left: Ordinals | None, right: Ordinals | None) -> None:
        """Slots that stayed of either side, or None if all did."""
        for number, stayed in enumerate((left, right)):
            if stayed is not None:
                self._queues[number].clear()
                self._noted[number] = 0
        self.note()
