"""Two-level aggregation: a bounded hash table below, a roll-up of what it puts out above (Li 8, Gigascope).

The lower level sees every row and never grows; the upper level sees a partial per collision or flush, and merges. For
sources of a high rate with many groups, where the lower level runs beside the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.baselines.slots import Flush, SlotTable
from panewise.kernels.contract.kernel import Arguments, Mask
from panewise.kernels.contract.partials import BoundAggregate, combine_partials
from panewise.kernels.window_ids.context_free import ContextFreeKernel, Wids
from panewise.kernels.window_ids.range_state import END, FIRST, RangeState
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.windows.base import WindowSpec

SLOTS = 1 << 16


class TwoLevelKernel(ContextFreeKernel):
    """A table of ``slots`` partials below, ranged partials above.

    ``flush`` says how older windows leave the table (``lazy``, ``slow`` or ``iop``), ``m`` how many windows may stay
    behind the newest, ``i`` after how many rows the slow flush puts one out. The figures of the thesis were measured
    with m = 2 and i = 160.
    """

    name = "two-level"

    def __init__(self, spec: WindowSpec, keys: pa.Schema, aggregates: Sequence[BoundAggregate], *,
                 attribute: str = "ts", late: str | LatePolicy = LatePolicy.DROP, partition: Sequence[str] = (),
                 slots: int = SLOTS, flush: Flush = "lazy", m: int = 2, i: int = 160) -> None:
        super().__init__(spec, keys, aggregates, attribute=attribute, late=late, partition=partition)
        self.low = SlotTable(keys, aggregates, slots=slots, flush=flush, m=m, i=i)
        self._high = RangeState(keys, aggregates)
        self.put_out = 0
        """How many partials the lower level has given to the upper one."""

    # -- rows in

    def process(self, values: Ordinals, keys: pa.Table, arguments: Arguments, *, bounds: Ordinals | None = None,
                wids: Wids | None = None) -> Mask:
        """Fold a batch into the slots."""
        rows = self._admit(values, keys, arguments, bounds, wids)
        self._give(self.low.add(rows.first, rows.end, rows.keys, rows.arguments))
        return rows.late

    def _give(self, partials: pa.Table) -> None:
        self.put_out += partials.num_rows
        self._high.add(combine_partials(partials, self._high.key_names, self.aggregates, id_name=END))

    @property
    def promised(self) -> int:
        """The punctuation of the lower level: it gives no partial of a window below this any more."""
        return min(self.low.oldest, self.closed_below)

    # -- progress in, results out

    def advance(self, punctuation: Punctuation) -> pa.Table:
        """Put out the slots of the windows it closes, and roll them up."""
        closing = self._promised(punctuation)
        if closing is None:
            return self.nothing
        slots = self.low.table
        leaving = closing.covers(slots) & (slots.column(FIRST).to_numpy() < closing.below)
        self._give(self.low.take_out(leaving))
        due, masks = self._high.due(closing)
        self._high.close(closing, masks)
        return self._results(due, closing.below)

    # -- counters

    def _held_ranges(self) -> tuple[Ordinals, Ordinals, pa.Table]:
        slots, above = self.low.table, self._high.compact()
        first, end = self._high.ranges()
        keys = pa.concat_tables([slots.select(self.keys.names), above.select(self.keys.names)]) \
            if self.keys.names else pa.table({})
        return (np.concatenate([slots.column(FIRST).to_numpy(), first]),
                np.concatenate([slots.column(END).to_numpy(), end]), keys)

    def counters(self) -> dict[str, int]:
        """How much state there is; ``slots`` and ``slot_bytes`` of it below, ``put_out`` partials went up so far."""
        below = self.low.table
        return super().counters() | {
            "buffered": 0, "partials": below.num_rows + self._high.rows, "bytes": below.nbytes + self._high.nbytes,
            "slots": below.num_rows, "slot_bytes": below.nbytes, "put_out": self.put_out}

    # -- saving

    def _saved(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        return {"closed": self._high.closed, "put_out": self.put_out}, \
            {"slots": self.low.table, "state": self._high.compact()}

    def _load(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self.low.clear()
        self._high = RangeState(self.keys, self.aggregates)
        self._high.closed, self.put_out = header["closed"], header["put_out"]
        self._high.add(tables["state"].cast(self._high.schema))
        # what stood in the slots goes up: the table may have another size now
        self._give(tables["slots"].cast(self.low.schema))
