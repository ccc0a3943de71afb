"""The stateful half of a streaming aggregate whose windows panes do not serve: kernels over rows, a few per shard.

The groups of a shard are spread over *buckets*, each with a kernel of its own, saved as one chunk. A step loads the
buckets that got rows, and all of them when a promise could close windows; it writes those that changed. A bucket that
neither got rows nor closed a window stays as it was saved: the bounds it has missed meanwhile are the shard's, and are
told to it when it is loaded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark import at_hand
from panewise.engines.spark.fragment import ORDINAL
from panewise.engines.spark.partial_stage import RAW
from panewise.engines.spark.row_kernel import RowKernel
from panewise.engines.spark.shard import ChunkStore
from panewise.engines.spark.shard_progress import ShardProgress
from panewise.engines.spark.wire import POSITION
from panewise.kernels.base import WindowKernel
from panewise.kernels.emission import FINAL, Emission
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.progress.watermarks import NO_BOUND
from panewise.windows.session import SessionWindow

KIND = "row-shard"
BUCKET = "__pw_bucket"


@dataclass(frozen=True)
class RowShardConfig:
    """What all shards of a query share."""

    kernel: RowKernel
    inputs: tuple[str, ...]
    shards: int
    buckets: int
    delays: tuple[tuple[str, int], ...]
    attribute: str
    kind: OrdinalKind
    emission: Emission = FINAL
    """When results leave."""

    @property
    def shared_windows(self) -> bool:
        """Whether all groups have the same windows."""
        return not self.kernel.partition and not isinstance(self.kernel.spec, SessionWindow)

    @property
    def late(self) -> LatePolicy:
        """What becomes of late rows."""
        return self.kernel.late

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of results."""
        return self.kernel.result_schema

    def shard(self, store: ChunkStore, saved: str | None, number: int = 0) -> RowShard:
        """One shard, as it was saved."""
        return RowShard(self, store, saved)

    def identity(self) -> dict[str, str]:
        """What must be the same when a query goes on from a checkpoint."""
        return {"window": f"{self.kernel.spec.kind}: {self.kernel.spec!r}", "shards": str(self.shards),
                "inputs": ", ".join(self.inputs),
                "columns": ", ".join(f"{f.name} {f.type}" for f in self.kernel.groups),
                "aggregates": ", ".join(f"{a.name} = {a.function!r}" for a in self.kernel.aggregates),
                **self.emission.identity()}


class RowShard(ShardProgress):
    """One shard during one step."""

    def __init__(self, config: RowShardConfig, store: ChunkStore, saved: str | None) -> None:
        super().__init__(config.inputs, dict(config.delays), KIND, config.identity(), saved)
        self.config, self.store = config, store
        self._at_hand: dict[int, WindowKernel] = {}

    def step(self, rows: Iterable[pa.Table], news: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Take in a micro-batch: all rows, then what was promised; the results of the windows it closed."""
        arrived = self._in_order(list(rows))
        linear_before = self.bounds.linear
        kernels: dict[int, WindowKernel] = {}
        changed: set[int] = set()
        found: list[pa.Table] = []
        self._at_hand = at_hand.take(self.token) or {}
        for bucket, part in self._by_bucket(arrived):
            kernel = kernels[bucket] = self._loaded(bucket, linear_before)
            found += self._process(kernel, part)
            changed.add(bucket)
        promises = self.learn(news)
        if self.config.kernel.by_position:  # positions move with rows; only the end says more
            promises = [p for p in promises if p.covers_everything]
        if promises:
            for bucket in self.known - kernels.keys():
                kernels[bucket] = self._loaded(bucket, linear_before)
            grouped = any(p.attributes - {ORDINAL} for p in promises)
            for bucket, kernel in kernels.items():
                results = [kernel.advance(promise) for promise in promises]
                if grouped or any(r.num_rows for r in results):
                    changed.add(bucket)
                found += results
        for bucket in sorted(changed):
            self.store.put(bucket, kernels[bucket].snapshot())
            self.known.add(bucket)
            self.open[str(bucket)] = kernels[bucket].counters()["open_windows"]
        self._at_hand |= kernels
        self.token = at_hand.keep(self._at_hand)
        tables = [self.config.kernel.results(table) for table in found if table.num_rows]
        return pa.concat_tables(tables) if tables else self.config.result_schema.empty_table()

    @property
    def keys(self) -> pa.Schema:
        """The columns that tell groups apart in results."""
        return pa.schema([self.config.kernel.groups.field(n) for n in self.config.kernel.shown])

    @property
    def nothing(self) -> pa.Table:
        """No results."""
        return self.config.result_schema.empty_table()

    def peek(self) -> pa.Table:
        """What open windows would give if nothing more came; reads all buckets."""
        found = [self._loaded(bucket, self.bounds.linear).peek() for bucket in sorted(self.known)]
        tables = [self.config.kernel.results(table) for table in found if table.num_rows]
        return pa.concat_tables(tables) if tables else self.nothing

    def open_windows(self) -> tuple[int, int] | None:
        """How many windows are open, as a range: those of all buckets, or the most of one where they are the same."""
        count = max if self.config.shared_windows else sum
        return (0, count(self.open.values())) if self.open else None

    def _in_order(self, rows: list[pa.Table]) -> pa.Table | None:
        if not rows:
            return None
        table = pa.concat_tables(rows)
        if POSITION not in table.column_names:
            return table
        places = table.column(POSITION).to_numpy()
        return table if (places[1:] >= places[:-1]).all() else table.sort_by(POSITION)

    def _by_bucket(self, rows: pa.Table | None) -> Iterable[tuple[int, pa.Table]]:
        if rows is None or not rows.num_rows:
            return []
        buckets = rows.column(BUCKET).to_numpy()
        counts = np.bincount(buckets)
        numbers = np.flatnonzero(counts).tolist()
        if len(numbers) == 1:
            return [(numbers[0], rows)]
        together = rows.take(np.argsort(buckets.astype(np.int16), kind="stable"))  # by radix: faster than comparing
        ends = np.cumsum(counts)
        return [(number, together.slice(ends[number] - counts[number], counts[number])) for number in numbers]

    def _process(self, kernel: WindowKernel, rows: pa.Table) -> list[pa.Table]:
        late_before = kernel.late_rows
        late = self.config.kernel.process(kernel, rows)
        self.late += kernel.late_rows - late_before
        if RAW in rows.column_names and late.true_count:
            self.late_texts += rows.column(RAW).filter(late).to_pylist()
        return [kernel.ripe()]

    def _loaded(self, bucket: int, linear: int) -> WindowKernel:
        kernel: WindowKernel | None = self._at_hand.get(bucket)
        if kernel is not None:
            return self._heard(kernel, linear)
        kernel = self.config.kernel.kernel()
        data = self.store.get(bucket) if bucket in self.known else None
        if data is not None:
            kernel.restore(data)
        self._heard(kernel, linear)
        if data is None:
            for promise in self._ahead():
                kernel.advance(promise)
        return kernel

    def _heard(self, kernel: WindowKernel, linear: int) -> WindowKernel:
        """A kernel that knows the bound of all; that closes nothing: it would have been loaded for it."""
        if linear != NO_BOUND and not self.config.kernel.by_position:
            kernel.advance(Punctuation.below(ORDINAL, linear))
        return kernel

    def _ahead(self) -> Iterable[Punctuation]:
        """Promises for single groups, which a new kernel has not heard."""
        bounds = self.bounds
        for group in bounds.group_keys():
            yield Punctuation.below(ORDINAL, bounds.bound_for(group), **group)
        for patterns, bound in bounds.selections:
            yield Punctuation.of({**dict(patterns.patterns), **dict(Punctuation.below(ORDINAL, bound).patterns)})


