"""The stateful half of a streaming aggregate, for one shard: panes kept as Arrow bytes, windows closed by promises.

Nothing here knows Spark. State is a *store* of chunks (a few neighbouring panes each), of which a step reads and writes
only those it touches, and a short JSON text with the bounds. A step is one micro-batch: all rows, then what was
promised; so where the input is cut into micro-batches changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panewise.core.errors import LateRowError
from panewise.core.ordinals import OrdinalKind, Ordinals
from panewise.engines.spark.calls import ROWS
from panewise.engines.spark.fragment import ORDINAL
from panewise.engines.spark.paired import PaneScheme
from panewise.engines.spark.partial_stage import COUNTS_FROM
from panewise.engines.spark.shard_progress import ShardProgress
from panewise.kernels.emission import FINAL, Emission
from panewise.kernels.panes import PANE_ID, WINDOW_ID, explode, roll_up, window_range
from panewise.kernels.partials import BoundAggregate, combine_partials, finish_partials, partial_schema
from panewise.kernels.state_file import decode_state, encode_state
from panewise.progress.bounds import BoundTable
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import END as EVERYTHING
from panewise.progress.watermarks import FINISHED, NO_BOUND

KIND = "pane-shard"
VERSION = 3
CHUNKS_PER_WINDOW = 4
"""Closing a window reads all its panes, in however many chunks; every chunk read or written is a message to the JVM."""


class ChunkStore(Protocol):
    """Where a shard keeps its chunks."""

    def get(self, chunk: int) -> bytes | None:
        """A saved chunk."""

    def put(self, chunk: int, data: bytes) -> None:
        """Save a chunk."""

    def remove(self, chunk: int) -> None:
        """Forget a chunk."""


@dataclass(frozen=True)
class ShardConfig:
    """What all shards of a query share."""

    scheme: PaneScheme
    keys: pa.Schema
    aggregates: tuple[BoundAggregate, ...]
    inputs: tuple[str, ...]
    late: LatePolicy
    stamped: bool
    shards: int
    delays: tuple[tuple[str, int], ...]
    """Inputs whose bound is derived from their largest value, and how far it stays behind."""
    attribute: str
    kind: OrdinalKind
    emission: Emission = FINAL
    """When results leave."""
    shared_windows: ClassVar[bool] = True
    """Whether all groups have the same windows, so that their ids can be compared across shards."""

    @property
    def carried(self) -> tuple[BoundAggregate, ...]:
        """The aggregates kept in state: without stamps on the rows, also how many rows each partial stands for."""
        return self.aggregates if self.stamped else (*self.aggregates, ROWS)

    @property
    def partial_keys(self) -> list[str]:
        """Key columns of partials."""
        return [*self.keys.names, COUNTS_FROM]

    @property
    def schema(self) -> pa.Schema:
        """The columns of a chunk."""
        keys = pa.schema([*self.keys, pa.field(COUNTS_FROM, pa.int64())])
        return partial_schema(keys, self.carried, id_name=PANE_ID)

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of results: window id, keys, aggregates."""
        return pa.schema([pa.field(WINDOW_ID, pa.int64()), *self.keys, *(a.result_field for a in self.aggregates)])

    @property
    def panes_per_chunk(self) -> int:
        """Long windows keep several panes in one chunk, so that closing one reads a bounded number of chunks."""
        return max(1, -(-self.scheme.per_window // CHUNKS_PER_WINDOW))

    def shard(self, store: ChunkStore, saved: str | None, number: int = 0) -> Shard:
        """One shard, as it was saved."""
        return Shard(self, store, saved)

    def identity(self) -> dict[str, str]:
        """What must be the same when a query goes on from a checkpoint."""
        return {"window": repr(self.scheme.window), "shards": str(self.shards), "inputs": ", ".join(self.inputs),
                "columns": ", ".join(f"{f.name} {f.type}" for f in self.schema),
                "aggregates": ", ".join(f"{a.name} = {a.function!r}" for a in self.aggregates),
                **self.emission.identity()}


class Shard(ShardProgress):
    """One shard during one step."""

    def __init__(self, config: ShardConfig, store: ChunkStore, saved: str | None) -> None:
        super().__init__(config.inputs, dict(config.delays), KIND, config.identity(), saved)
        self.config, self.store = config, store

    # -- one step

    def step(self, partials: Iterable[pa.Table], news: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Take in a micro-batch; the results of the windows it closed.

        Everything is merged in one table first and cut into chunks only to be kept, so a pane that comes and goes
        within one micro-batch costs nothing in the store.
        """
        tables = [t.select(self.config.schema.names) for t in partials]
        new = pa.concat_tables(tables) if tables else self.config.schema.empty_table()
        if not self.config.stamped and new.num_rows:
            new = self._judge(new)
        if new.num_rows:
            self.top = max(self.top, int(new.column(PANE_ID).to_numpy().max()))
        before = copy.deepcopy(self.bounds)
        reach = self._promise(news)
        touched = set(np.unique(self._chunks_of(new)).tolist())
        loaded = {c: self._load(c) for c in sorted((touched & self.known) | self._closing(reach))}
        state = pa.concat_tables([*loaded.values(), new])
        if touched:
            state = combine_partials(state, self.config.partial_keys, self.config.carried, id_name=PANE_ID)
        results = self.config.result_schema.empty_table()
        if reach is not None and state.num_rows:
            results, state = self._close(state, before, self.bounds)
        self._save(state, touched, loaded.keys())
        return results

    # -- looking

    @property
    def keys(self) -> pa.Schema:
        """The columns that tell groups apart."""
        return self.config.keys

    @property
    def nothing(self) -> pa.Table:
        """No results."""
        return self.config.result_schema.empty_table()

    def peek(self) -> pa.Table:
        """What open windows would give if nothing more came; reads all chunks."""
        if not self.known:
            return self.nothing
        state = pa.concat_tables([self._load(c) for c in sorted(self.known)])
        finished = copy.deepcopy(self.bounds)
        finished.advance(EVERYTHING)
        return self._close(state, self.bounds, finished)[0]

    def open_windows(self) -> tuple[int, int] | None:
        """The ids of open windows, from the oldest to behind the newest; a window between them may have no rows."""
        if not self.known:
            return None
        panes = np.array([min(self.known) * self.config.panes_per_chunk, self.top])
        first, end = self._windows(panes)
        low = int(self._closed(np.array([self.bounds.linear]))[0])
        return (max(int(first[0]), low), int(end[1])) if end[1] > low else None

    def _judge(self, new: pa.Table) -> pa.Table:
        """Without bounds on the rows, whole panes are judged by what was promised before this micro-batch."""
        config = self.config
        bounds = self._bounds_of(self.bounds, new)
        panes = new.column(PANE_ID).to_numpy()
        first, end = self._windows(panes)
        closed = self._closed(bounds)
        late = config.scheme.ends(panes) <= bounds
        counts_from = new.column(COUNTS_FROM).to_numpy()
        if config.late in (LatePolicy.CONSISTENT, LatePolicy.GENEROUS):
            late = first < closed
        kept = ~late
        if config.late is LatePolicy.GENEROUS:
            counts_from = np.where(late, closed, counts_from)
            kept = np.maximum(first, counts_from) < end
        if late.any():
            if config.late is LatePolicy.ERROR:
                at = int(np.flatnonzero(late)[0])
                pane_end, bound = int(config.scheme.ends(panes)[at]), int(bounds[at])
                until = "the end of the stream" if bound == FINISHED else f"nothing below {config.kind.text(bound)}"
                raise LateRowError(f"a row with {config.attribute!r} below {config.kind.text(pane_end)} is late: "
                                   f"punctuation had promised {until}. Allow more disorder with a progress policy "
                                   "such as 'late:10s', or choose the late policy drop, consistent or generous")
            self.late += int(new.filter(pa.array(late)).column(ROWS.state_schema[0].name).to_numpy().sum())
        at = new.schema.get_field_index(COUNTS_FROM)
        return new.set_column(at, COUNTS_FROM, pa.array(counts_from)).filter(pa.array(kept))

    def _promise(self, news: Iterable[Mapping[str, Any]]) -> int | None:
        """Learn what was promised; the largest bound that is new, or nothing."""
        bounds = [p.closes_below(ORDINAL) for p in self.learn(news)]
        return max((b for b in bounds if b is not None), default=None)

    # -- closing windows

    def _closing(self, reach: int | None) -> set[int]:
        """The saved chunks in which a window may end below a new bound."""
        if reach is None:
            return set()
        limit = int(self._closed(np.array([reach]))[0])
        panes_below = limit * self.config.scheme.per_slide if abs(limit) < 1 << 60 else limit
        return {c for c in self.known if c * self.config.panes_per_chunk < panes_below}

    def _close(self, state: pa.Table, before: BoundTable, after: BoundTable) -> tuple[pa.Table, pa.Table]:
        """The results of the windows that the new bounds complete, and the panes that open windows still need."""
        first, end = self._windows(state.column(PANE_ID).to_numpy())
        low = self._closed(self._bounds_of(before, state))
        high = self._closed(self._bounds_of(after, state))
        counts_from = state.column(COUNTS_FROM).to_numpy()
        start = np.maximum(np.maximum(first, counts_from), low)
        due = start < np.minimum(end, high)
        regular = counts_from <= low  # the windows such a partial misses are closed already
        results = self._results(state, due, regular, start, np.minimum(end, high), before, after)
        return results, state.filter(pa.array(end > high))

    def _results(self, state: pa.Table, due: npt.NDArray[np.bool_], regular: npt.NDArray[np.bool_], start: Ordinals,
                 stop: Ordinals, before: BoundTable, after: BoundTable) -> pa.Table:
        config, names, scheme = self.config, self.config.keys.names, self.config.scheme
        parts: list[pa.Table] = []
        whole = due & regular
        if whole.any():
            columns = [PANE_ID, *names, *(f.name for a in config.aggregates for f in a.state_schema)]
            panes = state.filter(pa.array(whole)).select(columns)
            # partials that counted from a later window and the others may stand side by side: make them one
            panes = combine_partials(panes, names, config.aggregates, id_name=PANE_ID)
            rolled = roll_up(panes, names, config.aggregates, panes_per_window=scheme.per_window,
                             panes_per_slide=scheme.per_slide, first_wid=int(start[whole].min()),
                             end_wid=int(stop[whole].max()))
            if after.groups or after.selections or before.groups or before.selections:
                wids = rolled.column(WINDOW_ID).to_numpy()
                low = self._closed(self._bounds_of(before, rolled))
                high = self._closed(self._bounds_of(after, rolled))
                rolled = rolled.filter(pa.array((wids >= low) & (wids < high)))
            parts.append(rolled)
        single = due & ~regular
        if single.any():
            rows = state.filter(pa.array(single)).drop_columns([COUNTS_FROM])
            if not config.stamped:
                rows = rows.drop_columns([f.name for f in ROWS.state_schema])
            parts.append(explode(rows, start[single], stop[single]))
        if not parts:
            return config.result_schema.empty_table()
        table = parts[0] if len(parts) == 1 and not single.any() else combine_partials(
            pa.concat_tables(parts), names, config.aggregates, id_name=WINDOW_ID)
        return finish_partials(table, names, config.aggregates, id_name=WINDOW_ID).cast(config.result_schema)

    # -- small things

    def _windows(self, panes: Ordinals) -> tuple[Ordinals, Ordinals]:
        scheme = self.config.scheme
        return window_range(panes, panes_per_window=scheme.per_window, panes_per_slide=scheme.per_slide)

    def _bounds_of(self, bounds: BoundTable, rows: pa.Table) -> Ordinals:
        return bounds.bounds_for({n: rows.column(n) for n in self.config.keys.names}, rows.num_rows)

    def _closed(self, bounds: Ordinals) -> Ordinals:
        """The windows complete below each bound; the two infinities stay what they are."""
        window = self.config.scheme.window
        finite = (bounds != NO_BOUND) & (bounds != FINISHED)
        if finite.all():
            return (bounds + (window.lag - window.origin)) // window.slide
        closed = bounds.copy()
        closed[finite] = (bounds[finite] + (window.lag - window.origin)) // window.slide
        return closed

    # -- saving

    def _chunks_of(self, table: pa.Table) -> Ordinals:
        panes: Ordinals = table.column(PANE_ID).to_numpy()
        return panes // self.config.panes_per_chunk

    def _load(self, chunk: int) -> pa.Table:
        data = self.store.get(chunk)
        if data is None:
            return self.config.schema.empty_table()
        return decode_state(data, KIND, VERSION)[1]["panes"].cast(self.config.schema)

    def _save(self, state: pa.Table, touched: set[int], loaded: Set[int]) -> None:
        """Write the chunks that got rows, and remove those of which nothing is needed any more.

        A chunk that only lost some panes stays as it was saved: the bounds say which of its panes are over.
        """
        chunks = self._chunks_of(state)
        order = np.argsort(chunks, kind="stable")
        numbers, starts, counts = np.unique(chunks[order], return_index=True, return_counts=True)
        kept = dict(zip(numbers.tolist(), zip(starts.tolist(), counts.tolist(), strict=True), strict=True))
        for chunk in sorted(loaded - kept.keys()):
            self.store.remove(chunk)
            self.known.discard(chunk)
        ordered = state.take(pa.array(order))
        for chunk, (start, count) in kept.items():
            if chunk in touched:
                table = ordered.slice(start, count).combine_chunks()
                self.store.put(chunk, encode_state(KIND, VERSION, {}, {"panes": table}))
                self.known.add(chunk)
