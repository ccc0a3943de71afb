"""A running relational query: rows and punctuation in, what happened at every complete instant out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.bad_rows import BadRows
from panewise.core.errors import LateRowError, PlanError
from panewise.core.ordinals import Ordinals
from panewise.kernels.state_file import decode_state, encode_state
from panewise.plan.nodes import Lifetime, Node, Table
from panewise.planner.ages_known import check_counted
from panewise.planner.capabilities import check
from panewise.planner.choices import Stats
from panewise.planner.forms import CHANGE, Form, form_of, stops, time_kind
from panewise.planner.join_manner import Joins
from panewise.planner.optimizer import Optimized, optimize
from panewise.planner.optimizer import is_relational as worth_optimizing
from panewise.planner.physical import Physical, physical
from panewise.planner.relation_statistics import RelationStatistics, known_inputs
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.progress.meld import Meld
from panewise.progress.policy import check_policies
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND
from panewise.queries.admission import Admission, InputRules, ShowsBadRows
from panewise.queries.chunks import at_places
from panewise.queries.clockwork import Clockwork
from panewise.queries.events import WindowEvent
from panewise.queries.foreign import refuse_foreign
from panewise.queries.inputs import RowsIn, StreamInput, plain_rows
from panewise.queries.late_output import LateOutput
from panewise.queries.one_at_a_time import in_zone_of_plan
from panewise.queries.promises import Promises
from panewise.queries.relations import tree
from panewise.queries.relations.compiler import Compiler
from panewise.queries.relations.inner_pairs import InnerPairs
from panewise.queries.relations.late_inside import ShowsLateRowsInside
from panewise.queries.relations.ports import Port, Ports
from panewise.queries.relations.promises import TellsPromises
from panewise.queries.relations.results import result_form
from panewise.queries.relations.steps import Steps
from panewise.queries.relations.styles import Style
from panewise.queries.relations.watched import PlanWatch
from panewise.queries.status import WINDOWS_LISTED, QueryStatus, bound_text

KIND = "embedded-relation"
VERSION = 7


class RelationQuery(ShowsLateRowsInside, TellsPromises, ShowsBadRows):
    """One plan over windows that are relations at every instant, on the embedded engine.

    Results leave when the instants they happen at are complete: below the bound all inputs have promised. They do not
    depend on how rows are cut into batches, nor on their order as far as punctuation allows.

    ``style`` is how expiry travels through the plan: ``upa`` by update pattern, ``negative`` as negative tuples,
    ``direct`` by looking through lists. ``stats`` of its inputs (``S.rows_per_second``, …) choose among the plans that
    give the same results; then what comes and goes is counted, and ``status()["replan"]`` says when another plan has
    become better. ``decided`` is what they decide beside the plan, where all was chosen before, and ``watched`` the
    choice that is then watched. ``joins`` runs joins ``at once`` or ``by twos`` (:class:`Joins`), whatever statistics
    say. With ``current`` the relation itself is kept, for :meth:`current` to show.
    """

    @in_zone_of_plan
    def __init__(self, plan: Node, *, late: str | LatePolicy = DEFAULT_LATE,
                 progress: str | Mapping[str, str] = "source",
                 style: str | Style = Style.UPA, emit: str = "final", stats: Stats = None,
                 decided: Physical | None = None, watched: Optimized | None = None, current: bool = False,
                 joins: str | Joins = "auto", rules: InputRules | None = None) -> None:
        check(plan, "embedded")
        if emit.strip().lower() != "final":
            raise PlanError(f"early results (emit={emit!r}) are for window aggregates: a relation tells every change "
                            "when its instant is complete")
        self.plan, self.late, self.style = plan, LatePolicy.parse(late), Style.parse(style)
        if self.style is Style.NEGATIVE:
            check_counted(plan)
        self._ports = Ports(progress, self.late)
        self._form = form_of(plan)
        self._kind = time_kind(plan)
        known = known_inputs(stats)
        optimized = self._optimized(known) if decided is None else None
        self.running = plan if optimized is None else optimized.plan
        watched = optimized if known is not None else watched
        self.watch = None if watched is None else PlanWatch(watched)
        known = known if optimized is None else optimized.statistics
        self.physical = self._physical(known, Joins.parse(joins)) if decided is None else decided
        compiler = Compiler(self._ports, self.style, self.physical)
        self._root = compiler.root(self.running, self._form)
        self._uids = compiler.uids
        self._results = result_form(self._form, self._root, self._kind, self.style, current=current)
        self._current = current
        check_policies(progress, self.streams)
        self._late = LateOutput(self.late, self.streams, (rules or InputRules()).late_keep)
        self._admission = Admission(plan, self.sources, rules)
        self._clocks = Clockwork([port.source for port in self._ports], self._kind)
        self._meld = Meld([*(port.key for port in self._ports), *(inner.key for inner in self._ports.inner)])
        tables = {node.name for node in plan.walk() if isinstance(node, Table)}
        self._tables = [port for port in self._ports if port.name in tables]
        self._arrived, self._place = 0, 0
        self._reached = NO_BOUND
        self._steps = Steps()
        self._promises, self._listeners = Promises(), []
        self._ends = any(isinstance(node, Lifetime) for node in plan.walk())
        for inner in self._ports.inner:
            inner.in_full = self._ends  # counted from the first row of all
            inner.query.late_output.keep = self._late.keep

    def _optimized(self, known: RelationStatistics | None) -> Optimized | None:
        """The cheapest plan by statistics of the inputs; without them one that is better whatever the data, with
        selections moved down and columns that nobody reads left out."""
        if not worth_optimizing(self.plan):
            return None
        return optimize(self.plan, known)  # one plan for all styles

    def _physical(self, known: RelationStatistics | None, joins: Joins) -> Physical:
        """Where negatives for every end cost less than calendars, and which joins run at once."""
        return physical(self.running, known if self.style is Style.UPA else None, joins)

    # -- in and out

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams and tables the query reads."""
        return self._ports.streams

    @property
    def sources(self) -> list[StreamInput]:
        """The streams and tables at the border, once for each column that orders them."""
        return [*(port.source for port in self._ports),
                *(source for inner in self._ports.inner for source in inner.query.sources)]

    def push(self, stream: str, item: RowsIn | Punctuation | BadRows, *, bounds: Ordinals | None = None) -> pa.Table:
        """Take in rows or a punctuation of one stream; what happened at the instants it completes.

        ``bounds`` are those that were in force when the rows came to the source, where it knows more than the query
        has been promised.
        """
        ports = self._ports.named(stream)
        if isinstance(item, Punctuation):
            item = self._admission.promise(stream, item)
            self._place += not item.covers_everything
            for port in ports:
                if self._clocks:
                    self._clocks.sign_of_life(port.source, item)
                self._promise(port, item)
            self._push_inside(stream, item)
            return self._advance()
        item = item if isinstance(item, BadRows) else plain_rows(item, stream)
        admitted = self._admission.admit(stream, item)
        table = admitted.table
        if not table.num_rows:
            for port in ports:
                port.source.rows += admitted.seen
            self._admission.note(admitted)
            return self.nothing()
        bounds = at_places(bounds, admitted.places)
        if not ports:
            self._push_inside(stream, table, bounds)
            self._admission.note(admitted)
            self._arrived, self._place = self._arrived + table.num_rows, self._place + table.num_rows
            if self.watch is not None:
                self.watch.rows(stream, table)
            return self._advance()
        signs = self._signs(ports, item)
        signs = signs if signs is None or admitted.places is None else signs[admitted.places]
        saved = [(port, port.source.generator.snapshot(), port.source.generator.idle) for port in ports]
        try:
            taken = [(port, chunk.stamped(bounds if port.guard == port.schema.time else None), promises)
                     for port in ports for chunk, promises in [port.take(table, self._arrived, admitted.places)]]
            late = [port.late(chunk, self._reached if self.guarded else None) for port, chunk, _ in taken]
            some_late = [bool(mask.any()) for mask in late]
            if self.late is LatePolicy.ERROR and any(some_late):
                self._refuse_late(taken, late)
            self._push_inside(stream, table, bounds)
        except Exception:
            for port, state, _ in saved:
                port.source.generator.restore(state)
            raise
        self._arrived += table.num_rows
        self._admission.note(admitted)
        if self.watch is not None:
            self.watch.rows(stream, table)
        for (port, chunk, promises), mask, some, (_, _, idle) in zip(taken, late, some_late, saved, strict=True):
            port.source.rows += admitted.seen
            port.arrive(chunk.filter(~mask) if some else chunk, self._place,
                        signs[~mask] if some and signs is not None else signs)
            if some:
                port.arrive_late(chunk.filter(mask), self._reached)
            if idle:
                self._meld.set_idle(port.key, idle=False)
            for promise in promises:
                self._promise(port, promise)
        self._place += table.num_rows
        if any(some_late):
            self._late.add(ports[0].source, taken[0][1], np.logical_or.reduce(late), self._reached)
        return self._advance()

    def _signs(self, ports: list[Port], item: RowsIn) -> Ordinals | None:
        """Which rows of a table are deletions: those with ``change`` -1, a column the table does not declare."""
        if not any(port in self._tables for port in ports) or CHANGE in ports[0].schema.columns:
            return None
        if isinstance(item, pa.RecordBatch | pa.Table):
            if CHANGE not in item.schema.names:
                return None
            said = item.column(CHANGE).to_pylist()
        else:
            said = [row.get(CHANGE) for row in item if isinstance(row, Mapping)]
        return np.array([1 if change is None else change for change in said], np.int64)

    @property
    def guarded(self) -> bool:
        """Rows of a plan that is nothing but a stream are never too late, unless it stops some time after the first."""
        return self._form is not Form.STREAM or stops(self.plan)

    @property
    def waits(self) -> bool:
        """Whether rows wait until their instant is complete: a lifetime counts from the first row of a join's streams,
        which may come after pairs are found."""
        return self.guarded or (self._ends and any(isinstance(inner, InnerPairs) for inner in self._ports.inner))

    def _refuse_late(self, taken: list[Any], late: list[Any]) -> None:
        for (_, chunk, _), mask in zip(taken, late, strict=True):
            if mask.any():
                at = int(np.flatnonzero(mask)[0])
                bound = max(int(chunk.bounds[at]), self._reached)
                value = self._kind.text(int(chunk.values[at]))
                raise LateRowError(f"stream {chunk.stream!r}, row {int(chunk.rows[at])}: {value} is below the bound "
                                   f"{self._kind.text(bound)} that was promised before; choose "
                                   "another late policy to go on")

    def finish(self, stream: str | None = None) -> pa.Table:
        """One input has ended, or all have: what no other input can change any more is told."""
        names = self.streams if stream is None else (stream,)
        parts = [self.push(name, END) for name in names if not self._ended(name)]
        self._admission.close(names)
        return pa.concat_tables(parts) if parts else self.nothing()

    def tick(self, now: int) -> pa.Table:
        """The wall clock shows ``now`` (microseconds since the epoch): what policies that look at it complete."""
        for source, bound, fell_silent in self._clocks.tick(now):
            for port in self._ports.named(source.name):
                if port.source is not source:
                    continue
                if bound != NO_BOUND and source.attribute is not None:
                    self._promise(port, Punctuation.below(source.attribute, bound))
                if fell_silent:
                    self._meld.set_idle(port.key)
        for inner in self._ports.inner:
            inner.tick(now, self._place)
        return self._advance()

    def silence(self, stream: str, silent: bool) -> pa.Table:
        """Somebody else saw a stream fall silent, so that it holds no other back, or wake up; what that completes."""
        for port in self._ports.named(stream):
            self._meld.set_idle(port.key, silent)
        return self._advance()

    def _ended(self, stream: str) -> bool:
        inside = [inner.query._stream(stream) for inner in self._ports.inner if stream in inner.query.streams]
        return all(source.finished for source in [*(p.source for p in self._ports.named(stream)), *inside])

    def _push_inside(self, stream: str, item: RowsIn | Punctuation, bounds: Ordinals | None = None) -> None:
        for inner in self._ports.inner:
            if stream in inner.query.streams:
                inner.push(stream, item, self._place, self._arrived, bounds)

    def _promise(self, port: Port, promise: Punctuation) -> None:
        if port.source.promise(promise):
            self._meld.advance(port.key, port.bound(self._place))

    @property
    def watermark(self) -> int:
        """Everything that happened at earlier instants has been told."""
        return self._reached

    # -- steps

    @property
    def _passes_late_rows(self) -> bool:
        return not self.waits and any(port not in self._tables for port in self._ports)

    def _advance(self) -> pa.Table:
        results = self._stepped()
        self._tell_promises()
        return results

    def _stepped(self) -> pa.Table:
        for port in self._ports:
            if port.by_place and not port.source.finished:
                self._meld.advance(port.key, self._place)
        for inner in self._ports.inner:
            self._meld.advance(inner.key, inner.bound)
        if not self.waits and not self._tables:
            return self._results.step(self._root.step(FINISHED), FINISHED)
        bound = self._meld.bound if self.waits else min(port.bound(self._place) for port in self._tables)
        parts = []
        if bound > self._reached or not self.waits:  # rows beside a complete table are never too late
            leaves = [leaf for part in (*self._ports, *self._ports.inner) for leaf in part.leaves]
            parts = [self._step(upto) for upto in self._steps.upto(bound, leaves, self._reached)]
            if self.watch is not None:
                self.watch.judge(self._root)
        parts = [part for part in parts if part.num_rows]
        return pa.concat_tables(parts) if parts else self.nothing()

    def _step(self, upto: int) -> pa.Table:
        self._reached = upto
        results = self._results.step(self._root.step(upto), upto)
        self._steps.learn(results.num_rows)
        return results

    # -- other outputs

    def on_window(self, listener: Callable[[WindowEvent], object]) -> Callable[[WindowEvent], object]:
        """Windows of a relation neither open nor close: they move."""
        raise PlanError("the windows of this query are relations, which change at every instant: nothing opens or "
                        "closes; its results say what comes and goes")

    @property
    def clock_step(self) -> int | None:
        """How often ``tick`` wants to be called, in microseconds; None when no policy looks at the wall clock."""
        return self._clocks.step if self._clocks else None

    def current(self) -> pa.Table:
        """The relation at the last complete instant: the rows that are there, in no particular order."""
        if not self._current:
            raise PlanError("the relation as it is now is kept if that is asked for: open the query with current=True")
        if self._reached == NO_BOUND and not self._tables:
            return self._over_nothing
        return self._results.current()

    @cached_property
    def _over_nothing(self) -> pa.Table:
        """What is there before anything has come: a query of which all inputs end at once shows it."""
        query = RelationQuery(self.plan, style=self.style, current=True)
        query.finish()
        return query.current()

    def nothing(self) -> pa.Table:
        """No results, with their columns."""
        return self._results.schema.empty_table()

    def status(self, windows: int = WINDOWS_LISTED) -> QueryStatus:
        """Rows, late rows, watermarks, how much every operator keeps, and whether another plan is better by now."""
        del windows
        operators: list[dict[str, Any]] = [stage.counters() for stage in self._root.walk()]
        operators += [inner.counters() for inner in self._ports.inner]
        counters: list[dict[str, Any]] = [*operators, self._results.counters()]
        streams = {}
        inside = {name: output.counts[name] for output, names in self._late_inside() for name in names}
        for name in self.streams:
            ports = self._ports.named(name)
            source = ports[0].source if ports else next(
                inner.query._stream(name) for inner in self._ports.inner if name in inner.query.streams)
            late = self._late.counts[name] + inside.get(name, 0)
            streams[name] = {"rows": source.rows, "late": late, "bad": self._admission.counts[name],
                             "finished": source.finished,
                             "idle": source.generator.idle, "groups_ahead": 0,
                             "watermark": bound_text(FINISHED if source.finished else source.bounds.linear, self._kind),
                             "progress": source.generator.describe()}
        found = QueryStatus(
            rows=self._arrived, late=self.late_count, bad=self.bad_count,
            watermark=bound_text(self._reached, self._kind),
            open_windows=0, window_groups=0, partials=sum(int(c.get("rows", 0)) for c in counters),
            buffered=sum(int(c.get("waiting", 0)) for c in counters),
            state_bytes=sum(int(c.get("bytes", 0)) for c in counters), streams=streams, windows=[],
            operators=operators)
        found.update(self.late_told())
        if joins := [join for counted in counters for join in counted.get("joins", ())]:
            found["joins"] = joins
        if self.proposal is not None:
            found["replan"] = self.proposal
        return found

    @property
    def proposal(self) -> str | None:
        """Why another plan would be better by now; None while the one that runs is good, or nobody watches it."""
        return None if self.watch is None or self.watch.proposed is None else self.watch.proposed.reason

    # -- saving

    @property
    def fingerprint(self) -> str:
        """What a checkpoint must have been made with to be used here: this plan, run in this style."""
        announced = " ".join(sorted(map(repr, self.physical.announced)))
        at_once = " ".join(found.kept for found in self.physical.at_once)
        kept = " current" if self._current else ""
        text = f"{self.plan!r} {self.running!r} {self.style.value} {announced}{at_once}{kept}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def snapshot(self, extra: Mapping[str, Any] | None = None) -> bytes:
        """Everything needed to go on exactly here; ``extra`` is any JSON data to find again beside it."""
        late_count, tables = self._late.snapshot()
        operators, kept = tree.snapshot(self._root)
        results, shown = self._results.snapshot()
        tables |= {f"inner {i}": inner.snapshot() for i, inner in enumerate(self._ports.inner)}
        tables |= kept | {f"results:{name}": table for name, table in shown.items()}
        header = {"query": self.fingerprint, "late": self.late.value, "arrived": self._arrived,
                  "place": self._place, "late_count": late_count,
                  "inputs": {p.key: p.source.snapshot() for p in self._ports},
                  "meld": self._meld.snapshot(), "reached": self._reached, "uid": self._uids.next,
                  "operators": operators, "results": results, "extra": dict(extra or {}),
                  "admission": self._admission.snapshot()}
        return encode_state(KIND, VERSION, header, tables)

    def restore(self, data: bytes) -> dict[str, Any]:
        """Become what ``snapshot`` saved, and return its ``extra``; a state of another query is refused."""
        header, tables = decode_state(data, KIND, VERSION)
        refuse_foreign(header, self.fingerprint, self.late)
        for port in self._ports:
            port.source.restore(header["inputs"][port.key])
        for i, inner in enumerate(self._ports.inner):
            inner.restore(tables[f"inner {i}"])
        self._meld.restore(header["meld"])
        self._arrived, self._place, self._reached = header["arrived"], header["place"], header["reached"]
        self._uids.next = header["uid"]
        tree.restore(self._root, header["operators"], tables)
        shown = {n.removeprefix("results:"): t for n, t in tables.items() if n.startswith("results:")}
        self._results.restore(header["results"], shown)
        self._late.restore(header["late_count"], tables)
        self._admission.restore(header.get("admission"))
        return dict(header["extra"])
