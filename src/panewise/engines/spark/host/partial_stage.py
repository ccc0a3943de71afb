"""The stateless half of an aggregate over panes: the rows of a task become partials, one for each group and pane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.columns import flat, with_one_zero
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.engines.spark.host.sharding import SHARD
from panewise.engines.spark.host.stage import RAW, TAG, Stage, by_shard
from panewise.engines.spark.host.wire import POSITION, ROW_BOUND
from panewise.engines.spark.lower.fragment import ORDINAL
from panewise.kernels.contract.partials import BoundAggregate, combine_partials, partial_table
from panewise.kernels.panes.pane_tables import PANE_ID, SINCE, pane_ids
from panewise.progress.late import LatePolicy, decide
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.sliding import SlidingWindow

PARTIALS = "partials"
"""What a message of partials says it is of: the rows of all inputs together."""
COMPACT_ROWS = 200_000
MESSAGE_BYTES = 64 << 20
"""About how large a message is; Spark takes at most 2 GB in one value."""


@dataclass(frozen=True)
class PartialStage(Stage):
    """Rows in, partials of panes out."""

    window: SlidingWindow
    keys: tuple[str, ...]
    aggregates: tuple[BoundAggregate, ...]
    arguments: tuple[tuple[str, ...], ...]
    """The argument columns of each aggregate."""
    late: LatePolicy
    """What becomes of rows below the bound they carry, where they carry one."""
    attribute: str
    kind: OrdinalKind

    def made(self, batches: Iterator[pa.Table], own: dict[str, Any]) -> Iterator[tuple[int, pa.Table]]:
        """Partials by shard, after the last row; late rows are counted, and shown where they bring their text along."""
        found: list[pa.Table] = []
        pending = 0
        for rows in batches:
            found.append(self._partials(rows, own))
            pending += found[-1].num_rows
            if pending > COMPACT_ROWS and len(found) > 1:
                found, pending = [self._compact(found)], 0
        if not found:
            return
        whole = self._compact(found)
        mine = whole.drop_columns([SHARD]).replace_schema_metadata({TAG: PARTIALS.encode()})
        for shard, table in by_shard(whole.column(SHARD), mine):
            at_once = max(1, table.num_rows * MESSAGE_BYTES // max(1, table.nbytes))
            for low in range(0, table.num_rows, at_once):
                yield shard, table.slice(low, at_once)

    def _partials(self, table: pa.Table, own: dict[str, Any]) -> pa.Table:
        values: Ordinals = table.column(ORDINAL).to_numpy()
        first, end = self.window.wids_of(values)
        since = np.full(len(values), NO_BOUND, np.int64)
        counted = first < end
        if ROW_BOUND in table.column_names:
            bounds = pc.fill_null(table.column(ROW_BOUND), NO_BOUND).to_numpy()
            decision = decide(self.late, first, end, values, bounds, self.window.closed_below, kind=self.kind,
                              attribute=repr(self.attribute), first_row=_first_row(table, values < bounds))
            if decision.late_rows:
                own["late"] = own.get("late", 0) + decision.late_rows
                counted = decision.first < decision.last
                since = np.where(decision.first > first, decision.first, NO_BOUND)
                if RAW in table.column_names:
                    late = table.column(RAW).filter(pa.array(decision.late))
                    own["late_rows"] = own.get("late_rows", []) + late.to_pylist()
        if not counted.all():
            table, values, since = table.filter(pa.array(counted)), values[counted], since[counted]
        keys = with_one_zero(table.select(self.keys)).append_column(SINCE, pa.array(since))
        keys = keys.append_column(SHARD, table.column(SHARD))
        arguments = [[flat(table.column(n)) for n in names] for names in self.arguments]
        return partial_table(pane_ids(values, self.window), keys, arguments, self.aggregates, id_name=PANE_ID)

    def _compact(self, found: list[pa.Table]) -> pa.Table:
        return combine_partials(pa.concat_tables(found), [*self.keys, SINCE, SHARD], self.aggregates, id_name=PANE_ID)


def _first_row(table: pa.Table, late: npt.NDArray[np.bool_]) -> int:
    """What to count from so that the first late row gets its own place in the stream, for messages."""
    if POSITION not in table.column_names or not late.any():
        return 1
    at = int(np.argmax(late))
    return int(table.column(POSITION)[at].as_py() or at + 1) - at
