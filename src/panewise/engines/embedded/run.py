"""Run a query over its inputs: in turn or as they come, with checkpoints from which a killed run goes on exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from threading import Event, RLock
from time import monotonic, time_ns
from typing import Any

import pyarrow as pa

from panewise.core.errors import CheckpointError, PlanError
from panewise.dataflow import Query, QueryStatus, open_plan
from panewise.engines.checkpoints import CheckpointLabel
from panewise.engines.contract import InputStream, place_in, windowing_attribute
from panewise.engines.embedded.arrivals import Arrivals, InTurn, Live
from panewise.engines.embedded.inbox import QUEUE_ROWS, Ended
from panewise.engines.embedded.positions import Item, Position, length
from panewise.engines.embedded.sinks import KeptResults, Sink, Transaction, TransactionalSink
from panewise.engines.embedded.sources import FollowedFile, StreamSource, as_source
from panewise.plan.nodes import Node
from panewise.plan.run_instant import begun_at, instant_now, reads_the_clock
from panewise.planner.options import RunOptions
from panewise.progress.late import DEFAULT_LATE, LatePolicy
from panewise.storage import DirectoryChunks, MemoryChunks, Scoped

CHECKPOINT_ROWS = 1_000_000
CHECKPOINT_SECONDS = 5.0
STATE, RESULTS, SINK, BESIDE = "state", "results", "sink", "beside"
"""The chunks of a checkpoint: the query's state, kept results, and what sinks and other outputs keep."""


def wall_clock() -> int:
    """Microseconds since the epoch."""
    return time_ns() // 1_000


class EmbeddedRun:
    """A query, where its rows come from, and where its results go.

    Inputs take turns, one item each, unless the run is ``live``: then every source is read by a thread of its own into
    a bounded queue, a lull of one does not hold up the others, and policies that look at the wall clock are ticked.

    With a ``checkpoint`` directory the state is saved every so many rows, in a live run also every so many seconds, and
    at the end. After a restart a source goes on behind what was saved. ``keep_results`` keeps the results there, too,
    and yields those of all runs before first. A directory that is open already is not closed here, unless its ``label``
    is given, which then says whether the inputs were read to their end. ``beside`` are other outputs that take part in
    checkpoints, by name.
    """

    def __init__(self, query: Query, inputs: Mapping[str, Any], *, sinks: Sequence[Sink] = (),
                 checkpoint: str | Path | DirectoryChunks | None = None, checkpoint_rows: int = CHECKPOINT_ROWS,
                 checkpoint_seconds: float | None = None, keep_results: bool = False, live: bool = False,
                 queue_rows: int = QUEUE_ROWS, clock: Callable[[], int] = wall_clock,
                 beside: Mapping[str, Transaction] | None = None, label: CheckpointLabel | None = None) -> None:
        if missing := [name for name in query.streams if name not in inputs]:
            raise PlanError(f"no input for the stream {missing[0]!r}; given: {', '.join(inputs) or 'none'}")
        self.query, self.clock, self.live = query, clock, live
        self.sources: dict[str, StreamSource] = {name: as_source(inputs[name], name) for name in query.streams}
        for name, source in self.sources.items():
            if isinstance(source, FollowedFile):
                query.locate(name, source.place)
        self.sinks = list(sinks)
        self._label = label
        self._checkpoint = checkpoint = checkpoint if label is None else label.store
        self._store: DirectoryChunks | None = None
        self._number = 0
        """Of the newest checkpoint."""
        self._every_rows = checkpoint_rows
        self._every_seconds = checkpoint_seconds if checkpoint_seconds is not None else \
            CHECKPOINT_SECONDS if live else float("inf")
        self._kept = KeptResults() if checkpoint is not None and keep_results else None
        self._transactions: dict[str, Transaction] = {
            f"{SINK} {i}": s for i, s in enumerate(self.sinks) if isinstance(s, TransactionalSink)}
        self._transactions |= {f"{BESIDE} {name}": one for name, one in (beside or {}).items()}
        self._check_recoverable()
        if self._kept is not None:
            self._transactions[RESULTS] = self._kept
        self._queue_rows = queue_rows
        self._positions = {name: Position() for name in self.sources}
        self._turn = 0
        self._stop = Event()
        self._lock = RLock()
        self._arrivals: Arrivals | None = None

    def _check_recoverable(self) -> None:
        if self._checkpoint is None:
            if self._transactions:
                raise CheckpointError("a transactional sink gives results out with checkpoints: name a checkpoint "
                                      "directory")
            return
        for name, source in self.sources.items():
            if not source.replayable:
                raise CheckpointError(f"the stream {name!r} cannot be used with a checkpoint: {source.why_not}")

    # -- running

    def tables(self) -> Iterator[pa.Table]:
        """Results as they come, until all inputs have ended or the run is stopped; can be asked for once."""
        error: BaseException | None = None
        try:
            yield from self._results()
            if self._label is not None and not self.stopped and not self.live:
                self._label.end()
        except BaseException as caught:
            error = None if isinstance(caught, GeneratorExit) else caught
            raise
        finally:
            for source in self.sources.values():
                source.close()
            for sink in self.sinks:
                sink.close(error, self.query.nothing())
            if self._label is not None:
                self._label.close()
            elif self._store is not None and self._store is not self._checkpoint:
                self._store.close()

    def __iter__(self) -> Iterator[pa.Table]:
        return self.tables()

    def run(self) -> None:
        """To the end, for the sake of the sinks."""
        for _ in self.tables():
            pass

    def stop(self) -> None:
        """End after the item that is worked on: the state is saved, open windows stay open."""
        self._stop.set()
        if self._arrivals is not None:
            self._arrivals.close()

    @property
    def stopped(self) -> bool:
        """Whether it was asked to end."""
        return self._stop.is_set()

    def status(self, windows: int = 20) -> QueryStatus:
        """The query's status, between two items; can be asked from another thread."""
        with self._lock:
            status = self.query.status(windows)
        if isinstance(self._arrivals, Live):
            for name, waiting in self._arrivals.inbox.held.items():
                status["streams"][name]["queued"] = waiting
        return status

    def _results(self) -> Iterator[pa.Table]:
        if self._checkpoint is not None:
            given = self._checkpoint
            self._store = given if isinstance(given, DirectoryChunks) else DirectoryChunks(given)
            self._restore(self._store)
        if self._kept is not None:
            yield from self._kept.earlier()
        started = {name: source.items(self._positions[name]) for name, source in self.sources.items()}
        self._arrivals = Live(started, queue_rows=self._queue_rows) if self.live else InTurn(started, self._turn)
        unsaved, saved_at = 0, monotonic()
        step = self.query.clock_step if self.live else None
        ticked = self.clock()
        with closing(self._arrivals):
            while not self._stop.is_set() and self._arrivals.open:
                arrival = self._arrivals.take(self._patience(step, saved_at))
                with self._lock:
                    results = []
                    if arrival is not None:
                        results.append(self._push(*arrival))
                        unsaved += 0 if isinstance(arrival[1], Ended) else max(length(arrival[1]), 1)
                    if step is not None and not self.query.ended and (now := self.clock()) - ticked >= step:
                        ticked = now
                        results.append(self.query.tick(now))
                for table in results:
                    if table.num_rows:
                        self._deliver(table)
                        yield table
                if unsaved >= self._every_rows or (unsaved and monotonic() - saved_at >= self._every_seconds):
                    self._commit()
                    unsaved, saved_at = 0, monotonic()
        self._commit()

    def _push(self, name: str, item: Item | Ended) -> pa.Table:
        self._turn = getattr(self._arrivals, "turn", self._turn)
        if isinstance(item, Ended):
            return self.query.finish(name)
        results = self.query.push(name, item)
        self._positions[name].count(item)
        return results

    def _deliver(self, table: pa.Table) -> None:
        for sink in self.sinks:
            sink.write(table)
        if self._kept is not None:
            self._kept.write(table)

    def _patience(self, step: int | None, saved_at: float) -> float | None:
        """How long to wait for an item before something else is due."""
        waits = [] if step is None else [step / 1e6]
        if self._store is not None and self._every_seconds != float("inf"):
            waits.append(max(saved_at + self._every_seconds - monotonic(), 0.01))
        return min(waits) if waits else None

    # -- checkpoints

    def _commit(self) -> None:
        """Results made durable, then the state, then results given out: a kill in between repeats or finishes it.

        Sources are told only of what is on disk: an error before that leaves their senders with what was not kept.
        """
        if self._store is None:
            return
        number = self._number + 1
        for scope, sink in self._transactions.items():
            sink.prepare(number, Scoped(self._store, scope))
        positions = {n: [p.rows, p.punctuation] for n, p in self._positions.items()}
        with self._lock:
            chunks = MemoryChunks()
            self.query.save(chunks, {"positions": positions, "turn": self._turn, "checkpoint": number})
        for name in chunks.names():
            chunks.copied(name, Scoped(self._store, STATE))
        self._store.commit()
        self._number = number
        for sink in self._transactions.values():
            sink.commit(number)
        for name, source in self.sources.items():
            source.acknowledge(self._positions[name])

    def _restore(self, store: DirectoryChunks) -> None:
        state = Scoped(store, STATE)
        if state.names():
            extra = self.query.load(state)
            saved = extra.get("positions", {})
            if sorted(saved) != sorted(self.sources):
                raise CheckpointError(f"the checkpoint has positions of {', '.join(saved) or 'no input'}, "
                                      f"the run has {', '.join(self.sources)}")
            self._positions = {n: Position(*saved[n]) for n in self.sources}
            self._turn, self._number = int(extra["turn"]), int(extra["checkpoint"])
        for scope, sink in self._transactions.items():
            sink.recover(self._number, Scoped(store, scope))


def locating(query: Query, inputs: Mapping[str, InputStream]) -> Query:
    """The query, told where the rows of its files stand."""
    for name in query.streams:
        if name in inputs and (place := place_in(inputs[name], windowing_attribute(query.plan))) is not None:
            query.locate(name, place, aside=True)
    return query


def start_run(plan: Node, inputs: Mapping[str, Any], files: Mapping[str, InputStream], options: RunOptions, *,
              on_late: Callable[[pa.Table], object] | None = None, **settings: Any) -> EmbeddedRun:
    """A run of a plan from its beginning, or from its checkpoint; inputs that are ``files`` are known by their paths.

    What is refused is refused before a checkpoint is touched. ``settings`` are those of ``EmbeddedRun``.
    """
    def opened(instant: datetime) -> Query:
        found = open_plan(begun_at(plan, instant), options)
        if on_late is not None:
            found.on_late(on_late)
        return locating(found, files)

    query = opened(began := instant_now())
    if options.checkpoint is None:
        return EmbeddedRun(query, inputs, **settings)
    label = CheckpointLabel.claim(Path(options.checkpoint), plan, files, options, engine="embedded", began=began)
    try:
        if label.began_before(began) and reads_the_clock(plan):
            query = opened(label.began)
        return EmbeddedRun(query, inputs, checkpoint_seconds=options.checkpoint_seconds, label=label, **settings)
    except BaseException:
        label.close()
        raise


def run_embedded(plan: Node, inputs: Mapping[str, Iterable[Item]], *, late: str | LatePolicy = DEFAULT_LATE,
                 progress: str | Mapping[str, str] = "source", checkpoint: str | Path | DirectoryChunks | None = None,
                 checkpoint_rows: int = CHECKPOINT_ROWS, keep_results: bool = False,
                 query: Query | None = None,
                 beside: Mapping[str, Transaction] | None = None) -> Iterator[pa.Table]:
    """Results as windows close, until all inputs have ended; inputs take turns, one item each.

    What was yielded before a checkpoint is never yielded again, unless ``keep_results``: then a run yields the results
    of all runs before it first. Pass ``query`` to look at its status while it runs.
    """
    running = query or open_plan(plan, late=late, progress=progress)
    return EmbeddedRun(running, inputs, checkpoint=checkpoint, checkpoint_rows=checkpoint_rows,
                       keep_results=keep_results, beside=beside).tables()

