"""Policies that look at the wall clock, on Spark: panewise's sources report a new offset when the clock is due."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable

import panewise as pw
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import Catalog, SourceSchema
from panewise.core.time import SECOND
from panewise.dataflow import open_plan
from panewise.engines.spark.host.news import silences
from panewise.engines.spark.host.wire import CONTROL, ROW_BOUND, SILENT
from panewise.engines.spark.io.source_options import StreamOptions
from panewise.engines.spark.io.sources import FileStreamReader, Place, read_stream
from panewise.engines.spark.lower.progress import derived
from panewise.engines.spark.queries.feeding import take
from panewise.engines.spark.queries.placing import hosted_input
from panewise.plan.nodes import Named
from panewise.progress.punctuation import Punctuation
from panewise.sql import parse

NOON = 1_700_000_000 * SECOND


class Clock:
    """A wall clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> int:
        return self.now


def at(seconds: float) -> str:
    return datetime.fromtimestamp(NOON / SECOND + seconds, UTC).isoformat().replace("+00:00", "Z")


def write(folder: Path, *seconds: float, name: str = "1.ndjson") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps({"ts": at(s)}) + "\n" for s in seconds))


def reader(folder: Path, policy: str, clock: Clock) -> FileStreamReader:
    found = FileStreamReader(StreamOptions(str(folder), "ts", policy, finite=False))
    found.clock = clock
    return found


class Stream:
    """Micro-batches of a reader, as Spark asks for them."""

    def __init__(self, source: FileStreamReader) -> None:
        self.source, self.offset = source, source.initialOffset()

    def batch(self) -> tuple[int, list[dict[str, Any]]] | None:
        """Rows and what was said of them; nothing if there is no new offset."""
        end = self.source.latestOffset(self.offset, ReadAllAvailable())
        if end == self.offset:
            return None
        replayed = FileStreamReader(self.source.options)  # after a failure the log is all there is
        replayed.clock = lambda: NOON + 999 * SECOND
        found = [self.read(self.source, end), self.read(replayed, end)]
        assert found[0] == found[1]
        self.offset = end
        return found[0]

    def read(self, source: FileStreamReader, end: dict[str, str]) -> tuple[int, list[dict[str, Any]]]:
        batches = [b for part in source.partitions(self.offset, end) for b in source.read(part)]
        rows = [row for b in batches for row in b.to_pylist()]
        return sum(r[CONTROL] is None for r in rows), [json.loads(r[CONTROL]) for r in rows if r[CONTROL] is not None]


def test_a_heartbeat_moves_the_bound_of_a_silent_source(tmp_path: Path) -> None:
    clock = Clock()
    write(tmp_path / "s", -5, -4)
    stream = Stream(reader(tmp_path / "s", "heartbeat:1s", clock))
    rows, said = stream.batch() or (0, [])
    assert (rows, [p["ts"] for p in said]) == (2, [at(-1)])
    assert stream.batch() is None  # not due yet
    clock.now += SECOND // 4
    assert stream.batch() == (0, [{"ts": at(-0.75)}])
    clock.now += 10 * SECOND
    assert stream.batch() == (0, [{"ts": at(9.25)}])


def test_a_lull_moves_the_bound_only_when_it_is_one(tmp_path: Path) -> None:
    clock = Clock()
    write(tmp_path / "s", -5, 0)
    stream = Stream(reader(tmp_path / "s", "ordered, lull=2s", clock))
    assert stream.batch() == (2, [{"ts": at(0)}])
    clock.now += SECOND
    assert stream.batch() is None
    clock.now += 2 * SECOND
    assert stream.batch() == (0, [{"ts": at(1)}])
    write(tmp_path / "s", 4, name="2.ndjson")
    clock.now += 2 * SECOND
    rows, said = stream.batch() or (0, [])
    assert rows == 1
    assert {"ts": at(4)} in said


def test_a_source_that_may_fall_silent_says_so_and_when_it_wakes_up(tmp_path: Path) -> None:
    clock = Clock()
    write(tmp_path / "s", 0)
    stream = Stream(reader(tmp_path / "s", "ordered, idle=2s", clock))
    assert stream.batch() == (1, [{"ts": at(0)}])
    clock.now += SECOND
    assert stream.batch() is None
    clock.now += SECOND
    assert stream.batch() == (0, [{SILENT: True, "position": 2}])
    clock.now += 9 * SECOND
    assert stream.batch() is None
    write(tmp_path / "s", 3, name="2.ndjson")
    rows, said = stream.batch() or (0, [])
    assert (rows, said) == (1, [{"ts": at(3)}, {SILENT: False, "position": 1}])


def test_rows_of_such_a_source_are_judged_by_what_all_have_promised(tmp_path: Path) -> None:
    for policy, stamped in (("ordered, idle=2s", False), ("ordered, lull=2s", True)):
        write(tmp_path / "s", 0)
        schema = reader(tmp_path / "s", policy, Clock())._walker().wire_schema
        assert (ROW_BOUND in schema.names) is stamped


def test_a_run_over_what_is_there_looks_at_the_clock_once(tmp_path: Path) -> None:
    clock = Clock()
    write(tmp_path / "s", 0)
    source = reader(tmp_path / "s", "heartbeat:1s", clock)
    source.prepareForTriggerAvailableNow()
    stream = Stream(source)
    assert stream.batch() is not None
    clock.now += 10 * SECOND
    assert stream.batch() is None
    assert Place.of(stream.offset).ticked == NOON


@pytest.mark.parametrize("policy", ["heartbeat:1s", "ordered, lull=1s", "late:1s, idle=5s", "ordered, every=1s"])
def test_other_dataframes_refuse_such_policies_by_name_with_the_remedy(policy: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"progress '{policy}' looks at the wall clock.*read_stream"):
        derived(policy, OrdinalKind.TIMESTAMP)


def test_a_union_does_not_wait_for_a_silent_input() -> None:
    catalog = Catalog({name: SourceSchema({"ts": pa.int64()}, time="ts") for name in "ab"})
    plan = parse("SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM (SELECT ts FROM a UNION ALL SELECT ts FROM b)",
                 catalog)
    query = open_plan(plan)
    inputs = {node.name: hosted_input(at, node, "ts") for at, node in enumerate(plan.walk()) if isinstance(node, Named)}
    tags = {i.tag: i for i in inputs.values()}
    query.push("a", [{"ts": 3}])

    def told(bound: int | None, news: list[dict[str, Any]]) -> list[int]:
        said = [] if bound is None else [(inputs["a"].tag, Punctuation.below("ts", bound))]
        found = take(query, tags, {}, said, silences(news))
        return [n for table in found for n in table.column("n").to_pylist()]

    b = inputs["b"].tag
    assert told(10, []) == []
    assert told(None, [{"silent": {b: [5, True]}}]) == [1]
    query.push("a", [{"ts": 12}])
    assert told(20, [{"silent": {b: [8, False]}}, {"silent": {b: [7, True]}}]) == [], "the last one counts"


@pytest.mark.parametrize("text", [
    "SELECT count(*) [RANGE 5, SLIDE 5, WA ts] AS n FROM (SELECT ts FROM a UNION ALL SELECT ts FROM b)",
    "SELECT a.ts FROM a [RANGE 5], b [RANGE 5] WHERE a.ts = b.ts",
    "SELECT a.ts FROM a, b WHERE b.ts - a.ts BETWEEN 0 AND 2",
])
def test_a_query_can_be_told_who_is_silent(text: str) -> None:
    catalog = Catalog({name: SourceSchema({"ts": pa.int64()}, time="ts") for name in "ab"})
    query = open_plan(parse(text, catalog))
    query.push("a", Punctuation.below("ts", 10))
    before = query.watermark
    query.silence("b", True)
    assert query.watermark >= before
    query.silence("b", False)


@pytest.mark.spark
def test_a_silent_stream_closes_its_windows(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing comes any more: only the clock of the source can close the last window."""
    folder = tmp_path / "s"
    folder.mkdir()
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    (folder / "1.ndjson").write_text(json.dumps({"ts": now, "k": "x"}) + "\n")
    frame = read_stream(spark, folder, time="ts", progress="ordered, lull=500ms", finite=False)
    results = pw.sql("SELECT k, count(*) [RANGE 1 s, SLIDE 1 s, WA ts] AS n FROM s GROUP BY k", s=frame)
    found: list[Any] = []

    def sink(batch: DataFrame, number: int) -> None:
        found.extend(batch.collect())

    query = results.writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        give_up = time.monotonic() + 180
        while not found and query.isActive and time.monotonic() < give_up:
            query.awaitTermination(1)
    finally:
        query.stop()
    assert [(row.k, row.n) for row in found] == [("x", 1)]
