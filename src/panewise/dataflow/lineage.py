"""Where a row that joins have made comes from: when it was born, and when the rows it is made of arrived.

What is above a join may count rows one by one or look at the first and the last, so rows of one instant are ordered by
the arrivals of all rows they come from, newest first (rule U6 and erratum P4), whatever order a join finds pairs in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ages import NOBODY
from panewise.core.ordinals import Ordinals
from panewise.progress.watermarks import NO_BOUND

BORN, ENTERED, ARRIVAL = "<born>", "<entered>", "<arrival {}>"
"""Columns beside those of a row, on its way through joins and out of them."""
NEVER_BORN = -(2**63)

Arrivals = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lineage:
    """Of every row its birth, and by column the arrivals of the rows it is made of, newest first."""

    born: Ordinals
    arrivals: Arrivals
    entered: Ordinals | None = None
    """The bound behind which the last late row came that it is made of, ``NO_BOUND`` where all were in time; None where
    that holds of all."""

    def at(self, places: npt.NDArray[np.bool_] | Ordinals) -> Lineage:
        """Of some rows."""
        return Lineage(self.born[places], self.arrivals[:, places],
                       None if self.entered is None else self.entered[places])

    @staticmethod
    def concat(parts: Sequence[Lineage]) -> Lineage:
        """One after the other."""
        depth = max(len(part.arrivals) for part in parts)
        return Lineage(np.concatenate([part.born for part in parts]),
                       np.concatenate([part.deep(depth).arrivals for part in parts], axis=1),
                       None if all(part.entered is None for part in parts) else
                       np.concatenate([part.behind for part in parts]))

    @property
    def behind(self) -> Ordinals:
        """The bounds that late rows came behind, of every row."""
        return np.full(len(self.born), NO_BOUND, np.int64) if self.entered is None else self.entered

    def deep(self, depth: int) -> Lineage:
        """With room for more rows that it could be made of."""
        missing = depth - len(self.arrivals)
        if not missing:
            return self
        nobody = np.full((missing, self.arrivals.shape[1]), NOBODY, np.int64)
        return Lineage(self.born, np.concatenate([self.arrivals, nobody]), self.entered)

    # -- as columns

    def beside(self, table: pa.Table) -> pa.Table:
        """A table with its rows' lineage in columns of their own."""
        table = table.append_column(BORN, pa.array(self.born)).append_column(ENTERED, pa.array(self.behind))
        for number, arrived in enumerate(self.arrivals):
            table = table.append_column(ARRIVAL.format(number), pa.array(arrived))
        return table

    @staticmethod
    def columns(depth: int) -> list[str]:
        """The names of these columns."""
        return [BORN, ENTERED, *(ARRIVAL.format(number) for number in range(depth))]

    @classmethod
    def split(cls, table: pa.Table, depth: int) -> tuple[pa.Table, Lineage]:
        """The inverse of ``beside``."""
        born, entered, *arrivals = (table.column(name).to_numpy() for name in cls.columns(depth))
        return table.drop_columns(cls.columns(depth)), cls(born, np.stack(arrivals), entered)


def of_both(births: Sequence[Ordinals], arrivals: Sequence[pa.ChunkedArray]) -> Lineage:
    """Rows made of others: as young as the youngest (rule U6); what a row without a partner lacks has no arrival."""
    found = np.stack([pc.fill_null(column, NOBODY).to_numpy() for column in arrivals])
    return Lineage(np.maximum.reduce(births), np.sort(found, axis=0)[::-1])
