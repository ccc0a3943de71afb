"""States of single rows as arrays: numbers that merge column by column apart from states only their function can merge.

Aggregates with an element-wise form become columns of int64 and float64 matrices, which compiled loops merge. A sum of
floats is as many integers as it has `digits`; when values of another size come, the matrices get more columns, behind
the others, and older rows have nothing there. The states of other aggregates stay Arrow columns in a *heap*; a row
notes its number there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.base import Codes
from panewise.aggregates.exact_sums.digits import SPECIALS, Digits, digits_of, gathered, spread
from panewise.core.columns import flat
from panewise.kernels.contract.partials import BoundAggregate

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PAIRS_AT_ONCE = 1 << 21
"""(window, row) pairs that are merged at a time when windows are taken apart into rows."""

_CODES = {"sum": 0, "min": 1, "max": 2}  # as kernels/positions/fifo_numba.py numbers them


@dataclass(frozen=True)
class States:
    """States of some rows: matrices with one row per state column, and numbers in the heap."""

    ints: Ints
    floats: Floats
    heap: Ints

    def take(self, rows: Ints | npt.NDArray[np.bool_]) -> States:
        """Some of the rows; compiled loops need each column in one piece."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        return States(np.take(self.ints, rows, axis=1), np.take(self.floats, rows, axis=1), self.heap[rows])

    @staticmethod
    def concat(parts: Sequence[States]) -> States:
        """One after the other."""
        width = max(len(p.ints) for p in parts)
        return States(np.concatenate([p.widened(width).ints for p in parts], axis=1),
                      np.concatenate([p.floats for p in parts], axis=1), np.concatenate([p.heap for p in parts]))

    def widened(self, width: int) -> States:
        """With so many columns of integers: those that came since have nothing in them."""
        missing = width - len(self.ints)
        if missing <= 0:
            return self
        ints = np.concatenate([self.ints, np.zeros((missing, self.ints.shape[1]), np.int64)])
        return States(ints, self.floats, self.heap)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.ints.nbytes + self.floats.nbytes + self.heap.nbytes


@dataclass(eq=False)
class _FloatSum:
    """A sum of floats: the state column that it begins at, and for each of its digits the column of the matrix."""

    at: int
    digits: Digits
    places: dict[int, int]
    """By digit; the counts of specials are digits beyond all others."""

    def indexes(self, layout: Digits) -> list[int]:
        """The digits of a layout in the order of its columns."""
        specials = range(_SPECIAL, _SPECIAL + SPECIALS) if layout.special else ()
        return [*range(layout.first, layout.first + layout.count), *specials]


_SPECIAL = 1 << 20


class StateColumns:
    """Where the states of every aggregate are: which columns of which matrix, or the heap."""

    def __init__(self, aggregates: Sequence[BoundAggregate]) -> None:
        self.aggregates = list(aggregates)
        self.fast: list[tuple[BoundAggregate, list[tuple[bool, int] | _FloatSum]]] = []
        self.slow: list[BoundAggregate] = []
        self._sums: list[_FloatSum] = []
        self._came: list[tuple[int, int]] = []
        """Which sums of floats got which digits, in the order of their columns."""
        operations: tuple[list[str], list[str]] = ([], [])
        for aggregate in aggregates:
            merges = _merges(aggregate)
            if merges is None:
                self.slow.append(aggregate)
                continue
            places: list[tuple[bool, int] | _FloatSum] = []
            for at, (field, merge) in enumerate(zip(aggregate.state_schema, merges, strict=True)):
                if merge == "exact":
                    if not (self._sums and self._sums[-1] in places and at < self._sums[-1].at + 3):
                        self._sums.append(_FloatSum(at, Digits(), {}))
                        places.append(self._sums[-1])
                    continue
                is_float = bool(pa.types.is_floating(field.type))
                places.append((is_float, len(operations[is_float])))
                operations[is_float].append(merge)
            self.fast.append((aggregate, places))
        self.int_operations, self.float_operations = (np.array([_CODES[m] for m in part], np.int64)
                                                      for part in operations)
        limits = np.iinfo(np.int64)
        self.int_neutral = np.array([{"min": limits.max, "max": limits.min}.get(m, 0) for m in operations[0]], np.int64)
        self.float_neutral = np.array([{"min": np.inf, "max": -np.inf}.get(m, 0.0) for m in operations[1]], np.float64)
        self._heap_fields = [field for a in self.slow for field in a.state_schema]
        self._chunks: list[pa.Table] = []
        self._heap_rows = 0

    # -- digits of sums of floats

    def _add_digits(self, number: int, indexes: Sequence[int]) -> None:
        """More columns, at the end."""
        places = self._sums[number].places
        new = [index for index in indexes if index not in places]
        for index in new:
            places[index] = len(self.int_operations)
            self.int_operations = np.append(self.int_operations, _CODES["sum"])
            self._came.append((number, index))
        self.int_neutral = np.append(self.int_neutral, np.zeros(len(new), np.int64))

    def fitted(self, states: States) -> States:
        """States with a column for every digit there is by now."""
        return states.widened(len(self.int_neutral))

    def saved_digits(self) -> list[tuple[int, int]]:
        """What the columns behind the first ones are."""
        return list(self._came)

    def load_digits(self, came: Sequence[Sequence[int]]) -> None:
        """Have the columns that ``saved_digits`` named; there are no states yet."""
        for number, index in came:
            self._add_digits(number, [index])
            part = Digits(special=True) if index >= _SPECIAL else Digits(index, 1)
            self._sums[number].digits = self._sums[number].digits.joined(part)

    # -- rows in

    def of_rows(self, arguments: Sequence[Sequence[pa.Array]], codes: Codes, groups: int) -> States:
        """The states of groups of rows; those only their function can merge go to the heap."""
        made = {a.name: a.function.partials(list(columns), codes, groups, a.inputs)
                for a, columns in zip(self.aggregates, arguments, strict=True)}
        states, slow = self.split(made, groups)
        if not self.slow:
            return states
        heap = np.arange(self._heap_rows, self._heap_rows + groups)
        columns = [flat(column) for parts in slow for column in parts]
        self._chunks.append(pa.table(columns, schema=pa.schema(self._heap_fields)))
        self._heap_rows += groups
        return States(states.ints, states.floats, heap)

    def empty(self, rows: int = 0) -> States:
        """States of no rows: nothing has been merged into them."""
        return States(np.repeat(self.int_neutral[:, None], rows, axis=1),
                      np.repeat(self.float_neutral[:, None], rows, axis=1), np.zeros(rows, np.int64))

    # -- results out

    def finished(self, states: States, slow: Sequence[Sequence[pa.Array]],
                 ready: Mapping[str, pa.Array] | None = None) -> list[pa.Array]:
        """The result column of every aggregate; ``slow`` are the merged states of those in the heap, in order.

        What is ``ready`` needs no state any more.
        """
        found, done = self.columns(states, slow), ready or {}
        return [done[a.name] if a.name in done else a.function.finish_all(found[a.name], a.inputs)
                for a in self.aggregates]

    def columns(self, states: States, slow: Sequence[Sequence[pa.Array]]) -> dict[str, list[pa.Array]]:
        """The state columns of every aggregate, by its name."""
        found: dict[str, list[pa.Array]] = {}
        for aggregate, places in self.fast:
            found[aggregate.name] = []
            for place in places:
                if isinstance(place, _FloatSum):
                    found[aggregate.name] += self._gathered(place, states)
                else:
                    is_float, at = place
                    found[aggregate.name].append(pa.array((states.floats if is_float else states.ints)[at]))
        return found | {a.name: list(columns) for a, columns in zip(self.slow, slow, strict=True)}

    def _gathered(self, part: _FloatSum, states: States) -> list[pa.Array]:
        matrix = np.zeros((part.digits.width, states.ints.shape[1]), np.int64)
        for i, index in enumerate(part.indexes(part.digits)):
            place = part.places.get(index, len(states.ints))
            if place < len(states.ints):
                matrix[i] = states.ints[place]
        return gathered(matrix, part.digits)

    def split(self, columns: dict[str, list[pa.Array]], rows: int) -> tuple[States, list[list[pa.Array]]]:
        """The inverse of ``columns``."""
        spreads: list[tuple[_FloatSum, Digits, Ints]] = []
        for aggregate, places in self.fast:
            for place in places:
                if isinstance(place, _FloatSum):
                    sums = columns[aggregate.name][place.at : place.at + 3]
                    layout = digits_of(sums)
                    self._add_digits(self._sums.index(place), place.indexes(layout))
                    place.digits = place.digits.joined(layout)
                    spreads.append((place, layout, spread(sums, layout)))
        ints = np.zeros((len(self.int_operations), rows), np.int64)
        floats = np.empty((len(self.float_operations), rows), np.float64)
        for aggregate, places in self.fast:
            at = 0
            for place in places:
                if isinstance(place, _FloatSum):
                    at += 3
                    continue
                is_float, row = place
                (floats if is_float else ints)[row] = columns[aggregate.name][at].to_numpy(zero_copy_only=False)
                at += 1
        for part, layout, matrix in spreads:
            ints[[part.places[index] for index in part.indexes(layout)]] = matrix
        return States(ints, floats, np.zeros(rows, np.int64)), [columns[a.name] for a in self.slow]

    def merged(self, codes: Codes, heap: Ints, groups: int,
               ready: Collection[str] = ()) -> list[list[pa.Array]]:
        """States in the heap merged by group, for every aggregate that has any there and is not ready."""
        table = self._heap().take(pa.array(heap))
        found: list[list[pa.Array]] = []
        for aggregate in self.slow:
            if aggregate.name in ready:
                found.append([])
                continue
            columns = [flat(table.column(f.name)) for f in aggregate.state_schema]
            found.append(aggregate.function.combine(columns, codes, groups, aggregate.inputs))
        return found

    def slid(self, heap: Ints, low: Ints, high: Ints, windows: int) -> dict[str, pa.Array]:
        """Results of windows over settled states, of the functions that slide; state i is in windows low to high."""
        some = self._heap().take(pa.array(heap))
        return {a.name: a.function.finish_windows([flat(some.column(f.name)) for f in a.state_schema], low, high,
                                                  windows, a.inputs)
                for a in self.slow if a.function.slides}

    def may_overflow(self, states: States) -> bool:
        """Whether 64 bits may not hold a sum of all of them: then only the function knows what to do."""
        sums = states.ints[self.int_operations == _CODES["sum"]]
        return len(states.heap) * max(int(sums.max(initial=0)), -int(sums.min(initial=0))) >= 1 << 63

    # -- the heap

    @property
    def settles(self) -> bool:
        """Whether some states get smaller when no more of their rows can come."""
        return any(a.function.settles for a in self.slow)

    def settle(self, heap: Ints, owners: Ints) -> None:
        """Merge states that settle and make them small: those at ``heap`` become one per owner, a place in ``heap``.

        The others are of no rows then. States of functions that do not settle stay where they are.
        """
        whole, low = self._heap(), int(heap.min())
        some = whole.take(pa.array(heap))
        for aggregate in self.slow:
            function, names = aggregate.function, [f.name for f in aggregate.state_schema]
            if function.settles:
                merged = function.combine([flat(some.column(n)) for n in names], owners, len(heap), aggregate.inputs)
                for name, column in zip(names, function.settle(merged, aggregate.inputs), strict=True):
                    at = some.schema.get_field_index(name)
                    some = some.set_column(at, some.schema.field(at), column)
        tail = whole.slice(low)  # what comes is at the end: the rest is not touched
        order = np.arange(tail.num_rows)
        order[heap - low] = tail.num_rows + np.arange(len(heap))
        self._chunks = [whole.slice(0, low), pa.concat_tables([tail, some]).take(pa.array(order))]

    def _heap(self) -> pa.Table:
        if len(self._chunks) != 1:
            self._chunks = [pa.concat_tables([pa.schema(self._heap_fields).empty_table(), *self._chunks])
                            .combine_chunks()]
        return self._chunks[0]

    @property
    def heap_rows(self) -> int:
        """States in the heap, also those that are not needed any more."""
        return self._heap_rows

    @property
    def heap_bytes(self) -> int:
        """Bytes of the heap."""
        return sum(int(chunk.nbytes) for chunk in self._chunks)

    def keep(self, heap: Ints) -> None:
        """Forget all states but these, which come to be numbered 0, 1, 2, … in the order given."""
        self._chunks = [self._heap().take(pa.array(heap))]
        self._heap_rows = len(heap)

    def saved(self) -> pa.Table:
        """The heap as a table."""
        return self._heap()

    def load(self, table: pa.Table) -> None:
        """Become what ``saved`` gave."""
        self._chunks, self._heap_rows = [table.cast(pa.schema(self._heap_fields))], table.num_rows


def states_table(states: States, columns: dict[str, Any]) -> pa.Table:
    """Rows with their states, as they are saved: other columns first."""
    named = columns | {f"i{c}": row for c, row in enumerate(states.ints)} \
        | {f"f{c}": row for c, row in enumerate(states.floats)} | {"heap": states.heap}
    return pa.table({name: pa.array(values) for name, values in named.items()})


def states_from(table: pa.Table, columns: StateColumns) -> States:
    """What ``states_table`` saved, maybe before some of the columns came."""
    empty = columns.empty()
    names = set(table.column_names)
    ints = [table.column(f"i{c}").to_numpy() for c in range(len(empty.ints)) if f"i{c}" in names]
    floats = [table.column(f"f{c}").to_numpy() for c in range(len(empty.floats))]
    rows = table.num_rows
    return columns.fitted(States(np.array(ints, np.int64).reshape(len(ints), rows),
                                 np.array(floats, np.float64).reshape(len(floats), rows),
                                 np.array(table.column("heap").to_numpy(), np.int64)))


def _merges(aggregate: BoundAggregate) -> list[str] | None:
    """How the state columns merge one by one, or None if they do not, or are not plain numbers."""
    operations = aggregate.function.elementwise(aggregate.inputs)
    if operations is None:
        return None
    plain = all(operation == "exact" or (field.type in (pa.int64(), pa.float64()) and not field.nullable)
                for field, operation in zip(aggregate.state_schema, operations, strict=True))
    return list(operations) if plain else None

