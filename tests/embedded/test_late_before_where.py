"""A late row breaks a promise of its stream: it is counted as it enters, whatever WHERE would have said of it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from oracle.questions import Oracle
from panewise.core.errors import LateRowError
from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import open_plan
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse

COLUMNS = {"ts": pa.int64(), "k": pa.string(), "v": pa.int64()}
CATALOG = Catalog({name: SourceSchema(COLUMNS, time="ts") for name in "st"})
QUERIES = {
    "window aggregate": "SELECT k, sum(v) [RANGE 4, SLIDE 2, WA ts] AS n FROM s WHERE v > 1 GROUP BY k",
    "its own condition": "SELECT sum(v) [RANGE 4, SLIDE 4, WA ts, WHERE v > 1] AS n FROM s",
    "slides by rows": "SELECT count(*) [RANGE 3, RATTR ts, SLIDE 1 row, SATTR row-num] AS n FROM s WHERE v > 1",
    "join": "SELECT * FROM s [RANGE 3, WA ts, WHERE v > 1], t [RANGE 3, WA ts] WHERE s.k = t.k",
    "aggregate of a join": "SELECT count(*) [RANGE 4, SLIDE 4, WA s.ts] AS n FROM s [RANGE 3, WA ts, WHERE v > 1], "
                           "t [RANGE 3, WA ts] WHERE s.k = t.k",
    "relation": "SELECT k FROM s [RANGE 4] WHERE v > 1",
    "relation of some": "SELECT k FROM (SELECT * FROM s WHERE v > 1) AS z [RANGE 4]",
    "rows": "SELECT sum(v) AS n FROM (SELECT * FROM s WHERE v > 1) AS z [ROWS 2]",
    "aggregate inside": "SELECT DISTINCT n FROM (SELECT sum(v) [RANGE 4, SLIDE 2, WA ts] AS n FROM s WHERE v > 1) AS z",
}
ITEMS: Timeline = [
    *(Arrival(name, {"ts": ts, "k": "a", "v": v}) for ts, v in ((1, 3), (6, 0), (7, 2)) for name in "st"),
    *(Arrival(name, Punctuation.below("ts", 6)) for name in "st"),
    Arrival("s", {"ts": 5, "k": "a", "v": 0}),  # too late, and WHERE would not want it
    Arrival("s", {"ts": 2, "k": "a", "v": 3}),
    Arrival("s", {"ts": 9, "k": "b", "v": 1}),
]


def run(name: str, late: str = "side") -> Any:
    query = open_plan(parse(QUERIES[name], CATALOG), late=late)
    for arrival in ITEMS:
        if arrival.stream in query.streams:
            query.push(arrival.stream, [arrival.item] if arrival.is_row else arrival.item)
    query.finish()
    return query


@pytest.mark.parametrize("name", QUERIES)
def test_every_late_row_is_counted_and_shown_as_it_came(name: str) -> None:
    query, oracle = run(name), Oracle(parse(QUERIES[name], CATALOG), ITEMS, late="side")
    assert [(row["ts"], row["v"]) for row in oracle.late_rows()] == [(5, 0), (2, 3)]
    assert query.late_rows.to_pylist() == oracle.late_rows()
    assert query.late_count == run(name, "drop").late_count == 2


@pytest.mark.parametrize("name", QUERIES)
def test_the_first_of_them_is_the_error(name: str) -> None:
    with pytest.raises(LateRowError, match="5"):
        run(name, "error")
    with pytest.raises(LateRowError, match="'ts': 5"):
        Oracle(parse(QUERIES[name], CATALOG), ITEMS, late="error").results()


@pytest.mark.parametrize("policy", ["generous", "consistent"])
def test_with_slack_a_row_is_late_that_missed_a_window_and_one_that_where_leaves_out_is_in_none(policy: str) -> None:
    oracle = Oracle(parse(QUERIES["window aggregate"], CATALOG), ITEMS, late=policy)
    assert oracle.late_rows() == run("window aggregate", policy).late_rows.to_pylist()
    assert [row["ts"] for row in oracle.late_rows()] == [2]
