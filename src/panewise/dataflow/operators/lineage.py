"""The lineage of a side's rows through a join: kept beside stored rows, and put together again for every pair."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.dataflow.batch import Batch
from panewise.dataflow.lineage import ARRIVAL, BORN, NEVER_BORN, Lineage, of_both


@dataclass(frozen=True)
class SideLineage:
    """What a join keeps of the lineage of one side's rows.

    Rows of a stream are born at their time, which the join keeps anyway; of rows that another join has made the birth
    is kept, too.
    """

    side: int
    time: str
    depth: int
    """How many rows a row of this side may be made of."""
    made: bool
    """Whether another join has made some of its rows."""

    @property
    def names(self) -> list[str]:
        """The columns beside those of the rows."""
        arrivals = [ARRIVAL.format(number) for number in range(self.depth)]
        return [f"{name} {'lr'[self.side]}" for name in ([BORN, *arrivals] if self.made else arrivals)]

    @property
    def fields(self) -> list[pa.Field]:
        """The same with their types."""
        return [pa.field(name, pa.int64()) for name in self.names]

    def beside(self, table: pa.Table, batch: Batch, times: Ordinals) -> pa.Table:
        """Rows with their lineage."""
        seen = batch.lineage if batch.lineage is not None else Lineage(times, batch.arrivals[np.newaxis])
        columns = [*([seen.born] if self.made else []), *seen.deep(self.depth).arrivals]
        for field, column in zip(self.fields, columns, strict=True):
            table = table.append_column(field, pa.array(column))
        return table

    def born(self, results: pa.Table) -> Ordinals:
        """When this side's rows of the results were born; long ago where there is none."""
        column = results.column(self.names[0] if self.made else self.time)
        if not column.null_count:
            return column.to_numpy() if self.made else to_ordinals(column, self.time)
        found = np.full(len(column), NEVER_BORN)
        there = column.is_valid()
        known = column.filter(there)
        found[pc.indices_nonzero(there)] = known.to_numpy() if self.made else to_ordinals(known, self.time)
        return found


def lineage_of(results: pa.Table, sides: list[SideLineage], entered: Ordinals | None) -> Lineage:
    """The lineage of what a join puts out, with the bounds that late rows came behind; where only left rows leave, it
    is theirs."""
    shown = [side for side in sides if side.names[-1] in results.column_names]
    arrivals = [results.column(name) for side in shown for name in side.names[-side.depth:]]
    return replace(of_both([side.born(results) for side in shown], arrivals), entered=entered)
