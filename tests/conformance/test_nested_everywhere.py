"""Operators over each other in ways that were once refused: every engine gives the oracle's answer.

Each text is a sentence about what may stand where. Rows come in disorder, some behind the promises of their stream.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.nested_texts import COLUMNS, TABLES, TOLD, changes_of, rows_of
from conformance.runners import embedded, spark_batch, spark_streaming
from embedded.plans import bag, run_timeline
from panewise.core.errors import UnsupportedError
from panewise.dataflow import open_plan
from panewise.engines.oracle import Oracle
from panewise.plan.nodes import Named
from panewise.progress.timeline import Arrival, Timeline

COUNTS = "(SELECT k, count(*) [RANGE 10, SLIDE 5, WA ts] AS n FROM s GROUP BY k)"
SUMS = "(SELECT k, sum(v) [RANGE 10, SLIDE 5, WA ts] AS n FROM t GROUP BY k)"
VALUES = "(SELECT DISTINCT k, v, ts FROM s)"
EXPLODED = "(SELECT k, e, ts FROM s LATERAL VIEW explode(array(v, v + 1)) x AS e)"
MET = f"SELECT a.e AS e, a.ts AS ts FROM {EXPLODED} AS a [RANGE 5, WA ts], t AS b [RANGE 4, WA ts] WHERE a.k = b.k"
TEXTS = {
    "results of windows that meet by their times":
        f"SELECT a.k, b.n FROM {COUNTS} AS a [RANGE 5, WA window.time], {SUMS} AS b [RANGE 5, WA window.time] "
        "WHERE a.k = b.k",
    "results of windows beside a stream":
        f"SELECT a.k, a.n, b.v FROM {COUNTS} AS a [RANGE 5, WA window.time] LEFT JOIN t AS b [RANGE 4, WA ts] "
        "ON a.k = b.k",
    "windows over results beside a stream":
        f"SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM (SELECT a.k AS k, b.ts AS ts FROM {COUNTS} AS a "
        "[RANGE 5, WA window.time], t AS b [RANGE 5, WA ts] WHERE a.k = b.k) AS p GROUP BY k",
    "a relation of results beside a stream":
        f"SELECT k, count(*) AS n FROM (SELECT a.k AS k FROM {COUNTS} AS a [RANGE 5, WA window.time], t AS b "
        "[RANGE 5, WA ts] WHERE a.k = b.k) AS p [RANGE 5] GROUP BY k",
    "values that meet by their times":
        f"SELECT a.k, b.v FROM {VALUES} AS a [RANGE 5, WA ts] LEFT JOIN (SELECT DISTINCT k, v, ts FROM t) AS b "
        "[RANGE 4, WA ts] ON a.k = b.k",
    "what comes into a window, beside a stream":
        "SELECT a.k, b.v FROM (SELECT Istream(k, ts) FROM s [RANGE 4]) AS a [RANGE 5, WA ts], t AS b [RANGE 4, WA ts] "
        "WHERE a.k = b.k",
    "rows of INTERNAL windows in the buckets of another stream":
        "SELECT a.k, b.v FROM (SELECT k, ts FROM s [RANGE 4, INTERNAL]) AS a, t AS b [RANGE TUMBLING 5, WA ts] "
        "WHERE a.k = b.k",
    "rows beside a table, beside a stream":
        "SELECT a.k, a.w, b.v FROM (SELECT s.k AS k, s.ts AS ts, m.w AS w FROM s, names AS m WHERE s.k = m.k) AS a "
        "[RANGE 5, WA ts], t AS b [RANGE 4, WA ts] WHERE a.k = b.k",
    "windows on another column beside a table":
        "SELECT count(*) [RANGE 2, SLIDE 1, WA s.v] AS n FROM s, names AS m WHERE s.k = m.k",
    "a stream by two of its columns":
        "SELECT a.k, b.v FROM (SELECT k, count(*) [RANGE 2, SLIDE 2, WA v] AS n FROM s GROUP BY k) AS a [RANGE 5], "
        "s [RANGE 5] AS b WHERE a.k = b.k",
    "the first of elements of pairs": f"SELECT first(e) [RANGE 10, SLIDE 10, WA ts] AS f FROM ({MET}) AS p",
    "the newest elements of pairs": f"SELECT e FROM ({MET}) AS p [ROWS 3]",
    "groups beside a table whose changes reach back":
        "SELECT q.k, q.n, c.w FROM (SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k) AS q FULL JOIN cities AS c "
        "ON q.k = c.k",
    "the newest rows beside a table whose changes reach back":
        "SELECT b.k, b.v, c.w FROM s [ROWS 3] AS b LEFT JOIN cities AS c ON b.k = c.k",
    "what is in one window and not in another, beside such a table":
        "SELECT l.k, c.w FROM (SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM t [RANGE 4]) AS l LEFT JOIN cities "
        "AS c ON l.k = c.k",
    "windows on a time and a constant":
        "SELECT k, count(*) [RANGE 4, SLIDE 2, WA g] AS n FROM (SELECT k, ts + 3 AS g FROM s WHERE v > 0) AS q "
        "GROUP BY k",
    "windows on the later of two times":
        "SELECT k, count(*) [RANGE 4, SLIDE 2, WA g] AS n FROM (SELECT a.k AS k, greatest(a.ts, b.ts) AS g FROM s AS a "
        "[RANGE 3, WA ts], t AS b [RANGE 2, WA ts] WHERE a.k = b.k) AS q GROUP BY k",
    "windows on the sooner of two times":
        "SELECT k, count(*) [RANGE 4, SLIDE 2, WA g] AS n FROM (SELECT a.k AS k, least(a.ts, b.ts + 1) AS g FROM s AS "
        "a [RANGE 3, WA ts], t AS b [RANGE 2, WA ts] WHERE a.k = b.k) AS q GROUP BY k",
    "a lifetime of results of windows":
        f"SELECT q.k, q.n FROM {COUNTS} AS q [RANGE 8] LIFETIME 16",
    "results of windows beside a table, as a relation":
        "SELECT k, n FROM (SELECT s.k AS k, sum(m.w) [RANGE 10, SLIDE 5, WA s.ts] AS n FROM s, names AS m "
        "WHERE s.k = m.k GROUP BY s.k) AS q [RANGE 12]",
    "a window with an end, as a relation":
        "SELECT n FROM (SELECT count(*) [UNBOUNDED START AT 5 END AT 25, WA ts] AS n FROM s) AS q [RANGE 5]",
}


def case_of(name: str, seed: int = 1) -> Case:
    columns = dict.fromkeys("st", COLUMNS) | dict.fromkeys(TABLES, TOLD)
    case = Case(name, TEXTS[name], {}, columns, tables=TABLES)
    read = {node.name for node in case.plan.walk() if isinstance(node, Named)}
    draw = random.Random(seed)
    made: dict[str, list[Any]] = {table: changes_of(draw, kind) for table, kind in TABLES.items() if table in read}
    made |= {stream: rows_of(draw, 20) for stream in "st" if stream in read}
    return Case(name, TEXTS[name], made, {stream: columns[stream] for stream in made}, tables=TABLES)


def mixed(case: Case, draw: random.Random) -> Timeline:
    """All inputs together, each in its order."""
    left = {name: list(items) for name, items in case.streams.items()}
    found: Timeline = []
    while any(left.values()):
        name = draw.choice([name for name, items in left.items() if items])
        found.append(Arrival(name, left[name].pop(0)))
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TEXTS)
def test_in_process(name: str, seed: int) -> None:
    case, draw = case_of(name, seed), random.Random(seed)
    timeline = mixed(case, draw)
    cuts, saves = (frozenset(draw.sample(range(40), 4)) for _ in range(2))
    found, query = run_timeline(open_plan(case.plan), timeline, cuts, saves, late="generous")
    oracle = Oracle(case.plan, timeline)
    expected = oracle.results()
    assert expected
    assert bag(found) == bag(expected)
    assert query.late_count == len(oracle.late_rows())


def test_one_stream_after_the_other() -> None:
    for name in TEXTS:
        case = case_of(name)
        assert_same_rows(embedded(case, batch_rows=3, restarts=(2, 5, 11)), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("name", TEXTS)
def test_static_dataframes(name: str, spark: SparkSession, tmp_path: Path) -> None:
    case = case_of(name)
    if name.startswith("the first of elements"):
        with pytest.raises(UnsupportedError, match="a shard does not know whose rows came first"):
            spark_batch(case, spark=spark, folder=tmp_path)
        return
    assert_same_rows(spark_batch(case, spark=spark, folder=tmp_path), case.expected())


@pytest.mark.spark
@pytest.mark.parametrize("name", ["results of windows that meet by their times", "windows over results beside a stream",
                                  "values that meet by their times", "a stream by two of its columns",
                                  "groups beside a table whose changes reach back", "windows on a time and a constant",
                                  "windows on the later of two times"])
def test_streams(name: str, spark: SparkSession, tmp_path: Path) -> None:
    case = case_of(name)
    found = spark_streaming(case, spark=spark, folder=tmp_path, batch_rows=9, fail_at=1)
    assert_same_rows(found, case.expected())


def test_a_window_without_an_end_has_no_instant() -> None:
    case = Case("unbounded", "SELECT n FROM (SELECT count(*) [UNBOUNDED START AT 5, WA ts] AS n FROM s) AS q [RANGE 5]",
                {"s": []}, {"s": COLUMNS})
    with pytest.raises(UnsupportedError, match="its result has no instant"):
        open_plan(case.plan)
