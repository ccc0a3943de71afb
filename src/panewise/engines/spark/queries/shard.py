"""One shard of a hosted query: a running query fed micro-batch by micro-batch, its state a snapshot and a journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panewise.core.errors import CheckpointError, LateRowError
from panewise.engines.spark import at_hand
from panewise.engines.spark.fragment import ORDINAL
from panewise.engines.spark.journal import Journal
from panewise.engines.spark.partial_stage import RAW
from panewise.engines.spark.queries.contents import contents
from panewise.engines.spark.queries.placing import HostedInput
from panewise.engines.spark.queries.stage import BESIDE, TAG
from panewise.engines.spark.shard import ChunkStore
from panewise.engines.spark.shard_progress import DAMAGED, refuse_other, silences, told
from panewise.engines.spark.wire import CONTROL, ROW_BOUND, in_order
from panewise.kernels.emission import FINAL, Emission
from panewise.kernels.state_file import decode_state, encode_state, table_from_bytes
from panewise.plan.nodes import Node
from panewise.planner.forms import VALID_FROM
from panewise.planner.optimizer import chosen_before
from panewise.planner.physical import Physical
from panewise.planner.relation_statistics import RelationStatistics
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.queries import RunningQuery, open_plan
from panewise.queries.admission import InputRules
from panewise.queries.opening import knows_late_rows, ordered_by_stream
from panewise.queries.promises import as_json
from panewise.queries.query import WindowQuery
from panewise.queries.relations import RelationQuery

KIND = "query-shard"
NO_LATE_ROWS = InputRules(late_keep=0)
"""Late rows leave beside the results, so that no shard keeps one."""
VERSION = 3


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
    decided: Physical | None = None
    """What statistics of the inputs decide beside the plan, which they have chosen; None without them."""
    watched: tuple[Node, RelationStatistics] | None = None
    """The query as it was written, and what a shard should see of its inputs: it says when another plan is better."""
    relays: bool = False
    """Whether results go on to another part of the plan, which must hear how far they are."""
    punctuated: bool = False
    """Whether the user wants to hear it."""
    emission: Emission = FINAL
    shared_windows: bool = False
    behind_results: tuple[Node, ...] = ()
    """What is done with the results elsewhere: another query would do something else."""

    @property
    def says(self) -> bool:
        """Whether results come with punctuation."""
        return self.relays or self.punctuated

    def open(self) -> RunningQuery:
        """A new query; where micro-batches are cut must not decide which of two streams is ahead."""
        if self.decided is None:
            return ordered_by_stream(open_plan(self.plan, late=self.late, rules=NO_LATE_ROWS))
        chosen = None if self.watched is None else chosen_before(self.plan, *self.watched)
        return ordered_by_stream(RelationQuery(self.plan, late=self.late, decided=self.decided, watched=chosen,
                                               rules=NO_LATE_ROWS))

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
        return {"query": query, "shards": str(self.shards), "late policy": self.late.value,
                "inputs": ", ".join(names.values()), "emit": "punctuated" if self.punctuated else "final",
                **({"static tables": "; ".join(tables)} if tables else {})}


class QueryShard:
    """One shard during one step."""

    def __init__(self, config: QueryConfig, store: ChunkStore, saved: str | None, number: int) -> None:
        self.config, self.number = config, number
        self.late = 0
        self.late_texts: list[str] = []
        self.proposal: str | None = None
        """Why another plan would be better by now."""
        self._inputs = {i.tag: i for i in config.inputs}
        self._journal, self._token = Journal(store), ""
        self._fresh = saved is None
        if saved is not None:
            try:
                self._restore(json.loads(saved))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise CheckpointError(DAMAGED) from error

    def _restore(self, state: Mapping[str, Any]) -> None:
        refuse_other(state, KIND, VERSION, self.config.identity)
        self.late, self._token = int(state["late"]), str(state["token"])
        self._journal.restore(state["journal"])

    def saved(self) -> str:
        """Where the state is, as JSON."""
        return json.dumps({"kind": KIND, "version": VERSION, "identity": self.config.identity, "late": self.late,
                           "token": self._token, "journal": self._journal.state()})

    def open_windows(self) -> tuple[int, int] | None:
        """Windows of a relation move; none opens or closes."""
        return None

    # -- a micro-batch

    def step(self, tables: Iterable[pa.Table], news: Iterable[Mapping[str, Any]]) -> pa.Table:
        """All rows of a micro-batch, then what was promised; what happened at the instants that are complete now."""
        query = self._query()
        late_before = query.late_count
        rows = self._on_time(query, tables)
        news = list(news)
        promises, silent = told(news, dict(self.config.behind)), silences(news)
        found = [] if not self._fresh else self._complete(query)
        found += take(query, self._inputs, rows, promises, silent)
        self.late += query.late_count - late_before
        self._journal.append(sum(part.nbytes for part in rows.values()), lambda: write_entry(rows, promises, silent),
                             query.snapshot)
        self.proposal = query.proposal if isinstance(query, RelationQuery) else None
        self._token = at_hand.keep(query)
        results = joined(found, self.config.result_schema)
        return with_promises(results, query, told=self.config.relays) if self.config.says else results

    def whole(self, tables: list[pa.Table]) -> Iterator[pa.Table]:
        """Everything at once, and then the end: the results of a batch."""
        query = self.config.open()
        rows = self._on_time(query, tables)
        tables.clear()
        for found in take(query, self._inputs, rows, [(tag, END) for tag in self._inputs]):
            if found.num_rows:
                yield found.cast(self.config.result_schema)

    def _complete(self, query: RunningQuery) -> list[pa.Table]:
        """Take in the inputs that were complete from the beginning."""
        found = []
        for tag, parts in self.config.complete:
            name = self._inputs[tag].name
            tables = [table_from_bytes(data) for shard, data in parts if shard in (None, self.number)]
            found += [query.push(name, table) for table in tables if table.num_rows]
            found.append(query.push(name, END))
        return found

    def _on_time(self, query: RunningQuery, tables: Iterable[pa.Table]) -> dict[str, pa.Table]:
        """The rows of each input in their order of arrival, without those that are late.

        Under the policy *generous* the query itself says what becomes of late rows: they bring their bounds along.
        """
        found = {}
        for tag, part in by_input(tables).items():
            rows, item = in_order(part), self._inputs[tag]
            if not knows_late_rows(query, item.name):
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

    def _query(self) -> RunningQuery:
        """The query as it was after the last micro-batch."""
        found: RunningQuery | None = at_hand.take(self._token)
        if found is not None:
            return found
        query = self.config.open()
        if self._fresh:
            return query
        snapshot = self._journal.snapshot()
        if snapshot is not None:
            query.restore(snapshot)
        else:
            self._complete(query)
        for entry in self._journal.entries():
            take(query, self._inputs, *read_entry(entry))
        return query


# -- rows and promises into a query


def late_among(rows: pa.Table) -> pa.ChunkedArray | None:
    """Which rows came below the bound they carry; None where none did."""
    if ROW_BOUND not in rows.column_names:
        return None
    late = pc.fill_null(pc.less(rows.column(ORDINAL), pc.fill_null(rows.column(ROW_BOUND), NO_BOUND)), False)
    return late if pc.any(late).as_py() else None


def without_bounds(rows: pa.Table) -> pa.Table:
    """Rows whose bounds say nothing."""
    return rows.drop_columns([ROW_BOUND]) if ROW_BOUND in rows.column_names else rows


def by_input(tables: Iterable[pa.Table]) -> dict[str, pa.Table]:
    """The tables of messages, one for each input."""
    parts: dict[str, list[pa.Table]] = {}
    for table in tables:
        parts.setdefault(table.schema.metadata[TAG].decode(), []).append(table)
    return {tag: pa.concat_tables(found) for tag, found in sorted(parts.items())}


def take(query: RunningQuery, inputs: Mapping[str, HostedInput], rows: Mapping[str, pa.Table],
         promises: Sequence[tuple[str, Punctuation]], silent: Mapping[str, bool] | None = None) -> list[pa.Table]:
    """Give a query rows, then promises: those that end an input last; then which inputs fell silent."""
    silent = silent or {}
    found = [query.silence(inputs[tag].name, False) for tag, is_silent in silent.items() if not is_silent]
    for tag, part in rows.items():
        if part.num_rows:
            bounds = None
            if ROW_BOUND in part.column_names:
                bounds = pc.fill_null(part.column(ROW_BOUND), NO_BOUND).to_numpy()
            plain = part.select([n for n in part.column_names if n not in BESIDE])
            found.append(query.push(inputs[tag].name, plain, bounds=bounds))
    for tag, promise in sorted(promises, key=lambda said: said[1].covers_everything):
        found.append(query.push(inputs[tag].name, promise))
    return found + [query.silence(inputs[tag].name, True) for tag, is_silent in silent.items() if is_silent]


def joined(found: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Results put together."""
    parts = [table.cast(schema) for table in found if table.num_rows]
    return pa.concat_tables(parts) if parts else schema.empty_table()


def with_promises(results: pa.Table, query: RunningQuery, *, told: bool) -> pa.Table:
    """Results, then punctuation: how far they are; of that another part of the plan asks for instants only (``told``).

    It is said again with every micro-batch, so that a reader needs no other.
    """
    assert not isinstance(query, WindowQuery), "windows say by themselves when they are complete"
    said = [p for p in query.promises() if not told or p.attributes <= {VALID_FROM}]
    texts = [json.dumps(as_json(promise, results.schema)) for promise in said]
    results = results.append_column(CONTROL, pa.nulls(results.num_rows, pa.string()))
    blank = [pa.nulls(len(texts), f.type) for f in results.schema][:-1]
    return pa.concat_tables([results, pa.table([*blank, pa.array(texts, pa.string())], schema=results.schema)])


def write_entry(rows: Mapping[str, pa.Table], promises: Sequence[tuple[str, Punctuation]],
                silent: Mapping[str, bool]) -> bytes:
    """What came in a micro-batch, as an entry of the journal."""
    header = {"promises": [[tag, promise.to_state()] for tag, promise in promises], "silent": dict(silent)}
    kept = {tag: part.select([n for n in part.column_names if n not in BESIDE or n == ROW_BOUND]).combine_chunks()
            for tag, part in rows.items()}
    return encode_state(KIND, VERSION, header, kept)


def read_entry(data: bytes) -> tuple[dict[str, pa.Table], list[tuple[str, Punctuation]], dict[str, bool]]:
    """Back."""
    header, tables = decode_state(data, KIND, VERSION)
    promises = [(tag, Punctuation.from_state(patterns)) for tag, patterns in header["promises"]]
    return tables, promises, header["silent"]
