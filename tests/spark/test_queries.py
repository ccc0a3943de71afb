"""Joins and changing relations on Spark: batch and streaming give the oracle's answer, split over shards, after a failure."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from conformance.cases import Case
from conformance.runners import spark_batch, spark_streaming
from panewise.core.errors import PlanError, UnsupportedError
from panewise.core.schema import SourceKind, SourceSchema
from panewise.engines.oracle.engine import Oracle
from panewise.engines.spark.engine import explain_strategy, run, run_batch, run_streaming
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival
from panewise.sql import parse
from relations.running import bag

pytestmark = pytest.mark.spark

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
QUERIES = {
    "join": "SELECT * FROM a [RANGE 10], b [RANGE 6] WHERE a.k = b.k AND a.v <= b.v",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 7]",
    "not exists": "SELECT k, v FROM a [RANGE 8] WHERE NOT EXISTS (SELECT * FROM b [RANGE 5] WHERE b.k = a.k)",
    "except": "SELECT k FROM a [RANGE 9] EXCEPT ALL SELECT k FROM b [RANGE 4]",
    "groups": "SELECT k, count(*) AS n, sum(v) AS total FROM a [ROWS 3 PARTITION BY k] GROUP BY k",
    "in one piece": "SELECT count(*) AS n FROM a [RANGE 6], b [RANGE 6] WHERE a.v = b.v",
    "istream": "SELECT Istream(k, v) FROM a [RANGE 6]",
    "rstream": "SELECT Rstream(k, v) FROM a [RANGE 5 SLIDE 5]",
    "aggregate over a join of streams":
        "SELECT a.k AS k, count(*) AS n FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - 3 AND a.ts + 3 "
        "GROUP BY a.k, window(a.ts, 10)",
}


def case(name: str, *, rows: int = 40, late: str = "drop") -> Case:
    """Rows out of order, promises that some of them break."""
    random = Random(name)
    streams: dict[str, list[Any]] = {}
    for stream in ("a", "b"):
        if f"{stream} [" not in QUERIES[name] and f" {stream} " not in QUERIES[name]:
            continue
        items: list[Any] = []
        for place in range(rows):
            ts = place + random.randint(0, 6)
            items.append({"ts": ts, "k": random.choice("xyz"), "v": random.randint(0, 3)})
            if place % 7 == 6:
                items.append(Punctuation.below("ts", place - 1))
        streams[stream] = items
    return Case(name, QUERIES[name], streams, dict.fromkeys(streams, COLUMNS), late=late)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_over_bounded_inputs_gives_the_oracles_answer(name: str, spark: SparkSession, tmp_path: Path) -> None:
    given = case(name)
    assert bag(spark_batch(given, spark=spark, folder=tmp_path)) == bag(given.expected())


@pytest.mark.parametrize("name", QUERIES)
def test_a_streaming_query_that_failed_in_the_middle_gives_it_too(name: str, spark: SparkSession,
                                                                  tmp_path: Path) -> None:
    given = case(name)
    assert given.expected()
    found = spark_streaming(given, spark=spark, folder=tmp_path, batch_rows=15, shards=2, fail_at=1)
    assert bag(found) == bag(given.expected())
