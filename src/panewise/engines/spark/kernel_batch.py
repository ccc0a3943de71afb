"""Batch with kernels: for aggregates Spark SQL cannot split, such as medians, sketches or a user's own.

Every task makes pane partials of its rows; a shuffle by shard brings the partials of a group together; the shard merges
them and puts the windows together. Python is called per batch of rows and per shard, never per group.
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

MESSAGE = pa.schema([pa.field("shard", pa.int32()), pa.field("payload", pa.binary())])


@dataclass(frozen=True)
class PaneKernel:
    """What both stages need, sent to the workers."""

    scheme: PaneScheme
    keys: pa.Schema
    aggregates: tuple[BoundAggregate, ...]
    arguments: tuple[tuple[str, ...], ...]

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
            yield from pa.table([[shard], [table_bytes(mine)]], schema=MESSAGE).to_batches()

    def windows(self, messages: pa.Table) -> pa.Table:
        """One shard's messages as results."""
        names = self.keys.names
        tables = [table_from_bytes(p.as_py()) for p in messages.column("payload")]
        panes = combine_partials(pa.concat_tables(tables), names, self.aggregates, id_name=PANE_ID)
        if not panes.num_rows:
            return self.result_schema.empty_table()
        per_window, per_slide = self.scheme.per_window, self.scheme.per_slide
        first, end = window_range(panes.column(PANE_ID).to_numpy(), panes_per_window=per_window,
                                  panes_per_slide=per_slide)
        rolled = roll_up(panes, names, self.aggregates, panes_per_window=per_window, panes_per_slide=per_slide,
                         first_wid=int(first.min()), end_wid=int(end.max()))
        return finish_partials(rolled, names, self.aggregates, id_name=WINDOW_ID).cast(self.result_schema)


def kernel_batch(fragment: Fragment, rows: DataFrame) -> DataFrame:
    """The results of a fragment, computed by kernels."""
    aggregates = tuple(bound_aggregates(fragment))
    arguments = argument_columns(fragment, aggregates)
    kernel = PaneKernel(fragment.scheme, fragment.key_schema, aggregates, arguments)
    if POSITION not in rows.columns:
        rows = rows.withColumn(POSITION, F.monotonically_increasing_id())
    wanted = dict.fromkeys([ORDINAL, *fragment.keys, *(n for columns in arguments for n in columns)])
    labels = shard_labels(default_shards(rows) if fragment.keys else 1)
    prepared = with_shard(rows.select(*map(quoted, wanted)), fragment.keys, labels)
    messages = prepared.mapInArrow(kernel.partials, "shard int, payload binary")
    schema = T.StructType([result_field(f.name, f.type) for f in kernel.result_schema])

    def windows(messages: pa.Table) -> pa.Table:  # Spark counts the arguments of what it is given, `self` included
        return kernel.windows(messages)

    results = messages.groupBy("shard").applyInArrow(windows, schema)
    found = {a.name: quoted(a.name) for a in fragment.aggregates}
    return fragment.windowed(results, quoted(WINDOW_ID), found)
