"""Rows that a punctuation has not reached yet: they may still get company, so they have no final place.

They lie in a few runs of falling length, each ascending by value, rows of equal value in the order they came. Runs of
similar length are merged, so a row is moved O(log n) times however late or early it is; a punctuation cuts a prefix
off every run. Rows that came since the last punctuation are sorted when the next one asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.state_columns import Ints, StateColumns, States, states_from, states_table

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowRun:
    """Rows with their groups and states; ``marks`` is whatever the kernel notes about a row."""

    values: Ordinals
    groups: Ints
    marks: Ints
    states: States

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Ints | Mask | slice) -> RowRun:
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
        if len(runs) == 1:
            return runs[0]
        return RowRun(np.concatenate([r.values for r in runs]), np.concatenate([r.groups for r in runs]),
                      np.concatenate([r.marks for r in runs]), States.concat([r.states for r in runs]))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.values.nbytes + self.groups.nbytes + self.marks.nbytes + self.states.nbytes


class OpenRows:
    """All rows without a final place, in runs that follow each other in time."""

    def __init__(self, columns: StateColumns) -> None:
        nothing = np.empty(0, np.int64)
        self.nothing = RowRun(nothing, nothing, nothing, columns.empty())
        self.runs: list[RowRun] = []
        self.fresh: list[RowRun] = []

    def add(self, rows: RowRun) -> None:
        """Rows as they come."""
        if len(rows):
            self.fresh.append(rows)

    def below(self, bound: int, chosen: Callable[[Ints], Mask] | None = None) -> RowRun:
        """Take out the rows below a bound, of the chosen groups, ascending by value and then arrival."""
        self._settle()
        taken: list[RowRun] = []
        kept: list[RowRun] = []
        for run in self.runs:
            cut = int(np.searchsorted(run.values, bound))
            if chosen is None or cut == 0:
                taken.append(run.take(slice(0, cut)))
                rest = run.take(slice(cut, None)) if cut else run
            else:
                mask = chosen(run.groups[:cut])
                stays = np.ones(len(run), np.bool_)
                stays[:cut] = ~mask
                taken.append(run.take(np.flatnonzero(mask)))
                rest = run.take(stays) if mask.any() else run
            if len(rest):
                kept.append(rest)
        self.runs = kept
        self._balance()
        taken = [run for run in taken if len(run)]
        return RowRun.concat(taken).sorted() if taken else self.nothing

    def all(self) -> RowRun:
        """Every row, ascending by value and then arrival; they stay."""
        self._settle()
        return RowRun.concat(self.runs).sorted() if self.runs else self.nothing

    def __len__(self) -> int:
        return sum(len(run) for run in (*self.runs, *self.fresh))

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return sum(run.nbytes for run in (*self.runs, *self.fresh))

    def replace(self, rows: RowRun) -> None:
        """Other rows, ascending by value, instead of all."""
        self.runs, self.fresh = ([rows] if len(rows) else []), []

    def _settle(self) -> None:
        if self.fresh:
            self.runs.append(RowRun.concat(self.fresh).sorted())
            self.fresh = []
            self._balance()

    def _balance(self) -> None:
        """Keep every run at least twice as long as the next, by merging neighbours."""
        while len(self.runs) >= 2 and len(self.runs[-2]) < 2 * len(self.runs[-1]):
            self.runs[-2:] = [RowRun.concat(self.runs[-2:]).sorted()]


def rows_table(rows: RowRun) -> pa.Table:
    """Rows as they are saved."""
    return states_table(rows.states, {"value": rows.values, "group": rows.groups, "mark": rows.marks})


def rows_from(table: pa.Table, columns: StateColumns) -> RowRun:
    """What ``rows_table`` saved."""
    values, groups, marks = (np.array(table.column(n).to_numpy(), np.int64) for n in ("value", "group", "mark"))
    return RowRun(values, groups, marks, states_from(table, columns))
