"""Where streams enter a relational plan: one port per stream and guarding column, with its own bound."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.beginning import ALWAYS
from panewise.core.errors import PlanError, SchemaError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.core.schema import SourceSchema
from panewise.kernels.relations.delta import Mask
from panewise.kernels.relations.waiting import SourceRows
from panewise.plan.nodes import Named, Source, TimePairs, WindowAggregate
from panewise.progress.late import LatePolicy
from panewise.progress.policy import parse_progress
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import FINISHED
from panewise.queries.chunks import Chunk
from panewise.queries.inputs import StreamInput
from panewise.queries.relations.counted import Feed
from panewise.queries.relations.inner import InnerAggregate, InnerQuery
from panewise.queries.relations.inner_pairs import InnerPairs


@dataclass
class Port:
    """A stream as some leaves of the plan see it: the column whose bounds make a row late, and those leaves."""

    name: str
    schema: SourceSchema
    guard: str | None
    """None without a time column: a table is then complete when its input has ended, a stream ordered by arrival."""
    source: StreamInput
    by_place: bool = False
    """Rows are dated by their place among all that arrived."""
    leaves: list[SourceRows | Feed] = field(default_factory=list)

    @cached_property
    def _whole(self) -> pa.Schema:
        return pa.schema(list(self.schema.columns.items()))

    @property
    def key(self) -> str:
        """What the combined progress calls it."""
        return f"{self.name}.{self.guard}"

    def bound(self, place: int) -> int:
        """No row below it will come."""
        if self.source.finished:
            return FINISHED
        return place if self.by_place else self.source.bounds.linear

    def take(self, table: pa.Table, arrived: int, places: Ordinals | None) -> tuple[Chunk, list[Punctuation]]:
        """Rows with the bounds in force, and what the progress policy promises after them."""
        return self.source.take(table, arrived, places)

    def late(self, chunk: Chunk, reached: int | None) -> Mask:
        """Which rows are below a bound that was in force, or below what all inputs together have passed; None: none."""
        return np.zeros(chunk.table.num_rows, np.bool_) if reached is None else chunk.late(reached)

    def arrive(self, chunk: Chunk, place: int, signs: Ordinals | None = None) -> None:
        """Rows that are not late, to the leaves; ``place`` is that of the first, ``signs`` say which delete."""
        if not chunk.table.num_rows:
            return
        table = self._complete(chunk.table)
        times = np.arange(place, place + table.num_rows) if self.by_place else self._times(table, chunk)
        due = chunk.values if chunk.values is not None else times
        for leaf in self.leaves:
            leaf.receive(table, due, times, chunk.arrivals, signs)

    def arrive_late(self, chunk: Chunk, reached: int) -> None:
        """Late rows, to those leaves that take them: each enters at the bound that it came behind."""
        leaves = [leaf for leaf in self.leaves if isinstance(leaf, SourceRows) and leaf.takes_late]
        if not leaves:
            return
        table = self._complete(chunk.table)
        for leaf in leaves:
            leaf.arrive_late(table, np.maximum(chunk.bounds, reached), self._times(table, chunk), chunk.arrivals)

    def _times(self, table: pa.Table, chunk: Chunk) -> Ordinals:
        time = self.schema.time
        if time == self.guard and chunk.values is not None:
            return chunk.values
        if time is None:
            return np.full(table.num_rows, ALWAYS, np.int64)
        return self.source.ordinals(table, time)

    def _complete(self, table: pa.Table) -> pa.Table:
        """All declared columns; those that were not given are null."""
        if table.schema.equals(self._whole):
            return table.combine_chunks()
        columns = self.schema.columns
        given = set(table.column_names)
        return pa.table([table.column(n) if n in given else pa.nulls(table.num_rows, t)
                         for n, t in columns.items()], names=list(columns)).combine_chunks()


class Ports:
    """All ports of a query."""

    def __init__(self, progress: str | Mapping[str, str], late: LatePolicy = LatePolicy.DROP) -> None:
        self._progress, self.late = progress, late
        self._ports: dict[tuple[str, str | None], Port] = {}
        self.inner: list[InnerQuery] = []
        """Window aggregates and joins of streams whose results the plan reads as streams."""

    def __iter__(self) -> Any:
        return iter(self._ports.values())

    def of(self, node: Named, guard: str | None) -> Port:
        """The port of a stream with this guard; made when it is first asked for."""
        at = (node.name, guard)
        if at not in self._ports:
            self._ports[at] = Port(node.name, node.schema, guard, self._input(node, guard),
                                   by_place=guard is None and isinstance(node, Source))
        return self._ports[at]

    def named(self, stream: str) -> list[Port]:
        """The ports that rows of a stream go to."""
        found = [port for (name, _), port in self._ports.items() if name == stream]
        if stream not in self.streams:
            raise PlanError(f"the query does not read a stream {stream!r}; it reads {', '.join(self.streams)}"
                            f"{did_you_mean(stream, self.streams)}")
        return found

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of all inputs."""
        inside = [name for inner in self.inner for name in inner.query.streams]
        return tuple(dict.fromkeys([*(name for name, _ in self._ports), *inside]))

    def inside(self, node: WindowAggregate | TimePairs, read: Collection[str] | None) -> InnerQuery:
        """A query inside the plan; equal ones are one. ``read`` are the columns that the whole plan looks at."""
        for inner in self.inner:
            if inner.node == node:
                return inner
        number, late, progress = len(self.inner), self.late, self._progress
        self.inner.append(InnerPairs(node, number, read, late=late, progress=progress) if isinstance(node, TimePairs)
                          else InnerAggregate(node, number, late=late, progress=progress))
        return self.inner[-1]

    def _input(self, node: Named, guard: str | None) -> StreamInput:
        policy = self._progress if isinstance(self._progress, str) else self._progress.get(node.name, "source")
        schema = node.schema
        if guard is not None and guard not in schema.columns:
            raise SchemaError(f"stream {node.name!r} has no column {guard!r} to order it; "
                              f"there are {', '.join(schema.columns)}")
        if guard is None:
            return StreamInput(node.name, schema, None, [], parse_progress("source", OrdinalKind.INTEGER))
        generator = parse_progress(policy, schema.ordinal_kind(guard), dict(schema.columns))
        needed = [guard, *([schema.time] if schema.time else [])]
        return StreamInput(node.name, schema, guard, needed, generator)
