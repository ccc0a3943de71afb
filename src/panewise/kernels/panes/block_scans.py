"""Windows from panes by block scans: constant work per pane and key whatever RANGE/SLIDE is.

The pane axis is cut into blocks as long as a window. A window then is the end of one block and the beginning of the
next: one suffix scan, one prefix scan, one merge (van Herk 1992; the two-stack queue over arrays). Nothing is ever
subtracted, so min and max need no rescan; sums of floats are scanned as `digits`, which are integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from panewise.aggregates.base import Codes
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.state_columns import StateColumns, States

CELLS = 4_000_000
"""Cells of one matrix at a time; more keys or panes are done in several pieces."""

FEW = 4
"""So many windows are faster reduced one by one than scanned."""

MERGES = np.add, np.minimum, np.maximum
"""By number, as ``StateColumns`` numbers the operations."""

Matrix = npt.NDArray[Any]


@dataclass(frozen=True)
class Placed:
    """States and where they belong: of panes, which ascend, or of windows."""

    at: Ordinals
    groups: Codes
    states: States

    def pick(self, rows: Codes) -> Placed:
        """Some of them, in this order."""
        return Placed(self.at[rows], self.groups[rows], self.states.take(rows))


@dataclass(frozen=True)
class _Piece:
    """One matrix: a range of groups and a range of windows of k panes, m apart."""

    k: int
    m: int
    first_wid: int
    end_wid: int
    first_group: int
    end_group: int


def roll_up_dense(columns: StateColumns, panes: Placed, groups: int, *, panes_per_window: int, panes_per_slide: int,
                  first_wid: int, end_wid: int) -> Placed:
    """Every (window, group) with at least one pane, ascending by window; all states are numbers."""
    k, m = panes_per_window, panes_per_slide
    if np.any(panes.at[1:] < panes.at[:-1]):
        panes = panes.pick(np.argsort(panes.at, kind="stable"))
    step = max(1, max(4 * k, CELLS // max(groups, 1)) // m)  # at least a few blocks, so that the overlap is small
    pieces: list[Placed] = []
    wid = first_wid
    while wid < end_wid:
        stop = min(end_wid, wid + step)
        start_pane, end_pane = (wid + 1) * m - k, stop * m
        low, high = np.searchsorted(panes.at, [start_pane, end_pane])
        if low == high:  # a stretch without rows: go on at the first window of the next pane
            if low == len(panes.at):
                break
            wid = max(stop, int(panes.at[low]) // m)
            continue
        part = panes if high - low == len(panes.at) else panes.pick(np.arange(low, high))
        group_step = max(1, CELLS // (end_pane - start_pane + k))
        pieces += [_scan(columns, part, _Piece(k, m, wid, stop, group, min(groups, group + group_step)))
                   for group in range(0, groups, group_step)]
        wid = stop
    nothing = np.empty(0, np.int64)
    pieces = pieces or [Placed(nothing, nothing, columns.empty())]
    found = Placed(np.concatenate([p.at for p in pieces]), np.concatenate([p.groups for p in pieces]),
                   States.concat([p.states for p in pieces]))
    return found.pick(np.argsort(found.at, kind="stable")) if np.any(found.at[1:] < found.at[:-1]) else found


def _scan(columns: StateColumns, panes: Placed, piece: _Piece) -> Placed:
    if piece.first_group or int(panes.groups.max()) >= piece.end_group:
        inside = (panes.groups >= piece.first_group) & (panes.groups < piece.end_group)
        panes = panes.pick(np.flatnonzero(inside))
    k, m, groups = piece.k, piece.m, piece.end_group - piece.first_group
    base = (piece.first_wid + 1) * m - k
    blocks = -(-(piece.end_wid * m - base) // k)
    slots = (panes.groups - piece.first_group) * (blocks * k) + (panes.at - base)
    ends = (np.arange(piece.first_wid, piece.end_wid) + 1) * m - base

    occupied = np.zeros(groups * blocks * k, np.bool_)
    occupied[slots] = True
    unique = np.count_nonzero(occupied) == len(slots)
    at_window, at_group = np.nonzero(_windows(occupied.reshape(groups, blocks, k), np.logical_or, ends, k).T)

    def merged(states: Matrix, operations: Codes, neutral: Matrix) -> Matrix:
        found = np.empty((len(states), len(at_window)), states.dtype)
        for row, values, operation, nothing in zip(found, states, operations.tolist(), neutral, strict=True):
            cells = np.full(len(occupied), nothing)
            if unique:
                cells[slots] = values
            else:  # states of one pane and group that were not merged yet
                MERGES[operation].at(cells, slots, values)
            row[:] = _windows(cells.reshape(groups, blocks, k), MERGES[operation], ends, k)[at_group, at_window]
        return found

    states = States(merged(panes.states.ints, columns.int_operations, columns.int_neutral),
                    merged(panes.states.floats, columns.float_operations, columns.float_neutral),
                    np.zeros(len(at_window), np.int64))
    return Placed(at_window + piece.first_wid, at_group + piece.first_group, states)


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
