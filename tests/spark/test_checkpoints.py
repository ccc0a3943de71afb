"""Checkpoints that do not fit: a clear error, nothing there is touched, and the query they belong to goes on."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from panewise.cli.main import main
from panewise.core.errors import CheckpointError, SchemaError
from panewise.engines.checkpoints import CheckpointLabel
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.lower.progress import punctuated
from panewise.engines.spark.session.failures import plain_errors
from panewise.plan.nodes import AggregateCall
from panewise.planner.options import RunOptions
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from spark.cases import judged, plan, rows_of, run_to_end, source, with_missed, write_ndjson
from spark.test_streaming import WINDOW, disordered, halves

ITEMS = disordered(7)
COLUMNS = {"k": pa.string(), "t": pa.int64(), "v": pa.int64()}


def stream_of(spark: SparkSession, files: Path) -> DataFrame:
    return read_stream(spark, files, time="t", rows_per_batch=70)


def native_source(spark: SparkSession, files: Path) -> DataFrame:
    """The same files by Spark's own reader."""
    lines = spark.readStream.schema("k string, t bigint, v bigint, punctuation string")
    return lines.option("maxFilesPerTrigger", 1).json(str(files))


def native_window(spark: SparkSession, files: Path) -> DataFrame:
    """Spark's own window aggregate."""
    rows = native_source(spark, files).where("punctuation is null").withColumn("ts", F.timestamp_seconds("t"))
    return rows.withWatermark("ts", "1 second").groupBy(F.window("ts", "10 seconds", "5 seconds"), "k").count()


def ours(spark: SparkSession, files: Path, **changed: Any) -> DataFrame:
    """The query of these tests."""
    return run_streaming(plan(WINDOW), {"s": stream_of(spark, files)}, late="drop", shards=2, **changed)


def retyped(spark: SparkSession, files: Path) -> DataFrame:
    below = source(pa.schema({**COLUMNS, "v": pa.float64()}))
    frame = stream_of(spark, files).withColumn("v", F.col("v").cast("double"))
    return run_streaming(plan(WINDOW, below=below), {"s": frame}, late="drop", shards=2)


def without_keys(spark: SparkSession, files: Path) -> DataFrame:
    return run_streaming(plan(WINDOW, keys=()), {"s": stream_of(spark, files)}, late="drop", shards=2)


def other_aggregates(spark: SparkSession, files: Path) -> DataFrame:
    changed = plan(WINDOW, aggregates=[AggregateCall("n", "count")])
    return run_streaming(changed, {"s": stream_of(spark, files)}, late="drop", shards=2)


def other_window(spark: SparkSession, files: Path) -> DataFrame:
    return run_streaming(plan(SlidingWindow(20, 5)), {"s": stream_of(spark, files)}, late="drop", shards=2)


def other_kind(spark: SparkSession, files: Path) -> DataFrame:
    return run_streaming(plan(SessionWindow(5)), {"s": stream_of(spark, files)}, late="drop", shards=2)


def other_source(spark: SparkSession, files: Path) -> DataFrame:
    return run_streaming(plan(WINDOW), {"s": punctuated(native_source(spark, files))}, late="drop", shards=2)


def early(spark: SparkSession, files: Path) -> DataFrame:
    return ours(spark, files, emit="change")


Query = Callable[[SparkSession, Path], DataFrame]


def contents(folder: Path) -> dict[str, str]:
    """A fingerprint of every file."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def damage(folder: Path, pattern: str) -> None:
    found = [p for p in folder.glob(pattern) if p.is_file() and not p.name.startswith(".")]
    assert found
    for path in found:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


@dataclass
class Begun:
    """Queries that have done one micro-batch, each with its checkpoint; copies are made of it."""

    spark: SparkSession
    home: Path

    def __post_init__(self) -> None:
        self.files = write_ndjson(self.home / "in", halves(ITEMS))
        self.results: dict[str, list[Row]] = {}

    def by(self, query: Query, copy: Path) -> list[Row]:
        """A copy of the query's checkpoint; what it has given so far."""
        name = query.__name__
        if name not in self.results:
            self.results[name], _ = run_to_end(query(self.spark, self.files), self.home / name, batches=1)
            assert (self.home / name / "commits" / "0").exists()
        shutil.copytree(self.home / name, copy)
        return self.results[name]


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Begun:
    return Begun(spark, tmp_path_factory.mktemp("begun"))


@pytest.mark.parametrize(("first", "second", "message"), [
    (ours, other_aggregates, "the checkpoint has columns"),
    (ours, other_window, "the checkpoint has window"),
    (ours, other_kind, "the checkpoint has window 'sliding: .*the query has 'session: "),
    (ours, retyped, "high double"),
    (ours, without_keys, "the checkpoint has"),
    (ours, early, "the checkpoint has emit 'final'"),
    (early, ours, "the checkpoint has emit 'change'"),
    (ours, other_source, "damaged or belongs to another query"),
    (other_source, ours, "of a query over another source"),
    (native_window, other_source, "damaged or belongs to another query .*stateStoreSave"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_the_checkpoint_of_another_query_is_refused_and_stays_as_it_is(
        first: Query, second: Query, message: str, begun: Begun, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    started = begun.by(first, checkpoint)
    before = contents(checkpoint)
    with pytest.raises(CheckpointError, match=f"(?s){message}"), plain_errors():
        run_to_end(second(begun.spark, begun.files), checkpoint)
    after = contents(checkpoint)
    assert {name: after.get(name) for name in before} == before, "nothing that was there is changed or removed"
    if second in (other_aggregates, other_source) and first is ours:
        rest, _ = run_to_end(first(begun.spark, begun.files), checkpoint)
        assert rows_of([*started, *rest]) == with_missed(judged(ITEMS, WINDOW)[0], WINDOW), "and it goes on"


@pytest.mark.parametrize("part", ["offsets/*", "commits/*", "metadata", "state/0/[01]/*.zip", "state"])
def test_a_damaged_checkpoint_is_named_as_such_and_stays_as_it_is(part: str, begun: Begun, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    begun.by(ours, checkpoint)
    if part == "state":
        shutil.rmtree(checkpoint / part)
    else:
        damage(checkpoint, part)
    before = contents(checkpoint)
    with pytest.raises(CheckpointError, match="damaged or belongs to another query"), plain_errors():
        run_to_end(ours(begun.spark, begun.files), checkpoint)
    after = contents(checkpoint)
    assert {name: after.get(name) for name in before} == before


def test_a_missing_column_is_named_before_anything_runs(begun: Begun) -> None:
    spark, files = begun.spark, begun.files
    with pytest.raises(SchemaError, match="no column 'k'; there are t, v"):
        run_streaming(plan(WINDOW), {"s": stream_of(spark, files).drop("k")}, shards=2)
    with pytest.raises(SchemaError, match="'t' is string and cannot order a window"):
        run_streaming(plan(WINDOW), {"s": stream_of(spark, files).withColumn("t", F.col("t").cast("string"))})


def test_a_directory_with_something_else_in_it_is_no_checkpoint(tmp_path: Path,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    files, checkpoint = write_ndjson(tmp_path / "in", halves(ITEMS)), tmp_path / "mine"
    checkpoint.mkdir()
    (checkpoint / "letter.txt").write_text("dear")
    query = "SELECT k, count(*) [RANGE 30, SLIDE 10, WA t] AS n FROM s GROUP BY k"
    assert main(["run", query, "--stream", f"s={files}", "--engine", "embedded", "--time", "s=t",
                 "--checkpoint", str(checkpoint)]) == 2
    assert "is not empty, and no checkpoint" in capsys.readouterr().err
    assert contents(checkpoint).keys() == {"letter.txt"}
    (checkpoint / "letter.txt").unlink()
    (checkpoint / "query.json").write_text("[]")
    with pytest.raises(CheckpointError, match=r"written by panewise 0.1 \(query.json\)"):
        CheckpointLabel.claim(checkpoint, plan(WINDOW), {}, RunOptions(late="drop"), engine="spark")
