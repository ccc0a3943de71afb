"""Results of a join by the rows they come from, for consumers that cannot read expiry vectors (rule U2).

The catalogues of Patroumpas and Sellis 4.2, for any number of inputs: an end of a row becomes the ends of its results
without probing again. A result has an entry for every order component, one for each input whose rows may leave before
they said; of the other inputs, whose rows leave at an instant that is known, nothing is kept but that instant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import NO_ENDS, Ends, integers
from panewise.kernels.relations.join_numba import count_linked, link, list_linked
from panewise.kernels.relations.pairing import Side
from panewise.kernels.relations.stores.arena import Growing


class ResultCatalogue:
    """The results that are there, by the slots of their rows, one strict side after the other."""

    def __init__(self, sides: Sequence[Side], strict: Sequence[bool]) -> None:
        self._strict = [number for number, has_ends in enumerate(strict) if has_ends]
        self._sides = [sides[number] for number in self._strict]
        self._reset([integers() for _ in self._sides], integers(), integers())

    def __len__(self) -> int:
        return self._uid.count

    @property
    def nbytes(self) -> int:
        """Bytes kept, about."""
        return 16 * len(self) * (1 + len(self._sides))

    def _reset(self, slots: Sequence[Ordinals], uid: Ordinals, expires: Ordinals) -> None:
        self._slots = [Growing(mine) for mine in slots]
        self._uid, self._expires = Growing(uid), Growing(expires)
        self._nexts, self._heads = [Growing() for _ in slots], [Growing() for _ in slots]
        self._checked = len(uid)
        self._link(0)

    def _link(self, first: int) -> None:
        for i, side in enumerate(self._sides):
            self._heads[i].extend_to(len(side.arena), -1)
            self._nexts[i].extend_to(len(self), -1)
            link(self._slots[i].values[first:], first, self._heads[i].values, self._nexts[i].values)

    def add(self, slots: Sequence[Ordinals], uid: Ordinals, expires: Ordinals, upto: int) -> None:
        """Results of a step; those that live on after it are kept."""
        first = len(self)
        lasting = expires >= upto
        for kept, number in zip(self._slots, self._strict, strict=True):
            kept.append(slots[number][lasting])
        self._uid.append(uid[lasting])
        self._expires.append(expires[lasting])
        self._link(first)

    def end(self, ended: Sequence[Ordinals]) -> Ends:
        """Rows in these slots leave before they said, side by side: the ends of their results."""
        found = [self._of(i, ended[number]) for i, number in enumerate(self._strict) if len(ended[number])]
        if not found:
            return NO_ENDS
        entries = np.unique(np.concatenate(found))
        at = np.minimum.reduce([side.arena.expires[slots.values[entries]]
                                for side, slots in zip(self._sides, self._slots, strict=True)])
        sooner = at < self._expires.values[entries]
        entries, at = entries[sooner], at[sooner]
        self._expires.values[entries] = at
        return Ends(self._uid.values[entries], at)

    def _of(self, side: int, slots: Ordinals) -> Ordinals:
        """Results of some rows of a side, which may be new since anything was added."""
        self._heads[side].extend_to(len(self._sides[side].arena), -1)
        heads, nexts = self._heads[side].values, self._nexts[side].values
        entries = integers(count_linked(slots, heads, nexts))
        list_linked(slots, heads, nexts, entries)
        return entries

    def renumber(self, kept: Sequence[Ordinals | None], gone: int) -> None:
        """Slots that stayed of every side, or None; results that ended by ``gone`` are forgotten with them."""
        crowded = len(self) >= 2 * self._checked + 1024
        if all(stayed is None for stayed in kept) and not crowded:
            return
        alive = self._expires.values > gone
        slots = [mine.values[alive] for mine in self._slots]  # a result that lives has all its rows
        moved = [mine if stayed is None else np.searchsorted(stayed, mine)
                 for mine, stayed in zip(slots, (kept[number] for number in self._strict), strict=True)]
        self._reset(moved, self._uid.values[alive], self._expires.values[alive])

    def saved(self, gone: int) -> pa.Table:
        """Results that have not ended by an instant, by the numbers of their rows."""
        alive = self._expires.values > gone
        rows = {f"row{i}": side.arena.uid[mine.values[alive]]
                for i, (side, mine) in enumerate(zip(self._sides, self._slots, strict=True))}
        return pa.table({**rows, "uid": self._uid.values[alive], "expires": self._expires.values[alive]})

    def load(self, table: pa.Table) -> None:
        """Become what ``saved`` gave."""
        *rows, uid, expires = (np.array(column.to_numpy(), np.int64) for column in table.columns)
        self._reset([side.arena.find(mine) for side, mine in zip(self._sides, rows, strict=True)], uid, expires)
