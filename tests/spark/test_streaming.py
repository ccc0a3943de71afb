"""Streaming on Spark: punctuation closes windows, and nothing else decides what they contain."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.sources import read_stream
from panewise.windows.sliding import SlidingWindow
from spark.cases import SCHEMA, judged, plan, rows_of, run_to_end, with_missed, write_ndjson

pytestmark = pytest.mark.spark

WINDOW = SlidingWindow(30, 10)


def disordered(seed: int, rows: int = 150, *, group_wise: bool = False) -> list[dict[str, Any]]:
    """Rows with disorder, promises in line, and some rows that break them."""
    draw = random.Random(seed)
    items: list[dict[str, Any]] = []
    for i in range(rows):
        items.append({"k": draw.choice("abc"), "t": i + draw.randint(-25, 25), "v": draw.randint(-5, 5)})
        if draw.random() < 0.15:
            promise: dict[str, Any] = {"t": i + draw.randint(-30, 0)}
            if group_wise and draw.random() < 0.6:
                promise["k"] = draw.choice("abc")
            items.append({"punctuation": promise})
    return items


@pytest.mark.parametrize("policy", ["drop", "consistent", "generous"])
def test_late_rows_are_judged_by_the_promises_before_them(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    items = disordered(1, group_wise=True)
    files = write_ndjson(tmp_path / "in", [items])
    stream = read_stream(spark, files, time="t", rows_per_batch=40)
    found, late = run_to_end(run_streaming(plan(WINDOW), {"s": stream}, late=policy), tmp_path / "check")
    kept, late_rows = judged(items, WINDOW, policy)
    assert rows_of(found) == with_missed(kept, WINDOW)
    assert late == late_rows > 0
    assert SCHEMA.names == ["k", "t", "v"]
