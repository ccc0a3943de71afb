"""Turn rows with event times into a stream in arrival order, with punctuation that is exact.

A row arrives at its event time plus its delay. The punctuation ``ts < b`` stands directly behind the last row with a
smaller time, the earliest place where the promise is true: what a source that knows its own progress would send.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.progress.punctuation import Punctuation

Item: TypeAlias = pa.RecordBatch | Punctuation


def arrival_order(times: Ordinals, delays: Ordinals) -> Ordinals:
    """Positions of the rows in the order they arrive; rows that arrive together keep their order.

    >>> arrival_order(np.array([0, 1, 2]), np.array([5, 0, 0]))
    array([1, 2, 0])
    """
    return np.argsort(times + delays, kind="stable")


def promise_positions(times: Ordinals, every: int) -> tuple[Ordinals, Ordinals]:
    """Where punctuation can stand in this arrival order, and its bounds: multiples of ``every``.

    The pair (position p, bound b) means: before row p stands ``ts < b``, because no row from p on is smaller than b.

    >>> promise_positions(np.array([1, 4, 2, 11, 9, 25]), every=5)
    (array([3, 5]), array([ 5, 25]))
    """
    if not len(times):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    future = np.minimum.accumulate(times[::-1])[::-1]  # the low-watermark before each row (Li, equation 4.1)
    bounds = future // every * every
    changes = np.flatnonzero(bounds[1:] > bounds[:-1]) + 1
    return changes, bounds[changes]


def punctuated(table: pa.Table, time: str, *, every: int, batch_rows: int = 64 * 1024) -> Iterator[Item]:
    """A finite stream in arrival order as batches with exact punctuation every so often."""
    positions, bounds = promise_positions(to_ordinals(table.column(time), time), every)
    start = 0
    for position, bound in zip(positions.tolist(), bounds.tolist(), strict=True):
        yield from table.slice(start, position - start).to_batches(max_chunksize=batch_rows)
        yield Punctuation.below(time, bound)
        start = position
    yield from table.slice(start).to_batches(max_chunksize=batch_rows)


def disorder_summary(times: Ordinals) -> dict[str, float]:
    """How disordered an arrival order is: the share of rows behind the newest one, and how far behind.

    >>> disorder_summary(np.array([1, 3, 2, 5]))
    {'rows': 4, 'out_of_order': 0.25, 'largest': 1}
    """
    behind = np.maximum.accumulate(times) - times
    late = int((behind > 0).sum())
    return {
        "rows": len(times),
        "out_of_order": late / max(len(times), 1),
        "largest": int(behind.max(initial=0)),
    }
