"""Aggregates whose states are merged and never subtracted, side by side: their state columns in one row.

FIRST and LAST choose by position. What stands there for a while is any number by which a row is found again (its slot);
it becomes a rank by age only while states are merged, because rows that come later may be older than all before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.base import AggClass
from panewise.core.ages import NOBODY
from panewise.core.columns import flat
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.relations.edges.delta import integers, stacked

Ages = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Merged:
    """One aggregate with the columns of a row that it takes."""

    aggregate: BoundAggregate
    places: tuple[int, ...]

    @property
    def name(self) -> str:
        """That of its result."""
        return self.aggregate.name

    @property
    def ordered(self) -> bool:
        """Whether its states hold the position of a row."""
        return self.aggregate.function.needs_order

    def of_rows(self, table: pa.Table, positions: Ordinals | None, codes: Ordinals, groups: int) -> list[pa.Array]:
        """One state per code from rows; ``positions`` only matter where it is ordered."""
        arguments = [flat(table.column(place)) for place in self.places]
        if self.ordered:
            arguments.append(pa.array(np.arange(len(codes)) if positions is None else positions))
        return self.aggregate.function.partials(arguments, codes, groups, self.aggregate.inputs)

    def combined(self, states: list[pa.Array], codes: Ordinals, groups: int) -> list[pa.Array]:
        """One state per code from states."""
        return self.aggregate.function.combine(states, codes, groups, self.aggregate.inputs)

    def positions(self, states: Sequence[pa.Array]) -> Ordinals:
        """The positions in its own states, -1 where there is no row; only where it is ordered."""
        found: Ordinals = states[0].fill_null(-1).to_numpy()
        return found


class StateRow:
    """The states of some aggregates as columns of one row."""

    def __init__(self, parts: Sequence[Merged]) -> None:
        self.parts = tuple(parts)
        ends = np.cumsum([0, *(len(part.aggregate.state_schema) for part in parts)])
        self.spans = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        fields = [field for part in parts for field in part.aggregate.state_schema]
        self.schema = pa.schema([field.with_name(f"s{i}") for i, field in enumerate(fields)])
        self.positions = tuple(span.start for part, span in zip(self.parts, self.spans, strict=True) if part.ordered)
        """The columns that hold positions."""

    def of_rows(self, table: pa.Table, positions: Ordinals | None, codes: Ordinals, groups: int) -> list[pa.Array]:
        """One row of states per code from rows."""
        return [column for part in self.parts for column in part.of_rows(table, positions, codes, groups)]

    def combined(self, states: Sequence[pa.Array], codes: Ordinals, groups: int) -> list[pa.Array]:
        """One row of states per code from such rows."""
        return [column for part, span in zip(self.parts, self.spans, strict=True)
                for column in part.combined(list(states[span]), codes, groups)]

    def with_positions(self, states: Sequence[pa.Array], positions: Sequence[Ordinals]) -> list[pa.Array]:
        """Other positions, one array per column that has them; where there is no row there is none."""
        changed = list(states)
        for column, numbers in zip(self.positions, positions, strict=True):
            changed[column] = pa.array(numbers, mask=is_null(states[column]))
        return changed

    def numbers(self, states: Sequence[pa.Array]) -> list[Ordinals]:
        """The positions, -1 where there is no row."""
        return [part.positions(states[span]) for part, span in zip(self.parts, self.spans, strict=True) if part.ordered]


class Ranks:
    """Ranks by age among several lots of rows."""

    def __init__(self, *lots: Ages) -> None:
        self._ages = stacked(lots)
        self._order = np.lexsort(self._ages[::-1])
        rank = integers(len(self._order))
        rank[self._order] = np.arange(len(rank))
        self.of = np.split(rank, np.cumsum([lot.shape[1] for lot in lots])[:-1])
        """The ranks of each lot."""

    def rows(self, ranks: Ordinals) -> Ordinals:
        """The rows that have them, counted through all lots; any row for -1."""
        return self._order[np.maximum(ranks, 0)] if len(self._order) else np.zeros(len(ranks), np.int64)

    def ages(self, ranks: Ordinals) -> Ages:
        """The ages of the rows that have them."""
        found: Ages = self._ages[:, self.rows(ranks)] if len(self._order) else \
            np.full((len(self._ages), len(ranks)), NOBODY, np.int64)
        return found


def is_null(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Where nothing is."""
    found: npt.NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return found


def is_subtractable(aggregate: BoundAggregate) -> bool:
    """Whether a row's state can be taken away again, column by column, without a trace."""
    merges = aggregate.function.elementwise(aggregate.inputs)
    plain = all(field.type == pa.int64() and not field.nullable for field in aggregate.state_schema)
    return merges is not None and plain and set(merges) == {"sum"} and \
        aggregate.function.is_invertible(aggregate.inputs)


def has_small_states(aggregate: BoundAggregate) -> bool:
    """Whether a state is a few values, so that one may be kept for every few rows; lists and sketches are not."""
    if aggregate.function.short_lists:
        return True
    large = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary)
    return aggregate.function.agg_class is not AggClass.HOLISTIC and \
        not any(kind(field.type) for field in aggregate.state_schema for kind in large)
