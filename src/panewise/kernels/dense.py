"""Windows from panes by block scans: constant work per pane and key whatever RANGE/SLIDE is.

The pane axis is cut into blocks as long as a window. A window then is the end of one block and the beginning of the
next: one suffix scan, one prefix scan, one merge (van Herk 1992; the two-stack queue over arrays). Nothing is ever
subtracted, so min and max need no rescan; sums of floats are scanned as `digits`, which are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.aggregates.base import Codes
from panewise.aggregates.digits import Digits, digits_of, gathered, spread
from panewise.core.ordinals import Ordinals
from panewise.kernels.partials import BoundAggregate

CELLS = 4_000_000
"""Cells of one matrix at a time; more keys or panes are done in several pieces."""

FEW = 4
"""So many windows are faster reduced one by one than scanned."""

Matrix = npt.NDArray[Any]


@dataclass(frozen=True)
class DenseColumn:
    """One state column as numbers, with the operation that merges it."""

    values: npt.NDArray[Any]
    valid: npt.NDArray[np.bool_] | None
    """Where the state is not null; ``None`` when it never is."""
    merge: np.ufunc
    neutral: int | float
    type: pa.DataType


@dataclass(frozen=True)
class Scanned:
    """The windows found: ids, group codes, and the state columns."""

    wids: Ordinals
    groups: Codes
    states: list[pa.Array]


@dataclass(frozen=True)
class DenseStates:
    """State columns as numbers; a sum of floats is as many of them as it has digits."""

    columns: list[DenseColumn]
    layouts: list[Digits | None]
    """What each state column is, in order: ``None`` a number, else a sum of floats, which is three state columns."""

    def restored(self, merged: Sequence[pa.Array]) -> list[pa.Array]:
        """State columns from merged numbers."""
        states: list[pa.Array] = []
        at = 0
        for layout in self.layouts:
            if layout is None:
                states.append(merged[at])
                at += 1
            else:
                digits = [column.to_numpy() for column in merged[at : at + layout.width]]
                states += gathered(np.stack(digits), layout)
                at += layout.width
        return states


def dense_columns(table: pa.Table, aggregates: Sequence[BoundAggregate]) -> DenseStates | None:
    """The state columns as numbers, or ``None`` when one of them cannot be scanned.

    Integer sums that could overflow are left to the aggregate's own ``combine``, which knows what to do about it.
    """
    columns: list[DenseColumn] = []
    layouts: list[Digits | None] = []
    for aggregate in aggregates:
        operations = aggregate.function.elementwise(aggregate.inputs)
        if operations is None:
            return None
        names = [field.name for field in aggregate.state_schema]
        at = 0
        while at < len(names):
            if operations[at] == "exact":
                layouts.append(_digit_columns([_flat(table.column(n)) for n in names[at : at + 3]], columns))
                at += 3
                continue
            column = _dense_column(table.column(names[at]), operations[at])
            if column is None:
                return None
            columns.append(column)
            layouts.append(None)
            at += 1
    return DenseStates(columns, layouts)


def _digit_columns(sums: Sequence[pa.Array], columns: list[DenseColumn]) -> Digits:
    """Sums of floats as digits, added to the columns."""
    layout = digits_of(sums)
    layout = replace(layout, count=max(layout.count, 1))
    columns += [DenseColumn(digit, None, np.add, 0, pa.int64()) for digit in spread(sums, layout)]
    return layout


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _dense_column(column: pa.ChunkedArray, operation: str) -> DenseColumn | None:
    data_type = column.type
    array = _flat(column)
    if pa.types.is_temporal(data_type) and operation != "sum" and data_type.bit_width in (32, 64):
        array = array.view(pa.int64() if data_type.bit_width == 64 else pa.int32())
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
            return None
        array = array.fill_null(0)
    if pa.types.is_floating(array.type):
        values = array.to_numpy(zero_copy_only=False)
        # NaN counts as the largest value, as in Spark SQL: fmin skips it, maximum keeps it
        ufunc, neutral = {"sum": (np.add, 0.0), "min": (np.fmin, np.nan), "max": (np.maximum, -np.inf)}[operation]
        return DenseColumn(values, valid, ufunc, neutral, data_type)
    if pa.types.is_integer(array.type) and array.type != pa.uint64():
        values = array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        if operation == "sum" and len(values) and max(int(values.max()), -int(values.min())) * len(values) >= 1 << 63:
            return None
        limits = np.iinfo(np.int64)
        ufunc, low = {"sum": (np.add, 0), "min": (np.minimum, limits.max), "max": (np.maximum, limits.min)}[operation]
        return DenseColumn(values, valid, ufunc, low, data_type)
    return None


@dataclass(frozen=True)
class _States:
    """Pane states and where they belong; ``panes`` ascend."""

    columns: Sequence[DenseColumn]
    panes: Ordinals
    codes: Codes

    def pick(self, rows: slice | Codes | npt.NDArray[np.bool_]) -> _States:
        columns = [replace(c, values=c.values[rows], valid=None if c.valid is None else c.valid[rows])
                   for c in self.columns]
        return _States(columns, self.panes[rows], self.codes[rows])


@dataclass(frozen=True)
class _Piece:
    """One matrix: a range of groups and a range of windows of k panes, m apart."""

    k: int
    m: int
    first_wid: int
    end_wid: int
    first_group: int
    end_group: int


def roll_up_dense(columns: Sequence[DenseColumn], panes: Ordinals, codes: Codes, groups: int, *, panes_per_window: int,
                  panes_per_slide: int, first_wid: int, end_wid: int) -> Scanned:
    """Every (window, group) with at least one pane, ascending by window.

    ``panes`` and ``codes`` say where each state belongs.
    """
    k, m = panes_per_window, panes_per_slide
    states = _States(columns, panes, codes)
    if np.any(panes[1:] < panes[:-1]):
        states = states.pick(np.argsort(panes, kind="stable"))
    step = max(1, max(4 * k, CELLS // max(groups, 1)) // m)  # at least a few blocks, so that the overlap is small
    pieces: list[Scanned] = []
    wid = first_wid
    while wid < end_wid:
        stop = min(end_wid, wid + step)
        start_pane, end_pane = (wid + 1) * m - k, stop * m
        low, high = np.searchsorted(states.panes, [start_pane, end_pane])
        if low == high:  # a stretch without rows: go on at the first window of the next pane
            if low == len(panes):
                break
            wid = max(stop, int(states.panes[low]) // m)
            continue
        part = states.pick(slice(low, high))
        group_step = max(1, CELLS // (end_pane - start_pane + k))
        pieces += [_scan(part, _Piece(k, m, wid, stop, group, min(groups, group + group_step)))
                   for group in range(0, groups, group_step)]
        wid = stop
    return _gather(pieces, columns)


def _scan(states: _States, piece: _Piece) -> Scanned:
    if piece.first_group or int(states.codes.max()) >= piece.end_group:
        states = states.pick((states.codes >= piece.first_group) & (states.codes < piece.end_group))
    k, m, groups = piece.k, piece.m, piece.end_group - piece.first_group
    base = (piece.first_wid + 1) * m - k
    blocks = -(-(piece.end_wid * m - base) // k)
    slots = (states.codes - piece.first_group) * (blocks * k) + (states.panes - base)
    ends = (np.arange(piece.first_wid, piece.end_wid) + 1) * m - base

    occupied = np.zeros(groups * blocks * k, np.bool_)
    occupied[slots] = True
    unique = np.count_nonzero(occupied) == len(slots)

    def windows(values: npt.NDArray[Any], merge: np.ufunc, neutral: Any) -> Matrix:
        cells = np.full(len(occupied), neutral, values.dtype)
        if unique:
            cells[slots] = values
        else:  # states of one pane and group that were not merged yet
            merge.at(cells, slots, values)
        return _windows(cells.reshape(groups, blocks, k), merge, ends, k)

    at_window, at_group = np.nonzero(_windows(occupied.reshape(groups, blocks, k), np.logical_or, ends, k).T)
    merged: list[pa.Array] = []
    for column in states.columns:
        values, null = column.values, None
        if column.valid is not None:
            values = np.where(column.valid, values, np.array(column.neutral, values.dtype))
            null = ~windows(column.valid, np.logical_or, False)[at_group, at_window]
        array = pa.array(windows(values, column.merge, column.neutral)[at_group, at_window], mask=null)
        merged.append(array if array.type == column.type else _typed(array, column.type))
    return Scanned(at_window + piece.first_wid, at_group + piece.first_group, merged)


def _typed(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(data_type) and data_type.bit_width == 32:
        array = array.cast(pa.int32())
    return array.cast(data_type)


def _windows(blocks: Matrix, merge: np.ufunc, ends: Ordinals, k: int) -> Matrix:
    """Merge ``k`` consecutive panes ending at each of ``ends``; the pane axis starts at a block."""
    groups = blocks.shape[0]
    if len(ends) <= FEW:
        cells = blocks.reshape(groups, -1)
        one_by_one: Matrix = np.stack([merge.reduce(cells[:, end - k : end], axis=1) for end in ends.tolist()], axis=1)
        return one_by_one
    prefix: Matrix = merge.accumulate(blocks, axis=2).reshape(groups, -1)[:, ends - 1]
    if k == 1:
        return prefix
    starts = ends - k
    aligned = starts % k == 0  # such a window is exactly one block
    if aligned.all():
        return prefix
    suffix = merge.accumulate(blocks[:, :, ::-1], axis=2)[:, :, ::-1].reshape(groups, -1)
    merged: Matrix = merge(suffix[:, starts], prefix)
    if aligned.any():
        merged[:, aligned] = prefix[:, aligned]
    return merged


def _gather(pieces: list[Scanned], columns: Sequence[DenseColumn]) -> Scanned:
    if not pieces:
        none = np.empty(0, np.int64)
        return Scanned(none, none, [pa.array([], c.type) for c in columns])
    wids = np.concatenate([p.wids for p in pieces])
    groups = np.concatenate([p.groups for p in pieces])
    states = [pa.concat_arrays([p.states[i] for p in pieces]) for i in range(len(columns))]
    if np.any(wids[1:] < wids[:-1]):
        order = np.argsort(wids, kind="stable")
        return Scanned(wids[order], groups[order], [s.take(pa.array(order)) for s in states])
    return Scanned(wids, groups, states)
