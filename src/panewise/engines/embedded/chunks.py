"""What flows between embedded operators: columns, and for every row where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals


@dataclass(frozen=True)
class Chunk:
    """Some rows of one stream on their way up the plan."""

    table: pa.Table
    stream: str
    rows: Ordinals
    """1-based position of each row in its stream, for messages."""
    arrivals: Ordinals
    """Position of each row among all rows of the query, for aggregates of the arrival order."""
    bounds: Ordinals
    """The bound on the windowing attribute that was in force when each row arrived."""
    values: Ordinals | None = None
    """The windowing attribute, where it is a column of the source."""

    def with_table(self, table: pa.Table) -> Chunk:
        """The same rows showing other columns."""
        return replace(self, table=table)

    def filter(self, keep: npt.NDArray[np.bool_]) -> Chunk:
        """Only these rows."""
        if keep.all():
            return self
        return self._at(keep, self.table.filter(pa.array(keep)))

    def take(self, places: Ordinals) -> Chunk:
        """These rows in this order."""
        return self._at(places, self.table.take(pa.array(places)))

    def _at(self, places: npt.NDArray[np.bool_] | Ordinals, table: pa.Table) -> Chunk:
        values = None if self.values is None else self.values[places]
        return Chunk(table, self.stream, self.rows[places], self.arrivals[places], self.bounds[places], values)

    @classmethod
    def concat(cls, chunks: Sequence[Chunk]) -> Chunk:
        """Rows of several chunks, one after the other."""
        if len(chunks) == 1:
            return chunks[0]
        streams = "+".join(dict.fromkeys(chunk.stream for chunk in chunks))
        rows, arrivals, bounds = (np.concatenate([getattr(chunk, name) for chunk in chunks])
                                  for name in ("rows", "arrivals", "bounds"))
        table = pa.concat_tables([chunk.table for chunk in chunks], promote_options="permissive")
        values = [chunk.values for chunk in chunks if chunk.values is not None]
        known = np.concatenate(values) if len(values) == len(chunks) else None
        return cls(table, streams, rows, arrivals, bounds, known)
