"""What flows between embedded operators: columns, and for every row where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import EvaluationError, SchemaError
from panewise.core.ordinals import Ordinals
from panewise.progress.generators import Bounds, Trailing, bound_array
from panewise.progress.watermarks import NO_BOUND
from panewise.queries.lineage import Lineage

ELEMENT_BITS = 20
"""Room for the rows that come from one row of a stream, where they are told apart by one number."""


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
    elements: Ordinals | None = None
    """Of rows that ``explode`` has made: which of those of one row of the stream each is, from 0."""

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

    def in_order(self, *, exploded: bool) -> Ordinals:
        """A number for each row that ascends with the arrival of what it comes from, and then with its element.

        ``exploded`` where some rows of the query are elements: numbers of all its rows then leave room for those.
        """
        if not exploded:
            return self.arrivals
        spread = self.arrivals << ELEMENT_BITS
        if self.elements is None:
            return spread
        if len(self.elements) and int(self.elements.max()) >> ELEMENT_BITS:
            raise SchemaError(f"a row of stream {self.stream!r} became more than {1 << ELEMENT_BITS:,} rows by explode,"
                              " and an aggregate of the arrival order cannot count further: cut the array")
        return spread + self.elements

    def stamped(self, bounds: Ordinals | None) -> Chunk:
        """The same rows with bounds that each of them brought along."""
        return self if bounds is None else replace(self, guard=np.maximum(self.bounds, bounds))

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
        elements = None if self.elements is None else self.elements[places]
        return Chunk(table, self.stream, self.rows[places], self.arrivals[places], self.bounds[places], values, lineage,
                     elements)

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
        elements = None if all(chunk.elements is None for chunk in chunks) else np.concatenate(
            [np.zeros(len(chunk.rows), np.int64) if chunk.elements is None else chunk.elements for chunk in chunks])
        return cls(table, streams, rows, arrivals, bounds, known, elements=elements)


def at_places(bounds: Ordinals | None, places: Ordinals | None) -> Ordinals | None:
    """The bounds of the rows that are taken in."""
    return bounds if bounds is None or places is None else bounds[places]


def _array(numbers: Ordinals | range) -> Ordinals:
    return np.arange(numbers.start, numbers.stop) if isinstance(numbers, range) else numbers


@contextmanager
def rows_of(chunk: Chunk) -> Iterator[None]:
    """An expression that fails on a row of a chunk says which row of the stream it is."""
    try:
        yield
    except EvaluationError as error:
        if error.row is None or error.row > chunk.table.num_rows:
            raise
        raise error.at(chunk.stream, int(chunk.rows[error.row - 1])) from error
