"""Aggregates without GROUP BY over no rows: the same row on every engine, whatever the cuts and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.over_no_rows_cases import CASES
from conformance.runners import embedded, spark_batch, spark_streaming
from panewise.planner.legal.capabilities import supports

STREAMED = ("a window", "a join", "what comes of it", "rows that meet it")
"""The file of a stream without rows has no columns to learn: `tests/spark/test_aggregates_over_no_rows.py` has one."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_definition_has_the_answer_computed_by_hand_and_the_kernels_the_definitions(case: Case) -> None:
    expected = case.oracle().results()
    assert expected
    assert_same_rows(expected, case.expected())
    for batch_rows in (1, 3, None):
        assert_same_rows(embedded(case, batch_rows=batch_rows), expected)
    assert_same_rows(embedded(case, batch_rows=2, restarts=(1, 3, 4)), expected)


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in CASES if case.name != "no row at all"], ids=str)
def test_a_spark_job_gives_the_same(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    assert supports(case.plan, "spark")
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in CASES if case.name in STREAMED], ids=str)
def test_a_spark_stream_gives_the_same(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    assert_same_rows(spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=3, shards=2), case.expected())
