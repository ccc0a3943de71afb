"""The kernel host: one stateful Spark operator that runs the shards of a query, their state in Spark's state store.

Every chunk of state is kept under its own name, so a micro-batch writes only what it touched. Which chunks there are is
one more entry of the same map, because each state variable and each access is a message between Python and the JVM.

This module imports little on purpose. Before the first micro-batch Spark starts a fresh Python process that loads the
operator only to ask which state it keeps; so what the operator needs to work is packed and unpacked at the first rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from panewise.engines.spark.queries.shard import QueryConfig

_Packer: Any = CloudPickleSerializer
"""As Spark packs functions for its workers: aggregates of a user's notebook travel along."""
RESULT_DDL = "payload binary, late_rows bigint, open_from bigint, open_until bigint, replan string"
PROGRESS = "progress"
"""The chunk that says which chunks the state is."""
CHUNK_NAME = StructType([StructField("name", StringType())])
CHUNK_DATA = StructType([StructField("data", BinaryType())])
"""As types: Spark would have a text read by the JVM, four messages in every micro-batch and shard."""


def hosted(messages: DataFrame, config: QueryConfig) -> DataFrame:
    """Run the shards over a stream of messages."""
    return messages.groupBy("shard").transformWithStateInPandas(KernelHost(config), RESULT_DDL, "append", "none")


class KernelHost(StatefulProcessor):
    """Calls a shard once per micro-batch and shard; rows in and out are Arrow tables as bytes."""

    def __init__(self, config: QueryConfig) -> None:
        self.packed = _Packer().dumps(config)
        self.config: QueryConfig | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: chunks by name."""
        self.store = SparkStore(handle.getMapState("chunks", CHUNK_NAME, CHUNK_DATA))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        """One micro-batch of one shard."""
        from panewise.engines.spark.host.host_step import step

        if self.config is None:
            self.config = _Packer().loads(self.packed)
        saved = self.store.get(PROGRESS)
        before = saved.decode() if saved is not None else None
        results, after = step(self.config, self.store, before, list(rows))
        if after != before:
            self.store.put(PROGRESS, after.encode())
        yield results

    def close(self) -> None:
        """Nothing is held between micro-batches."""


class SparkStore:
    """Spark's map state as a store of chunks."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def get(self, name: str) -> bytes | None:
        """A saved chunk."""
        found = self.state.getValue((name,))
        return bytes(found[0]) if found is not None else None

    def put(self, name: str, data: bytes) -> None:
        """Save a chunk."""
        self.state.updateValue((name,), (data,))

    def remove(self, name: str) -> None:
        """Forget a chunk."""
        self.state.removeKey((name,))

    def names(self) -> list[str]:
        """All of them, which are read for that."""
        return sorted(str(name) for (name,), _ in self.state.iterator())
