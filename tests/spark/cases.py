"""Plans over small streams, and their answers by definition (``extent``), for tests of the Spark engine."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StreamingQuery

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.plan.nodes import AggregateCall, NamedScalar, Node, Source, WindowAggregate, WindowClause
from panewise.windows.base import Rows
from panewise.windows.sliding import SlidingWindow

SCHEMA = pa.schema({"k": pa.string(), "t": pa.int64(), "v": pa.int64()})
ARGUMENT = (Scalar.column("v"),)
COUNT_MAX_AVG = (AggregateCall("n", "count"), AggregateCall("high", "max", ARGUMENT),
                 AggregateCall("mean", "avg", ARGUMENT))
NO_BOUND, FINISHED = -(2**63), 2**63 - 1


def source(schema: pa.Schema = SCHEMA, time: str = "t", name: str = "s") -> Source:
    return Source(name, SourceSchema.of(schema, time=time))


def plan(window: SlidingWindow, *, keys: Sequence[str] = ("k",), below: Node | None = None,
         aggregates: Sequence[AggregateCall] = COUNT_MAX_AVG, attribute: str = "t",
         kind: OrdinalKind = OrdinalKind.INTEGER) -> WindowAggregate:
    return WindowAggregate(below or source(), WindowClause(window, attribute, kind),
                           tuple(NamedScalar.column(k) for k in keys), tuple(aggregates))


def summary(values: Iterable[int | None]) -> tuple[int, int | None, float | None]:
    """count(*), max and avg of a group, as SQL has them."""
    every = list(values)
    known = [v for v in every if v is not None]
    return len(every), max(known) if known else None, sum(known) / len(known) if known else None


def by_definition(rows: Sequence[dict[str, Any]], window: SlidingWindow, keys: Sequence[str] = ("k",)) -> Counter[Any]:
    """(keys, start, end, count, max, avg) of every window with rows, straight from its extent."""
    return with_missed([(row, NO_BOUND) for row in rows], window, keys)


def with_missed(rows: Sequence[tuple[dict[str, Any], int]], window: SlidingWindow,
                keys: Sequence[str] = ("k",)) -> Counter[Any]:
    """As ``by_definition``, where a row counts only in windows that were open at the bound given with it."""
    members: dict[Any, list[int | None]] = {}
    for row, bound in rows:
        for wid in window.windows(Rows.of([row["t"]])).tolist():
            extent = window.extent(wid)
            assert extent.contains(row["t"])
            if bound == NO_BOUND or (bound != FINISHED and wid >= window.closed_below(bound)):
                members.setdefault((*(row[k] for k in keys), extent.start, extent.end), []).append(row["v"])
    return Counter((*group, *summary(values)) for group, values in members.items())


def judged(items: Sequence[dict[str, Any]], window: SlidingWindow, policy: str = "drop",
           progress: str = "source") -> tuple[list[tuple[dict[str, Any], int]], int]:
    """The rows that count, each with the bound that decides in which windows, and the number of late rows."""
    promises: list[dict[str, Any]] = []
    seen: list[int] = []
    kept: list[tuple[dict[str, Any], int]] = []
    late = 0
    for item in items:
        if "punctuation" in item:
            promises.append(item["punctuation"])
            continue
        matching = [p["t"] for p in promises if all(item[a] == v for a, v in p.items() if a != "t")]
        if progress.startswith("late:") and seen:
            matching.append(max(seen) - int(progress[5:]))
        if progress.startswith("rows:") and len(seen) > int(progress[5:]):
            matching.append(max(seen[: len(seen) - int(progress[5:])]))
        seen.append(item["t"])
        bound = max(matching, default=NO_BOUND)
        if item["t"] >= bound:
            kept.append((item, NO_BOUND))
            continue
        first, end = (int(x[0]) for x in window.wids(Rows.of([item["t"]])))
        missed = first < end and first < window.closed_below(bound)
        if policy == "generous":
            kept.append((item, bound))
        elif policy == "consistent" and not missed:
            kept.append((item, NO_BOUND))
        late += missed if policy in ("generous", "consistent") else 1
    return kept, late


def rows_of(frame: DataFrame | Sequence[Row]) -> Counter[Any]:
    """Result rows as a bag of plain tuples, the window's ends in place of the struct."""
    found = frame.collect() if isinstance(frame, DataFrame) else frame
    return Counter(tuple(_flat(row)) for row in found)


def _flat(row: Row) -> Iterable[Any]:
    for value in row:
        if isinstance(value, Row):
            yield from value
        else:
            yield value


def write_ndjson(directory: Path, files: Sequence[Sequence[dict[str, Any]]]) -> Path:
    """Each list of items as one file, in name order."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, items in enumerate(files):
        text = "".join(json.dumps(item) + "\n" for item in items)
        (directory / f"{number:04d}.ndjson").write_text(text)
        aged(directory / f"{number:04d}.ndjson", number)
    return directory


def aged(path: Path, number: int) -> None:
    """Spark takes files by their age, those of one tick of the clock in any order: each gets a second of its own."""
    written = time.time() - 1000 + number
    os.utime(path, (written, written))


def run_to_end(frame: DataFrame, checkpoint: Path, *, batches: int | None = None) -> tuple[list[Row], int]:
    """All rows of a streaming query over what is there, in order, and the late rows it counted.

    ``batches`` stops the query after so many micro-batches, as a failure between two of them would.
    """
    found: list[Row] = []

    class EnoughError(Exception):
        pass

    def collect(batch: DataFrame, number: int) -> None:
        if batches is not None and number >= batches:
            raise EnoughError
        found.extend(batch.collect())

    query = (frame.writeStream.outputMode("append").foreachBatch(collect).trigger(availableNow=True)
             .option("checkpointLocation", str(checkpoint)).start())
    try:
        query.awaitTermination()
    except Exception:
        if batches is None:
            raise
    return found, _late(query)


def run_in_batches(frame: DataFrame, checkpoint: Path, *,
                   fail_at: int | None = None) -> tuple[list[list[dict[str, Any]]], int]:
    """The rows of every micro-batch of a streaming query over what is there, and the late rows it counted.

    In micro-batch ``fail_at`` it dies, and is started again from its checkpoint.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    died: list[int] = []
    late = 0

    def collect(batch: DataFrame, number: int) -> None:
        rows = batch.toArrow().to_pylist()
        if number == fail_at and not died:
            died.append(number)
            raise RuntimeError("killed by the test")
        found[number] = rows

    while True:
        before = len(died)
        query = (frame.writeStream.outputMode("append").foreachBatch(collect).trigger(availableNow=True)
                 .option("checkpointLocation", str(checkpoint)).start())
        try:
            query.awaitTermination()
        except Exception:
            if len(died) == before:
                raise
        late += _late(query)
        if len(died) == before:
            assert fail_at is None or died, "the stream ended before the batch in which it should die"
            return [found[number] for number in sorted(found)], late


def _late(query: StreamingQuery) -> int:
    """Of all parts of the plan."""
    return sum(int(found["late_rows"] or 0) for progress in query.recentProgress
               for name, found in progress.observedMetrics.items() if name.startswith("panewise"))
