"""The stateless half of a streaming query: what one task sees of a micro-batch becomes messages for the shards.

Runs inside ``mapInArrow``. The output has few rows, whatever the input: tables for the shards (Arrow as bytes, so that
every type survives), and one row for each shard with what the task heard of progress.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from panewise.engines.spark.host.news import Heard
from panewise.engines.spark.host.packing import packed
from panewise.engines.spark.lower.lineage import Origin

RAW = "__pw_raw"
"""A late row as JSON, made by Spark only where a row is late."""
MESSAGE_SCHEMA = pa.schema([pa.field("shard", pa.int32()), pa.field("part", pa.int64()),
                            pa.field("control", pa.string()), pa.field("payload", pa.binary())])
MESSAGE_DDL = "shard int, part bigint, control string, payload binary"
TAG = b"input"
"""Where the schema of a message says which input its rows are of."""


@dataclass(frozen=True)
class Stage(ABC):
    """Everything a task needs; sent to the workers once per query."""

    origins: tuple[Origin, ...]
    shards: tuple[int, ...]
    followed: tuple[str, ...]
    """The inputs whose bound is derived from the largest value of the micro-batch."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task: tables for the shards; then, to all of them, what it heard."""
        heard, part, own = Heard(self.origins, self.followed), _partition_number(), dict[str, Any]()
        rows = (heard.listen(pa.Table.from_batches([batch])) for batch in batches)
        for shard, table in self.made((some for some in rows if some.num_rows), own):
            yield from _messages([{"shard": shard, "part": part, "payload": packed(table)}])
        news = heard.news()
        said = [(shard, news if number else news | own) for number, shard in enumerate(self.shards)]
        yield from _messages([{"shard": shard, "part": part, "control": json.dumps(what)} for shard, what in said
                              if any(what.values())])

    @abstractmethod
    def made(self, batches: Iterator[pa.Table], own: dict[str, Any]) -> Iterator[tuple[int, pa.Table]]:
        """What becomes of the rows, by shard; what only one shard is to hear, so that it counts once, goes to ``own``.
        """


def by_shard(shards: pa.ChunkedArray, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each shard."""
    numbers = shards.to_numpy()
    found = np.unique(numbers).tolist()
    for shard in found:
        yield shard, rows if len(found) == 1 else rows.filter(pa.array(numbers == shard)).combine_chunks()


def _messages(rows: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    yield from pa.Table.from_pylist(rows, MESSAGE_SCHEMA).to_batches()


def _partition_number() -> int:
    """Which task this is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0
