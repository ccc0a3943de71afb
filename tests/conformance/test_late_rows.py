"""Late rows in relations and joins mean the same on every engine, however rows are cut and queries restarted."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.runners import embedded, spark_batch, spark_streaming
from panewise.engines.oracle.engine import Oracle
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival
from panewise.queries.opening import open_plan

COLUMNS = {"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}
BAND = "a.k = b.k AND b.ts BETWEEN a.ts - 2 AND a.ts + 3"
PAIRS = [f"SELECT a.ts, a.v, b.ts AS bts, b.v AS bv FROM a {kind} JOIN b ON {BAND}"
         for kind in ("INNER", "LEFT", "RIGHT", "FULL")]
PAIRS.append("SELECT a.v, b.v AS bv FROM a [RANGE TUMBLING 5], b [RANGE TUMBLING 5] WHERE a.k = b.k")
PAIRS.append(f"SELECT a.ts, a.v FROM a, b WHERE a.v > 2 AND {BAND}")
ABOVE = [f"SELECT count(*) [RANGE 6, SLIDE 3, WA a.ts] AS n FROM a, b WHERE {BAND}",
         f"SELECT DISTINCT a.k FROM a, b WHERE {BAND}"]
RELATIONS = ["SELECT k, v FROM a [RANGE 6]", "SELECT k, count(*) AS n FROM a [RANGE 6, SLIDE 3] GROUP BY k",
             "SELECT DISTINCT k FROM a [RANGE 5]",
             "SELECT a.v, b.v AS bv FROM a [RANGE 6], b [RANGE 4] WHERE a.k = b.k",
             "SELECT k, v FROM a [RANGE 6] WHERE NOT EXISTS (SELECT * FROM b [RANGE 4] WHERE b.k = a.k)",
             "SELECT k, v FROM a [ROWS 3]", "SELECT Istream(k, v) FROM a [RANGE 6]"]


def arrivals(seed: int, *, items: int = 25) -> list[Arrival]:
    """Rows of two streams, a third of them behind what their stream has promised."""
    draw = random.Random(seed)
    made, bound = [], {"a": 0, "b": 0}
    for number in range(items):
        stream = draw.choice("ab")
        if draw.random() < 0.3:
            bound[stream] += draw.randint(0, 4)
            made.append(Arrival(stream, Punctuation.below("ts", bound[stream])))
        else:
            at = max(0, bound[stream] + draw.randint(-6, 6))
            made.append(Arrival(stream, {"ts": at, "k": draw.randint(0, 1), "v": number}))
    return made


def case(query: str, seed: int, late: str = "generous") -> Case:
    """One stream after the other: engines that read them in parallel know no order between them."""
    read = [name for name in "ab" if f"FROM {name}" in query or f" {name} " in query or f" {name}." in query]
    streams: dict[str, list[Any]] = {name: [a.item for a in arrivals(seed) if a.stream == name] for name in read}
    return Case("late rows", query, streams, dict.fromkeys(read, COLUMNS), late=late)


def bag(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("query", [*PAIRS, *ABOVE])
def test_a_late_row_meets_what_is_kept_from_the_bound_on(query: str) -> None:
    """Item by item, with restarts, and beside the definition; late rows must matter for pairs, or nothing is shown."""
    plan, mattered = case(query, 0).plan, 0
    for seed in range(60):
        items, draw = arrivals(seed), random.Random(seed)
        running, found = open_plan(plan), []
        for arrival in items:
            rows = arrival.item if isinstance(arrival.item, Punctuation) else [arrival.item]
            found += running.push(arrival.stream, rows).to_pylist()
            if draw.random() < 0.1:
                state, running = running.snapshot(), open_plan(plan)
                running.restore(state)
        found += running.finish().to_pylist()
        oracle = Oracle(plan, items)
        assert bag(found) == bag(oracle.results()), seed
        assert running.late_count == len(oracle.late_rows())
        mattered += bag(oracle.results()) != bag(Oracle(plan, items, late="drop").results())
    assert mattered > 10 if query in PAIRS else mattered == 0


@pytest.mark.parametrize("query", RELATIONS)
@pytest.mark.parametrize("late", ["generous", "drop"])
def test_relations_in_process_equal_the_oracle(query: str, late: str) -> None:
    for seed in range(12):
        given = case(query, seed, late)
        assert_same_rows(embedded(given, batch_rows=3, restarts=(2, 5)), given.expected())


@pytest.mark.spark
@pytest.mark.parametrize("query", [PAIRS[0], PAIRS[3], RELATIONS[1], RELATIONS[3], RELATIONS[4]])
def test_a_spark_stream_gives_the_same(query: str, spark: SparkSession, tmp_path: Path) -> None:
    given = case(query, 5)
    assert given.oracle().late_rows()
    assert given.expected() != case(query, 5, "drop").expected()
    assert_same_rows(spark_streaming(given, spark=spark, folder=tmp_path, batch_rows=4, shards=2), given.expected())


@pytest.mark.spark
@pytest.mark.parametrize("query", [PAIRS[1], RELATIONS[2]])
def test_a_spark_job_gives_the_same(query: str, spark: SparkSession, tmp_path: Path) -> None:
    given = case(query, 5)
    assert_same_rows(spark_batch(given, spark=spark, folder=tmp_path), given.expected())
