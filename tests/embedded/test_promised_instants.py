"""Promises that name instants, as a range, a list or one: a row at one of these is late, and no window closes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from embedded.plans import bag, run_timeline
from embedded.test_late_before_where import CATALOG, QUERIES
from oracle.questions import Oracle
from panewise.core.errors import LateRowError
from panewise.dataflow import open_plan
from panewise.progress.patterns import Between, Constant, OneOf, Pattern
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.sql import parse
from spark.in_process_queries import Hosted

TIMES = st.integers(0, 12)
INSTANTS: st.SearchStrategy[Pattern] = st.one_of(
    st.builds(lambda start, length: Between(start, start + length), TIMES, st.integers(1, 6)),
    st.builds(lambda values: OneOf(frozenset(values)), st.lists(TIMES, min_size=1, max_size=3)),
    st.builds(Constant, TIMES))
PROMISES = st.one_of(
    st.builds(lambda pattern, key: Punctuation.of({"ts": pattern} | key), INSTANTS,
              st.sampled_from([{}, {"k": Constant("a")}])),
    st.builds(lambda bound: Punctuation.below("ts", bound), st.integers(0, 8)))
ROWS = st.builds(lambda ts, k, v: {"ts": ts, "k": k, "v": v}, TIMES, st.sampled_from("ab"), st.integers(0, 3))
TIMELINES = st.lists(st.builds(Arrival, st.sampled_from("sst"), st.one_of(ROWS, ROWS, PROMISES)), max_size=24)
BESIDES = {
    "sessions": "SELECT k, count(*) [SESSION 2, WA ts] AS n FROM s GROUP BY k",
    "union": "SELECT k, sum(v) [RANGE 4, SLIDE 2, WA ts] AS n FROM (SELECT k, v, ts FROM s UNION ALL SELECT k, v, ts "
             "FROM t) AS u GROUP BY k",
}


def finished(text: str, arrivals: Timeline, cuts: frozenset[int], **options: Any) -> Any:
    query = open_plan(parse(text, CATALOG), **options)
    read = [arrival for arrival in arrivals if arrival.stream in query.streams]
    results, query = run_timeline(query, read, cuts, cuts, **options)
    return results, query.late_rows.to_pylist(), read


@pytest.mark.parametrize("name", [*QUERIES, *BESIDES])
@settings(max_examples=12, deadline=None)
@given(TIMELINES, st.sampled_from(["drop", "side", "generous", "consistent"]), st.frozensets(st.integers(0, 24)))
def test_a_row_at_a_promised_instant_is_late_as_by_the_definition(name: str, arrivals: Timeline, late: str,
                                                                  cuts: frozenset[int]) -> None:
    text = (QUERIES | BESIDES)[name]
    results, missed, read = finished(text, arrivals, cuts, late=late)
    oracle = Oracle(parse(text, CATALOG), read, late=late)
    assert bag(results) == bag(oracle.results())
    assert missed == ([] if late == "drop" else oracle.late_rows())


@pytest.mark.parametrize("pattern", [Between(5, 8), OneOf(frozenset({6, 11})), Constant(6)], ids=str)
def test_they_stop_a_run_and_close_nothing(pattern: Pattern) -> None:
    text = "SELECT count(*) [RANGE 4, SLIDE 4, WA ts] AS n FROM s"
    query = open_plan(parse(text, CATALOG), late="error")
    assert not query.push("s", {"ts": 6, "k": "a", "v": 1}).num_rows
    assert not query.push("s", Punctuation.of({"ts": pattern})).num_rows
    query.push("s", [{"ts": ts, "k": "a", "v": 1} for ts in (4, 8, 12)])
    with pytest.raises(LateRowError, match="row 5"):
        query.push("s", {"ts": 6, "k": "a", "v": 1})
    assert [row["n"] for row in query.finish().to_pylist()] == [2, 1, 1]


@pytest.mark.parametrize("name", ["join", "relation", "relation of some", "aggregate of a join"])
@settings(max_examples=10, deadline=None)
@given(TIMELINES, st.sampled_from(["drop", "generous"]), st.frozensets(st.integers(0, 24)), st.integers(0, 99))
def test_so_it_is_in_the_shards_of_a_query_on_spark(name: str, arrivals: Timeline, late: str, cuts: frozenset[int],
                                                    seed: int) -> None:
    plan = parse(QUERIES[name], CATALOG)
    read = [arrival for arrival in arrivals if arrival.stream in open_plan(plan).streams]
    hosted, oracle = Hosted(plan, 2, late, seed), Oracle(plan, read, late=late)
    assert bag(hosted.run(read, cuts)) == bag(oracle.results())
    assert hosted.late == len(oracle.late_rows())


def test_they_are_read_from_files(tmp_path: Path) -> None:
    lines = ['{"ts": 1}', '{"punctuation": {"ts": {"from": 5, "to": 8}}}', '{"ts": 4}', '{"ts": 7}', '{"ts": 8}']
    (tmp_path / "s.ndjson").write_text("\n".join(lines))
    found = pw.sql("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", s=str(tmp_path / "s.ndjson"), late="side")
    assert [row["n"] for row in found] == [3]
    assert [row["ts"] for row in found.late.to_pylist()] == [7]
