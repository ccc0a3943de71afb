"""The kernel host: one stateful Spark operator that runs the shards of a query, their state in Spark's state store.

Every chunk of panes is kept under its own key, so a micro-batch writes only what it touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from panewise.engines.spark.partial_stage import control_of
from panewise.engines.spark.row_shard import RowShardConfig
from panewise.engines.spark.shard import ShardConfig
from panewise.engines.spark.wire import LATE_COLUMN
from panewise.kernels.state_file import table_bytes, table_from_bytes
from panewise.progress.late import LatePolicy

HostConfig: TypeAlias = ShardConfig | RowShardConfig
RESULT_DDL = "payload binary, late_rows bigint"


def hosted(messages: DataFrame, config: HostConfig) -> DataFrame:
    """Run the shards over a stream of messages."""
    return messages.groupBy("shard").transformWithStateInPandas(KernelHost(config), RESULT_DDL, "append", "none")


class KernelHost(StatefulProcessor):
    """Calls a shard once per micro-batch and shard; rows in and out are Arrow tables as bytes."""

    def __init__(self, config: HostConfig) -> None:
        self.config = config

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: chunks of panes by number, and the bounds."""
        self.chunks = handle.getMapState("panes", "chunk long", "data binary")
        self.progress = handle.getValueState("progress", "text string")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """One micro-batch of one shard."""
        messages = pd.concat(list(rows), ignore_index=True).sort_values("part", kind="stable")
        partials = [table_from_bytes(bytes(p)) for p in messages["payload"] if p is not None]
        news = [control_of(c) for c in messages["control"] if c is not None]
        saved = self.progress.get()
        before = saved[0] if saved is not None else None
        shard = self.config.shard(_SparkStore(self.chunks), before)
        late_before = shard.late
        results = shard.step(partials, news)
        if (after := shard.saved()) != before:
            self.progress.update((after,))
        late_rows = [row for said in news for row in said.get("late_rows", [])] + shard.late_texts
        payload, late = _payload(self.config, results, late_rows), shard.late - late_before
        if payload is not None or late:
            yield pd.DataFrame({"payload": [payload], "late_rows": [late]})

    def close(self) -> None:
        """Nothing is held between micro-batches."""


def _payload(config: HostConfig, results: pa.Table, late_rows: list[str]) -> bytes | None:
    if config.late is LatePolicy.SIDE:
        results = results.append_column(LATE_COLUMN, pa.nulls(results.num_rows, pa.string()))
        if late_rows:
            blank = [pa.nulls(len(late_rows), f.type) for f in results.schema][:-1]
            late = pa.table([*blank, pa.array(late_rows, pa.string())], schema=results.schema)
            results = pa.concat_tables([results, late])
    return table_bytes(results.combine_chunks()) if results.num_rows else None


class _SparkStore:
    """Spark's map state as a store of chunks."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def get(self, chunk: int) -> bytes | None:
        found = self.state.getValue((chunk,))
        return bytes(found[0]) if found is not None else None

    def put(self, chunk: int, data: bytes) -> None:
        self.state.updateValue((chunk,), (data,))

    def remove(self, chunk: int) -> None:
        if self.state.containsKey((chunk,)):
            self.state.removeKey((chunk,))


class Unpack:
    """The last stage: results as bytes become rows again, with the types the kernels gave them."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One task."""
        for batch in batches:
            for payload in batch.column("payload"):
                if payload.is_valid:
                    yield from table_from_bytes(payload.as_py()).cast(self.schema).to_batches()
