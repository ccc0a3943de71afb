"""The states of groups at the instants of one step: from what stands throughout, what leaves and what comes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.aggregates.cell_values import Ranges, merged_states
from panewise.kernels.relations.aggregates.group_contents import After, Gone, GroupContents, Standing
from panewise.kernels.relations.aggregates.merging import Ages, Merged, Ranks
from panewise.kernels.relations.edges.delta import FOREVER, Lives, gather, integers
from panewise.kernels.relations.negation.sweep import Cells

Rows = tuple[pa.Table, Ordinals | None, Ranges]
"""Rows with their ranks by age, where an aggregate needs them, and the cells they count in."""


class StepStates:
    """States at every cell of one step, of every aggregate that merges them.

    Rows come and go in the cells of their group; what stands in a group counts in all of them. So the work is that of
    the events and of a few states per group, not of the rows that are there.
    """

    def __init__(self, contents: GroupContents, cells: Cells, lives: Lives, gone: Gone, upto: int) -> None:
        self._contents, self._cells = contents, cells
        self._made: dict[str, list[pa.Array]] = {}
        self._ranks: Ranks | None = None
        if not len(cells) or not (contents.carried.parts or contents.listed.parts):
            return
        starts = cells.starts
        self._groups, self._whole = cells.code[starts], Ranges(starts, np.r_[starts[1:], len(cells)])
        standing = contents.standing(self._groups)
        if contents.carried.positions or contents.listed.parts:
            self._ranks = Ranks(gone.age, lives.age, standing.row_age, *standing.ages)
        self._merge(self._events(lives, gone, upto), standing)

    def _events(self, lives: Lives, gone: Gone, upto: int) -> Rows:
        """Rows that come or go."""
        cells = self._cells
        table = pa.concat_tables([gone.table, lives.table]).combine_chunks()
        code = table.column(0).to_numpy()
        end = np.concatenate([gone.at, np.where(lives.expires < upto, lives.expires, FOREVER)])
        of = np.searchsorted(self._groups, code)
        low = np.concatenate([self._whole.low[of[: len(gone)]], cells.of_event[: len(lives)]])
        high = self._whole.high[of]
        ending = np.flatnonzero(end != FOREVER)
        high[ending] = _cell_at(cells, code[ending], end[ending])
        ranks = None if self._ranks is None else np.concatenate(self._ranks.of[:2])
        return table, ranks, Ranges(low, high)

    def _merge(self, events: Rows, standing: Standing) -> None:
        carried, listed, cells = self._contents.carried, self._contents.listed, len(self._cells)
        states = standing.states
        if self._ranks is not None:
            states = carried.with_positions(states, self._ranks.of[3:])
        stand = Ranges(self._whole.low[standing.of], self._whole.high[standing.of])
        rows = _by_age(*events)
        for part, span in zip(carried.parts, carried.spans, strict=True):
            self._made[part.name] = merged_states(part, rows, (states[span], stand), cells)
        if not listed.parts:
            return
        assert self._ranks is not None
        table, ranks, counting = events
        more = standing.of_row
        rows = _by_age(pa.concat_tables([table, standing.table]).combine_chunks(),
                       np.concatenate([ranks, self._ranks.of[2]]) if ranks is not None else None,
                       Ranges(np.concatenate([counting.low, self._whole.low[more]]),
                              np.concatenate([counting.high, self._whole.high[more]])))
        nothing = Ranges(integers(), integers())
        for part in listed.parts:
            self._made[part.name] = merged_states(part, rows, ([], nothing), cells)

    def of(self, part: Merged) -> list[pa.Array]:
        """The states of an aggregate at every cell."""
        if not len(self._cells):
            return part.of_rows(self._contents.row.empty_table(), None, integers(), 0)
        return self._made[part.name]

    def ages(self, part: Merged) -> Ages:
        """The ages of the rows at whose positions the states of an aggregate are."""
        assert self._ranks is not None
        return self._ranks.ages(part.positions(self.of(part)))

    def after(self) -> After:
        """The states that groups have at the end."""
        if not self._made:
            return After(integers(), [], [])
        last = pa.array(self._whole.high - 1)
        parts = self._contents.carried.parts
        states = [column.take(last) for part in parts for column in self.of(part)]
        ages = [self.ages(part)[:, self._whole.high - 1] for part in parts if part.ordered]
        return After(self._groups, states, ages)


def _by_age(table: pa.Table, ranks: Ordinals | None, counting: Ranges) -> Rows:
    """Rows that count anywhere, from the oldest on where ranks are known."""
    order = np.arange(len(counting)) if ranks is None else np.argsort(ranks)
    order = order[counting.low[order] < counting.high[order]]
    if ranks is None and len(order) == len(counting):
        return table, None, counting
    return (gather(table, order), None if ranks is None else ranks[order],
            Ranges(counting.low[order], counting.high[order]))


def _cell_at(cells: Cells, code: Ordinals, at: Ordinals) -> Ordinals:
    """The cell of a group at an instant; there is one."""
    order = np.lexsort((np.r_[cells.at, at], np.r_[cells.code, code]))
    is_cell = order < len(cells)
    last = np.maximum.accumulate(np.where(is_cell, order, -1))
    found = integers(len(at))
    asked = ~is_cell
    found[order[asked] - len(cells)] = last[asked]
    return found
