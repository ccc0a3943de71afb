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

from panewise.core.columns import flat
from panewise.core.ordinals import Ordinals
from panewise.kernels.contract.partials import BoundAggregate, combine_partials
from panewise.kernels.contract.state_columns import StateColumns
from panewise.kernels.groups.grouping import groups_of
from panewise.kernels.panes.block_scans import Placed, roll_up_dense
from panewise.windows.sliding import SlidingWindow

PANE_ID = "pid"
WINDOW_ID = "wid"
COPY = 4
"""A pane that is copied into a window costs as much as so many cells of a scan."""
SINCE = "wid.since"
"""Of partials made elsewhere: the first window each counts in, where late rows miss those before."""


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


def pane_ends(panes: Ordinals, spec: SlidingWindow) -> Ordinals:
    """The exclusive end of every pane, as a value.

    >>> pane_ends(np.array([0, 1, 2]), SlidingWindow(10, 4))
    array([2, 4, 6])
    """
    base, rest = spec.origin - spec.lag, spec.range % spec.slide
    if not rest:
        return (panes + 1) * spec.slide + base
    slide_end = (panes // 2 + 1) * spec.slide + base
    return np.where(panes % 2 == 0, slide_end - rest, slide_end)


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
            panes_per_slide: int, first_wid: int, end_wid: int) -> pa.Table:
    """Partial table (wid, keys, states) of every window in [first_wid, end_wid) that has a pane of the key.

    ``panes`` is a partial table by ``pid``. Where all states are numbers a key × pane matrix is scanned in blocks:
    constant work per cell whatever RANGE/SLIDE is. Else, or where panes are few among the cells, each pane is copied
    into its windows and merged.
    """
    panes = panes.select([PANE_ID, *key_names, *(f.name for a in aggregates for f in a.state_schema)])
    pids: Ordinals = panes.column(PANE_ID).to_numpy()
    first, end = window_range(pids, panes_per_window=panes_per_window, panes_per_slide=panes_per_slide)
    first, end = np.maximum(first, first_wid), np.minimum(end, end_wid)
    used = end > first
    if not used.all():
        panes, first, end, pids = panes.filter(pa.array(used)), first[used], end[used], pids[used]
    columns = StateColumns(aggregates)
    if not columns.slow and panes.num_rows:
        codes, representative = groups_of(panes, key_names)
        cells = len(representative) * (int(pids.max()) - int(pids.min()) + 1 + panes_per_window)
        states, _ = columns.split({a.name: [flat(panes.column(f.name)) for f in a.state_schema] for a in aggregates},
                                  panes.num_rows)
        if COPY * int((end - first).sum()) > cells and not columns.may_overflow(states):
            scanned = roll_up_dense(columns, Placed(pids, codes, states), len(representative),
                                    panes_per_window=panes_per_window, panes_per_slide=panes_per_slide,
                                    first_wid=int(first.min()), end_wid=int(end.max()))
            at = pa.array(representative[scanned.groups])
            merged = columns.columns(scanned.states, [])
            return pa.table([pa.array(scanned.at), *(panes.column(k).take(at) for k in key_names),
                             *(column for a in aggregates for column in merged[a.name])],
                            schema=panes.schema.set(0, pa.field(WINDOW_ID, pa.int64())))
    return combine_partials(explode(panes, first, end), key_names, aggregates, id_name=WINDOW_ID)
