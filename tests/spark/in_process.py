"""The two halves of the streaming operator and the file source, put together without Spark.

Every micro-batch restores all state from bytes, as Spark does, so a run is also a sequence of restarts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame

from panewise.aggregates.registry import resolve
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.host import worker_memory
from panewise.engines.spark.host.packing import unpacked
from panewise.engines.spark.host.partial_stage import PartialStage
from panewise.engines.spark.host.sharding import SHARD, shard_labels
from panewise.engines.spark.io.source_options import StreamOptions
from panewise.engines.spark.io.sources import Place, Walker
from panewise.engines.spark.lower.bound_calls import argument_columns
from panewise.engines.spark.lower.fragment import ORDINAL, Fragment
from panewise.engines.spark.lower.lineage import origins
from panewise.engines.spark.queries.shard import QueryConfig
from panewise.engines.spark.queries.windows import over_rows
from panewise.kernels.contract.partials import bind
from panewise.progress.late import LatePolicy
from panewise.storage import MemoryChunks
from panewise.windows.sliding import SlidingWindow
from spark.cases import SCHEMA, plan, write_ndjson


def run_in_process(folder: Path, files: Sequence[Sequence[dict[str, Any]]], window: SlidingWindow, *,
                   policy: str = "drop", progress: str = "source", rows_per_batch: int = 1000, shards: int = 1,
                   keys: Sequence[str] = ("k",)) -> tuple[Counter[Any], int, list[int]]:
    """Results, late rows, and how many partials all shards kept after each micro-batch."""
    options = StreamOptions(str(write_ndjson(folder, files)), "t", progress, True, rows_per_batch)
    walker, labels = Walker(options), shard_labels(shards if keys else 1)
    stage, config = operator_of(window, LatePolicy.parse(policy), labels, keys)
    states: dict[int, str | None] = dict.fromkeys(labels)
    stores = {label: MemoryChunks() for label in labels}
    place, found, late = Place(), [], 0
    kept: list[int] = []
    while True:
        end, spans = walker.walk(place, limit=rows_per_batch)
        if not spans:
            break
        replayed = Walker(options).walk(Place.of(place.offset()), until=Place.of(end.offset()))
        assert replayed == (end, spans), "a replay after a failure must read exactly the same"
        messages = [m for span in spans for m in _messages(walker, span, stage, keys, labels)]
        partials = 0
        for label in labels:
            mine = [m for m in messages if m["shard"] == label]
            worker_memory.forget()
            shard = config.shard(stores[label], states[label])
            before = shard.late
            results = shard.step([unpacked(m["payload"]) for m in mine if m["payload"]],
                                 [json.loads(m["control"]) for m in mine if m["control"]])
            late += shard.late - before
            states[label] = shard.saved()
            query = worker_memory.take(shard.token)
            partials += query.windows.ranges.counters()["partials"]
            found += [_row(r, stage.keys) for r in results.to_pylist()]
        place = end
        kept.append(partials)
    return Counter(found), late, kept


def operator_of(window: SlidingWindow, policy: LatePolicy, labels: tuple[int, ...],
                keys: Sequence[str]) -> tuple[PartialStage, QueryConfig]:
    """Both halves for count, max and avg of the stream of the cases."""
    fragment = Fragment(plan(window, keys=keys), (), cast("DataFrame", None))
    aggregates = tuple(bind([("n", resolve("count")), ("high", resolve("max")), ("mean", resolve("avg"))],
                            [(), (pa.int64(),), (pa.int64(),)]))
    names = argument_columns(fragment, aggregates)
    types = pa.schema([*(pa.field(n, SCHEMA.field(k).type) for n, k in zip(fragment.keys, keys, strict=True)),
                       *(pa.field(n, pa.int64()) for n in dict.fromkeys(n for columns in names for n in columns))])
    config = over_rows(fragment, types, origins(fragment), policy, len(labels), partials=True)
    stage = PartialStage(tuple(i.origin() for i in config.inputs), labels, (), window, tuple(fragment.keys), aggregates,
                         names, policy, "t", OrdinalKind.INTEGER)
    return stage, config


def _messages(walker: Walker, span: Any, stage: PartialStage, keys: Sequence[str],
              labels: tuple[int, ...]) -> list[dict[str, Any]]:
    (argument,) = {n for columns in stage.arguments for n in columns}
    batches = []
    for batch in walker.read(span):
        table = pa.Table.from_batches([batch])
        shard = [labels[sum(map(ord, k or "")) % len(labels)] for k in table.column("k").to_pylist()]
        table = table.append_column(ORDINAL, table.column("t")).append_column(SHARD, pa.array(shard, pa.int32()))
        for name, key in zip([*stage.keys, argument], [*keys, "v"], strict=True):
            table = table.append_column(name, table.column(key))
        batches += table.combine_chunks().to_batches()
    return [m for batch in stage(batches) for m in batch.to_pylist()]


def _row(result: dict[str, Any], keys: Sequence[str]) -> tuple[Any, ...]:
    return (*(result[k] for k in keys), result["window"]["start"], result["window"]["end"],
            result["n"], result["high"], result["mean"])
