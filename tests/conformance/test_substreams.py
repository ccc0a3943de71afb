"""``substream:`` means the same on every engine: each row promises of its own substream what punctuation would say."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from conformance.cases import Case
from conformance.runners import embedded, spark_batch, spark_streaming
from panewise.core.errors import ProgressError
from panewise.progress.punctuation import Punctuation
from relations.running import bag

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
GROUPED = "SELECT k, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s GROUP BY k"
TOGETHER = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
RELATION = "SELECT k, v FROM s [RANGE 7] WHERE v > 0"
POLICY = "substream:k=a|b"


def rows_of(seed: int, count: int = 40) -> list[dict[str, Any]]:
    """Rows of two substreams, one ahead of the other, neither quite in order."""
    random = Random(seed)
    found = []
    for place in range(count):
        key = random.choice("ab")
        ts = place + (random.randint(0, 8) if key == "a" else 6 + random.randint(-3, 3))
        found.append({"ts": ts, "k": key, "v": random.randint(0, 2)})
    return found


def case(query: str, rows: list[dict[str, Any]], late: str) -> Case:
    return Case("substreams", query, {"s": rows}, {"s": COLUMNS}, late=late, progress=POLICY)


def test_a_row_that_breaks_the_order_of_its_substream_is_late_though_another_is_far_behind() -> None:
    rows = [{"ts": 3, "k": "a"}, {"ts": 12, "k": "a"}, {"ts": 5, "k": "a"}, {"ts": 1, "k": "b"}]
    query = "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s GROUP BY k"
    for engine in ("embedded", "oracle"):
        found = pw.sql(query, s=rows, engine=engine, late="drop", progress=POLICY)
        assert {(row["k"], row["window"]["start"]): row["n"] for row in found} == {
            ("a", 0): 1, ("a", 10): 1, ("b", 0): 1}


@pytest.mark.parametrize("late", ["drop", "generous", "consistent"])
@pytest.mark.parametrize("query", [GROUPED, TOGETHER])
@pytest.mark.parametrize("seed", range(12))
def test_the_policy_is_what_punctuation_behind_every_row_would_say(seed: int, query: str, late: str) -> None:
    """In process and by definition, beside the promises written out by hand."""
    rows = rows_of(seed)
    given = case(query, rows, late)
    expected = bag(given.expected())
    assert bag(embedded(given, batch_rows=7)) == expected
    reached = {"a": -(2**62), "b": -(2**62)}
    written: list[Any] = []
    for row in rows:
        reached[row["k"]] = max(reached[row["k"]], row["ts"])
        written += [row, Punctuation.below("ts", reached[row["k"]], k=row["k"]),
                    Punctuation.below("ts", min(reached.values()))]
    by_hand = Case("by hand", query, {"s": written}, {"s": COLUMNS}, late=late)
    assert bag(by_hand.expected()) == expected


@pytest.mark.parametrize("seed", range(6))
def test_relations_judge_their_rows_alike(seed: int) -> None:
    given = case(RELATION, rows_of(seed), "drop")
    assert bag(embedded(given, batch_rows=5)) == bag(given.expected())


@pytest.mark.spark
@pytest.mark.parametrize(("query", "late"), [(GROUPED, "drop"), (GROUPED, "generous"), (RELATION, "drop")])
def test_on_spark_it_means_the_same(query: str, late: str, spark: SparkSession, tmp_path: Path) -> None:
    given = case(query, rows_of(3), late)
    assert bag(spark_batch(given, spark=spark, folder=tmp_path)) == bag(given.expected())
    assert bag(spark_streaming(given, spark=spark, folder=tmp_path, batch_rows=15, shards=2)) == bag(given.expected())


def test_a_substream_that_is_not_registered_is_refused_by_name() -> None:
    for engine in ("embedded", "oracle"):
        with pytest.raises(ProgressError, match="substream 'z' of 'k' is not registered"):
            pw.sql(TOGETHER, s=[{"ts": 1, "k": "z"}], engine=engine, progress=POLICY)
