"""What the kernel host does with the messages of one micro-batch, and the stage after it that unpacks its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from panewise.engines.spark.partial_stage import control_of
from panewise.engines.spark.shard import ChunkStore
from panewise.engines.spark.wire import LATE_COLUMN
from panewise.kernels.state_file import table_bytes, table_from_bytes
from panewise.progress.late import LatePolicy

if TYPE_CHECKING:
    from panewise.engines.spark.host import HostConfig


def step(config: HostConfig, store: ChunkStore, saved: str | None,
         parts: Sequence[pd.DataFrame]) -> tuple[pd.DataFrame | None, str]:
    """One micro-batch of one shard: a row for Spark, if there is anything to say, and the progress to save."""
    messages = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    if len(messages) > 1:
        messages = messages.sort_values("part", kind="stable")
    partials = [table_from_bytes(bytes(p)) for p in messages["payload"] if p is not None]
    news = [control_of(c) for c in messages["control"] if c is not None]
    shard = config.shard(store, saved)
    late_before = shard.late
    results = shard.step(partials, news)
    late_rows = [row for said in news for row in said.get("late_rows", [])] + shard.late_texts
    payload, late = _payload(config, results, late_rows), shard.late - late_before
    made = pd.DataFrame({"payload": [payload], "late_rows": [late]}) if payload is not None or late else None
    return made, shard.saved()


def _payload(config: HostConfig, results: pa.Table, late_rows: list[str]) -> bytes | None:
    if config.late is LatePolicy.SIDE:
        results = results.append_column(LATE_COLUMN, pa.nulls(results.num_rows, pa.string()))
        if late_rows:
            blank = [pa.nulls(len(late_rows), f.type) for f in results.schema][:-1]
            late = pa.table([*blank, pa.array(late_rows, pa.string())], schema=results.schema)
            results = pa.concat_tables([results, late])
    return table_bytes(results.combine_chunks()) if results.num_rows else None


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
