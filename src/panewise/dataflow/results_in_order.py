"""Results of a window aggregate in the order that counts for what stands above: by end, window and group.

Groups close when promises say so, and a kernel puts out what closed as it finds it. Where something above numbers
results, or chooses by their order, they wait until no result to come stands before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

import numpy as np
import pyarrow as pa

from panewise.aggregates.values import ranks_of
from panewise.core.ordinals import Ordinals
from panewise.functions.comparison import ordering
from panewise.kernels.panes.pane_tables import WINDOW_ID

LAST = "<last instant>"


class ResultsInOrder:
    """Results that wait, each with the last instant of its window; ``keys`` are the columns of its group."""

    def __init__(self, keys: Sequence[str], empty: pa.Table) -> None:
        self._keys = list(keys)
        self.waiting = empty.append_column(LAST, pa.array([], pa.int64()))

    def add(self, results: pa.Table, last: Ordinals) -> None:
        """Results of windows that closed."""
        self.waiting = pa.concat_tables([self.waiting, results.append_column(LAST, pa.array(last))])

    def leaving(self, below: int) -> pa.Table:
        """Those of windows whose last instant is below a bound, in order."""
        if not self.waiting.num_rows:
            return self.waiting.drop_columns([LAST])
        last = self.waiting.column(LAST).to_numpy()
        free = last < below
        taken, self.waiting = self.waiting.filter(pa.array(free)), self.waiting.filter(pa.array(~free))
        if taken.num_rows > 1:
            keys = [column_ranks(taken.column(name).combine_chunks()) for name in reversed(self._keys)]
            order = np.lexsort([*keys, taken.column(WINDOW_ID).to_numpy(), taken.column(LAST).to_numpy()])
            taken = taken.take(pa.array(order))
        return taken.drop_columns([LAST])


def column_ranks(column: pa.Array) -> Ordinals:
    """The rank of each value, ascending as the language orders: nulls first, NaN behind all numbers.

    >>> column_ranks(pa.array([2.0, None, float("nan"), 1.0])).tolist()
    [1, -1, 2, 0]
    >>> column_ranks(pa.array([{"a": 2}, {"a": None}, None, {"a": 2}])).tolist()
    [1, 0, -1, 1]
    """
    ranks = np.full(len(column), -1, np.int64)
    known = column.is_valid().to_numpy(zero_copy_only=False)
    if not pa.types.is_nested(column.type):
        ranks[known] = ranks_of(column.drop_null())[0]
        return ranks
    values, rank = column.to_pylist(), -1
    before: object = None
    for at in sorted(np.flatnonzero(known).tolist(), key=cmp_to_key(lambda a, b: ordering(values[a], values[b]))):
        rank += rank < 0 or ordering(before, values[at]) != 0
        ranks[at], before = rank, values[at]
    return ranks
