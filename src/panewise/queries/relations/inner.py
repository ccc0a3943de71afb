"""Window aggregates as streams below other windows: a query inside the query, whose results are dated by their window.

One that a plan reads in several places runs once.

A result belongs to the last instant of its window (the oracle's rule), so once the aggregate has been promised a bound,
no result below that bound will come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.core.schema import ROW_NUM_NAMES
from panewise.kernels.relations.waiting import SourceRows
from panewise.plan.nodes import WID_COLUMN, WINDOW_COLUMN, WindowAggregate
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.queries.inputs import RowsIn
from panewise.queries.query import WindowQuery


class InnerAggregate:
    """A window aggregate that feeds a leaf of the plan."""

    def __init__(self, node: WindowAggregate, number: int, *, late: LatePolicy,
                 progress: str | Mapping[str, str]) -> None:
        streams = {below.name for below in node.walk() if hasattr(below, "name")}
        own = progress if isinstance(progress, str) else {n: p for n, p in progress.items() if n in streams}
        self.node, self.key = node, f"aggregate {number}"
        self.query = WindowQuery(node, late=late, progress=own)
        self.leaves: list[SourceRows] = []

    @property
    def schema(self) -> pa.Schema:
        """The columns of its results."""
        return self.query.nothing().schema

    @property
    def bound(self) -> int:
        """No result of an earlier instant will come."""
        return self.query.watermark

    def push(self, stream: str, item: RowsIn | Punctuation, place: int) -> None:
        """Rows or a promise for the aggregate; what it closes waits for its instant."""
        self._arrive(self.query.push(stream, item), place)

    def tick(self, now: int, place: int) -> None:
        """The wall clock, for policies that look at it."""
        self._arrive(self.query.tick(now), place)

    def _arrive(self, results: pa.Table, place: int) -> None:
        if not results.num_rows:
            return
        results = results.combine_chunks()
        instants = self._instants(results)
        # results that close together are numbered by window, then by group, nulls first
        keys = {"at": pa.array(instants)}
        for i, column in enumerate(results.columns):
            if not pa.types.is_nested(column.type):
                keys |= {f"valid{i}": column.is_valid(), f"column{i}": column}
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
        results, instants = results.take(order).combine_chunks(), instants[order.to_numpy()]
        places = np.full(len(instants), place, np.int64)
        for leaf in self.leaves:
            leaf.arrive(results, instants, instants, places, np.arange(len(instants)))

    def _instants(self, results: pa.Table) -> Ordinals:
        """The last instant of each result's window."""
        if WINDOW_COLUMN in results.column_names and self.node.window.has_time_range:
            ends = pc.struct_field(results.column(WINDOW_COLUMN).combine_chunks(), "end")
            return np.asarray(to_ordinals(ends, WINDOW_COLUMN)) - 1
        if self.node.window.attribute in ROW_NUM_NAMES:  # read as a stream, which needs no instants
            return np.zeros(results.num_rows, np.int64)
        wids = results.column(WID_COLUMN).to_numpy()
        distinct, inverse = np.unique(wids, return_inverse=True)
        ends = [self.node.window.spec.extent(int(wid)).end for wid in distinct]
        return np.array([-1 if end is None else end - 1 for end in ends], np.int64)[inverse]

    # -- saving

    def snapshot(self) -> pa.Table:
        """The state of the aggregate."""
        return pa.table({"state": pa.array([self.query.snapshot()], pa.large_binary())})

    def restore(self, table: pa.Table) -> None:
        """Become what ``snapshot`` saved."""
        self.query.restore(table.column("state")[0].as_py())

    def counters(self) -> dict[str, Any]:
        """What it keeps."""
        status = self.query.status(windows=0)
        return {"operator": "WindowAggregate", "pattern": "MON", "rows": status["partials"],
                "bytes": status["state_bytes"]}
