"""Aggregates at many instants of a step: what every function is worth at each cell of each group.

A row counts in a contiguous range of its group's cells. Where states can be subtracted exactly, they are summed up
along the cells. Else a segment tree over the cells takes each range apart into few nodes, and a cell is the merge of
the nodes above it: nothing is ever subtracted, so float sums do not drift and MIN and MAX need no rescan per instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.groups.grouping import group_codes
from panewise.kernels.relations.aggregates.merging import Merged
from panewise.kernels.relations.edges.delta import integers
from panewise.kernels.relations.negation.sweep import Cells
from panewise.kernels.relations.stores.arena import Growing

PAIRS_AT_ONCE = 1 << 20
"""(cell, state) pairs that are merged at a time."""


@dataclass(frozen=True)
class Ranges:
    """The cells in which rows or states count: ``low`` to ``high``."""

    low: Ordinals
    high: Ordinals

    def __len__(self) -> int:
        return len(self.low)


class RunningStates:
    """The states of one subtractable aggregate by group, carried from step to step."""

    def __init__(self, aggregate: BoundAggregate) -> None:
        self.aggregate = aggregate
        self.columns = [Growing() for _ in aggregate.state_schema]

    def of_rows(self, arguments: Sequence[pa.Array], rows: int) -> list[Ordinals]:
        """The state of each row alone."""
        made = self.aggregate.function.partials(list(arguments), np.arange(rows), rows, self.aggregate.inputs)
        return [column.to_numpy(zero_copy_only=False) for column in made]

    def at(self, cells: Cells, states: list[Ordinals], sign: Ordinals) -> list[pa.Array]:
        """States after every cell, from the states of the rows of all events; kept for the next step."""
        found: list[pa.Array] = []
        for base, column in zip(self.columns, states, strict=True):
            change = np.zeros(len(cells), np.int64)
            np.add.at(change, cells.of_event, column * sign)
            after = cells.running(change, base.values)
            base.values[cells.code] = after
            found.append(pa.array(after))
        return found

    def extend_to(self, groups: int) -> None:
        """Room for new groups."""
        for column in self.columns:
            column.extend_to(groups, 0)


def merged_states(merged: Merged, rows: tuple[pa.Table, Ordinals | None, Ranges],
                  standing: tuple[list[pa.Array], Ranges], cells: int) -> list[pa.Array]:
    """The state of one aggregate at every cell, from rows (with their positions) and from states."""
    table, positions, counting = rows
    states, stand = standing
    if not len(stand) and (counting.high - counting.low == 1).all():  # each row counts in one cell: nothing to share
        return merged.of_rows(table, positions, counting.low, cells)
    ranges, first = group_codes([counting.low, counting.high]) if len(counting) else (integers(), integers())
    made = merged.of_rows(table, positions, ranges, len(first))
    states = [pa.concat_arrays([new, old]) for new, old in zip(made, states, strict=True)] if len(stand) else made
    nodes, held = _nodes(np.concatenate([counting.low[first], stand.low]),
                         np.concatenate([counting.high[first], stand.high]), cells)
    node_codes, node_first = group_codes([nodes]) if len(nodes) else (integers(), integers())
    states = merged.combined(_taken(states, held), node_codes, len(node_first))
    number = np.full(2 * _width(cells), -1, np.int64)
    number[nodes[node_first]] = np.arange(len(node_first))
    parts: list[list[pa.Array]] = []
    levels = _width(cells).bit_length()
    at_once = max(1, PAIRS_AT_ONCE // levels)
    for start in range(0, cells, at_once):
        leaves = np.arange(start, min(start + at_once, cells))
        above = ((leaves + _width(cells))[:, None] >> np.arange(levels)[None, :]).ravel()
        found = number[above]
        there = found >= 0
        of_leaf = np.repeat(leaves - start, levels)[there]
        parts.append(merged.combined(_taken(states, found[there]), of_leaf, len(leaves)))
    return [pa.concat_arrays([part[i] for part in parts]) for i in range(len(states))] if parts else states


def _width(cells: int) -> int:
    return 1 << max(cells - 1, 0).bit_length()


def _nodes(low: Ordinals, high: Ordinals, cells: int) -> tuple[Ordinals, Ordinals]:
    """The nodes that cover each range, and the range of each."""
    left, right = low + _width(cells), high + _width(cells)
    ranges = np.arange(len(low))
    nodes: list[Ordinals] = [integers()]
    held: list[Ordinals] = [integers()]
    while len(left):
        odd = left & 1 == 1
        nodes.append(left[odd])
        held.append(ranges[odd])
        left = left + odd
        odd = (right & 1 == 1) & (left < right)
        nodes.append(right[odd] - 1)
        held.append(ranges[odd])
        left, right = left >> 1, right >> 1
        going = left < right
        left, right, ranges = left[going], right[going], ranges[going]
    return np.concatenate(nodes), np.concatenate(held)


def _taken(columns: Sequence[pa.Array], places: Ordinals) -> list[pa.Array]:
    return [column.take(pa.array(places)) for column in columns]
