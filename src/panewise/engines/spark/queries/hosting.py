"""From rows to results on Spark: messages to shards, a running query in each, results as rows again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from panewise.engines.spark.host.host import hosted
from panewise.engines.spark.host.host_step import Unpack, with_late_rows
from panewise.engines.spark.host.packing import unpacked
from panewise.engines.spark.host.stage import MESSAGE_DDL, Stage
from panewise.engines.spark.lower.fragment import result_field
from panewise.engines.spark.observe.observed import new_metric
from panewise.engines.spark.queries.shard import QueryConfig, QueryShard
from panewise.progress.late import LatePolicy
from panewise.storage import MemoryChunks


def streamed(rows: DataFrame, stage: Stage, config: QueryConfig, part: str | None = None) -> DataFrame:
    """The results of a streaming query, or of a ``part`` of one, with what stands beside them."""
    assert config.identity  # computed once, here, and sent along
    gathered = hosted(rows.mapInArrow(stage, MESSAGE_DDL), config)
    observed = gathered.observe(new_metric(part), *measured(config.shared_windows))
    return observed.mapInArrow(Unpack(config.output_schema), spark_schema(config.output_schema))


def answered(rows: DataFrame, stage: Stage, config: QueryConfig) -> DataFrame:
    """The complete results over bounded rows."""
    messages = rows.mapInArrow(stage, MESSAGE_DDL).repartition(config.shards, "shard")
    return messages.mapInArrow(WholeInput(config), spark_schema(config.output_schema))


@dataclass(frozen=True)
class WholeInput:
    """The second half of a batch: all rows of a shard through a query that then ends."""

    config: QueryConfig

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task, with the messages of one or more shards."""
        payloads: dict[int, list[tuple[int, bytes]]] = {}
        for batch in batches:
            for row in batch.select(["shard", "part", "payload"]).to_pylist():
                if row["payload"] is not None:
                    payloads.setdefault(row["shard"], []).append((row["part"], row["payload"]))
        if not payloads and self.config.shards == 1:  # an aggregate without GROUP BY has a row of no rows, too
            payloads = {0: []}
        for number, parts in sorted(payloads.items()):
            tables = [unpacked(payload) for _, payload in sorted(parts, key=lambda p: p[0])]
            parts.clear()
            yield from self._run(number, tables)

    def _run(self, number: int, tables: list[pa.Table]) -> Iterator[pa.RecordBatch]:
        shard = QueryShard(self.config, MemoryChunks(), None, number)
        side = self.config.late is LatePolicy.SIDE
        for found in shard.whole(tables):
            yield from (with_late_rows(found, []) if side else found).to_batches()
        if shard.late_texts:
            yield from with_late_rows(self.config.result_schema.empty_table(), shard.late_texts).to_batches()


def measured(shared_windows: bool) -> list[Column]:
    """What a micro-batch says of itself: late rows, the windows open after it, and whether another plan is better."""
    opened, until = F.col("open_from"), F.col("open_until")
    windows = F.max(until) - F.min(opened) if shared_windows else F.sum(until - opened)
    return [F.coalesce(F.sum("late_rows"), F.lit(0)).alias("late_rows"),
            F.when(F.count(F.lit(1)) > 0, F.coalesce(windows, F.lit(0))).alias("open_windows"),
            F.max("replan").alias("replan")]


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Result columns for Spark."""
    return T.StructType([result_field(f.name, f.type) for f in schema])
