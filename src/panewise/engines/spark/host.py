"""The kernel host: one stateful Spark operator that runs the shards of a query, their state in Spark's state store.

Two forms of one thing. ``transformWithState`` keeps every chunk of panes under its own key, so a micro-batch writes
only what it touched; it needs the package ``protobuf``. ``applyInPandasWithState`` keeps all chunks of a shard in one
row, which a micro-batch writes whole; it needs nothing more. A checkpoint of one form does not fit the other.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from panewise.engines.spark.partial_stage import control_of
from panewise.engines.spark.shard import ChunkStore, Shard, ShardConfig
from panewise.engines.spark.wire import LATE_COLUMN
from panewise.kernels.state_file import table_bytes, table_from_bytes
from panewise.progress.late import LatePolicy

RESULT_DDL = "payload binary, late_rows bigint"


def protobuf_available() -> bool:
    """Whether ``transformWithState`` can run here: its workers speak protobuf to the state store."""
    try:
        return importlib.util.find_spec("google.protobuf.descriptor") is not None
    except ModuleNotFoundError:
        return False


def hosted(messages: DataFrame, config: ShardConfig, *, chunked: bool | None = None) -> DataFrame:
    """Run the shards over a stream of messages; ``chunked`` chooses the form (default: where protobuf is, by chunk)."""
    by_shard = messages.groupBy("shard")
    if protobuf_available() if chunked is None else chunked:
        return by_shard.transformWithStateInPandas(KernelHost(config), RESULT_DDL, "append", "none")
    return by_shard.applyInPandasWithState(whole_state_host(config), RESULT_DDL, "text string, chunks binary",
                                           "append", "NoTimeout")


class KernelHost(StatefulProcessor):
    """Calls a :class:`Shard` once per micro-batch and shard; rows in and out are Arrow tables as bytes."""

    def __init__(self, config: ShardConfig) -> None:
        self.config = config

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: chunks of panes by number, and the bounds."""
        self.chunks = handle.getMapState("panes", "chunk long", "data binary")
        self.progress = handle.getValueState("progress", "text string")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """One micro-batch of one shard."""
        saved = self.progress.get()
        before = saved[0] if saved is not None else None
        output, text = one_step(self.config, _SparkStore(self.chunks), before, rows)
        if text != before:
            self.progress.update((text,))
        yield from output

    def close(self) -> None:
        """Nothing is held between micro-batches."""


StateFunction = Callable[[Any, Iterator[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]


def whole_state_host(config: ShardConfig) -> StateFunction:
    """The same with one state row per shard."""

    def handle(key: Any, rows: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        before, blob = state.get if state.exists else (None, None)
        store = _BlobStore(bytes(blob) if blob is not None else None)
        output, text = one_step(config, store, before, rows)
        if text != before or store.changed:
            state.update((text, store.blob()))
        yield from output

    return handle


def one_step(config: ShardConfig, store: ChunkStore, before: str | None, rows: Iterable[pd.DataFrame]) \
        -> tuple[list[pd.DataFrame], str]:
    """One micro-batch of one shard: what to put out, and the progress to save."""
    messages = pd.concat(list(rows), ignore_index=True).sort_values("part", kind="stable")
    partials = [table_from_bytes(bytes(p)) for p in messages["payload"] if p is not None]
    news = [control_of(c) for c in messages["control"] if c is not None]
    shard = Shard(config, store, before)
    late_before = shard.late
    results = shard.step(partials, news)
    late_rows = [row for said in news for row in said.get("late_rows", [])]
    payload, late = _payload(config, results, late_rows), shard.late - late_before
    output = [pd.DataFrame({"payload": [payload], "late_rows": [late]})] if payload is not None or late else []
    return output, shard.saved()


def _payload(config: ShardConfig, results: pa.Table, late_rows: list[str]) -> bytes | None:
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


class _BlobStore:
    """All chunks of a shard in one Arrow table of numbers and bytes."""

    def __init__(self, data: bytes | None) -> None:
        self.chunks: dict[int, bytes] = {}
        self.changed = False
        if data is not None:
            table = table_from_bytes(data)
            self.chunks = dict(zip(table.column("chunk").to_pylist(), table.column("data").to_pylist(), strict=True))

    def get(self, chunk: int) -> bytes | None:
        return self.chunks.get(chunk)

    def put(self, chunk: int, data: bytes) -> None:
        self.chunks[chunk] = data
        self.changed = True

    def remove(self, chunk: int) -> None:
        self.changed |= self.chunks.pop(chunk, None) is not None

    def blob(self) -> bytes:
        return table_bytes(pa.table({"chunk": pa.array(list(self.chunks), pa.int64()),
                                     "data": pa.array(list(self.chunks.values()), pa.binary())}))


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
