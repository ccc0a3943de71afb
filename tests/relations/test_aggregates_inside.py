"""Window aggregates as streams of a relation: read twice, and beside the stream they are over."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.schema import Catalog, SourceSchema
from panewise.planner.legal.capabilities import check
from panewise.progress.punctuation import Punctuation
from panewise.progress.timeline import Timeline, timeline
from panewise.sql import parse
from relations.plans import COLUMNS, PLACES, timelines
from relations.running import assert_like_the_oracle, run_relation

CATALOG = Catalog({name: SourceSchema(dict(COLUMNS), time="ts") for name in ("s", "t")})
COUNTS = "(SELECT k, count(*) AS n FROM s [RANGE 4, SLIDE 2, WA ts] GROUP BY k)"
QUERIES = {
    "most counted": f"SELECT c.k, c.n FROM {COUNTS} AS c [NOW], (SELECT max(n) AS top FROM {COUNTS} AS d [NOW]) AS m "
                    "WHERE c.n = m.top",
    "counts beside rows": f"SELECT c.n, s.v FROM {COUNTS} AS c [RANGE 3], s [RANGE 2] WHERE c.k = s.k",
    "two aggregates": f"SELECT c.n, e.most FROM {COUNTS} AS c [RANGE 3], "
                      "(SELECT k, max(v) AS most FROM s [RANGE 3, SLIDE 3, WA ts] GROUP BY k) AS e [RANGE 4] "
                      "WHERE c.k = e.k",
    "over rows by number": "SELECT k, n, top FROM (SELECT k, count(*) AS n, max(v) AS top "
                           "FROM s [RANGE 4 rows, SLIDE 2 rows, WA row-num] GROUP BY k) AS c [RANGE 5]",
    "over rows of each key": "SELECT sum(n) AS all, max(top) AS top FROM (SELECT k, sum(v) AS n, max(v) AS top "
                             "FROM s [RANGE 3 rows, SLIDE 1 row, WA row-num, PA k] GROUP BY k) AS c [ROWS 3]",
    "over rows with gaps": "SELECT Istream(n) FROM (SELECT count(*) AS n FROM s [RANGE 2 rows, SLIDE 3 rows, "
                           "WA row-num, WHERE v > 0]) AS c [RANGE 4, SLIDE 2]",
    "over rows of two streams": "SELECT k, n FROM (SELECT k, count(*) AS n FROM s UNION t AS u [RANGE 3 rows, "
                                "SLIDE 2 rows, WA row-num] GROUP BY k) AS c [RANGE 5]",
    "rows by number beside rows": "SELECT c.n, s.v FROM (SELECT k, count(*) AS n FROM s [RANGE 4 rows, SLIDE 2 rows, "
                                  "WA row-num] GROUP BY k) AS c [RANGE 5], s [RANGE 3] WHERE c.k = s.k",
    "rows by number beside a window by time": f"SELECT c.n, e.most FROM {COUNTS} AS c [RANGE 3], (SELECT k, max(v) AS "
                                              "most FROM s [RANGE 3 rows, SLIDE 1 row, WA row-num] GROUP BY k) "
                                              "AS e [ROWS 2] WHERE c.k = e.k",
    "without a window": "SELECT c.n, t.v FROM (SELECT k, count(*) AS n FROM s [RANGE 2 rows, SLIDE 1 row, WA row-num] "
                        "GROUP BY k) AS c, t [RANGE 4] WHERE c.k = t.k",
    "every second row": "SELECT k, n FROM (SELECT k, count(*) AS n FROM s [RANGE 3 RATTR ts SLIDE 2 rows "
                        "SATTR row-num] GROUP BY k) AS c [RANGE 4]",
    "every second row by rank": "SELECT k, n FROM (SELECT k, count(*) AS n FROM s [RANGE 3 RATTR ts SLIDE 2 rows "
                                "SATTR rank(ts)] GROUP BY k) AS c [RANGE 4]",
    "results as they come": "SELECT n FROM (SELECT count(*) AS n FROM s [RANGE 2 rows, SLIDE 1 row, WA row-num]) "
                            "UNION ALL SELECT n FROM (SELECT count(*) AS n FROM t [RANGE 3 rows, SLIDE 3 rows, "
                            "WA row-num])",
    "beside another stream": f"SELECT c.n, t.v FROM {COUNTS} AS c [RANGE 3], t [RANGE 2] WHERE c.k = t.k",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
@settings(max_examples=25, deadline=None)
@given(items=timelines(("s", "t"), rows=20), cuts=PLACES, saves=PLACES, late=st.sampled_from(["drop", "side"]),
       progress=st.sampled_from(["source", "source", "late:2"]))
def test_a_stream_inside_a_window_aggregate_and_beside_it(text: str, items: Timeline, cuts: frozenset[int],
                                                          saves: frozenset[int], late: str, progress: str) -> None:
    assert_like_the_oracle(parse(text, CATALOG), items, cuts, saves, late=late, progress=progress)


def results(text: str, *items: object) -> list[tuple[object, ...]]:
    plan, arrivals = parse(text, CATALOG), timeline(s=list(items))
    assert_like_the_oracle(plan, arrivals)
    return [tuple(row.values()) for row in run_relation(plan, arrivals)[0]]


PAIRS = "SELECT k, n FROM (SELECT k, sum(v) AS n FROM s [RANGE 2 rows, SLIDE 2 rows, WA row-num]{} GROUP BY k) AS c " \
        "[RANGE 10]"


def row(ts: int, k: str, v: int) -> dict[str, object]:
    return {"ts": ts, "k": k, "v": v}


def test_a_window_by_rows_is_dated_by_its_newest_row_of_any_group() -> None:
    assert results(PAIRS.format(""), row(5, "a", 1), row(3, "b", 2)) == [("a", 1, 5, 15), ("b", 2, 5, 15)]


def test_a_late_row_has_no_place_in_a_window_by_rows_inside_a_relation() -> None:
    """It would complete a window at an instant that has been told."""
    late = [row(5, "a", 1), Punctuation.below("ts", 9), row(4, "a", 2), row(9, "a", 4)]
    assert results(PAIRS.format(""), *late) == [("a", 5, 9, 19)]


def test_a_window_by_rows_that_the_end_cuts_off_comes_after_all_instants() -> None:
    assert results(PAIRS.format(""), row(1, "a", 1), row(2, "a", 2), row(3, "a", 4)) == [("a", 3, 2, 12)]


def test_rows_are_numbered_after_the_selection_below_the_aggregate() -> None:
    kept = [row(1, "a", 1), row(2, "x", 2), row(3, "b", 4)]
    assert results(PAIRS.format(" WHERE k <> 'x'"), *kept) == [("a", 1, 3, 13), ("b", 4, 3, 13)]


def test_results_of_windows_are_numbered_and_dated_by_the_newest_of_them() -> None:
    text = f"SELECT m FROM (SELECT sum(n) AS m FROM {COUNTS} AS x [RANGE 2 rows, SLIDE 1 row, WA row-num]) AS c " \
           "[RANGE 5]"
    assert results(text, row(0, "a", 0), row(0, "a", 0), Punctuation.below("ts", 4)) == [(2, 1, 6), (4, 3, 8)]


def test_windows_by_rows_of_a_stream_without_a_time_are_dated_by_arrival() -> None:
    untimed = Catalog({"s": SourceSchema({"k": COLUMNS["k"], "v": COLUMNS["v"]}, time=None)})
    plan = parse(PAIRS.format(" WHERE v <> 3").replace("RANGE 10", "ROWS 2"), untimed)
    assert_like_the_oracle(plan, timeline(s=[{"k": "ab"[i % 2], "v": i} for i in range(6)]), frozenset({2, 3}))


@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_a_stream_may_be_ordered_by_two_columns(engine: str) -> None:
    counts = COUNTS.replace("WA ts", "WA v")
    check(parse(f"SELECT c.n, s.v FROM {counts} AS c [RANGE 3], s [RANGE 2] WHERE c.k = s.k", CATALOG), engine)
