"""Batch with kernels: for aggregates Spark SQL cannot split, such as medians, sketches or a user's own.

Every task makes pane partials of its rows; a shuffle by shard brings the partials of a group together; the shard merges
them and puts the windows together. Python is called per batch of rows and per shard, never per group.

A key with most of the rows does not make one task slow where partials are small: its rows become partials wherever they
are. The states of medians and the like hold their values, so windows of many panes are put together a few at a time,
with two stacks: each is let go before the next ones are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.engines.spark.calls import argument_columns, bound_aggregates
from panewise.engines.spark.fragment import ORDINAL, Fragment, result_field
from panewise.engines.spark.paired import PaneScheme
from panewise.engines.spark.partial_stage import COMPACT_ROWS, flat
from panewise.engines.spark.relation import quoted
from panewise.engines.spark.sharding import SHARD, default_shards, shard_labels, with_shard
from panewise.engines.spark.wire import POSITION
from panewise.kernels.panes import PANE_ID, WINDOW_ID, roll_up, window_range
from panewise.kernels.partials import BoundAggregate, combine_partials, finish_partials, partial_table
from panewise.kernels.state_file import table_bytes, table_from_bytes
from panewise.kernels.table_stacks import TableStacks

MESSAGE = pa.schema([pa.field("shard", pa.int32()), pa.field("payload", pa.binary())])
MESSAGE_BYTES = 64 << 20
"""About how large a message is; Spark takes at most 2 GB in one value."""
FEW_PANES = 4
"""Windows of so few panes are put together by merging all of them."""


@dataclass(frozen=True)
class PaneKernel:
    """What both stages need, sent to the workers."""

    scheme: PaneScheme
    keys: pa.Schema
    aggregates: tuple[BoundAggregate, ...]
    arguments: tuple[tuple[str, ...], ...]
    state_bytes: int = 64 << 20
    """About how much the states of windows put together at once may take."""

    @property
    def result_schema(self) -> pa.Schema:
        """Window id, keys, aggregates."""
        return pa.schema([pa.field(WINDOW_ID, pa.int64()), *self.keys, *(a.result_field for a in self.aggregates)])

    def partials(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task's rows as partials, one message per shard."""
        names = [*self.keys.names, SHARD]
        made: list[pa.Table] = []
        pending = 0
        for batch in batches:
            table = pa.Table.from_batches([batch])
            values = table.column(ORDINAL).to_numpy()
            first, end = self.scheme.window.wids_of(values)
            if not (counted := first < end).all():
                table, values = table.filter(pa.array(counted)), values[counted]
            arguments = [[flat(table.column(n)) for n in columns] for columns in self.arguments]
            made.append(partial_table(self.scheme.ids(values), table.select(names), arguments, self.aggregates,
                                      id_name=PANE_ID))
            pending += made[-1].num_rows
            if pending > COMPACT_ROWS:
                made = [combine_partials(pa.concat_tables(made), names, self.aggregates, id_name=PANE_ID)]
                pending = 0
        if not made:
            return
        whole = combine_partials(pa.concat_tables(made), names, self.aggregates, id_name=PANE_ID)
        shards = whole.column(SHARD).to_numpy()
        for shard in np.unique(shards).tolist():
            mine = whole.filter(pa.array(shards == shard)).drop_columns([SHARD]).combine_chunks()
            at_once = max(1, mine.num_rows * MESSAGE_BYTES // max(1, mine.nbytes))
            for low in range(0, mine.num_rows, at_once):
                payload = table_bytes(mine.slice(low, at_once))
                yield from pa.table([[shard], [payload]], schema=MESSAGE).to_batches()

    def windows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The messages for one or more shards as results."""
        names = self.keys.names
        tables = [table_from_bytes(p.as_py()) for batch in batches for p in batch.column("payload")]
        if not tables:
            return
        panes = combine_partials(pa.concat_tables(tables), names, self.aggregates, id_name=PANE_ID)
        tables.clear()
        for rolled in self._stacked(panes) if self.stacks else [self._at_once(panes)]:
            found = finish_partials(rolled, names, self.aggregates, id_name=WINDOW_ID).cast(self.result_schema)
            yield from found.to_batches()

    @property
    def stacks(self) -> bool:
        """Whether windows are put together by two stacks of partial tables: many panes, and states beyond numbers."""
        numbers = all(a.function.elementwise(a.inputs) is not None for a in self.aggregates)
        return self.scheme.per_window > FEW_PANES and not numbers

    def _at_once(self, panes: pa.Table) -> pa.Table:
        per_window, per_slide = self.scheme.per_window, self.scheme.per_slide
        first, end = window_range(panes.column(PANE_ID).to_numpy(), panes_per_window=per_window,
                                  panes_per_slide=per_slide)
        return roll_up(panes, self.keys.names, self.aggregates, panes_per_window=per_window,
                       panes_per_slide=per_slide, first_wid=int(first.min(initial=0)), end_wid=int(end.max(initial=0)))

    def _stacked(self, panes: pa.Table) -> Iterator[pa.Table]:
        """The windows in ascending order, some at a time; ``panes`` ascends by pane.

        The stacks make a window end with every pane; where a slide has two panes, every other one is none of ours.
        """
        per_window, per_slide = self.scheme.per_window, self.scheme.per_slide
        stacks = TableStacks(self.keys.names, self.aggregates, per_window)
        pids = panes.column(PANE_ID).to_numpy()
        window_bytes = max(1, panes.nbytes * per_window // max(1, len(np.unique(pids))))
        at_once = max(1, self.state_bytes // window_bytes)
        start, stop = (int(pids[0]), int(pids[-1]) + per_window) if len(pids) else (0, 0)
        while start < stop:
            end = min(stop, start + at_once)
            low, high = (int(at) for at in np.searchsorted(pids, [start, end]))
            rolled = stacks.windows(panes.slice(low, high - low), start, end)
            if per_slide > 1:
                last = rolled.column(WINDOW_ID).to_numpy()
                whole = (last + 1) % per_slide == 0
                rolled = rolled.set_column(0, WINDOW_ID, pa.array(last // per_slide)).filter(pa.array(whole))
            if rolled.num_rows:
                yield rolled
            start = end
            if stacks.empty and high < len(pids):
                start = max(start, int(pids[high]))


def pane_kernel(fragment: Fragment) -> PaneKernel:
    """Both stages of a fragment."""
    aggregates = tuple(bound_aggregates(fragment))
    return PaneKernel(fragment.scheme, fragment.key_schema, aggregates, argument_columns(fragment, aggregates))


def kernel_batch(fragment: Fragment, rows: DataFrame) -> DataFrame:
    """The results of a fragment, computed by kernels."""
    kernel = pane_kernel(fragment)
    if POSITION not in rows.columns:
        rows = rows.withColumn(POSITION, F.monotonically_increasing_id())
    wanted = dict.fromkeys([ORDINAL, *fragment.keys, *(n for columns in kernel.arguments for n in columns)])
    labels = shard_labels(default_shards(rows) if fragment.keys else 1)
    prepared = with_shard(rows.select(*map(quoted, wanted)), fragment.keys, labels)
    messages = prepared.mapInArrow(kernel.partials, "shard int, payload binary")
    schema = T.StructType([result_field(f.name, f.type) for f in kernel.result_schema])

    results = messages.repartition(len(labels), "shard").mapInArrow(kernel.windows, schema)
    found = {a.name: quoted(a.name) for a in fragment.aggregates}
    return fragment.windowed(results, quoted(WINDOW_ID), found)
