"""explode, posexplode and inline on every engine: the oracle's answer, whatever the cuts and restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.exploded_cases import AGGREGATES, RELATIONS, STATELESS
from conformance.runners import embedded, spark_batch, spark_streaming
from panewise.planner.legal.capabilities import supports

EVERY = [*STATELESS, *AGGREGATES, *RELATIONS]
STREAMED = ("elements of the audit's three rows", "no row of null and empty arrays but outer", "words per window",
            "the first and the last element", "positions count elements", "elements, then the newest of these")


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_the_definition_has_the_answer_computed_by_hand_and_the_kernels_the_definitions(case: Case) -> None:
    expected = case.oracle().results()
    assert expected
    assert_same_rows(expected, case.expected())
    for batch_rows in (1, 3, None):
        assert_same_rows(embedded(case, batch_rows=batch_rows), expected)
    assert_same_rows(embedded(case, batch_rows=2, restarts=(1, 3, 4)), expected)


@pytest.mark.spark
@pytest.mark.parametrize("case", EVERY, ids=str)
def test_a_spark_job_gives_the_same(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    assert supports(case.plan, "spark")
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in EVERY if case.name in STREAMED], ids=str)
def test_a_spark_stream_gives_the_same(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    assert_same_rows(spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=3, shards=2), case.expected())


MAPS = pa.table({"ts": [1, 2, 3], "k": ["p", "q", "r"],
                 "m": pa.array([[("a", 1), ("b", 2)], None, [("a", 9)]], pa.map_(pa.string(), pa.int64()))})
TEXT = "SELECT k, posexplode_outer(m) AS (at, name, n) FROM s"
ENTRIES = [{"k": "p", "at": 0, "name": "a", "n": 1}, {"k": "p", "at": 1, "name": "b", "n": 2},
           {"k": "q", "at": None, "name": None, "n": None}, {"k": "r", "at": 0, "name": "a", "n": 9}]


@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_maps_become_keys_and_values(engine: str) -> None:
    found: Any = pw.sql(TEXT, s=MAPS, engine=engine)
    assert list(found) == ENTRIES


@pytest.mark.spark
def test_maps_become_keys_and_values_on_spark(spark: SparkSession) -> None:
    rows = pw.sql(TEXT, s=spark.createDataFrame(MAPS)).toArrow().to_pylist()
    assert_same_rows(rows, ENTRIES)
