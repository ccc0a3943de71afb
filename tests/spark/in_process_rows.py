"""Any conformance case through the file source, the two halves of the streaming operator and a store, without Spark.

What Spark does between them is done here in the plainest way: rows get their ordinal, keys, arguments, shard and bucket
as columns. Every micro-batch makes its shards anew from what was saved, so a run is also a sequence of restarts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from conformance.cases import Case
from conformance.runners import write_case
from panewise.aggregates.registry import resolve
from panewise.engines.spark.host import worker_memory
from panewise.engines.spark.host.packing import unpacked
from panewise.engines.spark.host.partial_stage import PartialStage
from panewise.engines.spark.host.sharding import SHARD, shard_labels
from panewise.engines.spark.host.stage import RAW, Stage
from panewise.engines.spark.host.wire import CONTROL, POSITION, ROW_BOUND
from panewise.engines.spark.io.source_options import StreamOptions
from panewise.engines.spark.io.sources import Place, Walker
from panewise.engines.spark.lower.bound_calls import ROWS, argument_columns
from panewise.engines.spark.lower.fragment import ORDINAL, Fragment
from panewise.engines.spark.lower.lineage import origins
from panewise.engines.spark.queries.stage import RowStage
from panewise.engines.spark.queries.windows import over_rows, shared_columns
from panewise.kernels.contract.emission import Emission
from panewise.kernels.contract.partials import BoundAggregate, bind
from panewise.plan.nodes import Project, WindowAggregate
from panewise.progress.late import LatePolicy
from panewise.storage import MemoryChunks


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    rows: list[dict[str, Any]]
    late: int
    late_rows: list[str]
    """Late rows put out beside the results (policy ``side``)."""


class Operator:
    """The streaming operator of a case, as ``streaming.prepare`` and ``prepare_rows`` make it."""

    def __init__(self, case: Case, shards: int, stamped: bool, emit: str) -> None:
        plan = case.plan
        self.items = plan.items if isinstance(plan, Project) else None
        node = plan.input if isinstance(plan, Project) else plan
        assert isinstance(node, WindowAggregate)
        self.node, self.columns = node, case.columns["s"]
        self.fragment = fragment = Fragment(node, (), cast("DataFrame", None))
        self.together = fragment.keys if fragment.paned else shared_columns(fragment)
        self.labels = shard_labels(shards if self.together else 1)
        self.late, self.stamped = LatePolicy.parse(case.late), stamped
        aggregates = self._aggregates()
        names = argument_columns(fragment, aggregates)
        inputs, attribute, kind = tuple(origins(fragment)), fragment.clause.attribute, fragment.clause.ordinal
        named = dict.fromkeys([*fragment.groups, *(n for columns in names for n in columns if n != POSITION)])
        raw = stamped and self.late is LatePolicy.SIDE and not fragment.paned
        self.config = over_rows(fragment, self._schema(list(named)), inputs, self.late, len(self.labels),
                                emission=Emission.parse(emit, kind), raw=raw, partials=fragment.paned)
        self.stage: Stage = RowStage.of(self.config.inputs, self.labels)
        if fragment.paned:
            if not stamped:  # how many rows a partial stands for
                aggregates, names = (*aggregates, ROWS), (*names, ())
            heard = tuple(i.origin() for i in self.config.inputs)
            self.stage = PartialStage(heard, self.labels, (), fragment.window, tuple(fragment.keys), aggregates, names,
                                      self.late, attribute, kind)

    def _aggregates(self) -> tuple[BoundAggregate, ...]:
        calls = [(c.name, resolve(c.function, c.parameters, c.distinct)) for c in self.node.aggregates]
        types = [[self.columns[str(s.column_name)] for s in c.arguments] for c in self.node.aggregates]
        return tuple(bind(calls, types))

    def _origin(self) -> dict[str, str]:
        """Internal names of groups and arguments, each with the column it is made from."""
        fragment, node = self.fragment, self.node
        found = {n: str(k.scalar.column_name) for n, k in zip(fragment.keys, node.keys, strict=True)}
        found |= dict(zip(fragment.partition, fragment.clause.partition, strict=True))
        for i, call in enumerate(node.aggregates):
            found |= {n: str(s.column_name) for n, s in zip(fragment.arguments(i), call.arguments, strict=True)}
        return found

    def _schema(self, names: list[str]) -> pa.Schema:
        return pa.schema([pa.field(n, self.columns[self._origin()[n]]) for n in names])

    def rows(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """A batch of the source with the columns the stateless half reads."""
        table = pa.Table.from_batches([batch])
        if self.fragment.clause.predicate is not None:
            assert self.fragment.clause.predicate.sql == "v > 0"
            kept = pc.or_(pc.is_valid(table.column(CONTROL)), pc.fill_null(pc.greater(table.column("v"), 0), False))
            table = table.filter(kept)
        if not self.stamped and self.fragment.paned:
            table = table.drop_columns([ROW_BOUND])
        ordinal = pa.array([0] * table.num_rows, pa.int64()) if self.fragment.by_position else table.column("ts")
        made = table.append_column(ORDINAL, ordinal)
        for name, column in self._origin().items():
            made = made.append_column(name, table.column(column))
        groups = list(zip(*(made.column(c).to_pylist() for c in self.together), strict=True)) if self.together \
            else [()] * made.num_rows
        places = [sum(map(ord, repr(g))) for g in groups]
        made = made.append_column(SHARD, pa.array([self.labels[p % len(self.labels)] for p in places], pa.int32()))
        texts = [json.dumps(row) for row in table.select(list(self.columns)).to_pylist()]
        return made.append_column(RAW, pa.array(texts, pa.string())).combine_chunks().to_batches()

    def shown(self, results: pa.Table) -> Iterator[dict[str, Any]]:
        """Results with their public names."""
        fragment = self.fragment
        for row in results.to_pylist():
            found = {k.name: row[n] for n, k in zip(fragment.keys, self.node.keys, strict=True)}
            found[self.node.window_column] = row[self.node.window_column]
            found |= {a.name: row[a.name] for a in fragment.aggregates}
            yield {i.name: found[str(i.scalar.column_name)] for i in self.items} if self.items else found


def run_rows_in_process(case: Case, folder: Path, *, random: Random, rows_per_batch: int, shards: int,
                        stamped: bool = True, emit: str = "final", journal: int = 1 << 20) -> Outcome:
    """The case from its file to its results; ``random`` decides in which order tasks are heard.

    With ``emit`` results may be early; each then has its ``change``. Without ``stamped`` rows do not carry the bound in
    force at their arrival, as in any other DataFrame. ``journal`` is how many bytes of it are never worth a snapshot.
    """
    with patch("panewise.engines.spark.host.journal.FEW_BYTES", journal):
        return _run(case, folder, random, rows_per_batch, shards, stamped, emit)


def _run(case: Case, folder: Path, random: Random, rows_per_batch: int, shards: int, stamped: bool,
         emit: str) -> Outcome:
    path = write_case(case, folder)["s"]
    stored = base64.b64encode(case.schema("s").serialize().to_pybytes()).decode()
    options = StreamOptions(str(path), "ts", case.progress, True, rows_per_batch, stored=stored)
    walker, operator = Walker(options), Operator(case, shards, stamped, emit)
    config = operator.config
    states: dict[int, str | None] = dict.fromkeys(operator.labels)
    stores = {label: MemoryChunks() for label in operator.labels}
    place, late, rows, late_rows = Place(), 0, [], []
    while True:
        end, spans = walker.walk(place, limit=rows_per_batch)
        if not spans:
            return Outcome(rows, late, late_rows)
        messages: list[dict[str, Any]] = []
        for part, span in enumerate(spans):
            batches = [made for batch in walker.read(span) for made in operator.rows(batch)]
            messages += [{**m, "part": part} for batch in operator.stage(batches) for m in batch.to_pylist()]
        random.shuffle(messages)
        messages.sort(key=lambda m: m["part"])
        for label in operator.labels:
            mine = [m for m in messages if m["shard"] == label]
            if not mine:  # Spark does not call a shard without messages
                continue
            if random.random() < 0.5:  # another worker than the last time
                worker_memory.forget()
            shard = config.shard(stores[label], states[label])
            before = shard.late
            news = [json.loads(m["control"]) for m in mine if m["control"]]
            results = shard.step([unpacked(m["payload"]) for m in mine if m["payload"]], news)
            if emit != "final":
                changes = results.column("change").to_pylist()
                rows += [{**row, "change": c} for row, c in zip(operator.shown(results), changes, strict=True)]
            else:
                rows += operator.shown(results)
            late += shard.late - before
            late_rows += shard.late_texts
            states[label] = shard.saved()
        place = end
