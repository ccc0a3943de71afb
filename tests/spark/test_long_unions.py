"""A UNION of many parts on Spark: put together in pairs of pairs, refused by name beyond what Spark can plan."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import panewise as pw
from panewise.core.errors import UnsupportedError
from panewise.core.schema import Catalog, SourceSchema
from panewise.engines.spark.lower.stateless_steps import MOST_BRANCHES, MOST_PARTS, lower, united
from panewise.sql import parse

CATALOG = Catalog.of(s=SourceSchema.of(pa.schema({"ts": pa.int64(), "a": pa.int64()}), time="ts"))


class Counted:
    """A DataFrame whose plan is as deep, and as large, as Spark's would be; what it looks through is added up."""

    looked_at = 0

    def __init__(self, names: tuple[str, ...], depth: int = 0) -> None:
        self.names, self.depth = names, depth

    def union(self, other: Counted) -> Counted:
        Counted.looked_at += len(self.names) + len(other.names)
        return Counted((*self.names, *other.names), max(self.depth, other.depth) + 1)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 256])
def test_parts_stay_in_order_and_are_not_looked_through_once_for_each(count: int) -> None:
    Counted.looked_at = 0
    frames: list[Any] = [Counted((f"p{i}",)) for i in range(count)]
    whole: Any = united(frames)
    assert whole.names == tuple(f"p{i}" for i in range(count))
    assert whole.depth <= count.bit_length()
    assert Counted.looked_at <= count * count.bit_length()


def test_more_parts_than_spark_can_plan_are_refused_before_anything_is_read() -> None:
    text = " UNION ALL ".join(["SELECT a FROM s WHERE a = 3"] * (MOST_BRANCHES + 1))
    with pytest.raises(UnsupportedError, match=rf"UNION of 1,001 parts, of at most {MOST_PARTS} on Spark"):
        lower(parse(text, CATALOG), {})


ROWS = [(ts, ts % 7 if ts % 5 else None) for ts in range(40)]
PARTS = " UNION ALL ".join([
    "SELECT ts, a + {i} AS a FROM s WHERE a = {j}", "SELECT q.ts, q.b AS a FROM (SELECT ts, a * 2 AS b FROM s) AS q "
    "WHERE q.b > {j}", "SELECT ts, 10 div a AS a FROM s WHERE a <> 0", "SELECT ts, a FROM s"])
TEXTS = {
    "columns": " UNION ALL ".join(PARTS.format(i=i, j=i % 7) for i in range(30)),
    "windows": "SELECT a, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM ("
               + " UNION ALL ".join(PARTS.format(i=i, j=i % 7) for i in range(9)) + ") AS q GROUP BY a",
    "of two types": " UNION ALL ".join(["SELECT ts, 1.5 AS a FROM s WHERE a > 3", *["SELECT ts, a FROM s"] * 32]),
}


@pytest.mark.spark
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_parts_that_select_from_one_stream_are_made_in_one_pass(text: str, spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, "ts long, a long")
    found = pw.sql(text, s=frame)
    expected = pw.sql(text, s=[{"ts": ts, "a": a} for ts, a in ROWS], engine="oracle")
    assert sorted(str(row.asDict(recursive=True)) for row in found.collect()) == sorted(map(str, expected))
    reads = found._jdf.queryExecution().optimizedPlan().toString().count("LogicalRDD")
    assert reads == (33 if "1.5" in text else 1)


@pytest.mark.spark
def test_a_row_that_fails_in_one_of_them_says_of_which_stream_it_is(spark: SparkSession) -> None:
    text = " UNION ALL ".join(["SELECT ts FROM s"] * 40 + ["SELECT 10 div a AS ts FROM s WHERE a < 3"])
    frame = spark.createDataFrame(ROWS, "ts long, a long").where(F.col("a").isNotNull())
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO") as error:
        pw.sql(text, s=frame).collect()
    assert "of s" in str(error.value)
