"""Every engine behind one signature: a case in, all result rows out."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from conformance.cases import Case
from panewise.core.time import format_timestamp
from panewise.dataflow import open_plan
from panewise.engines.spark.engine import run_batch, run_streaming
from panewise.engines.spark.host.wire import LATE_COLUMN
from panewise.engines.spark.io.sources import read_batch, read_stream
from panewise.engines.spark.session.failures import translate
from panewise.files.writer import jsonable
from panewise.progress.punctuation import Punctuation

Runner = Callable[..., list[dict[str, Any]]]


def embedded(case: Case, *, batch_rows: int | None = None, restarts: Collection[int] = (),
             strategy: str = "auto") -> list[dict[str, Any]]:
    """In process; after each of ``restarts`` items the query is saved, thrown away and restored into a new one."""
    query = open_plan(case.plan, late=case.late, progress=case.progress, strategy=strategy)
    tables: list[pa.Table] = []
    taken = 0
    for name in case.streams:
        for part in case.memory(name, batch_rows).items():
            tables.append(query.push(name, part))
            taken += 1
            if taken in restarts:
                saved = query.snapshot()
                query = open_plan(case.plan, late=case.late, progress=case.progress, strategy=strategy)
                query.restore(saved)
    tables.append(query.finish())
    return [row for table in tables for row in table.to_pylist()]


def write_case(case: Case, folder: Path) -> dict[str, Path]:
    """The inputs as NDJSON files with punctuation in line."""
    paths = {}
    for name, items in case.streams.items():
        paths[name] = folder / f"{name}.ndjson"
        with paths[name].open("w") as file:
            for item in items:
                file.write(json.dumps(_line(item, case, name)) + "\n")
    return paths


def _line(item: Any, case: Case, stream: str) -> dict[str, Any]:
    if not isinstance(item, Punctuation):
        return dict(jsonable(dict(item)))
    bound = item.bound(case.time)
    stamped = pa.types.is_timestamp(case.columns[stream][case.time])
    return {"punctuation": {case.time: format_timestamp(bound) if stamped and bound is not None else bound,
                            **item.constants(case.time)}}


def spark_batch(case: Case, *, spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    """One Spark job over files whose rows carry the bound in force at their arrival."""
    frames = {n: read_batch(spark, p, time=case.time, progress=case.progress)
              for n, p in write_case(case, folder).items()}
    return _rows(run_batch(case.plan, frames, late=case.late, exact=True))


def spark_streaming(case: Case, *, spark: SparkSession, folder: Path, batch_rows: int = 1_000,
                    fail_at: int | None = None, shards: int | None = None) -> list[dict[str, Any]]:
    """A streaming query over the same files; at micro-batch ``fail_at`` it dies and is started again."""
    results: dict[int, list[dict[str, Any]]] = {}
    died: list[int] = []

    def sink(batch: DataFrame, number: int) -> None:
        rows = _rows(batch)
        if number == fail_at and not died:
            died.append(number)
            raise RuntimeError("killed by the test")
        results[number] = rows

    paths = write_case(case, folder)
    for attempt in range(2):
        frames = {n: read_stream(spark, p, time=case.time, progress=case.progress, rows_per_batch=batch_rows)
                  for n, p in paths.items()}
        frame = run_streaming(case.plan, frames, late=case.late, shards=shards)
        query = (frame.writeStream.outputMode("append").foreachBatch(sink).trigger(availableNow=True)
                 .option("checkpointLocation", str(folder / "checkpoint")).start())
        try:
            query.awaitTermination()
            break
        except Exception as error:
            if not died or attempt:
                raise translate(error) or error from error
    assert fail_at is None or died, "the stream ended before the batch in which it should die"
    return [row for number in sorted(results) for row in results[number]]


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return [{k: v for k, v in row.items() if k != LATE_COLUMN} for row in rows if row.get(LATE_COLUMN) is None]
