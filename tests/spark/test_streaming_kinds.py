"""Window kinds that have least in common, on Spark streaming, with a failure in the middle.

``test_exact_kinds`` holds every kind and aggregate to its definition without Spark; here Spark carries the rows.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.generated import any_kind
from conformance.runners import spark_streaming
from panewise.core.errors import PlanError
from panewise.engines.spark.engine import run, run_streaming
from panewise.engines.spark.lower.progress import punctuated
from panewise.plan.nodes import Union
from panewise.progress.punctuation import Punctuation
from panewise.windows.sliding import SlidingWindow
from spark.cases import plan, rows_of, run_to_end, source, write_ndjson

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("bracket", "aggregate"), [
    ("SESSION 3, WA ts, PA k", "median(v)"),
    ("RANGE 3 rows, SLIDE 2 rows, WA row-num, PA k", "first(v)"),
    ("RANGE 9, RATTR ts, SLIDE 2 rows, SATTR row-num, PA k", "max(v) - min(v)"),
    ("RANGE ALL, SLIDE 7, WA ts", "count(DISTINCT v)"),
    ("RANGE 9, SLIDE 6, WA ts", "frequent_items(v, 2)"),
    ("RANGE 4 rows, SLIDE 2 rows, WA row-num, PA k", "frequent_items(v, 2)"),
    ("RANGE 9 rows, SLIDE 6 rows, WA row-num", "frequent_items(v, 2)"),
])
def test_a_kind_that_failed_in_the_middle_gives_the_oracles_answer(bracket: str, aggregate: str, spark: SparkSession,
                                                                    tmp_path: Path) -> None:
    case = with_rows(Random(bracket), bracket, aggregate)
    found = spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=9, shards=2, fail_at=1)
    assert_same_rows(found, case.expected())


def with_rows(random: Random, bracket: str, aggregate: str) -> Case:
    """A case with rows in which every column has a value: an empty file has no columns to learn."""
    while True:
        case = any_kind(random, (bracket,), grammatical=None, rows=25, aggregates=(aggregate,))
        rows = [i for i in case.streams["s"] if not isinstance(i, Punctuation)]
        if len(rows) > 12 and all(any(r[c] is not None for r in rows) for c in ("k", "v", "x")):
            return case


def test_each_stream_of_a_union_keeps_its_own_progress_policy(spark: SparkSession, tmp_path: Path) -> None:
    left: list[list[dict[str, Any]]] = [[{"k": "a", "t": 5, "v": 1}], [{"k": "a", "t": 24, "v": 1}]]
    right: list[list[dict[str, Any]]] = [
        [{"k": "a", "t": 7, "v": 2, "punctuation": None}],
        [{"k": "a", "t": 12, "v": 3, "punctuation": None},
         {"k": None, "t": None, "v": None, "punctuation": '{"t": 40}'}]]
    frames = {}
    for name, files, columns in (("s", left, ""), ("r", right, ", punctuation string")):
        folder = write_ndjson(tmp_path / name, files)
        for number in range(2):
            os.utime(folder / f"{number:04d}.ndjson", (1000 + number, 1000 + number))
        frames[name] = (spark.readStream.schema(f"k string, t bigint, v bigint{columns}")
                        .option("maxFilesPerTrigger", 1).json(str(folder)))
    frames["r"] = punctuated(frames["r"])
    query = plan(SlidingWindow(10, 10), below=Union((source(), source(name="r"))))
    found, late = run_to_end(run(query, frames, progress={"s": "late:4"}), tmp_path / "checkpoint")
    assert rows_of(found) == {("a", 0, 10, 2, 2, 1.5): 1, ("a", 10, 20, 1, 3, 3.0): 1}, \
        "24 - 4 on the left, 40 on the right: windows up to 20 are complete"
    assert late == 0
    with pytest.raises(PlanError, match="'s' carries no punctuation"):
        run(query, frames)
    with pytest.raises(PlanError, match="progress is given for nobody"):
        run_streaming(query, frames, progress={"nobody": "ordered"})
