"""A running query: rows and punctuation in, results out, state saved and restored. Engines host it.

The embedded engine runs one in its own process; Spark runs one per shard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ages import first_of_stream, numbered
from panewise.core.bad_rows import BadRows
from panewise.core.errors import CheckpointError, PlanError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.dataflow.admission import Admission, Admitted
from panewise.dataflow.aggregate import WindowAggregation
from panewise.dataflow.arrivals import Arrivals
from panewise.dataflow.batch import Batch
from panewise.dataflow.build import Builder
from panewise.dataflow.clockwork import Clockwork
from panewise.dataflow.graph import Dataflow, Entry, Outlet
from panewise.dataflow.inputs import RowsIn, StreamInput, plain_rows
from panewise.dataflow.late_output import LateOutput
from panewise.dataflow.one_at_a_time import in_zone_of_plan
from panewise.dataflow.operators.base import STATE, Mask
from panewise.dataflow.operators.stream_join import StreamJoin
from panewise.dataflow.outputs import QueryOutputs
from panewise.dataflow.promises import Promises
from panewise.dataflow.relations.region import Relation
from panewise.kernels.contract.emission import CHANGE
from panewise.kernels.contract.state_file import read_state, write_state
from panewise.plan.nodes import Named, Node, Source
from panewise.planner.choose.choices import Choices
from panewise.planner.choose.dataflow import physical_plan
from panewise.planner.facts.result_forms import time_kind
from panewise.planner.facts.stream_joins import has_stream_join
from panewise.planner.legal.relational import is_relational
from panewise.progress.policy import check_policies
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.storage import ChunkStore, MemoryChunks

KIND = "query"


class Query(QueryOutputs):
    """One plan over its streams.

    Results leave when their windows, or the instants they happen at, are complete. They do not depend on how rows are
    cut into batches, nor on their order as far as punctuation allows. Of a stream without declared columns the first
    rows say which there are.
    """

    @in_zone_of_plan
    def __init__(self, plan: Node, choices: Choices) -> None:
        self.plan, self.choices, self._rules = plan, choices, choices.options
        self.late = self._rules.late
        self._named = {node.name: node for node in plan.walk() if isinstance(node, Named)}
        check_policies(self._rules.progress, self._named)
        self._late = LateOutput(self.late, list(self._named), self._rules.late_keep)
        self._arrivals, self._promises, self._listeners = Arrivals(), Promises(), []
        self._outlet = Outlet(pa.schema([]))
        self.physical = self.relation = self.windows = self._admission = None
        self.graph, self._clocks = Dataflow([], []), Clockwork([], OrdinalKind.INTEGER)
        self._entries: dict[str, list[Entry]] = {name: [] for name in self._named}
        self._kind = time_kind(plan)
        self._held = False
        """Whether the arrival goes on with the next item."""
        self._ended: set[str] = set()
        """The streams that were finished: whatever comes of them after that is a mistake."""
        self._before: list[tuple[str, Punctuation | BadRows]] = []
        """Promises, and rows that could not be read, that came before the columns were known."""
        self._nothing = pa.table({name: pa.nulls(0) for name in plan.columns})
        counts = not is_relational(plan) and not has_stream_join(plan)
        if not counts or all(node.schema.columns for node in self._named.values()):
            self._build(plan)

    def _build(self, plan: Node) -> None:
        """Types are known: every expression and aggregate is checked before the first row is counted."""
        physical = self.physical = physical_plan(plan, self.choices)
        builder = Builder(physical, self._arrivals)
        self.graph, self.made = builder.build(), builder.made
        self._outlet = builder.operator(len(physical.steps) - 1, Outlet)
        self._outlet.listener = self._promised
        for entry in self.graph.entries:
            self._entries[entry.source.name].append(entry)
        if physical.relation is not None:
            self.relation = builder.operator(physical.relation, Relation)
        if physical.windows is not None:
            self.windows = builder.operator(physical.windows, WindowAggregation)
        self._admission = Admission(plan, self.sources, self._rules)
        self._kind = self._time_kind()
        self._clocks = Clockwork(self.sources, self._kind)
        schema = self._outlet.schema
        signed = [pa.field(CHANGE, pa.int64())] if len(physical.outlet.columns) > len(schema) else []
        self._nothing = pa.schema([*schema, *signed]).empty_table()

    def _time_kind(self) -> OrdinalKind:
        """What one step of the query's time is."""
        if self.windows is not None:
            return self.windows.node.window.ordinal
        joins = [node.operator for node in self.graph.nodes if isinstance(node.operator, StreamJoin)]
        return joins[-1].kinds[0] if joins and self.relation is None else time_kind(self.plan)

    # -- in and out

    def locate(self, stream: str, place: Callable[[int], str], *, aside: bool = False) -> None:
        """Say where rows of a stream stand, by their numbers from 1: errors name the place.

        So do rows that are put ``aside``, where places are soon found for many of them, in their order.
        """
        for entry in self._entries[stream]:
            entry.source.place, entry.source.places_aside = place, aside
        self._arrivals.origins.places[stream] = place

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams and tables the query reads."""
        return tuple(self._named)

    @property
    def sources(self) -> list[StreamInput]:
        """The streams and tables at the border, once for each column that orders them."""
        return [entry.source for entry in self.graph.entries]

    def push(self, stream: str, item: RowsIn | Punctuation | BadRows, *, bounds: Ordinals | None = None) -> pa.Table:
        """Take in rows or a punctuation of one stream; the results that follow.

        A refused item leaves the query as it was. ``bounds`` are those that were in force when the rows came to the
        source, where it knows more than the query has been promised.
        """
        self._check_reads(stream)
        if stream in self._ended:
            what = "a promise" if isinstance(item, Punctuation) else "rows"
            raise PlanError(f"stream {stream!r}: {what} after finish(); what has ended takes no more: open a new query")
        if self._admission is None:
            if isinstance(item, BadRows):
                self._rules.bad_rows.refuse(item.rows, stream)
            if isinstance(item, Punctuation | BadRows):
                self._before.append((stream, item))
                return self._nothing
            self._learn(item, stream)
        assert self._admission is not None
        if isinstance(item, Punctuation):
            return self._promise(stream, self._admission.promise(stream, item))
        admitted = self._admission.admit(stream, item)
        if not admitted.table.num_rows:
            self._admission.note(admitted)
            return self._nothing
        if bounds is not None and admitted.places is not None:
            bounds = bounds[admitted.places]
        return self._rows(stream, admitted, bounds)

    def _check_reads(self, stream: str) -> None:
        if stream not in self._named:
            raise PlanError(f"the query does not read a stream {stream!r}; it reads {', '.join(self.streams)}"
                            f"{did_you_mean(stream, self.streams)}")

    def _rows(self, stream: str, admitted: Admitted, bounds: Ordinals | None) -> pa.Table:
        graph, entries, table = self.graph, self._entries[stream], admitted.table
        before: list[tuple[dict[str, Any], bool]] = []
        taken: list[tuple[Entry, Batch, list[Punctuation]]] = []
        missed: list[tuple[Batch, Mask]] = []
        try:
            for entry in entries:
                source = entry.source
                before.append((source.generator.snapshot(), source.generator.idle))
                batch, promises = source.take(table, self._arrivals.rows, admitted.places)
                if bounds is not None and (len(entries) == 1 or source.attribute == source.schema.time):
                    batch = batch.stamped(bounds)
                if admitted.signs is not None or source.attribute is None:
                    behind = self._arrivals.place - self._arrivals.rows - source.after - 1
                    batch = replace(batch, signs=admitted.signs, behind=behind)
                if source.guard.judges and (late := source.guard.late(batch)).any():
                    missed.append((batch, late))
                graph.offer(entry, batch)
                taken.append((entry, batch, promises))
        except Exception:
            graph.revoke()
            for entry, (state, _) in zip(entries, before, strict=False):
                entry.source.generator.restore(state)
            raise
        assert self._admission is not None
        self._admission.note(admitted)
        self._arrivals.count(table.num_rows)
        if self.relation is not None:
            self._arrivals.origins.came(stream, taken[0][1].arrived, taken[0][1].positions)
        if self.relation is not None and self.relation.watch is not None:
            self.relation.watch.rows(stream, table)
        missed += graph.settle()
        if missed:
            self._note_late(missed, *taken[0][:2])
        for (entry, batch, promises), (_, idle) in zip(taken, before, strict=True):
            if entry.source.notes_first:
                entry.source.came(batch)
            if idle:
                graph.silence(entry, False)
            for promise in promises:
                if entry.source.promise(promise):
                    graph.promise(entry, promise)
        return self._results()

    def _promise(self, stream: str, item: Punctuation) -> pa.Table:
        self._arrivals.promised(end=item.covers_everything)
        for entry in self._entries[stream]:
            if self._clocks.sources:
                self._clocks.sign_of_life(entry.source, item)
            if entry.source.promise(item):
                self.graph.promise(entry, item)
        return self._results()

    def _note_late(self, found: list[tuple[Batch, Mask]], entry: Entry, batch: Batch) -> None:
        """Rows of a stream that some operator did not see in time, each once, with the bound that they missed."""
        late = np.zeros(batch.table.num_rows, np.bool_)
        for seen, mask in found:
            late[np.searchsorted(batch.rows, seen.rows[mask])] = True
        self._late.add(entry.source, batch, late, self.watermark)

    def _learn(self, rows: RowsIn, stream: str) -> None:
        """The first rows say which columns streams have of which none were declared."""
        found = plain_rows(rows, stream)
        table = found if isinstance(found, pa.RecordBatch | pa.Table) else pa.Table.from_pylist(list(found))
        self._build(_with_columns(self.plan, {field.name: field.type for field in table.schema}))
        for name, item in self._before:
            self.push(name, item)

    def finish(self, stream: str | None = None) -> pa.Table:
        """One input has ended, or all have: what no other input can change any more is put out."""
        names = self.streams if stream is None else (stream,)
        for name in names:
            self._check_reads(name)
        parts = [] if self._admission is None else [
            self.push(name, END) for name in names
            if not all(entry.source.finished for entry in self._entries[name])]
        self._ended.update(names)
        return pa.concat_tables(parts) if parts else self._nothing

    @property
    def ended(self) -> bool:
        """Whether all streams were finished."""
        return self._ended.issuperset(self._named)

    def tick(self, now: int) -> pa.Table:
        """The wall clock shows ``now`` (microseconds since the epoch): what policies that look at it close.

        A stream that fell silent (``idle=``) stops holding the others back; a lull or a heartbeat moves its bound.
        """
        if self.ended:
            raise PlanError("tick() after finish(); what has ended takes no more: open a new query")
        if self.physical is None:
            return self._nothing
        for source, bound, fell_silent in self._clocks.tick(now):
            entry = next(entry for entry in self.graph.entries if entry.source is source)
            if bound != NO_BOUND and source.attribute is not None:
                promise = Punctuation.below(source.attribute, bound)
                if source.promise(promise):
                    self.graph.promise(entry, promise)
            if fell_silent:
                self.graph.silence(entry, True)
        return self._results(now)

    def silence(self, stream: str, silent: bool) -> pa.Table:
        """A host saw a stream fall silent, so that it holds no other back, or wake up; what that closes."""
        for entry in self._entries[stream]:
            self.graph.silence(entry, silent)
        return self._results()

    def hold(self) -> None:
        """All items until ``release`` are one arrival: early results speak once, after the last of them."""
        self._held = True

    def release(self) -> pa.Table:
        """The arrival is over; what there is to say of it."""
        self._held = False
        return self._results()

    def _results(self, now: int | None = None) -> pa.Table:
        """The results that have left since the last call; the arrival is over, unless more of it is to come."""
        if not self._held:
            self.graph.complete(now)
        found, self._outlet.results = self._outlet.results, []
        if not found:
            return self._nothing
        tables = []
        for batch in found:
            signs = batch.signs
            tables.append(batch.table if signs is None else batch.table.append_column(CHANGE, pa.array(signs)))
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)

    def nothing(self) -> pa.Table:
        """No results, with their columns."""
        return self._nothing

    @property
    def clock_step(self) -> int | None:
        """How often ``tick`` wants to be called, in microseconds; None when no policy looks at the wall clock."""
        steps = [self._clocks.step] if self._clocks.sources else []
        if self.windows is not None and self.windows.emission.mode == "clock":
            steps.append(self.windows.emission.every)
        return min(steps, default=None)

    @cached_property
    def _over_nothing(self) -> pa.Table:
        """What is there before anything has come: a query of which all inputs end at once shows it."""
        query = Query(self.plan, replace(self.choices, options=replace(self._rules, progress="source")))
        query.finish()
        return query.current()

    # -- saving

    @property
    def fingerprint(self) -> str:
        """What a checkpoint must have been made with to be used here: this plan, run in this way."""
        text = repr(self.plan)
        if self.relation is not None:
            text = f"{text} {self.relation.fingerprint}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def snapshot(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """Everything needed to go on exactly here, as bytes; ``extra`` is any JSON data to find again beside it."""
        chunks = MemoryChunks()
        self.save(chunks, extra)
        return chunks.packed()

    def restore(self, data: bytes) -> dict[str, Any]:
        """Become what ``snapshot`` saved, and return its ``extra``; a state of another query is refused."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise CheckpointError(f"a query is restored from the bytes that snapshot() gave, not from a "
                                  f"{type(data).__name__}: open a new query to begin anew")
        return self.load(MemoryChunks.unpacked(bytes(data)))

    def save(self, store: ChunkStore, extra: Mapping[str, Any] | None = None) -> None:
        """The same as chunks: one of the query, and those of its operators."""
        late_count, tables = self._late.snapshot()
        header: dict[str, Any] = {"query": self.fingerprint, "late": self.late.value, "late_count": late_count,
                                  "arrived": [self._arrivals.rows, self._arrivals.place],
                                  "origins": self._arrivals.origins.saved(),
                                  "promises": self._promises.snapshot(), "extra": dict(extra or {})}
        if self._admission is not None:
            header["graph"] = self.graph.save(store)
            header["admission"] = self._admission.snapshot()
        write_state(store, STATE, KIND, (header, tables))

    def load(self, store: ChunkStore) -> dict[str, Any]:
        """Become what ``save`` saved, and return its ``extra``; a state of another query is refused."""
        header, tables = read_state(store, STATE, KIND)
        if header["query"] != self.fingerprint:
            raise CheckpointError("the checkpoint was made by another query (or the same on other columns, or in "
                                  "another style): give the query a checkpoint directory of its own")
        if header["late"] != self.late.value:
            raise CheckpointError(f"the checkpoint was made with the late policy {header['late']!r}, "
                                  f"this run has {self.late.value!r}: restart with the same policy")
        if "graph" in header:
            if self._admission is None:
                raise CheckpointError("the columns of the streams must be known before a checkpoint is restored: "
                                      "give the query a schema")
            self.graph.load(header["graph"], store)
            self._admission.restore(header["admission"])
        self._arrivals.rows, self._arrivals.place = header["arrived"]
        self._arrivals.origins.become(header.get("origins", ()))
        self._late.restore(header["late_count"], tables)
        self._promises.restore(header["promises"])
        return dict(header["extra"])

    # -- for engines that host it

    def order_by_stream(self) -> None:
        """Rows of different streams that have one instant are ordered by the names of the streams.

        Only then by arrival, as if the streams came one after the other: for hosts that get rows of one stream in
        their order, but not which of two rows of different streams came first.
        """
        numbers = numbered(self._named)
        self._arrivals.origins.by_stream(list(numbers))
        for source in self.sources:
            source.after, source.numbered = first_of_stream(numbers[source.name]), False

    def ordering_columns(self) -> dict[str, str | None]:
        """The column that orders each input and that promises about it name; None where arrival does."""
        return {source.name: source.attribute for source in reversed(self.sources)}

    def knows_late_rows(self, stream: str) -> bool:
        """Whether a row of a stream can be too late; a plan that is nothing but a stream passes on what comes, but for
        what it joins or counts on the way."""
        if self.relation is None or self.relation.physical.guarded:
            return True
        return any(node.operator is not self.relation for entry in self._entries[stream] for node, _ in entry.readers)


def _with_columns(node: Node, columns: Mapping[str, pa.DataType]) -> Node:
    if isinstance(node, Source) and not node.schema.columns:
        return replace(node, schema=replace(node.schema, columns=dict(columns)))
    return node.with_inputs(*(_with_columns(below, columns) for below in node.inputs)) if node.inputs else node
