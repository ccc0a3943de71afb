"""A running query: rows and punctuation in, results of closed windows out, nothing kept but partial aggregates."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.bad_rows import BadRows
from panewise.core.errors import CheckpointError, PlanError, SchemaError
from panewise.core.names import did_you_mean
from panewise.core.ordinals import Ordinals
from panewise.functions import truth
from panewise.kernels.emission import CHANGE, Emission, Emitter
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
from panewise.queries.late_output import LateOutput, ShowsLateRows, refuse_late
from panewise.queries.one_at_a_time import in_zone_of_plan
from panewise.queries.operators import project
from panewise.queries.pipeline import Pipeline, compile_plan
from panewise.queries.profile import Profile
from panewise.queries.status import WINDOWS_LISTED, QueryStatus, build_status

KIND = "embedded-query"
VERSION = 4

Progress: TypeAlias = str | Mapping[str, str]


class WindowQuery(ShowsLateRows, ShowsBadRows):
    """One plan on the embedded engine.

    ``progress`` is one policy for all streams or one per stream. Results do not depend on how rows are cut into
    batches, nor on their order as far as punctuation allows.

    ``strategy`` names the kernel; with ``auto`` the planner chooses it, by cost when ``stats`` says what the input is
    like (``{"rows_per_second": 5000, "groups": 1000}``). With ``empty_windows`` groups that were seen have a result
    also for windows in which they have no rows.
    """

    @in_zone_of_plan
    def __init__(self, plan: Node, *, late: str | LatePolicy = DEFAULT_LATE, progress: Progress = "source",
                 events: bool = False, strategy: str = "auto", stats: Stats = None, emit: str = "final",
                 profile: bool = False, empty_windows: bool = False, rules: InputRules | None = None) -> None:
        check(plan, "embedded")
        self.plan, self.late = plan, LatePolicy.parse(late)
        self._progress, self._strategy, self._stats, self._empty = progress, strategy, stats, empty_windows
        self._pipeline: Pipeline = compile_plan(plan)
        window = self._pipeline.aggregate.window
        self._inputs = {name: self._input(source) for name, source in self._pipeline.sources.items()}
        check_policies(progress, self._inputs)
        self.profile: Profile | None = Profile() if profile else None
        """Time per operator, if asked for."""
        if self.profile is not None:
            self._pipeline = self.profile.pipeline(self._pipeline)
        self._paths = {name: self._pipeline.paths_of(name) for name in self._inputs}
        self._log = WindowLog(window, watch=events)
        self._late = LateOutput(self.late, self.streams, (rules or InputRules()).late_keep)
        self._admission = Admission(plan, self._inputs.values(), rules)
        self._clocks = Clockwork(self._inputs.values(), window.ordinal)
        self.emission = Emission.parse(emit, window.ordinal)
        if self.emission.mode != "final" and CHANGE in plan.columns:
            raise PlanError(f"early results have a column {CHANGE!r}, and the query names one so: give it another name")
        self._emitter: Emitter | None = None
        self._arrived = 0
        self._stage: WindowStage | None = None
        self._nothing: pa.Table | None = None
        if all(source.schema.columns for source in self._pipeline.sources.values()):
            self._bind({n: pa.schema(list(s.schema.columns.items())) for n, s in self._pipeline.sources.items()})

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
        """Take in rows or a punctuation of one stream; the results it closes.

        A refused item leaves the query as it was. ``bounds`` are those that were in force when the rows came to the
        source, where it knows more than the query has been promised.
        """
        source = self._stream(stream)
        if isinstance(item, Punctuation):
            item = self._admission.promise(stream, item)
            if self._clocks:
                self._clocks.sign_of_life(source, item)
            if not source.promise(item):
                return self._present([])
            return self._advance(stream, [item])
        admitted = self._admission.admit(stream, item)
        table = admitted.table
        if table.num_rows == 0:
            source.rows += admitted.seen
            self._admission.note(admitted)
            return self._present([])
        if self._stage is None:
            self._bind({stream: table.schema})
        saved, idle = source.generator.snapshot(), source.generator.idle
        try:
            chunk, promises = source.take(table, self._arrived, admitted.places)
            chunk = chunk.stamped(at_places(bounds, admitted.places))
            broken = self._broken_promises(stream, chunk)
            arriving = [(path, path.process(chunk)) for path in self._paths[stream]]
            ready = [(seen, self._running.prepare(seen, guarded=path.attribute is not None)) for path, seen in arriving]
            masks = [(seen, self._running.count(rows)) for seen, rows in ready]
        except Exception:
            source.generator.restore(saved)
            raise
        source.rows += admitted.seen
        self._admission.note(admitted)
        self._arrived += table.num_rows
        if any(mask.any() for _, mask in masks) or (broken is not None and broken.any()):
            late = np.zeros(table.num_rows, np.bool_) if broken is None else broken
            for seen, mask in masks:
                late[np.searchsorted(chunk.rows, seen.rows[mask])] = True
            self._late.add(source, chunk, late, self._running.watermark)
        if idle:
            self._wake(stream)
        if self._log.watch:
            self._log.note_opened(self._running.kernel)
        return self._advance(stream, [promise for promise in promises if source.promise(promise)],
                             ripe=self._running.ripe())

    def _broken_promises(self, stream: str, chunk: Chunk) -> npt.NDArray[np.bool_] | None:
        """Rows that come too late, as they enter; None where the aggregate itself sees them all.

        Under the slack policies a row is late if it missed a window, and one that WHERE leaves out is in none.
        """
        guarded = [path for path in self._paths[stream] if path.attribute is not None]
        if not any(path.selects for path in guarded) or self._running.has_slack:
            return None
        late = chunk.late(self._running.watermark)
        if self.late is LatePolicy.ERROR:
            refuse_late(chunk, late, guarded[0].attribute or "", self._pipeline.aggregate.window.ordinal)
        return late

    def finish(self, stream: str | None = None) -> pa.Table:
        """One input has ended, or all have: every window no other input can add to is output."""
        names = self.streams if stream is None else (stream,)
        parts = [self.push(name, END) for name in names if not self._stream(name).finished]
        self._admission.close(names)
        return pa.concat_tables(parts) if parts else self._present([])

    def tick(self, now: int) -> pa.Table:
        """The wall clock shows ``now`` (microseconds since the epoch): what policies that look at it close.

        A stream that fell silent (``idle=``) stops holding the others back; a lull or a heartbeat moves its bound.
        """
        parts: list[pa.Table] = []
        for source, bound, fell_silent in self._clocks.tick(now):
            promises: list[Punctuation] = []
            if bound != NO_BOUND and source.attribute is not None:
                promise = Punctuation.below(source.attribute, bound)
                if source.promise(promise):
                    promises.append(promise)
            parts += self._closed(source.name, promises)
            if fell_silent:
                for path in self._paths[source.name]:
                    parts += self._close(set_idle(path, idle=True))
        if self._emitter is None or self._stage is None:
            return self._present(parts)
        return self._changes(self._emitter.after_tick(parts, now))

    def silence(self, stream: str, silent: bool) -> pa.Table:
        """Somebody else saw a stream fall silent, so that it holds no other back, or wake up; what that closes."""
        parts = [part for path in self._paths[stream] for part in self._close(set_idle(path, idle=silent))]
        return self._present(parts)

    def _wake(self, stream: str) -> None:
        for path in self._paths[stream]:
            set_idle(path, idle=False)

    def _advance(self, stream: str, promises: list[Punctuation], ripe: pa.Table | None = None) -> pa.Table:
        parts: list[pa.Table] = []
        if ripe is not None and ripe.num_rows:
            self._log.note_closed(None, ripe, self._running.kernel)
            parts.append(ripe)
        if promises:
            parts += self._closed(stream, promises)
        if self._emitter is not None and self._stage is not None:
            return self._changes(self._emitter.after_item(parts))
        return self._present(parts)

    def _closed(self, stream: str, promises: list[Punctuation]) -> list[pa.Table]:
        """Results of the windows that promises of a stream close."""
        parts: list[pa.Table] = []
        for path in self._paths[stream]:
            for promise in promises:
                parts += self._close(path.advance(promise))
        return parts

    def _close(self, arrived: list[Punctuation]) -> list[pa.Table]:
        """Results of the windows that promises about the aggregate's input close."""
        if self._stage is None:
            return []
        parts: list[pa.Table] = []
        for promise in arrived:
            results = self._stage.advance(promise)
            if results.num_rows:
                self._log.note_closed(promise, results, self._stage.kernel)
                parts.append(results)
        return parts

    # -- results as the user sees them

    def _present(self, parts: list[pa.Table]) -> pa.Table:
        if self._stage is None:
            return pa.table({name: pa.nulls(0) for name in self.plan.columns})
        if not parts:
            if self._nothing is None:
                nothing = self._stage.empty_results()
                if self._emitter is not None:
                    nothing = nothing.append_column(CHANGE, pa.array([], pa.int64()))
                self._nothing = self._changes(nothing) if self._emitter is not None else \
                    self._above(self._stage.present(nothing))
            return self._nothing
        return self._above(self._stage.present(parts[0] if len(parts) == 1 else pa.concat_tables(parts)))

    def _changes(self, results: pa.Table) -> pa.Table:
        """Early results: what stands over the aggregate is applied to what comes and to what goes alike."""
        change = results.column(CHANGE)
        presented = self._running.present(results.drop_columns([CHANGE]))
        return self._above(presented.append_column(CHANGE, change))

    def _above(self, results: pa.Table) -> pa.Table:
        for node in self._pipeline.above:
            if isinstance(node, Project):
                projected = project(node.items, results)
                results = projected if self._emitter is None else \
                    projected.append_column(CHANGE, results.column(CHANGE))
            else:
                results = results.filter(pa.array(truth(node.predicate, results)))
        return results

    # -- other outputs

    def on_window(self, listener: Callable[[WindowEvent], object]) -> Callable[[WindowEvent], object]:
        """Call a function when a window opens or closes."""
        if not self._log.watch:
            self._log.watch = True
            if self._stage is not None:
                self._log.open = set(self._stage.kernel.open_windows())
        self._log.listeners.append(self._turn.later(listener))
        return listener

    @property
    def events(self) -> deque[WindowEvent]:
        """The newest openings and closings of windows, if they are watched."""
        return self._log.events.copy()

    # -- what a user can ask

    @property
    def watermark(self) -> int:
        """What all inputs together have promised of the windowing attribute."""
        if all(source.finished for source in self._inputs.values()):
            return FINISHED
        return self._stage.watermark if self._stage is not None else NO_BOUND

    @property
    def clock_step(self) -> int | None:
        """How often ``tick`` wants to be called, in microseconds; None when no policy looks at the wall clock."""
        steps = [self._clocks.step] if self._clocks else []
        steps += [self.emission.every] if self.emission.mode == "clock" else []
        return min(steps) if steps else None

    def nothing(self) -> pa.Table:
        """No results, with their columns."""
        return self._present([])

    def peek(self) -> pa.Table:
        """The results that open windows would have if nothing more came; nothing changes."""
        if self._stage is None or self._stage.finished:
            return self._present([])
        emitter, self._emitter = self._emitter, None
        try:
            return self._above(self._stage.present(self._stage.kernel.peek()))
        finally:
            self._emitter = emitter

    def status(self, windows: int = WINDOWS_LISTED) -> QueryStatus:
        """Rows, late rows, watermarks, how much state there is, and the oldest open windows with what closes them.

        Listing windows costs a look at the whole state; ``status(windows=0)`` only counts.
        """
        found = build_status(self._stage, self._inputs, self._late.counts, window=self._pipeline.aggregate.window,
                             arrived=self._arrived, listed=windows, admission=self._admission)
        found.update(self.late_told())
        return found

    # -- saving

    @property
    def fingerprint(self) -> str:
        """What a checkpoint must have been made with to be used here: this plan."""
        return hashlib.sha256(repr(self.plan).encode()).hexdigest()[:16]

    def snapshot(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """Everything needed to go on exactly here; ``extra`` is any JSON data to find again beside it."""
        late_count, tables = self._late.snapshot()
        header: dict[str, Any] = {
            "query": self.fingerprint, "late": self.late.value, "arrived": self._arrived,
            "late_count": late_count, "inputs": {n: s.snapshot() for n, s in self._inputs.items()},
            "melds": [meld.snapshot() for meld in self._pipeline.melds], "open": sorted(self._log.open),
            "extra": dict(extra or {}), "admission": self._admission.snapshot(),
        }
        if self._emitter is not None:
            header["emission"], tables["shown"] = self._emitter.snapshot()
        if self._stage is not None:
            tables["kernel"] = pa.table({"state": pa.array([self._stage.kernel.snapshot()], pa.large_binary())})
        return encode_state(KIND, VERSION, header, tables)

    def restore(self, data: bytes) -> dict[str, Any]:
        """Become what ``snapshot`` saved, and return its ``extra``; a state of another query is refused."""
        header, tables = decode_state(data, KIND, VERSION)
        refuse_foreign(header, self.fingerprint, self.late)
        mode = header.get("emission", {}).get("mode", "final")
        if "kernel" in tables and mode != self.emission.mode:
            raise CheckpointError(f"the checkpoint was made with the emission policy {mode!r}, "
                                  f"this run has {self.emission.mode!r}: restart with the same policy")
        if "kernel" in tables:
            if self._stage is None:
                raise CheckpointError("the columns of the streams must be known before a checkpoint is restored: "
                                      "give the query a schema")
            self._stage.kernel.restore(tables["kernel"].column("state")[0].as_py())
        for name, state in header["inputs"].items():
            self._inputs[name].restore(state)
        for meld, state in zip(self._pipeline.melds, header["melds"], strict=True):
            meld.restore(state)
        self._arrived, self._log.open = header["arrived"], set(header["open"])
        self._late.restore(header["late_count"], tables)
        self._admission.restore(header.get("admission"))
        if self._emitter is not None and "emission" in header:
            self._emitter.restore(header["emission"], tables["shown"])
        return dict(header["extra"])

    # -- inside

    @property
    def _running(self) -> WindowStage:
        if self._stage is None:
            raise PlanError("the columns of the streams are not known yet")
        return self._stage

    def _stream(self, name: str) -> StreamInput:
        if name not in self._inputs:
            raise PlanError(f"the query does not read a stream {name!r}; it reads {', '.join(self._inputs)}"
                            f"{did_you_mean(name, self._inputs)}")
        return self._inputs[name]

    def _input(self, source: Source) -> StreamInput:
        policy = self._progress if isinstance(self._progress, str) else self._progress.get(source.name, "source")
        schema, guard = source.schema, self._pipeline.guard(source.name)
        if guard is not None and schema.columns and guard not in schema.columns:
            raise SchemaError(f"stream {source.name!r} has no column {guard!r} to order it; "
                              f"there are {', '.join(schema.columns)}")
        kind = schema.ordinal_kind(guard) if guard and schema.columns else self._pipeline.aggregate.window.ordinal
        generator = parse_progress(policy, kind, dict(schema.columns) or None)
        keys = {key.scalar.column_name for key in self._pipeline.aggregate.keys}
        return StreamInput(source.name, schema, guard, self._pipeline.needed(source.name), generator,
                           by_substream=bool(generator.columns) and generator.columns[0] in keys)

    def _bind(self, schemas: Mapping[str, pa.Schema]) -> None:
        """Types are known: every expression and aggregate is checked before the first row is counted."""
        found = [path.empty(schemas[path.source.name]).schema for path in self._pipeline.paths
                 if path.source.name in schemas]
        try:
            merged = pa.unify_schemas(found, promote_options="permissive")
        except pa.ArrowException as error:
            raise SchemaError(f"the inputs of a UNION differ in their types: {error}") from error
        self._stage = WindowStage(self._pipeline.aggregate, merged, self.late, self._strategy, self._stats,
                                  empty_windows=self._empty)
        if self.emission.mode != "final":
            self._emitter = Emitter(self.emission, self._stage.kernel)
        self._present([])  # what stands above the windows is bound, too
        if self.profile is not None:
            self._stage = self.profile.stage(self._stage)
