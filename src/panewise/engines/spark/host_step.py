"""What the kernel host does with the messages of one micro-batch, and the stage after it that unpacks its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import pandas as pd
import pyarrow as pa

from panewise.engines.spark.host import SHOWN
from panewise.engines.spark.packing import unpacked
from panewise.engines.spark.partial_stage import control_of
from panewise.engines.spark.shard import ChunkStore
from panewise.engines.spark.wire import CHANGE_COLUMN, LATE_COLUMN
from panewise.kernels.emission import CHANGE, Emitter
from panewise.kernels.state_file import decode_state, encode_state, table_bytes, table_from_bytes
from panewise.progress.late import LatePolicy

if TYPE_CHECKING:
    from panewise.engines.spark.host import HostConfig
    from panewise.engines.spark.row_shard import RowShard
    from panewise.engines.spark.shard import Shard

SHOWN_VERSION = 1


def step(config: HostConfig, store: ChunkStore, saved: str | None,
         parts: Sequence[pd.DataFrame]) -> tuple[pd.DataFrame, str]:
    """One micro-batch of one shard: a row for Spark, and the progress to save."""
    messages = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    if len(messages) > 1:
        messages = messages.sort_values("part", kind="stable")
    partials = [unpacked(bytes(p)) for p in messages["payload"] if p is not None]
    news = [control_of(c) for c in messages["control"] if c is not None]
    shard = config.shard(store, saved, int(messages["shard"].iloc[0]))
    late_before = shard.late
    results = shard.step(partials, news)
    if config.emission.early:
        results = corrected(config, cast("Shard | RowShard", shard), store, results)
    late_rows = [row for said in news for row in said.get("late_rows", [])] + shard.late_texts
    first, end = shard.open_windows() or (None, None)
    row = {"payload": [_payload(config, results, late_rows)], "late_rows": [shard.late - late_before],
           "open_from": pd.array([first], "Int64"), "open_until": pd.array([end], "Int64"),
           "replan": [shard.proposal]}
    return pd.DataFrame(row), shard.saved()


def corrected(config: HostConfig, shard: Shard | RowShard, store: ChunkStore, finals: pa.Table) -> pa.Table:
    """The changes to what was shown before: early results, corrections, and what became final."""
    emitter = Emitter(config.emission, shard)
    saved = store.get(SHOWN)
    if saved is not None:
        header, tables = decode_state(saved, "shown", SHOWN_VERSION)
        emitter.restore(header, tables["shown"])
    made = emitter.after_item([finals])
    header, shown = emitter.snapshot()
    now = encode_state("shown", SHOWN_VERSION, header, {"shown": shown.combine_chunks()})
    if now != saved:
        store.put(SHOWN, now)
    return made.rename_columns([CHANGE_COLUMN if n == CHANGE else n for n in made.column_names])


def _payload(config: HostConfig, results: pa.Table, late_rows: list[str]) -> bytes | None:
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
