"""Streams that a query inside the query makes: its results, dated, are the rows of a leaf.

One that a plan reads in several places runs once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.core.schema import ROW_NUM_NAMES
from panewise.kernels.relations.delta import Uids
from panewise.kernels.relations.waiting import SourceRows
from panewise.plan.nodes import WID_COLUMN, WINDOW_COLUMN, Named, Node, WindowAggregate
from panewise.planner.stream_joins import has_stream_join
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.queries.inputs import RowsIn
from panewise.queries.joined.query import JoinedQuery
from panewise.queries.query import WindowQuery


class InnerQuery(ABC):
    """A query whose results feed leaves of the plan."""

    query: WindowQuery | JoinedQuery

    def __init__(self, node: Node, key: str) -> None:
        self.node, self.key = node, key
        self.leaves: list[SourceRows] = []
        self.in_full = False
        """Whether the relation asks for the first row of all, which no result need contain."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of its results."""

    @property
    @abstractmethod
    def bound(self) -> int:
        """No result of an earlier instant will come."""

    def leaf(self, uids: Uids, *, ticking: bool) -> SourceRows:
        """Where its results enter the plan, once more."""
        self.leaves.append(SourceRows(self.schema, uids, ticking=ticking))
        return self.leaves[-1]

    def push(self, stream: str, item: RowsIn | Punctuation, place: int, arrived: int,
             bounds: Ordinals | None = None) -> None:
        """Rows or a promise; results wait for their instants. ``place`` counts all items, ``arrived`` all rows."""
        del arrived
        self._arrive(self.query.push(stream, item, bounds=bounds), place)

    def tick(self, now: int, place: int) -> None:
        """The wall clock, for policies that look at it."""
        self._arrive(self.query.tick(now), place)

    @abstractmethod
    def _arrive(self, results: pa.Table, place: int) -> None:
        """Date results."""

    # -- saving

    def snapshot(self) -> pa.Table:
        """The state of the query."""
        return pa.table({"state": pa.array([self.query.snapshot()], pa.large_binary())})

    def restore(self, table: pa.Table) -> None:
        """Become what ``snapshot`` saved."""
        self.query.restore(table.column("state")[0].as_py())

    @abstractmethod
    def counters(self) -> dict[str, Any]:
        """What it keeps."""


def own_progress(node: Node, progress: str | Mapping[str, str]) -> str | Mapping[str, str]:
    """The progress policies of the streams a part of the plan reads."""
    streams = {below.name for below in node.walk() if isinstance(below, Named)}
    return progress if isinstance(progress, str) else {n: p for n, p in progress.items() if n in streams}


class InnerAggregate(InnerQuery):
    """A window aggregate as a stream below other windows, of a stream or of the pairs of a join.

    A result belongs to the last instant of its window (the oracle's rule), so once the aggregate has been promised a
    bound, no result below that bound will come.
    """

    def __init__(self, node: WindowAggregate, number: int, *, late: LatePolicy,
                 progress: str | Mapping[str, str]) -> None:
        super().__init__(node, f"aggregate {number}")
        self.window = node.window
        of = JoinedQuery if has_stream_join(node) else WindowQuery
        self.query = of(node, late=late, progress=own_progress(node, progress))

    @property
    def schema(self) -> pa.Schema:
        """The columns of its results."""
        return self.query.nothing().schema

    @property
    def bound(self) -> int:
        """No result of an earlier instant will come."""
        return self.query.watermark

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
        places = np.full(len(instants), place + max(source.after for source in self.query.sources), np.int64)
        for leaf in self.leaves:
            leaf.arrive(results, instants, instants, places, np.arange(len(instants)))

    def _instants(self, results: pa.Table) -> Ordinals:
        """The last instant of each result's window."""
        if WINDOW_COLUMN in results.column_names and self.window.has_time_range:
            ends = pc.struct_field(results.column(WINDOW_COLUMN).combine_chunks(), "end")
            return np.asarray(to_ordinals(ends, WINDOW_COLUMN)) - 1
        if self.window.attribute in ROW_NUM_NAMES:  # read as a stream, which needs no instants
            return np.zeros(results.num_rows, np.int64)
        wids = results.column(WID_COLUMN).to_numpy()
        distinct, inverse = np.unique(wids, return_inverse=True)
        ends = [self.window.spec.extent(int(wid)).end for wid in distinct]
        return np.array([-1 if end is None else end - 1 for end in ends], np.int64)[inverse]

    def counters(self) -> dict[str, Any]:
        """What it keeps."""
        status = self.query.status(windows=0)
        return {"operator": "WindowAggregate", "pattern": "MON", "rows": status["partials"],
                "bytes": status["state_bytes"]}
