"""Panes: rows are aggregated once per pane, windows are put together from panes (Li 6.2).

Panes are cut only where a window begins or ends: at most two per slide, however small gcd(RANGE, SLIDE) is. When SLIDE
divides RANGE these are Li's panes of that length; otherwise a slide has a long and a short one (paired windows,
Krishnamurthy et al. 2006). Pane ids count from the query's own origin, so the windows over pane ids have the ids of the
original windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.dense import dense_columns, roll_up_dense
from panewise.kernels.grouping import group_codes
from panewise.kernels.partials import BoundAggregate, combine_partials
from panewise.windows.sliding import SlidingWindow

PANE_ID = "pid"
WINDOW_ID = "wid"


def pane_ids(values: Ordinals, spec: SlidingWindow) -> Ordinals:
    """The pane of every value; the first window it is in and the end of its windows say which.

    >>> pane_ids(np.array([-1, 0, 5]), SlidingWindow(9, 6)), pane_ids(np.array([0, 1, 2, 3, 4]), SlidingWindow(10, 4))
    (array([-1,  0,  1]), array([0, 0, 1, 1, 2]))
    """
    first, end = spec.wids_of(values)
    whole, rest = divmod(spec.range, spec.slide)
    return first + end - whole if rest else first


def panes_per_window(spec: SlidingWindow) -> int:
    """RANGE in panes."""
    whole, rest = divmod(spec.range, spec.slide)
    return 2 * whole + 1 if rest else whole


def panes_per_slide(spec: SlidingWindow) -> int:
    """SLIDE in panes."""
    return 2 if spec.range % spec.slide else 1


def window_range(panes: Ordinals, *, panes_per_window: int, panes_per_slide: int) -> tuple[Ordinals, Ordinals]:
    """The windows each pane is in, first and end (exclusive): window w is panes [(w+1)·m - k, (w+1)·m).

    >>> [a.tolist() for a in window_range(np.array([0, 1, 2]), panes_per_window=3, panes_per_slide=2)]
    [[0, 0, 1], [1, 2, 2]]
    """
    return panes // panes_per_slide, (panes + panes_per_window) // panes_per_slide


def explode(table: pa.Table, first: Ordinals, end: Ordinals, *, id_name: str = WINDOW_ID) -> pa.Table:
    """Every row once per id in [first, end), the id in front; the first column (the old id) is dropped."""
    counts = np.maximum(end - first, 0)
    at = np.repeat(np.arange(len(counts)), counts)
    ids = first[at] + (np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts))
    rest = table.drop_columns(table.column_names[:1]).take(pa.array(at))
    return rest.add_column(0, pa.field(id_name, pa.int64()), pa.array(ids, pa.int64()))


def roll_up(panes: pa.Table, key_names: Sequence[str], aggregates: Sequence[BoundAggregate], *, panes_per_window: int,
            panes_per_slide: int, first_wid: int, end_wid: int, strategy: str = "auto") -> pa.Table:
    """Partial table (wid, keys, states) of every window in [first_wid, end_wid) that has a pane of the key.

    ``panes`` is a partial table by ``pid``. ``explode`` copies each pane into its windows and merges: any aggregate.
    ``dense`` scans a key × pane matrix in blocks: constant work per cell whatever RANGE/SLIDE is, but only for states
    that merge element by element. ``auto`` takes the cheaper one.
    """
    panes = panes.select([PANE_ID, *key_names, *(f.name for a in aggregates for f in a.state_schema)])
    pids: Ordinals = panes.column(PANE_ID).to_numpy()
    first, end = window_range(pids, panes_per_window=panes_per_window, panes_per_slide=panes_per_slide)
    first, end = np.maximum(first, first_wid), np.minimum(end, end_wid)
    used = end > first
    if not used.all():
        panes, first, end, pids = panes.filter(pa.array(used)), first[used], end[used], pids[used]
    if strategy != "explode" and panes.num_rows:
        keys = [panes.column(k) for k in key_names] or [np.zeros(panes.num_rows, np.int64)]
        codes, representative = group_codes(keys)
        cells = len(representative) * (int(pids.max()) - int(pids.min()) + 1 + panes_per_window)
        worth = strategy == "dense" or 4 * int((end - first).sum()) > cells
        if worth and (states := dense_columns(panes, aggregates)):
            scanned = roll_up_dense(states.columns, pids, codes, len(representative), panes_per_window=panes_per_window,
                                    panes_per_slide=panes_per_slide, first_wid=int(first.min()), end_wid=int(end.max()))
            at = pa.array(representative[scanned.groups])
            key_columns = [panes.column(k).take(at) for k in key_names]
            schema = panes.schema.set(0, pa.field(WINDOW_ID, pa.int64()))
            merged = states.restored(scanned.states)
            return pa.table([pa.array(scanned.wids), *key_columns, *merged], schema=schema)
    if strategy == "dense" and panes.num_rows:
        raise ValueError("the dense roll-up needs states that merge by sum, min or max of numbers")
    return combine_partials(explode(panes, first, end), key_names, aggregates, id_name=WINDOW_ID)
