"""A conformance case: a query and its inputs in arrival order.

What must come out is what its text says, where it has an answer, and otherwise whatever the oracle says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from oracle.questions import Oracle
from panewise.api.inputs import MemoryStream
from panewise.api.query import plan_of
from panewise.core.schema import SourceKind, SourceSchema
from panewise.files.types import normal_schema
from panewise.plan.nodes import Node
from panewise.planner.facts.result_forms import CHANGE
from panewise.planner.options import RunOptions
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline

Item = Mapping[str, Any] | Punctuation


@dataclass(frozen=True)
class Case:
    """Streams are lists of rows and punctuation; times are integers or datetimes, as the columns say."""

    name: str
    query: str
    streams: Mapping[str, Sequence[Item]]
    columns: Mapping[str, Mapping[str, pa.DataType]]
    late: str = "generous"
    progress: str = "source"
    time: str = "ts"
    params: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, SourceKind] = field(default_factory=dict)
    """Inputs that are no streams; their column ``change`` says which rows come (1) and which go (-1)."""
    answer: tuple[Mapping[str, Any], ...] | None = None
    """The rows that were computed by hand."""

    def __str__(self) -> str:
        return self.name

    @property
    def plan(self) -> Node:
        """The logical plan."""
        return plan_of(self.query, {n: self._declared(n) for n in self.columns}, RunOptions(params=self.params))

    def _declared(self, stream: str) -> SourceSchema:
        time = self.time if self.time in self.columns[stream] else None
        if stream not in self.tables:
            return SourceSchema.of(self.schema(stream), time=time)
        told = {n: t for n, t in self.columns[stream].items() if n != CHANGE}
        return SourceSchema(told, time=time, kind=self.tables[stream])

    def schema(self, stream: str) -> pa.Schema:
        """The Arrow columns of one stream."""
        return normal_schema(pa.schema(list(self.columns[stream].items())))

    @property
    def timeline(self) -> Timeline:
        """Everything in arrival order, one stream after the other."""
        return [Arrival(name, item) for name, items in self.streams.items() for item in items]

    def memory(self, stream: str, batch_rows: int | None = None) -> MemoryStream:
        """One stream as batches of at most so many rows."""
        schema = self.schema(stream)
        parts: list[pa.RecordBatch | Punctuation] = []
        run: list[Mapping[str, Any]] = []

        def flush() -> None:
            if run:
                parts.extend(pa.Table.from_pylist(run, schema=schema).to_batches(max_chunksize=batch_rows))
                run.clear()

        for item in self.streams[stream]:
            if isinstance(item, Punctuation):
                flush()
                parts.append(item)
            else:
                run.append(item)
        flush()
        return MemoryStream(SourceSchema.of(schema, time=self.time), schema, tuple(parts))

    def oracle(self) -> Oracle:
        """The definition over this case."""
        return Oracle(self.plan, self.timeline, late=self.late, progress=self.progress)

    def expected(self) -> list[dict[str, Any]]:
        """The complete answer."""
        return self.oracle().results() if self.answer is None else [dict(row) for row in self.answer]
