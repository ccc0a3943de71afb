"""Copies of values that are there, found by value: of equal ones the oldest leaves first."""

from __future__ import annotations

import numpy as np

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.stores.arena import Growing


class Copies:
    """The number and the code of every copy, oldest first."""

    def __init__(self, uid: Ordinals | None = None, code: Ordinals | None = None) -> None:
        self._uid, self._code = Growing(uid), Growing(code)

    def __len__(self) -> int:
        return self._uid.count

    @property
    def uid(self) -> Ordinals:
        """The numbers."""
        return self._uid.values

    @property
    def code(self) -> Ordinals:
        """The codes."""
        return self._code.values

    def add(self, uid: Ordinals, code: Ordinals) -> None:
        """Some more."""
        self._uid.append(uid)
        self._code.append(code)

    def first(self, leaving: Ordinals) -> Ordinals:
        """The places of the copies that leave: of each value as many, the oldest first; -1 where there is none.

        >>> copies = Copies(np.arange(4), np.array([7, 8, 7, 7]))
        >>> copies.first(np.array([7, 8, 7, 8])).tolist()
        [0, 1, 2, -1]
        """
        order = np.argsort(self.code, kind="stable")
        by_value = self.code[order]
        again = np.argsort(leaving, kind="stable")
        ranked = leaving[again]
        number = np.empty(len(leaving), np.int64)
        number[again] = np.arange(len(ranked)) - np.searchsorted(ranked, ranked)
        place = np.searchsorted(by_value, leaving) + number
        there = place < np.searchsorted(by_value, leaving, side="right")
        return np.where(there, np.append(order, -1)[np.where(there, place, -1)], -1)

    def drop(self, places: Ordinals) -> None:
        """Those at these places are not there any more."""
        self._uid, self._code = (Growing(np.delete(part, places)) for part in (self.uid, self.code))
