"""Window aggregates by rows as streams below other windows: rows are numbered as they come, and close windows.

A result belongs to the newest instant of the rows in its window, of all groups. The row that closes the window is on
time, so no result is dated before what all inputs have promised: it waits for its instant as rows do. Windows that the
end of the input would cut off come after all instants, and are never seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.ordinals import Ordinals
from panewise.core.scalar import Scalar
from panewise.kernels.grouping import known_first
from panewise.kernels.relations.delta import Delta, Uids
from panewise.kernels.relations.operator import Saved
from panewise.kernels.relations.waiting import SourceRows, Waiting
from panewise.plan import nodes as n
from panewise.queries.query import WindowQuery

TIME, ARRIVAL = "<instant>", "<arrival>"
"""Hidden columns of the rows: when they are born, and their place among all rows."""
PARTITION = "<part>"


class CountedAggregate(SourceRows):
    """The results of a window aggregate by rows, each from the instant of its window's newest row on."""

    def __init__(self, node: n.WindowAggregate, uids: Uids, *, ticking: bool = False) -> None:
        below = _carried(node.input)
        parts = tuple(n.NamedScalar(f"{PARTITION}{column}", Scalar.column(column)) for column in node.window.partition)
        newest = tuple(n.AggregateCall(name, "max", (Scalar.column(carried),))
                       for name, carried in zip((TIME, ARRIVAL), below.columns[-2:], strict=True))
        self._parts = [part.name for part in parts]
        self._results = WindowQuery(replace(node, input=below, keys=(*node.keys, *parts)))
        self._newest = WindowQuery(replace(node, input=below, keys=parts, aggregates=newest))
        self._wid = node.window_column
        nothing = self._results.nothing()
        super().__init__(nothing.select(node.columns).schema, uids, ticking=ticking)

    def from_stream(self, stream: str) -> Feed:
        """What takes in the rows of one of its streams."""
        return Feed(self, stream)

    def take(self, stream: str, table: pa.Table, times: Ordinals, arrivals: Ordinals) -> None:
        """Rows that are not late, in the order they came; the windows they close."""
        earliest = int(times.min())
        self.first = earliest if self.first is None else min(self.first, earliest)
        table = table.append_column(TIME, pa.array(times)).append_column(ARRIVAL, pa.array(arrivals))
        newest, results = self._newest.push(stream, table), self._results.push(stream, table)
        if results.num_rows:
            self._dated(results.combine_chunks(), newest.combine_chunks())

    def _dated(self, results: pa.Table, newest: pa.Table) -> None:
        """Results with what is known of their windows, in the order in which these closed, then by id and group."""
        window = [*self._parts, self._wid]
        _, found = known_first(newest.select(window), results.select(window))
        at, last = (newest.column(name).to_numpy()[found] for name in (TIME, ARRIVAL))
        shown = results.select(self.schema.names)
        keys = {"at": pa.array(at), "last": pa.array(last), "wid": results.column(self._wid)}
        for i, column in enumerate(shown.columns):
            if not pa.types.is_nested(column.type):
                keys |= {f"valid{i}": column.is_valid(), f"column{i}": column}
        order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]).to_numpy()
        at, last = at[order], last[order]
        self.arrive(shown.take(pa.array(order)).combine_chunks(), at, at, last, np.arange(len(at)))

    def step(self, inputs: Any, upto: int) -> Delta:
        """What the bound set free; its streams began with their first row, not with the first result."""
        first = self.first
        delta = super().step(inputs, upto)
        self.first = first
        return delta

    # -- saving

    def snapshot(self) -> Saved:
        """Results that wait, and the windows that are not full."""
        header, tables = super().snapshot()
        states = pa.array([query.snapshot() for query in (self._results, self._newest)], pa.large_binary())
        return {**header, "first": self.first}, {**tables, "queries": pa.table({"state": states})}

    def restore(self, header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Become what ``snapshot`` saved."""
        super().restore(header, tables)
        self.first = header["first"]
        for query, state in zip((self._results, self._newest), tables["queries"].column("state"), strict=True):
            query.restore(state.as_py())

    def counters(self) -> dict[str, int]:
        """What windows that are not full hold, and results that wait."""
        held = [query.status(windows=0) for query in (self._results, self._newest)]
        waiting = super().counters()
        return {"rows": held[0]["partials"], **waiting,
                "bytes": waiting["bytes"] + sum(int(status["state_bytes"]) for status in held)}


@dataclass(frozen=True)
class Feed:
    """One stream of a counted aggregate, as the leaf that its port knows."""

    aggregate: CountedAggregate
    stream: str

    @property
    def waiting(self) -> Waiting:
        """The results that wait for their instants."""
        return self.aggregate.waiting

    def receive(self, table: pa.Table, due: Ordinals, times: Ordinals, arrivals: Ordinals,
                signs: Ordinals | None) -> None:
        """Rows as they enter the plan."""
        del due, signs
        self.aggregate.take(self.stream, table, times, arrivals)


def _carried(node: n.Node) -> n.Node:
    """The same rows with the hidden columns last."""
    match node:
        case n.Source():
            columns = {**node.schema.columns, TIME: pa.int64(), ARRIVAL: pa.int64()}
            return replace(node, schema=replace(node.schema, columns=columns))
        case n.Project():
            below = _carried(node.input)
            hidden = zip((TIME, ARRIVAL), below.columns[-2:], strict=True)
            return n.Project(below, (*node.items, *(n.NamedScalar(name, Scalar.column(c)) for name, c in hidden)))
        case n.Explode():
            made = node.with_inputs(_carried(node.input))
            last = made.input.columns[-2:]
            order = [*(c for c in made.columns if c not in last), *last]
            return n.Project(made, tuple(map(n.NamedScalar.column, order)))
        case _:
            return node.with_inputs(*(_carried(below) for below in node.inputs))
