"""The shards of a hosted query without Spark: rows routed, stamped and cut into micro-batches as Spark does.

Every micro-batch restores a shard from its store; whether the worker still has the query at hand is drawn at random.
Where the plan is cut, what the shards of a lower part tell is what those of the upper part read in the micro-batch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any
from unittest.mock import patch
from zlib import crc32

import pyarrow as pa

from panewise.dataflow import open_plan
from panewise.engines.spark.host import worker_memory
from panewise.engines.spark.host.wire import CONTROL, POSITION, ROW_BOUND
from panewise.engines.spark.lower.fragment import ORDINAL
from panewise.engines.spark.queries.placing import HostedInput, hosted_input
from panewise.engines.spark.queries.running import Cut
from panewise.engines.spark.queries.shard import QueryConfig, QueryShard
from panewise.engines.spark.queries.stage import TAG
from panewise.kernels.contract.state_file import table_bytes, table_from_bytes
from panewise.plan.nodes import Named, Node, Source
from panewise.planner.choose.exchange import exchanged, relayed
from panewise.planner.choose.optimizer import optimize
from panewise.planner.choose.partitioning import placement
from panewise.planner.statistics.relation_statistics import RelationStatistics
from panewise.progress.bounds import BoundTable
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.storage import MemoryChunks


class Hosted:
    """A plan split over shards."""

    def __init__(self, plan: Node, shards: int, late: str = "generous", seed: int = 0, *, relays: bool = False,
                 punctuated: bool = False, emit: str = "final",
                 known: RelationStatistics | None = None, cut: Cut | None = None) -> None:
        if cut is None:
            chosen = plan if known is None else optimize(plan, known).plan
            cut = Cut(exchanged(chosen, lambda part: {f.name: f.type for f in open_plan(part).nothing().schema}),
                      plan, known)
            plan = cut.plan
        self.plan, self.random = plan, Random(seed)
        self.below = {part.name: Hosted(part.of, shards, late, seed, relays=True, cut=cut) for part in relayed(plan)}
        query = open_plan(plan, late=late, emit=emit)
        ordering = query.ordering_columns()
        nodes = {node.name: node for node in plan.walk() if isinstance(node, Named)}
        self.inputs = {name: hosted_input(number, nodes[name], ordering.get(name), deletions=_changes(nodes[name]))
                       for number, name in enumerate(query.streams)}
        dated = all(i.attribute is not None or not isinstance(nodes[i.name], Source) for i in self.inputs.values())
        self.found = placement(plan) if dated else None
        self.labels = list(range(shards if self.found is not None else 1))
        self.config = QueryConfig(plan, tuple(self.inputs.values()), LatePolicy.parse(late), len(self.labels),
                                  query.nothing().schema, decided=cut.decided(plan),
                                  watched=cut.watched(plan, self.found, len(self.labels)), relays=relays,
                                  punctuated=punctuated, emit=emit)
        self.saved: dict[int, str | None] = dict.fromkeys(self.labels)
        self.stores = {label: MemoryChunks() for label in self.labels}
        self.bounds = {name: BoundTable(i.attribute or "") for name, i in self.inputs.items()}
        self.own_late = 0
        self.arrived = 0
        self.proposals: set[str] = set()

    @property
    def late(self) -> int:
        """Late rows of all parts."""
        return self.own_late + sum(part.late for part in self.below.values())

    @property
    def streams(self) -> set[str]:
        """What it reads, and what its lower parts read."""
        return {*self.inputs, *(name for part in self.below.values() for name in part.streams)}

    def run(self, timeline: Timeline, cuts: frozenset[int] = frozenset()) -> list[dict[str, Any]]:
        """All results, in the order of micro-batches and shards."""
        found: list[dict[str, Any]] = []
        pending: Timeline = []
        for place, arrival in enumerate(timeline):
            if place in cuts and pending:
                found += self._batch(pending, [])
                pending = []
            if arrival.stream in self.streams:
                pending.append(arrival)
        return found + self._batch(pending, [name for name in self.streams if name not in self.below])

    def told(self, tables: Timeline, batches: Sequence[Timeline]) -> list[list[dict[str, Any]]]:
        """The results of every micro-batch; tables are complete from the beginning, streams end with the last."""
        complete = {arrival.stream for arrival in tables}
        moving = [name for name in self.streams if name not in self.below and name not in complete]
        first, *others = batches
        ended = [[*complete], *([] for _ in others[1:]), moving]
        return [self._batch(batch, over) for batch, over in zip([[*tables, *first], *others], ended, strict=True)]

    def _batch(self, arrivals: Timeline, ended: list[str]) -> list[dict[str, Any]]:
        own = [a for a in arrivals if a.stream in self.inputs]
        for name, part in self.below.items():
            told = part._batch([a for a in arrivals if a.stream in part.streams],
                               [stream for stream in ended if stream in part.streams])
            told.sort(key=lambda row: row[CONTROL] is not None)  # promises hold after the rows of all shards
            own += [self._relayed(name, row) for row in told]
        return self._own_batch(own, [(i.tag, END) for i in self.inputs.values() if i.name in ended])

    def _relayed(self, name: str, row: dict[str, Any]) -> Arrival:
        control = row.pop(CONTROL)
        if control is None:
            return Arrival(name, row)
        return Arrival(name, self.inputs[name].origin().read(json.loads(control))[0])

    def _own_batch(self, arrivals: Timeline, ends: list[tuple[str, Punctuation]]) -> list[dict[str, Any]]:
        rows: dict[tuple[int, str], list[dict[str, Any]]] = {}
        promises: list[tuple[str, Punctuation]] = []
        for arrival in arrivals:
            item = self.inputs[arrival.stream]
            if isinstance(arrival.item, Punctuation):
                self.bounds[item.name].advance(arrival.item)
                promises.append((item.tag, arrival.item))
                continue
            self.arrived += 1
            row = {**{n: arrival.item.get(n) for n in item.schema.names}, **self._beside(item, dict(arrival.item))}
            for label in self._labels(item, arrival.item):
                rows.setdefault((label, item.tag), []).append(row)
        said = [[tag, promise.to_state()] for tag, promise in [*promises, *ends]]
        results: list[dict[str, Any]] = []
        for label in self.labels:
            mine = [self._message(tag, part) for (where, tag), part in rows.items() if where == label]
            if not mine and not said:
                continue
            if self.random.random() < 0.5:
                worker_memory.forget()
            shard = QueryShard(self.config, self.stores[label], self.saved[label], label)
            before = shard.late
            with patch("panewise.engines.spark.host.journal.FEW_BYTES", self.random.choice([0, 1 << 20])):
                results += shard.step(mine, [{"promises": said}]).to_pylist()
            self.own_late += shard.late - before
            self.proposals |= {shard.proposal} if shard.proposal is not None else set()
            self.saved[label] = shard.saved()
        return results

    def _labels(self, item: HostedInput, row: Any) -> list[int]:
        if self.found is None:
            return self.labels
        key = self.found.column(item.name)
        return self.labels if key is None else [crc32(repr(row[key]).encode()) % len(self.labels)]

    def _beside(self, item: HostedInput, row: dict[str, Any]) -> dict[str, Any]:
        ordinal = item.kind.parse(row[item.attribute]) if item.attribute is not None else 0
        table = pa.Table.from_pylist([row], schema=item.schema)
        bound = self.bounds[item.name].bounds_for({n: table.column(n) for n in table.column_names}, 1)
        return {ORDINAL: ordinal, POSITION: self.arrived, ROW_BOUND: int(bound[0])}

    def _message(self, tag: str, rows: list[dict[str, Any]]) -> pa.Table:
        item = next(i for i in self.inputs.values() if i.tag == tag)
        schema = item.schema
        for name in (ORDINAL, POSITION, ROW_BOUND):
            schema = schema.append(pa.field(name, pa.int64()))
        table = pa.Table.from_pylist(rows, schema=schema).replace_schema_metadata({TAG: tag.encode()})
        return table_from_bytes(table_bytes(table))


def _changes(node: Named) -> bool:
    """Whether rows of an input may go: those of a table without a time all come."""
    return node.schema.time is not None
