"""One shard of a hosted query: a running query fed micro-batch by micro-batch, its state a snapshot and a journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.aggregates.registry import Factory, borrow, resolve
from panewise.core.errors import CheckpointError, LateRowError
from panewise.dataflow import Query
from panewise.engines.spark.host import worker_memory
from panewise.engines.spark.host.journal import DAMAGED, Journal
from panewise.engines.spark.host.news import silences, told
from panewise.engines.spark.host.stage import RAW
from panewise.engines.spark.host.wire import CONTROL, LATE_COLUMN, POSITION, ROW_BOUND, in_order
from panewise.engines.spark.lower.bound_calls import ROWS
from panewise.engines.spark.lower.fragment import ORDINAL
from panewise.engines.spark.queries.contents import contents
from panewise.engines.spark.queries.feeding import (
    by_input,
    joined,
    late_among,
    read_entry,
    take,
    with_promises,
    without_bounds,
    write_entry,
)
from panewise.engines.spark.queries.placing import HostedInput
from panewise.kernels.contract.state_file import table_from_bytes
from panewise.plan.nodes import Node, WindowAggregate
from panewise.plan.physical import RelationPlan
from panewise.planner.choose.choices import Choices
from panewise.planner.choose.optimizer import chosen_before
from panewise.planner.options import RunOptions
from panewise.planner.statistics.relation_statistics import RelationStatistics
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END, Punctuation
from panewise.storage import ChunkStore
from panewise.storage.sealed import STATE_VERSION, refuse_other_version
from panewise.windows.session import SessionWindow

KIND = "query-shard"
FINAL = "final"
STATE_BYTES = 64 << 20
"""About how much the states of windows that close together may take in a batch."""


@dataclass(frozen=True)
class QueryConfig:
    """What all shards of a query share."""

    plan: Node
    inputs: tuple[HostedInput, ...]
    late: LatePolicy
    shards: int
    result_schema: pa.Schema
    """The columns of results."""
    behind: tuple[tuple[str, tuple[str, int]], ...] = ()
    """Of inputs whose bound follows their largest value: the attribute, and how far behind."""
    complete: tuple[tuple[str, tuple[tuple[int | None, bytes], ...]], ...] = ()
    """Inputs that are complete before the stream begins: their rows, in a table for each shard or one for all."""
    decided: RelationPlan | None = None
    """How it runs, where statistics of the inputs have chosen that; None without them."""
    watched: tuple[Node, RelationStatistics] | None = None
    """The query as it was written, and what a shard should see of its inputs: it says when another plan is better."""
    relays: bool = False
    """Whether results go on to another part of the plan, which must hear how far they are."""
    punctuated: bool = False
    """Whether the user wants to hear it."""
    behind_results: tuple[Node, ...] = ()
    """What is done with the results elsewhere: another query would do something else."""
    windows: bool = False
    """Whether the plan is one window aggregate over its inputs: it judges by itself which rows are late."""
    partials: bool = False
    """Whether its rows come as partials of panes, which the stateless half has made of them."""
    in_turn: bool = False
    """Whether the order counts in which rows of different inputs came."""
    emit: str = FINAL
    """When windows speak, in ordinals."""
    own_aggregates: Mapping[str, Factory] = field(default_factory=dict, hash=False)
    """Those of the user that the plan calls."""

    @property
    def unsaved(self) -> set[str]:
        """What travels beside rows and is not needed to take them in again."""
        declared = {name for item in self.inputs for name in item.schema.names}
        return {ORDINAL, RAW, POSITION} - declared - ({POSITION} if self.in_turn else set())

    @property
    def shared_windows(self) -> bool:
        """Whether all groups have the same windows."""
        node = self.plan
        return self.windows and isinstance(node, WindowAggregate) and not node.window.partition and \
            not isinstance(node.window.spec, SessionWindow)

    @property
    def says(self) -> bool:
        """Whether results come with punctuation."""
        return self.relays or self.punctuated

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of results with those that stand beside them."""
        beside = [LATE_COLUMN] * (self.late is LatePolicy.SIDE) + [CONTROL] * self.says
        return pa.schema([*self.result_schema, *(pa.field(name, pa.string()) for name in beside)])

    def open(self) -> Query:
        """A new query; where micro-batches are cut must not decide which of two streams is ahead."""
        borrow(self.own_aggregates)
        chosen = None if self.watched is None else chosen_before(self.plan, *self.watched)
        options = RunOptions(late=self.late, emit=self.emit, late_keep=0)  # late rows leave beside the results
        query = Query(self.plan, Choices(options, decided=self.decided, watched=chosen))
        query.order_by_stream()
        return query

    def shard(self, store: ChunkStore, saved: str | None, number: int = 0) -> QueryShard:
        """One shard, as it was saved."""
        return QueryShard(self, store, saved, number)

    @cached_property
    def identity(self) -> dict[str, str]:
        """What must be the same when a query goes on from a checkpoint; also the tables it was started with."""
        names = {i.tag: i.name for i in self.inputs}
        tables = [f"{names[tag]}: {contents(table_from_bytes(data) for _, data in parts)}"
                  for tag, parts in self.complete]
        query = self.open().fingerprint
        if self.behind_results:
            query = sha256(f"{query} {self.behind_results!r}".encode()).hexdigest()[:16]
        return {**_windows(self.plan, self.result_schema), "query": query, "shards": str(self.shards),
                "late policy": self.late.value, "inputs": ", ".join(names.values()),
                "emit": "punctuated" if self.punctuated else self.emit,
                **({"static tables": "; ".join(tables)} if tables else {})}


def _windows(plan: Node, results: pa.Schema) -> dict[str, str]:
    """What two window aggregates can differ in, in words."""
    if not isinstance(plan, WindowAggregate):
        return {}
    return {"window": f"{plan.window.spec.kind}: {plan.window.spec!r}",
            "columns": ", ".join(f"{name} {results.field(name).type}" for name in plan.columns),
            "aggregates": ", ".join(f"{c.name} = {resolve(c.function, c.parameters, c.distinct)!r}"
                                    for c in plan.aggregates)}


def refuse_other(state: Mapping[str, Any], identity: Mapping[str, str]) -> None:
    """A saved shard is only taken by the query that saved it."""
    refuse_other_version(state["version"], "the checkpoint")
    if state["kind"] != KIND:
        raise CheckpointError("the checkpoint was written by another kind of query: start with a new one")
    for what in dict.fromkeys([*identity, *state["identity"]]):
        found, value = state["identity"].get(what), identity.get(what)
        if found != value:
            raise CheckpointError(f"the checkpoint has {what} {found!r}, the query has {value!r}: go on with the "
                                  "query it was made with, or start with a new one")


class QueryShard:
    """One shard during one step."""

    def __init__(self, config: QueryConfig, store: ChunkStore, saved: str | None, number: int) -> None:
        self.config, self.number = config, number
        self.late = 0
        self.late_texts: list[str] = []
        self.proposal: str | None = None
        """Why another plan would be better by now."""
        self._inputs = {i.tag: i for i in config.inputs}
        self._journal, self.token = Journal(store), ""
        self._open: range | None = None
        self._late_partials = 0
        """Late rows that this step has found in partials."""
        self._fresh = saved is None
        if saved is not None:
            try:
                self._restore(json.loads(saved))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise CheckpointError(DAMAGED) from error

    def _restore(self, state: Mapping[str, Any]) -> None:
        refuse_other(state, self.config.identity)
        self.late, self.token = int(state["late"]), str(state["token"])
        self._journal.restore(state["journal"])

    def saved(self) -> str:
        """Where the state is, as JSON."""
        return json.dumps({"kind": KIND, "version": STATE_VERSION, "identity": self.config.identity, "late": self.late,
                           "token": self.token, "journal": self._journal.state()})

    def open_windows(self) -> tuple[int, int] | None:
        """The ids of open windows, or a range of as many; None if there are none: those of a relation move."""
        return (self._open.start, self._open.stop) if self._open else None

    # -- a micro-batch

    def step(self, tables: Iterable[pa.Table], news: Iterable[Mapping[str, Any]]) -> pa.Table:
        """All rows of a micro-batch, then what was promised; what happened at the instants that are complete now."""
        query = self._query()
        late_before, self._late_partials = query.late_count, 0
        rows, news = self._on_time(query, tables), list(news)
        promises, silent = self._said(told(news, dict(self.config.behind))), silences(news)
        found = [] if not self._fresh else self._complete(query)
        with self._listening(query):
            found += self._take(query, rows, promises, silent)
        self.late += query.late_count - late_before + self._late_partials + sum(said.get("late", 0) for said in news)
        self.late_texts = [text for said in news for text in said.get("late_rows", [])] + self.late_texts
        self._journal.append(sum(part.nbytes for part in rows.values()), lambda: write_entry(
            rows, promises, silent, self.config.unsaved), query.save)
        self.proposal = query.proposal
        if self.config.windows and query.windows is not None:
            self._open = query.windows.ranges.open_span() if self.config.partials else \
                range(query.windows.kernel.counters()["open_windows"])
        self.token = worker_memory.keep(query)
        results = joined(found, self.config.result_schema)
        return with_promises(results, query, told=self.config.relays) if self.config.says else results

    def whole(self, tables: list[pa.Table]) -> Iterator[pa.Table]:
        """Everything at once, and then the end: the results of a batch."""
        query = self.config.open()
        rows = self._on_time(query, tables)
        tables.clear()
        stops: list[Punctuation] = []
        if self.config.partials:
            self._merge(query, rows)
            rows, stops = {}, self._stops(query)
        for promise in (*stops, END):
            for found in take(query, self._inputs, rows, [(tag, promise) for tag in self._inputs]):
                if found.num_rows:
                    yield found.cast(self.config.result_schema)
            rows = {}

    def _stops(self, query: Query) -> list[Punctuation]:
        """What to promise so that windows whose states are large do not all close at once."""
        assert query.windows is not None
        window = query.windows.node.window
        ends = (window.spec.extent(wid - 1).end for wid in query.windows.ranges.stops(STATE_BYTES).tolist())
        return [Punctuation.below(window.attribute, end) for end in ends if end is not None]

    def piece_by_piece(self, pieces: Iterable[list[pa.Table]], *, closing: bool) -> Iterator[pa.Table]:
        """The same in pieces; ``closing`` says that rows come in the order of their ordinals."""
        query, last = self.config.open(), None
        with self._listening(query):
            for tables in pieces:
                rows = self._on_time(query, tables)
                promises = []
                if closing:
                    last = max(part.column(0)[-1].as_py() for part in rows.values())
                    promises = [(i.tag, Punctuation.below(i.attribute, last)) for i in self.config.inputs
                                if i.attribute is not None]
                yield joined(self._take(query, rows, promises), self.config.result_schema)
            ends = [(tag, END) for tag in self._inputs]
            yield joined(self._take(query, {}, ends), self.config.result_schema)

    def _said(self, promises: list[tuple[str, Punctuation]]) -> list[tuple[str, Punctuation]]:
        """The promises that say something: positions move with rows, so that only the end says more of them."""
        return [(tag, promise) for tag, promise in promises
                if not self.config.windows or self._inputs[tag].attribute is not None or promise.covers_everything]

    def _take(self, query: Query, rows: Mapping[str, pa.Table], promises: Sequence[tuple[str, Punctuation]],
              silent: Mapping[str, bool] | None = None) -> list[pa.Table]:
        """Give a query a micro-batch; to windows, and where results are early, as one arrival."""
        if not self.config.windows and self.config.emit == FINAL:
            return take(query, self._inputs, rows, promises, silent)
        query.hold()
        if self.config.partials:
            self._merge(query, rows)
            rows = {}
        found = take(query, self._inputs, rows, promises, silent, in_turn=self.config.in_turn)
        return [*found, query.release()]

    def _merge(self, query: Query, rows: Mapping[str, pa.Table]) -> None:
        """Give a query partials of panes; late rows in them are counted, where the stateless half could not know them.
        """
        assert query.windows is not None
        counts = ROWS.state_schema[0].name
        for partials in rows.values():
            late = query.windows.merge(partials, self.config.inputs[0].kind)
            if late.any() and counts in partials.column_names:
                self._late_partials += pc.sum(partials.filter(pa.array(late)).column(counts)).as_py()

    @contextmanager
    def _listening(self, query: Query) -> Iterator[None]:
        """Hear of late rows, where they leave as texts; what is read back from the journal has left before."""
        if RAW not in self.config.unsaved:
            query.late_output.listeners = [lambda late: self.late_texts.extend(late.column(RAW).to_pylist())]
        yield
        query.late_output.listeners = []

    def _complete(self, query: Query) -> list[pa.Table]:
        """Take in the inputs that were complete from the beginning."""
        found = []
        for tag, parts in self.config.complete:
            name = self._inputs[tag].name
            tables = [table_from_bytes(data) for shard, data in parts if shard in (None, self.number)]
            found += [query.push(name, table) for table in tables if table.num_rows]
            found.append(query.push(name, END))
        return found

    def _on_time(self, query: Query, tables: Iterable[pa.Table]) -> dict[str, pa.Table]:
        """The rows of each input in their order of arrival, without those that are late.

        Under the policy *generous* the query itself says what becomes of late rows: they bring their bounds along.
        """
        found = by_input(tables)
        if self.config.partials:
            return found
        for tag, part in found.items():
            rows, item = in_order(part), self._inputs[tag]
            if self.config.windows:
                rows = rows if item.attribute is not None else without_bounds(rows)
            elif not query.knows_late_rows(item.name):
                rows = without_bounds(rows)
            elif self.config.late is LatePolicy.GENEROUS:
                rows = rows if item.attribute is not None and late_among(rows) is not None else without_bounds(rows)
            else:
                rows = without_bounds(self._without_late(rows, item))
            found[tag] = rows
        return found

    def _without_late(self, rows: pa.Table, item: HostedInput) -> pa.Table:
        """Rows that came below the bound they carry are counted, and shown where the policy says so."""
        late = None if item.attribute is None else late_among(rows)
        if late is None:
            return rows
        missed = pc.sum(late).as_py()
        if self.config.late is LatePolicy.ERROR:
            one = rows.filter(late).slice(0, 1)
            value, bound = (item.kind.text(one.column(c)[0].as_py()) for c in (ORDINAL, ROW_BOUND))
            raise LateRowError(f"stream {item.name!r}: {value} is below the bound {bound} that was promised before; "
                               "choose another late policy to go on")
        self.late += missed
        if RAW in rows.column_names:
            self.late_texts += [text for text in rows.column(RAW).filter(late).to_pylist() if text is not None]
        return rows.filter(pc.invert(late))

    # -- state

    def _query(self) -> Query:
        """The query as it was after the last micro-batch."""
        found: Query | None = worker_memory.take(self.token)
        if found is not None:
            return found
        query = self.config.open()
        if self._fresh:
            return query
        snapshot = self._journal.snapshot()
        if snapshot is not None:
            query.load(snapshot)
        else:
            self._complete(query)
        for entry in self._journal.entries():
            self._take(query, *read_entry(entry))
        return query
