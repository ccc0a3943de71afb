"""Spark's own stream-stream join where it is taken: the oracle's answer, whatever is late, cut or restarted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import panewise as pw
from oracle.questions import Oracle
from panewise.core.errors import CheckpointError, PlanError, SchemaError
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.host.wire import ROW_BOUND
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.queries.choosing import FEW_ROWS
from panewise.engines.spark.session.failures import plain_errors
from panewise.plan.nodes import Node
from panewise.planner.choose.two_streams import TwoStreams, two_streams
from panewise.sql import parse
from relations.running import bag
from spark.cases import run_in_batches, run_to_end
from spark.micro_batches import MicroBatches
from sql.sql_cases import catalog, options
from sql.test_queries_run import CASES

pytestmark = pytest.mark.spark


def plan_of(text: dict[str, Any]) -> Node:
    return parse(text["text"], catalog(), **options(text))


NATIVE = [text for text in CASES if isinstance(two_streams(plan_of(text)), TwoStreams)]
START = datetime(2026, 1, 1, tzinfo=UTC)
BAND = "SELECT a.ts, a.k, b.ts AS other FROM a [WA ts, RANGE 2 s], b [WA ts, RANGE 1 s] WHERE a.k = b.k"


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


def lines(path: Path, *items: tuple[float, str] | float) -> Path:
    """Rows as (second, key), promises as the second below which nothing comes any more."""
    made = [{"punctuation": {"ts": at(item)}} if isinstance(item, int | float) else {"ts": at(item[0]), "k": item[1]}
            for item in items]
    path.write_text("".join(json.dumps(line) + "\n" for line in made))
    return path


def streams(spark: SparkSession, folder: Path, a: Sequence[Any], b: Sequence[Any],
            rows: int = 2) -> dict[str, DataFrame]:
    return {name: read_stream(spark, lines(folder / f"{name}.ndjson", *items), rows_per_batch=rows)
            for name, items in (("a", a), ("b", b))}


def seconds(rows: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    return sorted(((row["ts"] - START).total_seconds(), (row["other"] - START).total_seconds()) for row in rows)


@pytest.mark.parametrize("text", NATIVE, ids=[c["id"] for c in NATIVE])
def test_sparks_join_gives_the_oracles_answer(text: dict[str, Any], spark: SparkSession, tmp_path: Path) -> None:
    """Rows out of order and some too late; every second query fails once and goes on."""
    plan = plan_of(text)
    inputs = MicroBatches(plan)
    frames = {}
    for name in inputs.nodes:
        home = inputs.write(name, tmp_path)
        reader = spark.readStream.schema(spark.read.parquet(str(home)).schema).option("maxFilesPerTrigger", 1)
        frames[name] = reader.parquet(str(home))
    results = run_streaming(plan, frames, joins="native", late="drop")
    batches, late = run_in_batches(results, tmp_path / "checkpoint", fail_at=None if NATIVE.index(text) % 2 else 1)
    oracle = Oracle(plan, inputs.timeline, late="drop")
    found = [row for batch in batches for row in batch]
    assert found
    assert bag(found) == bag(oracle.results())
    assert late == len(oracle.late_rows()) > 0


def test_a_late_row_meets_none_of_its_partners(spark: SparkSession, tmp_path: Path) -> None:
    """Spark alone forgets rows by a promise one micro-batch before it drops late ones, so it would meet some."""
    frames = streams(spark, tmp_path, [(1, "x"), (4, "x"), 4, (2.5, "x"), (5, "x")], [(2, "x"), 2, (3, "x"), (4, "x")])
    batches, late = run_in_batches(pw.sql(BAND, **frames, joins="native", late="drop"), tmp_path / "checkpoint")
    assert seconds([row for batch in batches for row in batch]) == [(1, 2), (1, 3), (4, 3), (4, 4), (5, 4)]
    assert late == 1


def test_a_row_at_the_very_bound_is_not_late(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would drop it, two micro-batches after the promise: rows at its watermark are late."""
    far = [(9, "y"), (9, "y")]
    frames = streams(spark, tmp_path, [(1, "x"), 3, *far, (3, "x"), (2.999999, "x")], [(3, "x"), 3, *far, *far])
    batches, late = run_in_batches(pw.sql(BAND, **frames, joins="native", late="drop"), tmp_path / "checkpoint")
    assert seconds([row for batch in batches for row in batch if row["k"] == "x"]) == [(1, 3), (3, 3)]
    assert late == 1


def test_times_before_1970_meet_as_well(spark: SparkSession, tmp_path: Path) -> None:
    early = -60 * 365 * 86_400
    frames = streams(spark, tmp_path, [(early, "x"), early, (early + 1, "x")],
                     [(early + 1, "x"), early, (early + 3, "x")])
    batches, _ = run_in_batches(pw.sql(BAND, **frames, joins="native", late="drop"), tmp_path / "checkpoint")
    found = seconds([row for batch in batches for row in batch])
    assert found == [(early, early + 1), (early + 1, early + 1), (early + 1, early + 3)]


def test_rows_that_no_partner_can_meet_are_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    many = [item for second in range(0, 200, 10) for item in ((second, "x"), second + 9)]
    frames = streams(spark, tmp_path, many, many, rows=10)
    query = (pw.sql(BAND, **frames, joins="native", late="drop").writeStream.format("noop").trigger(availableNow=True)
             .option("checkpointLocation", str(tmp_path / "checkpoint")).start())
    query.awaitTermination()
    kept = [report["stateOperators"][0]["numRowsTotal"] for report in query.recentProgress if report["numInputRows"]]
    assert max(kept) <= 20, f"of 40 rows, in each micro-batch: {kept}"
    assert query.recentProgress[-1]["stateOperators"][0]["numRowsTotal"] == 0


def test_a_row_without_a_time_or_out_of_all_time_is_named(spark: SparkSession, tmp_path: Path) -> None:
    frames = streams(spark, tmp_path, [(1, "x"), 1], [(1, "x"), 1])
    milliseconds = F.timestamp_seconds(F.lit(1_700_000_000_000))
    cases = [(F.lit(None).cast("timestamp"), "is null in a row"),
             (milliseconds, "is so far from 1970 .*, 1700000000000000000 microseconds")]
    for number, (ts, problem) in enumerate(cases):
        frames["a"] = frames["a"].withColumn("ts", ts)
        with pytest.raises(SchemaError, match=f"stream 'a': 'ts' {problem}"), plain_errors():
            run_in_batches(pw.sql(BAND, **frames, joins="native", late="drop"), tmp_path / f"checkpoint{number}")


# -- who joins


def test_statistics_say_who_joins(spark: SparkSession, tmp_path: Path) -> None:
    frames = streams(spark, tmp_path, [(1, "x")], [(2, "x")])
    few = {"a.rows_per_second": FEW_ROWS / 2, "b.rows_per_second": FEW_ROWS / 2}
    many = {**few, "b.rows_per_second": FEW_ROWS}
    assert "join: Spark's own stream-stream join: 6,000 rows a second are few" in \
        pw.explain(BAND, **frames, stats=few, late="drop")
    assert "join: kernels: 9,000 rows a second are many" in pw.explain(BAND, **frames, stats=many, late="drop")
    assert "join: kernels: few rows a second would be faster" in pw.explain(BAND, **frames, late="drop")
    assert "join: kernels: asked for" in pw.explain(BAND, **frames, joins="kernels", late="drop")


def test_what_sparks_join_does_not_answer_is_refused_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    frames = streams(spark, tmp_path, [(1, "x")], [(2, "x")])
    by_hand = {name: frame.drop(ROW_BOUND) for name, frame in frames.items()}
    cases: list[tuple[str, dict[str, Any], str]] = [
        (BAND, by_hand, "rows of 'a' do not say which bound was in force when they came"),
        (BAND, {**frames, "progress": "late:1 s"}, "rows of 'a' do not say"),
        (BAND, {**frames, "late": "side"}, "late='side' needs the late rows themselves"),
        (BAND, {**frames, "late": "generous"}, "late='generous' needs the late rows themselves; with late='drop'"),
        (BAND, {**frames, "emit": "punctuated"}, "it says nothing of how far its results are"),
        (BAND.replace("a.k = b.k", "a.k < b.k"), frames, "no column of one stream equals one of the other"),
        (BAND.replace("a.k = b.k", "a.k = upper(b.k)"), frames, "values of different types, or computed ones"),
        ("SELECT count(*) AS n FROM a [RANGE 2 s], b [RANGE 1 s] WHERE a.k = b.k", frames, "all that the query does"),
        ("SELECT a.k FROM a [RANGE 2 s], b [ROWS 3] WHERE a.k = b.k", frames, "no length of time that moves with it"),
    ]
    for text, given, reason in cases:
        with pytest.raises(PlanError, match=f"joins='native'.*{reason}"):
            pw.sql(text, **{"late": "drop", **given}, joins="native")
    with pytest.raises(PlanError, match=r"joins='fast' is no way to run joins: .* on Spark 'native' and 'kernels'"):
        pw.sql(BAND, **frames, joins="fast")


def test_a_checkpoint_of_one_join_is_refused_by_the_other(spark: SparkSession, tmp_path: Path) -> None:
    frames = streams(spark, tmp_path, [(1, "x"), 1, (3, "x")], [(2, "x"), 2, (3, "x")])
    run_to_end(pw.sql(BAND, **frames, joins="native", late="drop"), tmp_path / "checkpoint", batches=1)
    with pytest.raises(CheckpointError), plain_errors():
        run_in_batches(pw.sql(BAND, **frames, joins="kernels"), tmp_path / "checkpoint")
