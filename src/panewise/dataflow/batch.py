"""What flows between embedded operators: columns, and for every row where it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import EvaluationError, SchemaError
from panewise.core.ordinals import Ordinals
from panewise.dataflow.lineage import Lineage
from panewise.dataflow.origins import in_words
from panewise.progress.generators import Bounds, Trailing, bound_array
from panewise.progress.watermarks import FINISHED, NO_BOUND

WINDOW = "window"
"""The column in which results of a window aggregate say which window they are of."""
ELEMENT_BITS = 20
"""Room for the rows that come from one row of a stream, where they are told apart by one number."""


@dataclass(frozen=True)
class Tags:
    """The windows that rows are in, as a Bucket tells them."""

    values: Ordinals
    """The windowing attribute."""
    first: Ordinals
    """The first id of each row's windows."""
    end: Ordinals
    """The id after the last."""

    def at(self, places: npt.NDArray[np.bool_] | Ordinals) -> Tags:
        """Those of some rows."""
        return Tags(self.values[places], self.first[places], self.end[places])


@dataclass(frozen=True)
class Batch:
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
    """Of rows that a join has made, where something above goes by their births."""
    signs: Ordinals | None = None
    """Which rows come (+1) and which go (-1), where some do."""
    behind: int = 0
    """What arrived beside rows before these: their places are so much behind their positions among rows."""
    elements: Ordinals | None = None
    """Of rows that ``explode`` has made: which of those of one row of the stream each is, from 0."""
    told: Callable[[Batch, int], str] | None = None
    """What messages call a row at a place, where its position is not the number of a row of a stream, or not all."""
    tags: Tags | None = None
    """The windows of each row, where what reads them goes by ids."""

    @classmethod
    def made(cls, table: pa.Table, first: int = 1, **more: Any) -> Batch:
        """Rows that an operator has made, numbered from ``first``: none of them is late."""
        numbers = range(first, first + table.num_rows)
        return cls(table, "", numbers, numbers, np.full(table.num_rows, NO_BOUND, np.int64), **more)

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

    @property
    def instants(self) -> Ordinals:
        """When each row is: by the column that orders it, or born of what a join or a window made it of, or by its
        place among all that arrived."""
        if self.values is not None:
            return self.values
        return self.arrivals + self.behind if self.lineage is None else self.lineage.born

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

    def stamped(self, bounds: Ordinals | None) -> Batch:
        """The same rows with bounds that each of them brought along."""
        return self if bounds is None else replace(self, guard=np.maximum(self.bounds, bounds))

    def later(self, by: int) -> Batch:
        """The same rows by a column that is so much later than the one that ordered them."""
        bounds = self.bounds
        known = (bounds != NO_BOUND) & (bounds != FINISHED)
        return replace(self, values=None if self.values is None else self.values + by,
                       guard=np.where(known, bounds + np.where(known, by, 0), bounds))

    def with_table(self, table: pa.Table, places: npt.NDArray[np.bool_] | Ordinals | None = None) -> Batch:
        """These rows, or those at some places, showing other columns."""
        if places is None:
            return replace(self, table=table)
        values = None if self.values is None else self.values[places]
        lineage = None if self.lineage is None else self.lineage.at(places)
        elements = None if self.elements is None else self.elements[places]
        signs = None if self.signs is None else self.signs[places]
        tags = None if self.tags is None else self.tags.at(places)
        return Batch(table, self.stream, self.rows[places], self.arrivals[places], self.bounds[places], values, lineage,
                     signs, self.behind, elements, self.told, tags)

    def filter(self, keep: npt.NDArray[np.bool_]) -> Batch:
        """Only these rows."""
        return self if keep.all() else self.with_table(self.table.filter(pa.array(keep)), keep)


def at_places(bounds: Ordinals | None, places: Ordinals | None) -> Ordinals | None:
    """The bounds of the rows that are taken in."""
    return bounds if bounds is None or places is None else bounds[places]


def _array(numbers: Ordinals | range) -> Ordinals:
    return np.arange(numbers.start, numbers.stop) if isinstance(numbers, range) else numbers


@contextmanager
def rows_of(batch: Batch) -> Iterator[None]:
    """An expression that fails on a row of a batch says which row of the stream it is, or of which window."""
    try:
        yield
    except EvaluationError as error:
        if error.row is None or error.row > batch.table.num_rows:
            raise
        at = error.row - 1
        if batch.told is not None:
            raise error.placed(batch.told(batch, at)) from error.__cause__
        if batch.stream:
            raise error.placed(in_words(batch.stream, int(batch.rows[at]))) from error.__cause__
        window = batch.table.column(WINDOW)[at].as_py() if WINDOW in batch.table.column_names else None
        if not isinstance(window, dict):
            raise
        raise error.placed(f"window {' – '.join(map(str, window.values()))}") from error.__cause__
