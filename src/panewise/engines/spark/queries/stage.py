"""The stateless half of a hosted query: the rows of a task on their way to their shards, input by input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.engines.spark.fragment import ORDINAL
from panewise.engines.spark.packing import packed
from panewise.engines.spark.partial_stage import MESSAGE_SCHEMA, RAW, Heard
from panewise.engines.spark.queries.placing import HostedInput
from panewise.engines.spark.row_stage import sent
from panewise.engines.spark.sharding import SHARD
from panewise.engines.spark.wire import INPUT, POSITION, ROW_BOUND

TAG = b"input"
"""Where the schema of a message says which input its rows are of."""
BESIDE = (ORDINAL, POSITION, ROW_BOUND, RAW)
"""What travels beside the columns of a row, where it is there."""


@dataclass(frozen=True)
class QueryStage:
    """Everything a task needs; sent to the workers once per query."""

    inputs: tuple[HostedInput, ...]
    shards: tuple[int, ...]
    followed: tuple[str, ...] = ()
    """The inputs whose bound is derived from the largest value of the micro-batch."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task; a message has rows of one input for one shard."""
        heard = Heard(tuple(i.origin() for i in self.inputs), self.followed)
        return sent(batches, heard, self.shards, self._messages)

    def _messages(self, pending: list[pa.Table], part: int) -> Iterator[pa.RecordBatch]:
        rows = pa.concat_tables(pending)
        made: list[dict[str, Any]] = []
        for item in self.inputs:
            mine = rows.filter(pc.equal(rows.column(INPUT), item.tag)) if len(self.inputs) > 1 else rows
            if mine.num_rows:
                made += [{"shard": shard, "part": part, "payload": packed(table)}
                         for shard, table in self._by_shard(mine.column(SHARD), self.plain(mine, item))]
        yield from pa.Table.from_pylist(made, MESSAGE_SCHEMA).to_batches()

    def _by_shard(self, shards: pa.ChunkedArray, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        if shards.null_count:  # every shard needs them
            yield from ((shard, rows) for shard in self.shards)
            return
        numbers = shards.to_numpy()
        found = np.unique(numbers).tolist()
        for shard in found:
            yield shard, rows if len(found) == 1 else rows.filter(pa.array(numbers == shard)).combine_chunks()

    def plain(self, rows: pa.Table, item: HostedInput) -> pa.Table:
        """Rows of one input as a table of its columns, and what travels beside them."""
        struct = rows.column(item.column).combine_chunks()
        columns = dict(zip(item.schema.names, struct.flatten(), strict=True))
        typed = {f.name: columns[f.name].cast(f.type) for f in item.schema}
        beside = {n: rows.column(n).combine_chunks() for n in BESIDE if n in rows.column_names}
        return pa.table({**typed, **beside}).replace_schema_metadata({TAG: item.tag.encode()})
