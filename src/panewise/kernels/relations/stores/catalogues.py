"""Expiry catalogues (ORD): what is kept of the order components of expiry vectors (Patroumpas and Sellis 4.2, rule U2).

A row that comes from rows of count windows leaves when the first of them does. For every such window, a component of
the vector, there is a catalogue of its own: from the row of the window to the rows that come from it. At which position
of which partition a row of the window is pushed out, the window knows (`count_window`: one queue by position for each
partition, erratum P15), and it says so once, whatever the number of results; so a component is the number of that row.
When a component is reached its entry is taken out with exactly the results that hang on it (eager collection; P14:
never those of rows that are still there). Their entries in other catalogues are skipped, and forgotten with the slots.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.groups.key_table import IntegerCodes
from panewise.kernels.relations.edges.delta import Ends, integers
from panewise.kernels.relations.stores.arena import Growing
from panewise.kernels.relations.stores.chains import Chains

NO_ROW = 0
"""Numbers of rows begin with 1; this one stands where there is none."""
Vectors = npt.NDArray[np.int64]
"""Order components, one line each, a column for every row: the numbers of the rows that end it, or ``NO_ROW``."""


class _Catalogue:
    """One component: slots by the row that ends them."""

    def __init__(self, rows: Ordinals) -> None:
        self.rows, self._codes, self._chains = Growing(), IntegerCodes(), Chains()
        self.add(rows)

    def add(self, rows: Ordinals) -> None:
        """The next slots."""
        self.rows.append(rows)
        codes = self._codes.codes(rows)
        self._chains.append(np.where(rows == NO_ROW, -1, codes), self._codes.count)

    def reached(self, ends: Ends) -> tuple[Ordinals, Ordinals]:
        """What hangs on rows that are gone, with their instants."""
        codes = self._codes.known_codes(ends.uid)
        slots = self._chains.release(codes[codes >= 0])
        order = np.argsort(ends.uid)
        return slots, ends.at[order][np.searchsorted(ends.uid[order], self.rows.values[slots])]

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return 8 * self.rows.count + self._chains.nbytes + 16 * self._codes.count


class ExpiryCatalogues:
    """A catalogue for each order component, over rows by slot."""

    def __init__(self) -> None:
        self._components: list[_Catalogue] = []
        self._slots = 0

    def __len__(self) -> int:
        return len(self._components)

    def add(self, order: Vectors | None, count: int) -> None:
        """The vectors of the next ``count`` slots; None where they have none."""
        if order is not None:
            while len(self._components) < len(order):
                self._components.append(_Catalogue(np.full(self._slots, NO_ROW, np.int64)))
        if not self._components:
            self._slots += count
            return
        assert order is not None or not count, "rows without a vector beside rows with one"
        for i, component in enumerate(self._components):
            given = order is not None and i < len(order)
            component.add(order[i] if given and order is not None else np.full(count, NO_ROW, np.int64))
        self._slots += count

    def of(self, slots: Ordinals) -> Vectors:
        """The vectors of some slots."""
        return np.stack([part.rows.values[slots] for part in self._components]) if self._components else \
            np.empty((0, len(slots)), np.int64)

    def reached(self, ends: Ends) -> tuple[Ordinals, Ordinals]:
        """Slots of which a component is reached, with the instant; one of which several are comes as often."""
        found = [component.reached(ends) for component in self._components]
        if len(found) == 1:
            return found[0]
        slots, at = (np.concatenate([integers(), *(pair[i] for pair in found)]) for i in (0, 1))
        return slots, at

    def keep(self, slots: Ordinals) -> None:
        """Forget all slots but these."""
        self._begin(self.of(slots), len(slots))

    def _begin(self, order: Vectors, count: int) -> None:
        self._components, self._slots = [], 0
        self.add(order if len(order) else None, count)

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        return sum(component.nbytes for component in self._components)

    def saved(self, slots: Ordinals) -> dict[str, pa.Table]:
        """The vectors of some slots; nothing where there are none."""
        if not self._components:
            return {}
        return {"order": pa.table({f"row{i}": part for i, part in enumerate(self.of(slots))})}

    def load(self, table: pa.Table | None, count: int) -> None:
        """Become what ``saved`` gave for so many slots."""
        order = np.empty((0, count), np.int64) if table is None else \
            np.stack(int_columns(table))
        self._begin(order, count)
