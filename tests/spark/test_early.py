"""Early results on Spark: a log of changes that adds up to the final results; and how many windows are open."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from conformance.compare import assert_same_rows
from conformance.generated import any_kind
from panewise.core.errors import PlanError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.io.sources import read_stream
from panewise.engines.spark.observe.observed import metrics
from panewise.engines.spark.observe.status import as_json
from panewise.progress.punctuation import Punctuation
from panewise.windows.sliding import SlidingWindow
from spark.cases import plan, rows_of, write_ndjson
from spark.in_process_rows import run_rows_in_process
from spark.test_exact_kinds import KINDS, PLAIN

QUERY = "SELECT k, max(v) [RANGE 10, SLIDE 5, WA t] AS top FROM s GROUP BY k"
ITEMS: list[dict[str, Any]] = [
    {"k": "a", "t": 1, "v": 3}, {"k": "b", "t": 2, "v": 5}, {"k": "a", "t": 4, "v": 9}, {"punctuation": {"t": 4}},
    {"k": "a", "t": 6, "v": 1}, {"k": "b", "t": 7, "v": 7}, {"punctuation": {"t": 10}}, {"k": "a", "t": 12, "v": 2},
]


def added_up(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What holds after all changes; nothing may be taken back that was not shown."""
    net: Counter[str] = Counter()
    for row in rows:
        text = json.dumps({name: value for name, value in row.items() if name != "change"}, default=str)
        net[text] += row["change"]
        assert net[text] >= 0, f"taken back and never shown: {text}"
    return [json.loads(text) for text in net.elements()]


@settings(max_examples=75, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(KINDS), st.sampled_from(["change", "early:5", "early:50"]),
       st.sampled_from([1, 3, 8, 1000]), st.sampled_from([1, 2, 3]), st.sampled_from([0, 2_000, 1 << 20]))
def test_changes_add_up_to_the_final_results(random: Random, bracket: str, emit: str, rows_per_batch: int, shards: int,
                                             journal: int) -> None:
    case = any_kind(random, (bracket,), grammatical=None, rows=20, aggregates=PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        found = run_rows_in_process(case, Path(folder), random=random, rows_per_batch=rows_per_batch, shards=shards,
                                    journal=journal, emit=emit)
    assert_same_rows(added_up(found.rows), case.expected())


def test_early_results_come_before_their_window_is_complete_and_are_corrected(spark: SparkSession,
                                                                              tmp_path: Path) -> None:
    files = write_ndjson(tmp_path / "in", [ITEMS])
    shown: list[list[tuple[Any, ...]]] = []

    def collect(batch: DataFrame, number: int) -> None:
        shown.append(sorted((r.k, r.window.start, r.top, r.change) for r in batch.collect()))

    frame = pw.sql(QUERY, s=read_stream(spark, files, time="t", rows_per_batch=4), emit="change")
    query = (frame.writeStream.foreachBatch(collect).trigger(availableNow=True)
             .option("checkpointLocation", str(tmp_path / "state")).start())
    query.awaitTermination()
    assert shown[0] == [("a", -5, 9, 1), ("a", 0, 9, 1), ("b", -5, 5, 1), ("b", 0, 5, 1)]
    assert ("b", 0, 5, -1) in shown[1]
    assert ("b", 0, 7, 1) in shown[1]
    assert ("a", 0, 9, 1) not in shown[1], "what was shown and holds is not repeated"
    net: Counter[Any] = Counter()
    for row in [r for rows in shown for r in rows]:
        net[row[:3]] += row[3]
    final = pw.sql(QUERY, s=spark.createDataFrame([i for i in ITEMS if "k" in i], "k string, t bigint, v bigint"))
    assert +net == Counter((r.k, r.window.start, r.top) for r in final.collect())
    opened = [metrics(as_json(p))["open_windows"] for p in query.recentProgress]
    assert opened == [2, 2, 0], "[-5, 5) and [0, 10); [5, 15) and [10, 20); none after the end"
    assert pw.query_status(query).open_windows == 0


def test_what_cannot_be_early_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([("a", 1, 2)], "k string, t bigint, v bigint")
    with pytest.raises(PlanError, match="those of a static DataFrame are final at once"):
        pw.sql(QUERY, s=rows, emit="change")
    stream = read_stream(spark, write_ndjson(tmp_path / "in", [ITEMS]), time="t")
    with pytest.raises(UnsupportedError, match="on Spark the trigger is the clock"):
        pw.sql(QUERY, s=stream, emit="clock:5 s")
    with pytest.raises(PlanError, match="give it another name"):
        pw.sql(QUERY.replace("AS top", "AS change"), s=stream, emit="change")
    with pytest.raises(PlanError, match="no emission policy"):
        run_streaming(plan(SlidingWindow(10, 5)), {"s": stream}, emit="soon")
    assert rows_of(rows)


NESTED = f"SELECT sum(top) [RANGE 20, SLIDE 20, WA window.time] AS m FROM ({QUERY}) AS q"
PAIRED = "SELECT a.k AS k, count(*) [RANGE 10, SLIDE 5, WA a.t] AS n FROM s [RANGE 4, WA t] AS a, s [RANGE 4, WA t] " \
         "AS b WHERE a.k = b.k GROUP BY a.k"


@pytest.mark.parametrize("text", [NESTED, PAIRED, f"SELECT n FROM ({PAIRED}) AS q WHERE n > 1"])
def test_aggregates_over_others_are_early_too(spark: SparkSession, tmp_path: Path, text: str) -> None:
    """Over other windows in two parts of the plan, over pairs, and below what Spark does with the results."""
    files = write_ndjson(tmp_path / "in", [ITEMS])
    shown: list[list[dict[str, Any]]] = []
    stream = read_stream(spark, files, time="t", rows_per_batch=1 if text is NESTED else 3)
    frame = pw.sql(text, s=stream, emit="change")
    query = (frame.writeStream.foreachBatch(lambda batch, _: shown.append([r.asDict(True) for r in batch.collect()]))
             .trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "state")).start())
    query.awaitTermination()
    told = [row for rows in shown for row in rows]
    assert {row["change"] for row in told} == {1, -1}, "something was early and not final"
    items = [Punctuation.from_json(i["punctuation"], "t", OrdinalKind.INTEGER) if "punctuation" in i else i
             for i in ITEMS]
    assert_same_rows(added_up(told), list(pw.sql(text, s=items, time="t")))


def test_the_clock_of_aggregates_over_others_is_the_trigger(spark: SparkSession, tmp_path: Path) -> None:
    files = write_ndjson(tmp_path / "in", [ITEMS])
    with pytest.raises(UnsupportedError, match="on Spark the trigger is the clock"):
        pw.sql(NESTED, s=read_stream(spark, files, time="t"), emit="clock:5s")
    with pytest.raises(PlanError, match="no emission policy 'sometimes'"):
        pw.sql(NESTED, s=read_stream(spark, files, time="t"), emit="sometimes")
