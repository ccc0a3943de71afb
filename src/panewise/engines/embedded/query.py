"""A running query: rows and punctuation in, results of closed windows out, nothing kept but partial aggregates."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from panewise.core.errors import CheckpointError, PlanError, SchemaError, UnsupportedError
from panewise.core.schema import ROW_NUM_NAMES
from panewise.engines.embedded.aggregate import WindowStage
from panewise.engines.embedded.inputs import RowsIn, StreamInput
from panewise.engines.embedded.operators import Apply, Rename, Select, project, truth
from panewise.engines.embedded.pipeline import Path, Pipeline, compile_plan
from panewise.kernels.panes import WINDOW_ID
from panewise.kernels.state_file import decode_state, encode_state
from panewise.plan.nodes import Node, Project, Source
from panewise.planner.capabilities import check
from panewise.planner.choices import Stats
from panewise.progress.late import LatePolicy
from panewise.progress.policy import parse_progress
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND

KIND = "embedded-query"
VERSION = 1
EVENTS_KEPT = 10_000

Progress: TypeAlias = str | Mapping[str, str]


@dataclass(frozen=True)
class WindowEvent:
    """A moment in the life of a window: its first row came, or a punctuation closed it (for some groups)."""

    kind: str
    """``opened`` or ``closed``."""
    wid: int
    by: Punctuation | None = None
    """What closed it, in the columns of the aggregate's input; None for an opening."""
    groups: int = 0
    """How many groups were output when it closed."""


class EmbeddedQuery:
    """One plan on the embedded engine.

    ``progress`` is one policy for all streams or one per stream. Results do not depend on how rows are cut into
    batches, nor on their order as far as punctuation allows.

    ``strategy`` names the kernel; with ``auto`` the planner chooses it, by cost when ``stats`` says what the input is
    like (``{"rows_per_second": 5000, "groups": 1000}``).
    """

    def __init__(self, plan: Node, *, late: str | LatePolicy = "drop", progress: Progress = "source",
                 events: bool = False, strategy: str = "auto", stats: Stats = None) -> None:
        check(plan, "embedded")
        self.plan, self.late = plan, LatePolicy.parse(late)
        self.events: deque[WindowEvent] = deque(maxlen=EVENTS_KEPT)
        self._progress, self._watch, self._strategy, self._stats = progress, events, strategy, stats
        self._open: set[int] = set()
        self._pipeline: Pipeline = compile_plan(plan)
        self._inputs = {name: self._input(source) for name, source in self._pipeline.sources.items()}
        if not isinstance(progress, str) and (unknown := sorted(set(progress) - set(self._inputs))):
            raise PlanError(f"a progress policy for {unknown[0]!r}, which the query does not read; "
                            f"it reads {', '.join(self._inputs)}")
        self._arrived = 0
        self._late: list[pa.Table] = []
        self._late_count = dict.fromkeys(self._inputs, 0)
        self._stage: WindowStage | None = None
        self._nothing: pa.Table | None = None
        if all(source.schema.columns for source in self._pipeline.sources.values()):
            self._bind({n: pa.schema(list(s.schema.columns.items())) for n, s in self._pipeline.sources.items()})

    # -- in and out

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams the query reads."""
        return tuple(self._inputs)

    def push(self, stream: str, item: RowsIn | Punctuation) -> pa.Table:
        """Take in rows or a punctuation of one stream; the results it closes.

        A refused item leaves the query as it was.
        """
        source = self._stream(stream)
        if isinstance(item, Punctuation):
            if not source.promise(item):
                return self._present([])
            return self._advance(stream, [item])
        table = source.checked(item)
        if table.num_rows == 0:
            return self._present([])
        if self._stage is None:
            self._bind({stream: table.schema})
        saved = source.generator.snapshot()
        try:
            chunk, promises = source.take(table, self._arrived)
            late = np.zeros(table.num_rows, np.bool_)
            arriving = [(path, path.process(chunk)) for path in self._paths(stream)]
            ready = [(seen, self._running.prepare(seen, guarded=path.attribute is not None)) for path, seen in arriving]
            for seen, rows in ready:
                late[seen.rows[self._running.count(rows)] - int(chunk.rows[0])] = True
        except Exception:
            source.generator.restore(saved)
            raise
        source.rows += table.num_rows
        self._arrived += table.num_rows
        if late.any():
            self._late_count[stream] += int(late.sum())
            if self.late is not LatePolicy.DROP:
                self._late.append(table.filter(pa.array(late)))
        self._note_opened()
        return self._advance(stream, [promise for promise in promises if source.promise(promise)],
                             ripe=self._running.ripe())

    def finish(self, stream: str | None = None) -> pa.Table:
        """One input has ended, or all have: every window no other input can add to is output."""
        names = self.streams if stream is None else (stream,)
        parts = [self.push(name, END) for name in names if not self._stream(name).finished]
        return pa.concat_tables(parts) if parts else self._present([])

    def _advance(self, stream: str, promises: list[Punctuation], ripe: pa.Table | None = None) -> pa.Table:
        if self._stage is None:
            return self._present([])
        parts: list[pa.Table] = []
        if ripe is not None and ripe.num_rows:
            self._note_closed(None, ripe)
            parts.append(ripe)
        for path in self._paths(stream):
            for promise in promises:
                for arrived in path.advance(promise):
                    results = self._stage.advance(arrived)
                    self._note_closed(arrived, results)
                    if results.num_rows:
                        parts.append(results)
        return self._present(parts)

    def _present(self, parts: list[pa.Table]) -> pa.Table:
        if self._stage is None:
            return pa.table({name: pa.nulls(0) for name in self.plan.columns})
        if not parts:
            if self._nothing is None:
                self._nothing = self._above(self._stage.present(self._stage.empty_results()))
            return self._nothing
        return self._above(self._stage.present(pa.concat_tables(parts)))

    def _above(self, results: pa.Table) -> pa.Table:
        for node in self._pipeline.above:
            if isinstance(node, Project):
                results = project(node.items, results)
            else:
                results = results.filter(pa.array(truth(node.predicate, results)))
        return results

    # -- what a user can ask

    @property
    def late_rows(self) -> pa.Table:
        """The late rows as they came; kept under every late policy but ``drop`` (which only counts them)."""
        return pa.concat_tables(self._late, promote_options="default") if self._late else pa.table({})

    @property
    def late_count(self) -> int:
        """How many rows were late."""
        return sum(self._late_count.values())

    def take_late_rows(self) -> pa.Table:
        """The late rows since the last call; they are not kept any longer."""
        taken, self._late = self.late_rows, []
        return taken

    def status(self) -> dict[str, Any]:
        """Rows in, late rows, open windows, the watermark and how much state there is."""
        counters = self._stage.kernel.counters() if self._stage else {}
        bound = self._stage.watermark if self._stage else NO_BOUND
        kind = self._pipeline.aggregate.window.ordinal
        watermark = None if bound == NO_BOUND else "end" if bound == FINISHED else kind.text(bound)
        return {
            "rows": self._arrived, "late": self.late_count, "watermark": watermark,
            "open_windows": counters.get("open_windows", 0), "partials": counters.get("partials", 0),
            "window_groups": counters.get("window_groups", 0), "state_bytes": counters.get("bytes", 0),
            "streams": {n: {"rows": s.rows, "late": self._late_count[n], "finished": s.finished}
                        for n, s in self._inputs.items()},
        }

    # -- saving

    @property
    def fingerprint(self) -> str:
        """What a checkpoint must have been made with to be used here: this plan."""
        return hashlib.sha256(repr(self.plan).encode()).hexdigest()[:16]

    def snapshot(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """Everything needed to go on exactly here; ``extra`` is any JSON data to find again beside it."""
        header = {
            "query": self.fingerprint, "late": self.late.value, "arrived": self._arrived,
            "late_count": self._late_count, "inputs": {n: s.snapshot() for n, s in self._inputs.items()},
            "melds": [meld.snapshot() for meld in self._pipeline.melds], "open": sorted(self._open),
            "extra": dict(extra or {}),
        }
        tables = {"late": self.late_rows}
        if self._stage is not None:
            tables["kernel"] = pa.table({"state": pa.array([self._stage.kernel.snapshot()], pa.large_binary())})
        return encode_state(KIND, VERSION, header, tables)

    def restore(self, data: bytes) -> dict[str, Any]:
        """Become what ``snapshot`` saved, and return its ``extra``; a state of another query is refused."""
        header, tables = decode_state(data, KIND, VERSION)
        if header["query"] != self.fingerprint:
            raise CheckpointError("the checkpoint was made by another query (or the same on other columns): "
                                  "give the query a checkpoint directory of its own")
        if header["late"] != self.late.value:
            raise CheckpointError(f"the checkpoint was made with the late policy {header['late']!r}, "
                                  f"this run has {self.late.value!r}: restart with the same policy")
        if "kernel" in tables:
            if self._stage is None:
                raise CheckpointError("the columns of the streams must be known before a checkpoint is restored: "
                                      "give the query a schema")
            self._stage.kernel.restore(tables["kernel"].column("state")[0].as_py())
        for name, state in header["inputs"].items():
            self._inputs[name].restore(state)
        for meld, state in zip(self._pipeline.melds, header["melds"], strict=True):
            meld.restore(state)
        self._arrived, self._late_count, self._open = header["arrived"], header["late_count"], set(header["open"])
        self._late = [tables["late"]] if tables["late"].num_rows else []
        return dict(header["extra"])

    # -- inside

    @property
    def _running(self) -> WindowStage:
        if self._stage is None:
            raise PlanError("the columns of the streams are not known yet")
        return self._stage

    def _stream(self, name: str) -> StreamInput:
        if name not in self._inputs:
            raise PlanError(f"the query does not read a stream {name!r}; it reads {', '.join(self._inputs)}")
        return self._inputs[name]

    def _paths(self, stream: str) -> list[Path]:
        return [path for path in self._pipeline.paths if path.source.name == stream]

    def _input(self, source: Source) -> StreamInput:
        policy = self._progress if isinstance(self._progress, str) else self._progress.get(source.name, "source")
        schema = source.schema
        guards = sorted({path.attribute for path in self._paths(source.name) if path.attribute is not None})
        if len(guards) > 1:
            raise UnsupportedError(f"one window on two columns of the stream {source.name!r} ({', '.join(guards)}) "
                                   "is not yet run by the embedded engine; use engine='oracle'")
        guard = guards[0] if guards else None
        if guard is not None and schema.columns and guard not in schema.columns:
            raise SchemaError(f"stream {source.name!r} has no column {guard!r} to order it; "
                              f"there are {', '.join(schema.columns)}")
        kind = schema.ordinal_kind(guard) if guard and schema.columns else self._pipeline.aggregate.window.ordinal
        generator = parse_progress(policy, kind, dict(schema.columns) or None)
        keys = {key.scalar.column_name for key in self._pipeline.aggregate.keys}
        return StreamInput(source.name, schema, guard, self._needed(source), generator,
                           by_substream=bool(generator.columns) and generator.columns[0] in keys)

    def _needed(self, source: Source) -> list[str]:
        """The columns of a source that something reads, as far as the first operator that renames them."""
        needed: set[str] = set()
        aggregate = self._pipeline.aggregate
        top = {c for key in aggregate.keys for c in key.scalar.columns} | {aggregate.window.attribute}
        top |= set(aggregate.window.partition)
        top -= ROW_NUM_NAMES
        top |= {c for call in aggregate.aggregates for scalar in call.arguments for c in scalar.columns}
        for path in self._paths(source.name):
            read = set(top)
            for operator in reversed(path.operators):
                if isinstance(operator, Apply):
                    read = {c for item in operator.items for c in item.scalar.columns}
                elif isinstance(operator, Select):
                    read |= operator.predicate.columns
                elif isinstance(operator, Rename):
                    read = set(operator.before)
                elif hasattr(operator, "alias"):
                    read = {c.removeprefix(f"{operator.alias}.") for c in read}
            needed |= read
        return sorted(needed)

    def _bind(self, schemas: Mapping[str, pa.Schema]) -> None:
        """Types are known: every expression and aggregate is checked before the first row is counted."""
        found = [path.empty(schemas[path.source.name]).schema for path in self._pipeline.paths
                 if path.source.name in schemas]
        try:
            merged = pa.unify_schemas(found, promote_options="permissive")
        except pa.ArrowException as error:
            raise SchemaError(f"the inputs of a UNION differ in their types: {error}") from error
        self._stage = WindowStage(self._pipeline.aggregate, merged, self.late, self._strategy, self._stats)

    def _note_opened(self) -> None:
        if self._watch:
            now = set(self._running.kernel.open_windows())
            self.events.extend(WindowEvent("opened", wid) for wid in sorted(now - self._open))
            self._open |= now

    def _note_closed(self, by: Punctuation | None, results: pa.Table) -> None:
        if self._watch and results.num_rows:
            wids, counts = np.unique(results.column(WINDOW_ID).to_numpy(), return_counts=True)
            self.events.extend(WindowEvent("closed", int(w), by, int(c)) for w, c in zip(wids, counts, strict=True))
            self._open &= set(self._running.kernel.open_windows())
