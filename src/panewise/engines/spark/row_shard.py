"""One shard of an aggregate whose windows panes do not serve: a kernel over rows, its state a snapshot and a journal.

A step is all rows of a micro-batch, then what was promised in it. A worker that served the shard before goes on with
the kernel it has; any other reads the snapshot and takes in the journal again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark import at_hand
from panewise.engines.spark.journal import Journal
from panewise.engines.spark.partial_stage import RAW
from panewise.engines.spark.row_kernel import RowKernel
from panewise.engines.spark.shard import ChunkStore
from panewise.engines.spark.shard_progress import ShardProgress
from panewise.engines.spark.wire import ROW_BOUND, in_order
from panewise.kernels.base import WindowKernel
from panewise.kernels.emission import FINAL, Emission
from panewise.kernels.state_file import decode_state, encode_state
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.windows.session import SessionWindow

KIND = "row-shard"
VERSION = 1


@dataclass(frozen=True)
class RowShardConfig:
    """What all shards of a query share."""

    kernel: RowKernel
    inputs: tuple[str, ...]
    shards: int
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
        self.config, self._journal = config, Journal(store)
        self._kernel: WindowKernel | None = None
        super().__init__(config.inputs, dict(config.delays), KIND, config.identity(), saved)

    def _more(self) -> dict[str, Any]:
        return {"journal": self._journal.state()}

    def _restore_more(self, state: Mapping[str, Any]) -> None:
        self._journal.restore(state["journal"])

    def step(self, rows: Iterable[pa.Table], news: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Take in a micro-batch: all rows, then what was promised; the results of the windows it closed."""
        kernel = self._kernel = self._loaded()
        came = list(rows)
        arrived = in_order(pa.concat_tables(came)) if came else None
        found = self._process(kernel, arrived) if arrived is not None else []
        promises = self.learn(news)
        if self.config.kernel.by_position:  # positions move with rows; only the end says more
            promises = [p for p in promises if p.covers_everything]
        found += [kernel.advance(promise) for promise in promises]
        if arrived is not None or promises:
            self._journal.append(arrived.nbytes if arrived is not None else 0, lambda: self._entry(arrived, promises),
                                 kernel.snapshot)
        self.open = {"": kernel.counters()["open_windows"]}
        self.token = at_hand.keep(kernel)
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
        """What open windows would give if nothing more came."""
        found = self._kernel.peek() if self._kernel is not None else None
        return self.config.kernel.results(found) if found is not None and found.num_rows else self.nothing

    def open_windows(self) -> tuple[int, int] | None:
        """How many windows are open, as a range."""
        return (0, sum(self.open.values())) if self.open else None

    def _process(self, kernel: WindowKernel, rows: pa.Table) -> list[pa.Table]:
        late_before = kernel.late_rows
        late = self.config.kernel.process(kernel, rows)
        self.late += kernel.late_rows - late_before
        if RAW in rows.column_names and late.true_count:
            self.late_texts += rows.column(RAW).filter(late).to_pylist()
        return [kernel.ripe()]

    def _loaded(self) -> WindowKernel:
        """The kernel as it was after the last micro-batch."""
        kernel: WindowKernel | None = at_hand.take(self.token)
        if kernel is not None:
            return kernel
        kernel = self.config.kernel.kernel()
        snapshot = self._journal.snapshot()
        if snapshot is not None:
            kernel.restore(snapshot)
        for entry in self._journal.entries():
            header, tables = decode_state(entry, KIND, VERSION)
            if "rows" in tables:
                self.config.kernel.process(kernel, tables["rows"])
                kernel.ripe()
            for patterns in header["promises"]:
                kernel.advance(Punctuation.from_state(patterns))
        return kernel

    def _entry(self, rows: pa.Table | None, promises: Iterable[Punctuation]) -> bytes:
        """What came, as an entry of the journal."""
        said = [promise.to_state() for promise in promises]
        needed = {*self.config.kernel.columns, ROW_BOUND}
        if rows is None:
            return encode_state(KIND, VERSION, {"promises": said}, {})
        chosen = [c for c in rows.column_names if c in needed] or rows.column_names[:1]  # or their number would be lost
        return encode_state(KIND, VERSION, {"promises": said}, {"rows": rows.select(chosen).combine_chunks()})
