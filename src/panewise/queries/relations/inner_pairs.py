"""Joins of streams as streams below relations: every pair is a row, dated by the birth of the younger of its two.

Pairs leave a join as they are found; a relation tells what holds at an instant when the instant is complete. Both meet
in one bound, below which no pair to come is born (`StreamJoin.born`). A row without a partner belongs to its own
instant, and is found out to have none some time later: that bound waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from panewise.core.ordinals import Ordinals
from panewise.kernels.relations.delta import Uids
from panewise.kernels.relations.waiting import SourceRows
from panewise.plan.nodes import NamedScalar, Project, TimePairs
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.queries.inputs import RowsIn
from panewise.queries.joined.query import JoinedQuery
from panewise.queries.lineage import Lineage
from panewise.queries.relations.inner import InnerQuery, own_progress


class InnerPairs(InnerQuery):
    """A join of streams that feeds leaves of the plan; ``read`` are the columns that somebody looks at."""

    query: JoinedQuery

    def __init__(self, node: TimePairs, number: int, read: Collection[str] | None, *, late: LatePolicy,
                 progress: str | Mapping[str, str]) -> None:
        super().__init__(node, f"pairs {number}")
        shown = [name for name in node.columns if read is None or name in read] or node.columns[:1]
        self._plan = Project(node, tuple(NamedScalar.column(name) for name in shown))
        self.query = JoinedQuery(self._plan, late=late, progress=own_progress(node, progress), dated=True)

    @property
    def schema(self) -> pa.Schema:
        """The columns of its pairs."""
        empty = self.query.nothing()
        return empty.select(list(self._plan.columns)).schema

    @property
    def bound(self) -> int:
        """No pair of an earlier instant will come; where that is asked for no row either."""
        born = self.query.born
        return min(born, *(source.bounds.linear for source in self.query.sources)) if self.in_full else born

    def leaf(self, uids: Uids, *, ticking: bool) -> SourceRows:
        """Where its pairs enter the plan, once more."""
        self.leaves.append(PairRows(self, uids, ticking=ticking))
        return self.leaves[-1]

    def push(self, stream: str, item: RowsIn | Punctuation, place: int, arrived: int,
             bounds: Ordinals | None = None) -> None:
        """Rows or a promise for the join; rows are numbered in all of the query."""
        self.query.arrived = arrived
        super().push(stream, item, place, arrived, bounds)

    def _arrive(self, results: pa.Table, place: int) -> None:
        del place
        if not results.num_rows:
            return
        pairs, lineage = Lineage.split(results.combine_chunks(), self.query.depth)
        for leaf in self.leaves:
            leaf.arrive(pairs, lineage.born, lineage.born, *lineage.arrivals)

    def counters(self) -> dict[str, Any]:
        """What it keeps."""
        status = self.query.status(windows=0)
        return {"operator": type(self.node).__name__, "pattern": "MON", "rows": status["buffered"],
                "bytes": status["state_bytes"], "joins": status["joins"]}


class PairRows(SourceRows):
    """Pairs as an append-only relation."""

    def __init__(self, pairs: InnerPairs, uids: Uids, *, ticking: bool) -> None:
        self._pairs = pairs
        super().__init__(pairs.schema, uids, ticking=ticking)

    @property
    def first(self) -> int | None:
        """The earliest instant of any row of the streams that are joined."""
        return self._pairs.query.first

    @first.setter
    def first(self, at: int | None) -> None:
        """The join knows."""
