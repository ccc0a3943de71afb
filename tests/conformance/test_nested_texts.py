"""Random texts that nest operators of every family mean the same on every engine."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.compare import assert_same_rows
from conformance.nested_texts import FAMILIES, case_of, families_of, nesting
from conformance.runners import embedded, spark_batch, spark_streaming
from fuzz.nested_trials import drawn
from panewise.core.errors import PanewiseError

RUNS = 30
"""Texts of each test; those that are refused, by name, are not among them."""


def test_every_family_is_nested_in_every_depth() -> None:
    found: Counter[str] = Counter()
    depths: Counter[int] = Counter()
    for _, case in islice(drawn(0), 150):
        found.update(families_of(case.plan))
        depths[nesting(case.plan)] += 1
    assert set(found) == {*FAMILIES.values(), "Istream", "Dstream", "Rstream", "Wstream"}, found
    assert min(found.values()) >= 5, found
    assert depths.keys() >= {4, 5, 6}, depths


@pytest.mark.parametrize("first", range(0, 5_000, 1_000))
def test_nested_texts_in_process(first: int) -> None:
    for _, case in islice(drawn(first), RUNS):
        assert_same_rows(embedded(case, batch_rows=3, restarts=(2, 5, 11)), case.expected())


def test_most_texts_run_and_have_results() -> None:
    found: Counter[str] = Counter()
    for seed in range(100):
        try:
            case = case_of(seed, 2 + seed % 3)
            found["answered" if case.expected() else "empty"] += 1
        except PanewiseError:
            found["refused"] += 1
    assert found["answered"] > 60, found


@pytest.mark.spark
@pytest.mark.parametrize("number", range(5))
def test_nested_texts_of_static_dataframes(number: int, spark: SparkSession, tmp_path: Path) -> None:
    _, case = next(drawn(10_000 + 10 * number))
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("number", range(5))
def test_nested_texts_of_streams(number: int, spark: SparkSession, tmp_path: Path) -> None:
    _, case = next(drawn(20_000 + 10 * number))
    assert_same_rows(spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=9, fail_at=1), case.expected())
