"""Rows that a punctuation has not reached yet: they may still get company, so they have no final place.

A row's state is written once, into a pool in the order of arrival. What is sorted are values with places in the pool,
in a few runs of falling length, each ascending by value and then arrival. Runs of similar length are merged, so a row
is moved O(log n) times however late or early it is; a punctuation cuts a prefix off every run. Rows that came since the
last punctuation are sorted when the next one asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.arrays import balance
from panewise.core.columns import int_columns
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.state_columns import Ints, StateColumns, States, states_from, states_table

Mask = npt.NDArray[np.bool_]

ROOM = 1 << 12


@dataclass(frozen=True)
class RowRun:
    """Rows with their groups and states; ``marks`` is whatever the kernel notes about a row."""

    values: Ordinals
    groups: Ints
    marks: Ints
    states: States

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Ints | Mask) -> RowRun:
        """Some of the rows."""
        return RowRun(self.values[rows], self.groups[rows], self.marks[rows], self.states.take(rows))

    def renumbered(self, groups: Ints | None, heap: Ints | None) -> RowRun:
        """Old numbers of groups or of states in the heap to new ones."""
        states = self.states if heap is None else \
            States(self.states.ints, self.states.floats, heap[self.states.heap])
        return RowRun(self.values, self.groups if groups is None else groups[self.groups], self.marks, states)

    def sorted(self) -> RowRun:
        """Ascending by value, equal values as they are."""
        if np.all(self.values[1:] >= self.values[:-1]):
            return self
        return self.take(np.argsort(self.values, kind="stable"))

    @staticmethod
    def concat(runs: Sequence[RowRun]) -> RowRun:
        """One after the other."""
        return RowRun(np.concatenate([r.values for r in runs]), np.concatenate([r.groups for r in runs]),
                      np.concatenate([r.marks for r in runs]), States.concat([r.states for r in runs]))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.values.nbytes + self.groups.nbytes + self.marks.nbytes + self.states.nbytes


@dataclass(frozen=True)
class Sorted:
    """Values in ascending order and the places of their rows in the pool."""

    values: Ordinals
    places: Ints

    def __len__(self) -> int:
        return len(self.values)

    @staticmethod
    def of(parts: Sequence[Sorted]) -> Sorted:
        """All of them, equal values in the order of the parts."""
        if len(parts) == 1:
            return parts[0]
        values = np.concatenate([part.values for part in parts]) if parts else np.empty(0, np.int64)
        places = np.concatenate([part.places for part in parts]) if parts else np.empty(0, np.int64)
        return Sorted(values, places).ascending()

    def ascending(self) -> Sorted:
        """Sorted by value, equal values as they are."""
        if np.all(self.values[1:] >= self.values[:-1]):
            return self
        order = np.argsort(self.values, kind="stable")
        return Sorted(self.values[order], self.places[order])


class OpenRows:
    """All rows without a final place, in runs that follow each other in time."""

    def __init__(self, columns: StateColumns) -> None:
        self._columns = columns
        self._runs: list[Sorted] = []
        self._fresh: list[Sorted] = []
        self._allocate(0)
        self._used = 0

    def _allocate(self, room: int) -> None:
        empty = self._columns.empty()
        self.groups, self.marks, heap = (np.empty(room, np.int64) for _ in range(3))
        self.states = States(np.empty((len(empty.ints), room), np.int64), np.empty((len(empty.floats), room)), heap)

    # -- rows in

    def add(self, rows: RowRun) -> None:
        """Rows as they come."""
        if len(rows) == 0:
            return
        if self._used + len(rows) > len(self.groups):
            self._pack(len(rows))
        self.states = self._columns.fitted(self.states)
        low, self._used = self._used, self._used + len(rows)
        self._write(rows, slice(low, self._used))
        self._fresh.append(Sorted(rows.values, np.arange(low, self._used)))

    def _write(self, rows: RowRun, to: slice) -> None:
        self.groups[to], self.marks[to] = rows.groups, rows.marks
        states = self._columns.fitted(rows.states)
        self.states.ints[:, to], self.states.floats[:, to] = states.ints, states.floats
        self.states.heap[to] = rows.states.heap

    def _pack(self, more: int) -> None:
        """A pool with the rows that are still needed, in the order they came, and room for as many again."""
        live = np.sort(np.concatenate([np.empty(0, np.int64), *(r.places for r in (*self._runs, *self._fresh))]))
        rows = RowRun(live, self.groups[live], self.marks[live], self.states.take(live))
        moved = np.empty(self._used, np.int64)
        moved[live] = np.arange(len(live))
        self._allocate(max(ROOM, 2 * (len(live) + more)))
        self._write(rows, slice(0, len(live)))
        self._used = len(live)
        self._runs = [Sorted(run.values, moved[run.places]) for run in self._runs]
        self._fresh = [Sorted(run.values, moved[run.places]) for run in self._fresh]

    # -- rows out

    def below(self, bound: int | None, chosen: Callable[[Ints], Mask] | None = None) -> Sorted:
        """Take out the rows below a bound (all if None), of the chosen groups, ascending by value and then arrival.

        Their states stay in the pool until rows are added.
        """
        self._settle()
        taken: list[Sorted] = []
        kept: list[Sorted] = []
        for run in self._runs:
            cut = len(run) if bound is None else int(np.searchsorted(run.values, bound))
            if chosen is None:
                taken.append(Sorted(run.values[:cut], run.places[:cut]))
                rest = Sorted(run.values[cut:], run.places[cut:])
            else:
                mask = np.zeros(len(run), np.bool_)
                mask[:cut] = chosen(self.groups[run.places[:cut]])
                taken.append(Sorted(run.values[mask], run.places[mask]))
                rest = Sorted(run.values[~mask], run.places[~mask])
            if len(rest):
                kept.append(rest)
        self._runs = kept
        balance(self._runs, len, Sorted.of)
        return Sorted.of([part for part in taken if len(part)])

    def all(self) -> Sorted:
        """Every row, ascending by value and then arrival; they stay."""
        self._settle()
        self._runs = [Sorted.of(self._runs)] if self._runs else []
        return Sorted.of(self._runs)

    def __len__(self) -> int:
        return sum(len(run) for run in (*self._runs, *self._fresh))

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that are needed."""
        return len(self) * (40 + 8 * (len(self.states.ints) + len(self.states.floats)))

    def renumber(self, groups: Ints | None, heap: Ints | None) -> None:
        """Old numbers of groups or of states in the heap to new ones."""
        places = self.all().places
        if groups is not None:
            self.groups[places] = groups[self.groups[places]]
        if heap is not None:
            self.states.heap[places] = heap[self.states.heap[places]]

    def _settle(self) -> None:
        if self._fresh:
            values = np.concatenate([run.values for run in self._fresh])
            self._runs.append(Sorted(values, np.concatenate([run.places for run in self._fresh])).ascending())
            self._fresh = []
            balance(self._runs, len, Sorted.of)

    # -- saving

    def rows(self) -> RowRun:
        """All rows with their states, ascending by value and then arrival."""
        found = self.all()
        return RowRun(found.values, self.groups[found.places], self.marks[found.places],
                      self.states.take(found.places))


def rows_table(rows: RowRun) -> pa.Table:
    """Rows as they are saved."""
    return states_table(rows.states, {"value": rows.values, "group": rows.groups, "mark": rows.marks})


def rows_from(table: pa.Table, columns: StateColumns) -> RowRun:
    """What ``rows_table`` saved."""
    values, groups, marks = int_columns(table, "value", "group", "mark")
    return RowRun(values, groups, marks, states_from(table, columns))
