"""The two halves of the streaming operator and the file source, put together without Spark.

Every micro-batch restores all state from bytes, as Spark does, so a run is also a sequence of restarts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.fragment import ORDINAL
from panewise.engines.spark.lineage import Origin
from panewise.engines.spark.paired import PaneScheme
from panewise.engines.spark.partial_stage import PartialStage
from panewise.engines.spark.shard import Shard, ShardConfig
from panewise.engines.spark.sharding import SHARD, shard_labels
from panewise.engines.spark.source_options import StreamOptions
from panewise.engines.spark.sources import Place, Walker
from panewise.kernels.partials import bind
from panewise.kernels.state_file import table_from_bytes
from panewise.progress.late import LatePolicy
from panewise.windows.sliding import SlidingWindow
from spark.cases import SCHEMA, source, write_ndjson


class Chunks:
    """What Spark's state store does, in memory."""

    def __init__(self) -> None:
        self.saved: dict[int, bytes] = {}

    def get(self, chunk: int) -> bytes | None:
        return self.saved.get(chunk)

    def put(self, chunk: int, data: bytes) -> None:
        self.saved[chunk] = data

    def remove(self, chunk: int) -> None:
        self.saved.pop(chunk, None)


def run_in_process(folder: Path, files: Sequence[Sequence[dict[str, Any]]], window: SlidingWindow, *,
                   policy: str = "drop", progress: str = "source", rows_per_batch: int = 1000, shards: int = 1,
                   keys: Sequence[str] = ("k",)) -> tuple[Counter[Any], int, list[int]]:
    """Results, late rows, and how many chunks of panes all shards kept after each micro-batch."""
    options = StreamOptions(str(write_ndjson(folder, files)), "t", progress, True, rows_per_batch)
    walker, labels = Walker(options), shard_labels(shards if keys else 1)
    stage, config = _operator(window, LatePolicy.parse(policy), labels, keys)
    states: dict[int, str | None] = dict.fromkeys(labels)
    stores = {label: Chunks() for label in labels}
    place, found, late = Place(), [], 0
    kept: list[int] = []
    while True:
        end, spans = walker.walk(place, limit=rows_per_batch)
        if not spans:
            break
        replayed = Walker(options).walk(Place.of(place.offset()), until=Place.of(end.offset()))
        assert replayed == (end, spans), "a replay after a failure must read exactly the same"
        messages = [m for span in spans for m in _messages(walker, span, stage, keys, labels)]
        for label in labels:
            mine = [m for m in messages if m["shard"] == label]
            shard = Shard(config, stores[label], states[label])
            before = shard.late
            results = shard.step([table_from_bytes(m["payload"]) for m in mine if m["payload"]],
                                 [json.loads(m["control"]) for m in mine if m["control"]])
            late += shard.late - before
            states[label] = shard.saved()
            assert set(stores[label].saved) == shard.known
            found += [_row(r, window, config.keys.names) for r in results.to_pylist()]
        place = end
        kept.append(sum(len(store.saved) for store in stores.values()))
    return Counter(found), late, kept


def _operator(window: SlidingWindow, policy: LatePolicy, labels: tuple[int, ...],
              keys: Sequence[str]) -> tuple[PartialStage, ShardConfig]:
    names = [f"__pw_k{i}" for i in range(len(keys))]
    schema = pa.schema([pa.field(n, SCHEMA.field(k).type) for n, k in zip(names, keys, strict=True)])
    aggregates = tuple(bind([("n", resolve("count")), ("high", resolve("max")), ("mean", resolve("avg"))],
                            [(), (pa.int64(),), (pa.int64(),)]))
    origin = Origin("", source(), "t", ((ORDINAL, "t"), *zip(names, keys, strict=True)),
                    tuple((f.name, f.type) for f in SCHEMA), OrdinalKind.INTEGER)
    scheme, kind = PaneScheme(window), OrdinalKind.INTEGER
    stage = PartialStage(scheme, schema, aggregates, ((), ("v",), ("v",)), labels, (origin,), policy, True, (),
                         "t", kind)
    return stage, ShardConfig(scheme, schema, aggregates, ("",), policy, True, len(labels), (), "t", kind)


def _messages(walker: Walker, span: Any, stage: PartialStage, keys: Sequence[str],
              labels: tuple[int, ...]) -> list[dict[str, Any]]:
    batches = []
    for batch in walker.read(span):
        table = pa.Table.from_batches([batch])
        shard = [labels[sum(map(ord, k or "")) % len(labels)] for k in table.column("k").to_pylist()]
        table = table.append_column(ORDINAL, table.column("t")).append_column(SHARD, pa.array(shard, pa.int32()))
        for name, key in zip(stage.keys.names, keys, strict=True):
            table = table.append_column(name, table.column(key))
        batches += table.combine_chunks().to_batches()
    return [m for batch in stage(batches) for m in batch.to_pylist()]


def _row(result: dict[str, Any], window: SlidingWindow, keys: Sequence[str]) -> tuple[Any, ...]:
    extent = window.extent(result["wid"])
    return (*(result[k] for k in keys), extent.start, extent.end, result["n"], result["high"], result["mean"])
