"""A running query with joins of streams: rows and punctuation in, pairs or results of closed windows out."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.bad_rows import BadRows
from panewise.core.errors import PlanError, SchemaError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.functions import truth
from panewise.kernels.state_file import decode_state, encode_state
from panewise.plan.nodes import Node, Project, Source
from panewise.planner.capabilities import check
from panewise.planner.choices import Stats
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.progress.policy import check_policies, parse_progress
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.admission import Admission, InputRules, ShowsBadRows
from panewise.queries.aggregate import WindowStage
from panewise.queries.chunks import Chunk, at_places
from panewise.queries.clockwork import Clockwork, set_idle
from panewise.queries.events import WindowEvent, WindowLog
from panewise.queries.foreign import refuse_foreign
from panewise.queries.inputs import RowsIn, StreamInput
from panewise.queries.joined.compiler import Compiler, is_guarded
from panewise.queries.late_output import LateOutput, ShowsLateRows, refuse_late
from panewise.queries.lineage import Lineage
from panewise.queries.one_at_a_time import in_zone_of_plan
from panewise.queries.operators import project
from panewise.queries.promises import Promises
from panewise.queries.status import WINDOWS_LISTED, QueryStatus, bound_text, build_status

KIND = "embedded-join"
VERSION = 2


class JoinedQuery(ShowsLateRows, ShowsBadRows):
    """One plan with joins of streams on the embedded engine.

    Pairs leave as soon as both of their rows have come, and punctuation on both times follows them
    (``on_punctuation``). With a window aggregate over the join that punctuation closes its windows. Results do not
    depend on how rows are cut into batches, nor on their order as far as punctuation allows.

    ``dated`` is for a plan that is a join inside a larger one: pairs have their lineage in columns beside their own
    (`queries.lineage`), by which a relation dates and orders them.
    """

    @in_zone_of_plan
    def __init__(self, plan: Node, *, late: str | LatePolicy = DEFAULT_LATE,
                 progress: str | Mapping[str, str] = "source",
                 events: bool = False, strategy: str = "auto", stats: Stats = None, emit: str = "final",
                 empty_windows: bool = False, dated: bool = False, rules: InputRules | None = None) -> None:
        check(plan, "embedded")
        if emit.strip().lower() != "final":
            raise PlanError(f"early results (emit={emit!r}) are for window aggregates of one stream: pairs of a join "
                            "are final when they are found")
        self.plan, self.late, self._progress = plan, LatePolicy.parse(late), progress
        self._compiled = Compiler(dated=dated).compile(plan)
        self._inputs = {name: self._input(source) for name, source in self._compiled.sources.items()}
        check_policies(progress, self._inputs)
        self._paths = {name: self._compiled.paths_of(name) for name in self._inputs}
        self._late = LateOutput(self.late, self.streams, (rules or InputRules()).late_keep)
        self._admission = Admission(plan, self._inputs.values(), rules)
        self._clocks = Clockwork(self._inputs.values(), self._kind)
        self.arrived = 0
        """How many rows have come, of all streams."""
        self.first: int | None = None
        """The earliest time of a row that was not late, of a plan whose pairs are dated."""
        self._dated = dated
        self._stage: WindowStage | None = None
        self._log: WindowLog | None = None
        self._schema = self._compiled.schema
        if (aggregate := self._compiled.aggregate) is not None:
            self._stage = WindowStage(aggregate, self._schema, self.late, strategy, stats, empty_windows=empty_windows)
            self._log = WindowLog(aggregate.window, watch=events)
        if self.late is LatePolicy.GENEROUS and self._stage is None and not dated and len(self._compiled.joins) == 1:
            self._compiled.joins[0].takes_late = True
        self._listeners: list[Callable[[Punctuation], object]] = []
        self._promises = Promises()
        self._shown = [*plan.columns, *(Lineage.columns(self.depth) if dated else ())]
        self._nothing = self._above(self._stage.present(self._stage.empty_results())) if self._stage is not None else \
            self._no_pairs().select(self._shown)

    # -- in and out

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams the query reads."""
        return tuple(self._inputs)

    @property
    def sources(self) -> list[StreamInput]:
        """The streams at the border."""
        return list(self._inputs.values())

    def push(self, stream: str, item: RowsIn | Punctuation | BadRows, *, bounds: Ordinals | None = None) -> pa.Table:
        """Take in rows or a punctuation of one stream; the results that follow.

        A refused item leaves the query as it was. ``bounds`` are those that were in force when the rows came to the
        source, where it knows more than the query has been promised.
        """
        source = self._stream(stream)
        if isinstance(item, Punctuation):
            item = self._admission.promise(stream, item)
            if self._clocks:
                self._clocks.sign_of_life(source, item)
            return self._present(self._promised(stream, [item] if source.promise(item) else []))
        admitted = self._admission.admit(stream, item)
        table = admitted.table
        if not table.num_rows:
            source.rows += admitted.seen
            self._admission.note(admitted)
            return self._nothing
        saved, idle = source.generator.snapshot(), source.generator.idle
        for join in self._compiled.joins:
            join.mark()
        try:
            chunk, promises = source.take(table, self.arrived, admitted.places)
            chunk = chunk.stamped(at_places(bounds, admitted.places))
            late = self._late_among(source, chunk)
            arriving = [path.process(chunk) for path in self._paths[stream]]
            ready = [] if self._stage is None else [self._stage.prepare(seen, guarded=False) for seen in arriving]
        except Exception:
            source.generator.restore(saved)
            for join in self._compiled.joins:
                join.rollback()
            raise
        source.rows += admitted.seen
        self._admission.note(admitted)
        self.arrived += table.num_rows
        if late.any():
            self._late.add(source, chunk, late, source.bounds.linear)
        if self._dated:
            self._note_first(chunk)
        if idle:
            for path in self._paths[stream]:
                set_idle(path, idle=False)
        if self._stage is None:
            parts = [self._beside(seen) for seen in arriving if seen.table.num_rows]
        else:
            for rows in ready:
                self._stage.count(rows)
            if self._log is not None and self._log.watch:
                self._log.note_opened(self._stage.kernel)
            parts = self._closed(None, self._stage.ripe())
        return self._present(parts + self._promised(stream, [p for p in promises if source.promise(p)]))

    def finish(self, stream: str | None = None) -> pa.Table:
        """One input has ended, or all have: what no other input can add to is output."""
        names = self.streams if stream is None else (stream,)
        parts = [self.push(name, END) for name in names if not self._stream(name).finished]
        self._admission.close(names)
        return pa.concat_tables(parts) if parts else self._nothing

    def tick(self, now: int) -> pa.Table:
        """The wall clock shows ``now`` (microseconds since the epoch): what policies that look at it close."""
        parts: list[pa.Table] = []
        for source, bound, fell_silent in self._clocks.tick(now):
            if bound != NO_BOUND and source.attribute is not None:
                promise = Punctuation.below(source.attribute, bound)
                parts += self._promised(source.name, [promise] if source.promise(promise) else [])
            if fell_silent:
                for path in self._paths[source.name]:
                    parts += self._after(set_idle(path, idle=True))
        return self._present(parts)

    def silence(self, stream: str, silent: bool) -> pa.Table:
        """Somebody else saw a stream fall silent, so that it holds no other back, or wake up; what that closes."""
        return self._present([part for path in self._paths[stream]
                              for part in self._after(set_idle(path, idle=silent))])

    def _promised(self, stream: str, promises: list[Punctuation]) -> list[pa.Table]:
        """Results of the windows that promises of a stream close."""
        return [part for path in self._paths[stream] for promise in promises
                for part in self._after(path.advance(promise))]

    def _after(self, arrived: list[Punctuation]) -> list[pa.Table]:
        """What promises at the top of the joins close, after the rows they have left without a partner."""
        parts: list[pa.Table] = []
        for chunk in (chunk for join in self._compiled.joins for chunk in join.take_alone()):
            if self._stage is None:
                parts.append(self._beside(chunk))
            else:
                self._stage.count(self._stage.prepare(chunk, guarded=False))
        return parts + self._advance(arrived)

    def _advance(self, arrived: list[Punctuation]) -> list[pa.Table]:
        """What promises at the top of the joins close; where rows leave they leave with them."""
        parts: list[pa.Table] = []
        for promise in arrived:
            self._promises.note(promise)
            if self._stage is not None:
                parts += self._closed(promise, self._stage.advance(promise))
            for listener in self._listeners:
                listener(promise)
        return parts

    def _closed(self, by: Punctuation | None, results: pa.Table) -> list[pa.Table]:
        if not results.num_rows:
            return []
        if self._log is not None and self._stage is not None:
            self._log.note_closed(by, results, self._stage.kernel)
        return [results]

    def _late_among(self, source: StreamInput, chunk: Chunk) -> npt.NDArray[np.bool_]:
        """Rows that break a promise of their stream, as they enter: whatever WHERE would say of them."""
        if not any(map(is_guarded, self._paths[source.name])):
            return np.zeros(chunk.table.num_rows, np.bool_)
        late = chunk.late()
        if self.late is LatePolicy.ERROR:
            refuse_late(chunk, late, source.attribute or "", self._kind)
        return late

    # -- for whoever dates pairs

    @property
    def born(self) -> int:
        """No pair that was born before this will come."""
        return self._compiled.joins[-1].born

    @property
    def depth(self) -> int:
        """How many rows a pair is made of."""
        return self._compiled.joins[-1].depth

    @property
    def watermark(self) -> int:
        """What the joins have promised of the windowing attribute of the aggregate over them."""
        if all(source.finished for source in self._inputs.values()):
            return FINISHED
        return NO_BOUND if self._stage is None else self._stage.watermark

    def _note_first(self, chunk: Chunk) -> None:
        assert chunk.values is not None
        times = chunk.values[chunk.values >= chunk.bounds]
        if len(times):
            earliest = int(times.min())
            self.first = earliest if self.first is None else min(self.first, earliest)

    def _beside(self, chunk: Chunk) -> pa.Table:
        return chunk.table if not self._dated or chunk.lineage is None else chunk.lineage.beside(chunk.table)

    def _no_pairs(self) -> pa.Table:
        table = self._schema.empty_table()
        if not self._dated:
            return table
        return Lineage(np.empty(0, np.int64), np.empty((self.depth, 0), np.int64)).beside(table)

    # -- results as the user sees them

    def _present(self, parts: list[pa.Table]) -> pa.Table:
        if not parts:
            return self._nothing
        results = parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="permissive")
        if self._stage is not None:
            return self._above(self._stage.present(results))
        results = results.select(self._shown)
        return results if results.schema.equals(self._nothing.schema) else results.cast(self._nothing.schema)

    def _above(self, results: pa.Table) -> pa.Table:
        for node in self._compiled.above:
            results = project(node.items, results) if isinstance(node, Project) else \
                results.filter(pa.array(truth(node.predicate, results)))
        return results

    def nothing(self) -> pa.Table:
        """No results, with their columns."""
        return self._nothing

    def peek(self) -> pa.Table:
        """The results that open windows would have if nothing more came; nothing changes. Pairs never wait."""
        if self._stage is None or self._stage.finished:
            return self._nothing
        return self._above(self._stage.present(self._stage.kernel.peek()))

    # -- other outputs

    def on_punctuation(self, listener: Callable[[Punctuation], object]) -> Callable[[Punctuation], object]:
        """Call a function with what the joins promise: on each time, and on both together.

        Without a window aggregate these are promises about the results, in the names of their columns.
        """
        self._listeners.append(self._turn.later(listener))
        return listener

    def promises(self) -> list[Punctuation]:
        """What the joins promise now of pairs to come, in the names of the results' columns."""
        return [] if self._stage is not None else list(self._promises)

    def on_window(self, listener: Callable[[WindowEvent], object]) -> Callable[[WindowEvent], object]:
        """Call a function when a window opens or closes."""
        if self._log is None or self._stage is None:
            raise PlanError("this query has no windows that open and close: its results are pairs of rows; use "
                            "on_punctuation to see its progress")
        if not self._log.watch:
            self._log.watch, self._log.open = True, set(self._stage.kernel.open_windows())
        self._log.listeners.append(self._turn.later(listener))
        return listener

    @property
    def events(self) -> deque[WindowEvent]:
        """The newest openings and closings of windows, if they are watched."""
        return deque() if self._log is None else self._log.events.copy()

    @property
    def clock_step(self) -> int | None:
        """How often ``tick`` wants to be called, in microseconds; None when no policy looks at the wall clock."""
        return self._clocks.step if self._clocks else None

    def status(self, windows: int = WINDOWS_LISTED) -> QueryStatus:
        """Rows, late rows, watermarks and how much state there is; with a window aggregate its open windows, too.

        ``watermark`` is the bound on both times of the pairs, ``buffered`` the rows that
        the joins hold, ``joins`` the counters of each.
        """
        counters = [join.join.counters() for join in self._compiled.joins]
        if self._stage is not None and self._compiled.aggregate is not None:
            found = build_status(self._stage, self._inputs, self._late.counts, arrived=self.arrived, listed=windows,
                                 window=self._compiled.aggregate.window, admission=self._admission)
        else:
            bound = min(join.join.progress.earliest() for join in self._compiled.joins)
            found = QueryStatus(
                rows=self.arrived, late=self.late_count, bad=self.bad_count,
                watermark=bound_text(bound, self._kind), open_windows=0,
                window_groups=0, partials=0, buffered=0, state_bytes=0, windows=[],
                streams={name: self._stream_status(source) for name, source in self._inputs.items()})
        found["buffered"] += sum(counter["buffered"] for counter in counters)
        found["state_bytes"] += sum(counter["bytes"] for counter in counters)
        found["joins"] = counters
        found.update(self.late_told())
        return found

    def _stream_status(self, source: StreamInput) -> dict[str, Any]:
        bound = FINISHED if source.finished else source.bounds.linear
        return {"rows": source.rows, "late": self._late.counts[source.name],
                "bad": self._admission.counts[source.name], "finished": source.finished,
                "idle": source.generator.idle, "watermark": bound_text(bound, self._kind),
                "groups_ahead": sum(len(table.bounds) for table in source.bounds.groups.values()),
                "progress": source.generator.describe()}

    # -- saving

    @property
    def fingerprint(self) -> str:
        """What a checkpoint must have been made with to be used here: this plan."""
        return hashlib.sha256(repr(self.plan).encode()).hexdigest()[:16]

    def snapshot(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """Everything needed to go on exactly here; ``extra`` is any JSON data to find again beside it."""
        late_count, tables = self._late.snapshot()
        header: dict[str, Any] = {
            "query": self.fingerprint, "late": self.late.value, "arrived": self.arrived, "late_count": late_count,
            "inputs": {name: source.snapshot() for name, source in self._inputs.items()},
            "melds": [meld.snapshot() for meld in self._compiled.melds],
            "open": [] if self._log is None else sorted(self._log.open), "first": self.first,
            "promises": self._promises.snapshot(), "admission": self._admission.snapshot(),
            "extra": dict(extra or {}),
        }
        states = {f"join {i}": join.snapshot() for i, join in enumerate(self._compiled.joins)}
        if self._stage is not None:
            states["kernel"] = self._stage.kernel.snapshot()
        tables |= {name: pa.table({"state": pa.array([state], pa.large_binary())}) for name, state in states.items()}
        return encode_state(KIND, VERSION, header, tables)

    def restore(self, data: bytes) -> dict[str, Any]:
        """Become what ``snapshot`` saved, and return its ``extra``; a state of another query is refused."""
        header, tables = decode_state(data, KIND, VERSION)
        refuse_foreign(header, self.fingerprint, self.late)
        for i, join in enumerate(self._compiled.joins):
            join.restore(tables[f"join {i}"].column("state")[0].as_py())
        if self._stage is not None:
            self._stage.kernel.restore(tables["kernel"].column("state")[0].as_py())
        for name, state in header["inputs"].items():
            self._inputs[name].restore(state)
        for meld, state in zip(self._compiled.melds, header["melds"], strict=True):
            meld.restore(state)
        if self._log is not None:
            self._log.open = set(header["open"])
        self.arrived, self.first = header["arrived"], header.get("first")
        self._late.restore(header["late_count"], tables)
        self._promises.restore(header.get("promises", ()))
        self._admission.restore(header.get("admission"))
        return dict(header["extra"])

    # -- inside

    @property
    def _kind(self) -> OrdinalKind:
        return self._compiled.joins[0].kinds[0]

    def _stream(self, name: str) -> StreamInput:
        if name not in self._inputs:
            raise PlanError(f"the query does not read a stream {name!r}; it reads {', '.join(self._inputs)}"
                            f"{did_you_mean(name, self._inputs)}")
        return self._inputs[name]

    def _input(self, source: Source) -> StreamInput:
        policy = self._progress if isinstance(self._progress, str) else self._progress.get(source.name, "source")
        schema, guard = source.schema, self._compiled.guard(source.name)
        if guard is not None and guard not in schema.columns:
            raise SchemaError(f"stream {source.name!r} has no column {guard!r} to order it; "
                              f"there are {', '.join(schema.columns)}")
        kind = schema.ordinal_kind(guard) if guard else self._kind
        generator = parse_progress(policy, kind, dict(schema.columns))
        return StreamInput(source.name, schema, guard, sorted(self._compiled.read[source.name]), generator)
