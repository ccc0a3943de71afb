"""What flows between embedded operators: columns, and for every row where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.progress.generators import Bounds, Trailing, bound_array
from panewise.progress.watermarks import NO_BOUND
from panewise.queries.lineage import Lineage


@dataclass(frozen=True)
class Chunk:
    """Some rows of one stream on their way up the plan.

    Positions of rows that came in one piece are ranges, and bounds may be known by a rule: few queries ever look at
    them one by one, and those that do get arrays.
    """

    table: pa.Table
    stream: str
    positions: Ordinals | range
    """1-based position of each row in its stream, for messages."""
    arrived: Ordinals | range
    """Position of each row among all rows of the query, for aggregates of the arrival order."""
    guard: Bounds
    """The bound on the windowing attribute that was in force when each row arrived."""
    values: Ordinals | None = None
    """The windowing attribute, where it is a column of the source."""
    lineage: Lineage | None = None
    """Of rows that a join has made, where somebody above asks when they were born."""

    @cached_property
    def rows(self) -> Ordinals:
        """1-based position of each row in its stream, as an array."""
        return _array(self.positions)

    @cached_property
    def arrivals(self) -> Ordinals:
        """Position of each row among all rows of the query, as an array."""
        return _array(self.arrived)

    @property
    def bounds(self) -> Ordinals:
        """The bound that was in force when each row arrived, as an array."""
        return bound_array(self.guard)

    def late(self, reached: int = NO_BOUND) -> npt.NDArray[np.bool_]:
        """Which rows are below the bound that was in force when they came, or below one that holds for all of them."""
        if self.values is None:
            return np.zeros(self.table.num_rows, np.bool_)
        if isinstance(self.guard, Trailing):
            return self.guard.late(reached)
        return (self.values < self.bounds) | (self.values < reached)

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
        lineage = None if self.lineage is None else self.lineage.at(places)
        return Chunk(table, self.stream, self.rows[places], self.arrivals[places], self.bounds[places], values, lineage)

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


def _array(numbers: Ordinals | range) -> Ordinals:
    return np.arange(numbers.start, numbers.stop) if isinstance(numbers, range) else numbers
