"""Results of a join by the rows they come from, for consumers that cannot read expiry vectors (rule U2).

The catalogues of Patroumpas and Sellis 4.2, for any number of inputs: an end of a row becomes the ends of its results
without probing again. A result has an entry for every order component, one for each input whose rows may leave before
they said; of the other inputs, whose rows leave at an instant that is known, nothing is kept but that instant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.edges.delta import FOREVER, NO_ENDS, Ends, integers
from panewise.kernels.relations.stores.arena import Arena, Growing
from panewise.kernels.relations.stores.catalogues import NO_ROW
from panewise.kernels.relations.stores.chains import Chains


class ResultCatalogue:
    """The results that are there, by the slots of their rows in the arenas of strict inputs; -1: of none."""

    def __init__(self, arenas: Sequence[Arena]) -> None:
        self._arenas = list(arenas)
        self._reset([integers() for _ in arenas], integers(), integers())

    def __len__(self) -> int:
        return self._uid.count

    @property
    def nbytes(self) -> int:
        """Bytes kept, about."""
        return 16 * len(self) * (1 + len(self._arenas))

    def _reset(self, slots: Sequence[Ordinals], uid: Ordinals, expires: Ordinals) -> None:
        self._slots = [Growing(mine) for mine in slots]
        self._uid, self._expires = Growing(uid), Growing(expires)
        self._chains = [Chains() for _ in slots]
        self._checked = len(uid)
        self._link(0)

    def _link(self, first: int) -> None:
        for chains, slots, arena in zip(self._chains, self._slots, self._arenas, strict=True):
            chains.append(slots.values[first:], len(arena))

    def add(self, slots: Sequence[Ordinals], uid: Ordinals, expires: Ordinals, upto: int) -> None:
        """Results of a step; those that live on after it are kept."""
        first = len(self)
        lasting = expires >= upto
        for kept, mine in zip(self._slots, slots, strict=True):
            kept.append(mine[lasting])
        self._uid.append(uid[lasting])
        self._expires.append(expires[lasting])
        self._link(first)

    def end(self, ended: Sequence[Ordinals]) -> Ends:
        """Rows in these slots leave before they said, side by side: the ends of their results."""
        found = [chains.of(slots) for chains, slots in zip(self._chains, ended, strict=True) if len(slots)]
        if not found:
            return NO_ENDS
        entries = np.unique(np.concatenate(found))
        at = np.minimum.reduce(self.ends([slots.values[entries] for slots in self._slots]))
        sooner = at < self._expires.values[entries]
        entries, at = entries[sooner], at[sooner]
        self._expires.values[entries] = at
        return Ends(self._uid.values[entries], at)

    def ends(self, slots: Sequence[Ordinals]) -> list[Ordinals]:
        """Until when rows stay, as far as it is known."""
        return [_at(arena.expires, mine, FOREVER) for arena, mine in zip(self._arenas, slots, strict=True)]

    def renumber(self, kept: Sequence[Ordinals | None], gone: int) -> None:
        """Slots that stayed of every side, or None; results that ended by ``gone`` are forgotten with them."""
        crowded = len(self) >= 2 * self._checked + 1024
        if all(stayed is None for stayed in kept) and not crowded:
            return
        alive = self._expires.values > gone
        slots = [mine.values[alive] for mine in self._slots]  # a result that lives has all its rows
        moved = [mine if stayed is None else np.where(mine < 0, -1, np.searchsorted(stayed, mine))
                 for mine, stayed in zip(slots, kept, strict=True)]
        self._reset(moved, self._uid.values[alive], self._expires.values[alive])

    def saved(self, gone: int) -> pa.Table:
        """Results that have not ended by an instant, by the numbers of their rows."""
        alive = self._expires.values > gone
        rows = {f"row{i}": _at(arena.uid, mine.values[alive], NO_ROW)
                for i, (arena, mine) in enumerate(zip(self._arenas, self._slots, strict=True))}
        return pa.table({**rows, "uid": self._uid.values[alive], "expires": self._expires.values[alive]})

    def load(self, table: pa.Table) -> None:
        """Become what ``saved`` gave."""
        *rows, uid, expires = int_columns(table)
        self._reset([arena.find(mine) for arena, mine in zip(self._arenas, rows, strict=True)], uid, expires)


def _at(values: Ordinals, slots: Ordinals, otherwise: int) -> Ordinals:
    found, there = np.full(len(slots), otherwise, np.int64), slots >= 0
    found[there] = values[slots[there]]
    return found
