"""What the kernel host does with the messages of one micro-batch, and the stage after it that unpacks its results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from panewise.engines.spark.host.packing import unpacked
from panewise.engines.spark.host.wire import LATE_COLUMN
from panewise.kernels.contract.state_file import table_bytes, table_from_bytes
from panewise.progress.late import LatePolicy
from panewise.storage import ChunkStore

if TYPE_CHECKING:
    from panewise.engines.spark.queries.shard import QueryConfig


def step(config: QueryConfig, store: ChunkStore, saved: str | None,
         parts: Sequence[pd.DataFrame]) -> tuple[pd.DataFrame, str]:
    """One micro-batch of one shard: a row for Spark, and where the state is now."""
    messages = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    if len(messages) > 1:
        messages = messages.sort_values("part", kind="stable")
    tables = [unpacked(bytes(p)) for p in messages["payload"] if p is not None]
    news = [json.loads(c) for c in messages["control"] if c is not None]
    shard = config.shard(store, saved, int(messages["shard"].iloc[0]))
    late_before = shard.late
    results = shard.step(tables, news)
    first, end = shard.open_windows() or (None, None)
    row = {"payload": [_payload(config, results, shard.late_texts)], "late_rows": [shard.late - late_before],
           "open_from": pd.array([first], "Int64"), "open_until": pd.array([end], "Int64"),
           "replan": [shard.proposal]}
    return pd.DataFrame(row), shard.saved()


def _payload(config: QueryConfig, results: pa.Table, late_rows: list[str]) -> bytes | None:
    if config.late is LatePolicy.SIDE:
        results = with_late_rows(results, late_rows)
    return table_bytes(results.combine_chunks()) if results.num_rows else None


def with_late_rows(results: pa.Table, late_rows: list[str]) -> pa.Table:
    """Results, then late rows as JSON in a column of their own."""
    results = results.append_column(LATE_COLUMN, pa.nulls(results.num_rows, pa.string()))
    if not late_rows:
        return results
    blank = [pa.nulls(len(late_rows), f.type) for f in results.schema][:-1]
    late = pa.table([*blank, pa.array(late_rows, pa.string())], schema=results.schema)
    return pa.concat_tables([results, late])


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
