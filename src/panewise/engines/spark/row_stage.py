"""The stateless half for windows that panes do not serve: rows on their way to the shard of their group."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from panewise.engines.spark.lineage import Origin
from panewise.engines.spark.packing import packed
from panewise.engines.spark.partial_stage import MESSAGE_SCHEMA, Heard, partition_number
from panewise.engines.spark.sharding import SHARD

ROWS_PER_MESSAGE = 100_000


def sent(batches: Iterable[pa.RecordBatch], heard: Heard, shards: Sequence[int],
         messages: Callable[[list[pa.Table], int], Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """One task: rows as messages, about ``ROWS_PER_MESSAGE`` at a time; then, to all shards, what it heard."""
    part = partition_number()
    pending: list[pa.Table] = []
    waiting = 0
    for batch in batches:
        rows = heard.listen(pa.Table.from_batches([batch]))
        if rows.num_rows:
            pending.append(rows)
            waiting += rows.num_rows
        if waiting >= ROWS_PER_MESSAGE:
            yield from messages(pending, part)
            pending, waiting = [], 0
    if pending:
        yield from messages(pending, part)
    news = heard.news()
    if any(news.values()):
        text = json.dumps(news)
        said = [{"shard": shard, "part": part, "control": text} for shard in shards]
        yield from pa.Table.from_pylist(said, MESSAGE_SCHEMA).to_batches()


@dataclass(frozen=True)
class RowStage:
    """Everything a task needs; sent to the workers once per query."""

    columns: tuple[str, ...]
    shards: tuple[int, ...]
    origins: tuple[Origin, ...]
    followed: tuple[str, ...]
    """The inputs whose bound is derived from the largest value of the micro-batch."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task."""
        return sent(batches, Heard(self.origins, self.followed), self.shards, self._messages)

    def _messages(self, pending: list[pa.Table], part: int) -> Iterator[pa.RecordBatch]:
        rows = pa.concat_tables(pending)
        shards = rows.column(SHARD).to_numpy()
        wanted = rows.select(self.columns)
        found = [shard for shard in self.shards if (shards == shard).any()]
        made = []
        for shard in found:
            mine = wanted if len(found) == 1 else wanted.filter(pa.array(shards == shard))
            made.append({"shard": shard, "part": part, "payload": packed(mine)})
        yield from pa.Table.from_pylist(made, MESSAGE_SCHEMA).to_batches()
