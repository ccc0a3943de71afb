"""Window aggregates over windows, DISTINCT and what comes in mean the same on every engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.runners import embedded, spark_batch, spark_streaming
from embedded.test_nested_windows import COLUMNS, NESTED
from panewise.progress.punctuation import Punctuation

TEXTS = {name: text for name, text in NESTED.items() if name != "beside a table"}


def case(name: str, seed: int = 0) -> Case:
    """One stream after the other: engines that read them in parallel know no order between them."""
    draw, text = random.Random(seed), TEXTS[name]
    streams: dict[str, list[Any]] = {}
    for stream in ("s", "t") if " t" in text.replace(" ts", "") else ("s",):
        made: list[Any] = []
        for at in range(0, 60, 2):
            made.append({"ts": max(0, at + draw.randint(-6, 6)), "k": draw.choice("ab"), "v": draw.randint(0, 3)})
            if at % 10 == 8:
                made.append(Punctuation.below("ts", at - 6))
        streams[stream] = made
    return Case("nested windows", text, streams, dict.fromkeys(streams, COLUMNS))


@pytest.mark.parametrize("name", TEXTS)
def test_nested_windows_in_process(name: str) -> None:
    of = case(name)
    assert of.expected()
    assert_same_rows(embedded(of, batch_rows=3, restarts=(2, 5)), of.expected())


@pytest.mark.spark
@pytest.mark.parametrize("name", TEXTS)
def test_nested_windows_of_a_static_dataframe(name: str, spark: SparkSession, tmp_path: Path) -> None:
    of = case(name)
    assert_same_rows(spark_batch(of, spark=spark, folder=tmp_path), of.expected())


@pytest.mark.spark
@pytest.mark.parametrize("name", ["the end of a window", "three levels", "distinct", "joined windows"])
def test_nested_windows_of_a_stream(name: str, spark: SparkSession, tmp_path: Path) -> None:
    of = case(name)
    assert_same_rows(spark_streaming(of, spark=spark, folder=tmp_path, batch_rows=12), of.expected())
