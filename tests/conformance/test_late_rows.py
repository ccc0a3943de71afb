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
from oracle.questions import Oracle
from panewise.dataflow import open_plan
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival

COLUMNS = {"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}
BAND = "a.k = b.k AND b.ts BETWEEN a.ts - 2 AND a.ts + 3"
PAIRS = [f"SELECT a.ts, a.v, b.ts AS bts, b.v AS bv FROM a {kind} JOIN b ON {BAND}"
         for kind in ("INNER", "LEFT", "RIGHT", "FULL")]
PAIRS.append("SELECT a.v, b.v AS bv FROM a [RANGE TUMBLING 5], b [RANGE TUMBLING 5] WHERE a.k = b.k")
PAIRS.append(f"SELECT a.ts, a.v FROM a, b WHERE a.v > 2 AND {BAND}")
THREE = f"SELECT {{}} FROM a, b, c WHERE {BAND} AND c.ts BETWEEN {{}} - 2 AND {{}} + 4"
PAIRS += [THREE.format("a.v, b.v AS bv, c.v AS cv", time, time) for time in ("a.ts", "b.ts")]
AGGREGATES = [f"SELECT count(*) [RANGE 6, SLIDE 3, WA a.ts] AS n FROM a, b WHERE {BAND}",
              f"SELECT a.k, sum(b.v) [RANGE TUMBLING 5, WA b.ts] AS total FROM a, b WHERE {BAND} GROUP BY a.k",
              f"SELECT b.ts, count(*) [RANGE 6, SLIDE 3, WA a.ts] AS n FROM a, b WHERE {BAND} GROUP BY b.ts",
              f"SELECT count(*) [RANGE 6, SLIDE 2, WA a.ts] AS n FROM a LEFT JOIN b ON {BAND}",
              f"SELECT max(b.v) [SESSION 2, WA a.ts] AS top FROM a, b WHERE {BAND}",
              THREE.format("count(*) [RANGE 6, SLIDE 3, WA a.ts] AS n", "b.ts", "b.ts"),
              THREE.format("count(*) [RANGE 6, SLIDE 3, WA b.ts] AS n", "b.ts", "b.ts")]
OVER_PAIRS = [f"SELECT DISTINCT a.k FROM a, b WHERE {BAND}",
              f"SELECT a.k, count(*) AS n FROM a, b WHERE {BAND} GROUP BY a.k",
              f"SELECT a.ts, count(*) AS n FROM a, b WHERE {BAND} GROUP BY a.ts",
              f"SELECT Istream(a.k, b.v) FROM a, b WHERE {BAND}",
              f"SELECT k, count(*) AS n FROM (SELECT a.k, a.ts FROM a, b WHERE {BAND}) [RANGE 4] GROUP BY k",
              f"SELECT v FROM (SELECT a.v, a.ts FROM a, b WHERE {BAND}) [ROWS 2]",
              f"SELECT n FROM (SELECT count(*) [RANGE 6, SLIDE 3, WA a.ts] AS n FROM a, b WHERE {BAND}) [RANGE 5]",
              THREE.format("DISTINCT a.k, c.v", "a.ts", "a.ts"), THREE.format("Istream(a.v)", "b.ts", "b.ts")]
BARE = ["SELECT k, count(*) AS n FROM a GROUP BY k", "SELECT DISTINCT k, ts FROM a", "SELECT Istream(v) FROM a",
        "SELECT ts, count(*) AS n FROM a GROUP BY ts", "SELECT max(v) AS top FROM a",
        "SELECT a.v, b.v AS bv FROM a, b [RANGE 4] WHERE a.k = b.k",
        "SELECT k, v FROM a WHERE NOT EXISTS (SELECT * FROM b [RANGE 4] WHERE b.k = a.k)",
        "SELECT k, v FROM a LIFETIME 9"]
OF_GROUPS_THAT_ARE_OVER = {"SELECT DISTINCT k, ts FROM a", "SELECT ts, count(*) AS n FROM a GROUP BY ts"}
RELATIONS = ["SELECT k, v FROM a [RANGE 6]", "SELECT k, count(*) AS n FROM a [RANGE 6, SLIDE 3] GROUP BY k",
             "SELECT DISTINCT k FROM a [RANGE 5]",
             "SELECT a.v, b.v AS bv FROM a [RANGE 6], b [RANGE 4] WHERE a.k = b.k",
             "SELECT k, v FROM a [RANGE 6] WHERE NOT EXISTS (SELECT * FROM b [RANGE 4] WHERE b.k = a.k)",
             "SELECT k, v FROM a [ROWS 3]", "SELECT Istream(k, v) FROM a [RANGE 6]"]


def arrivals(seed: int, *, items: int = 25, names: str = "ab") -> list[Arrival]:
    """Rows of some streams, a third of them behind what their stream has promised."""
    draw = random.Random(seed)
    made, bound = [], dict.fromkeys(names, 0)
    for number in range(items):
        stream = draw.choice(names)
        if draw.random() < 0.3:
            bound[stream] += draw.randint(0, 4)
            made.append(Arrival(stream, Punctuation.below("ts", bound[stream])))
        else:
            at = max(0, bound[stream] + draw.randint(-6, 6))
            made.append(Arrival(stream, {"ts": at, "k": draw.randint(0, 1), "v": number}))
    return made


def case(query: str, seed: int, late: str = "generous") -> Case:
    """One stream after the other: engines that read them in parallel know no order between them."""
    read = streams_of(query)
    streams: dict[str, list[Any]] = {name: [a.item for a in made(query, seed) if a.stream == name] for name in read}
    return Case("late rows", query, streams, dict.fromkeys(read, COLUMNS), late=late)


def streams_of(query: str) -> list[str]:
    return [name for name in "abc" if f"FROM {name}" in query or f" {name} " in query or f" {name}." in query]


def made(query: str, seed: int) -> list[Arrival]:
    return arrivals(seed, items=40, names="abc") if "c" in streams_of(query) else arrivals(seed)


def bag(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("query", [*PAIRS, *AGGREGATES])
def test_a_late_row_meets_what_is_kept_from_the_bound_on(query: str) -> None:
    """Item by item, with restarts, and beside the definition; late rows must matter, or nothing is shown."""
    plan, mattered = case(query, 0).plan, 0
    for seed in range(60):
        items, draw = made(query, seed), random.Random(seed)
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
    assert mattered > (10 if query in PAIRS else 4)


@pytest.mark.parametrize("query", [query for query in (*AGGREGATES, *OVER_PAIRS) if "ROWS" not in query])
def test_it_does_not_matter_which_stream_is_ahead(query: str) -> None:
    """Late rows are judged by their own stream, so that streams may be read in parallel; positions count arrivals."""
    for seed in range(30):
        given = case(query, seed)
        mixed = Oracle(given.plan, made(query, seed)).results()
        assert bag(mixed) == bag(given.oracle().results()), seed


@pytest.mark.parametrize("query", [*RELATIONS, *OVER_PAIRS, *BARE])
@pytest.mark.parametrize("late", ["generous", "drop"])
def test_relations_in_process_equal_the_oracle(query: str, late: str) -> None:
    for seed in range(12):
        given = case(query, seed, late)
        assert_same_rows(embedded(given, batch_rows=3, restarts=(2, 5)), given.expected())


@pytest.mark.parametrize("query", [*OVER_PAIRS, *BARE])
def test_late_rows_matter_in_these_relations(query: str) -> None:
    differ = [bag(case(query, seed).oracle().results()) != bag(case(query, seed, "drop").oracle().results())
              for seed in range(30)]
    assert any(differ) is (query not in OF_GROUPS_THAT_ARE_OVER)


@pytest.mark.spark
@pytest.mark.parametrize("query", [PAIRS[0], PAIRS[3], PAIRS[-1], *AGGREGATES[:3], AGGREGATES[-1], OVER_PAIRS[1],
                                   OVER_PAIRS[3], BARE[0], BARE[6], RELATIONS[1], RELATIONS[3], RELATIONS[4]])
def test_a_spark_stream_gives_the_same(query: str, spark: SparkSession, tmp_path: Path) -> None:
    seed = next(seed for seed in range(5, 60) if case(query, seed).expected() != case(query, seed, "drop").expected())
    given = case(query, seed)
    assert_same_rows(spark_streaming(given, spark=spark, folder=tmp_path, batch_rows=4, shards=2), given.expected())


@pytest.mark.spark
@pytest.mark.parametrize("query", [PAIRS[1], AGGREGATES[-2], OVER_PAIRS[0], BARE[1], RELATIONS[2]])
def test_a_spark_job_gives_the_same(query: str, spark: SparkSession, tmp_path: Path) -> None:
    given = case(query, 5)
    assert_same_rows(spark_batch(given, spark=spark, folder=tmp_path), given.expected())
