"""Bucket: window ids as data, so that the operators after it need not know windows (Li 3.2, 6.1.3)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import to_ordinals
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.chunks import Chunk
from panewise.queries.operators.base import Passing
from panewise.windows.base import Clock, ContextClass, Rows, WindowSpec

WID_FIRST, WID_END = "wid_first", "wid_end"


class Bucket(Passing):
    """Tags every row with its range of window ids, and turns bounds on the attribute into bounds on ids.

    Ids stay ranges: a row is not copied RANGE/SLIDE times. A bound on ids says that no row that is still to come is in
    a window below it. Context-free windows only: the ids of other kinds depend on rows that came before.

    Rows that are in no window (gaps between windows) leave here.
    """

    def __init__(self, attribute: str, spec: WindowSpec) -> None:
        if spec.context_class is not ContextClass.CF or spec.clock in (Clock.ORDER, Clock.PARTITION_ORDER):
            raise UnsupportedError(f"Bucket knows windows whose ids follow from the row alone; {spec.kind} windows are "
                                   "not of them: their kernel numbers rows itself")
        self.attribute, self.spec = attribute, spec

    def process(self, chunk: Chunk) -> Chunk:
        """Two columns more."""
        values = to_ordinals(chunk.table.column(self.attribute), self.attribute)
        nothing = np.broadcast_to(np.int64(0), len(values))
        first, end = self.spec.wids(Rows(values, nothing, nothing))
        tagged = chunk.table.append_column(WID_FIRST, pa.array(first)).append_column(WID_END, pa.array(end))
        return chunk.with_table(tagged).filter(first < end)

    def advance(self, punctuation: Punctuation) -> list[Punctuation]:
        """The promise as it came, for those who still look at the attribute, and as a bound on window ids."""
        translated = punctuation.through(self.attribute, self._closed, WID_FIRST)
        news = [] if translated is None or translated == punctuation else [translated]
        return [*news, punctuation]

    def _closed(self, bound: int) -> int:
        return bound if bound in (NO_BOUND, FINISHED) else self.spec.closed_below(bound)
