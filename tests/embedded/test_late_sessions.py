"""Late rows of sessions: what touches an open session counts in it, what would have joined a closed one is reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import panewise as pw
from conformance.compare import assert_same_rows
from oracle.questions import Oracle
from panewise.dataflow import open_plan
from panewise.progress.timeline import Arrival

COLUMNS = "ts bigint, k bigint, v bigint"


def sessions(gap: int, *times: int, engine: str, late: str = "generous", **options: Any) -> Any:
    return pw.sql(f"SELECT count(*) AS n FROM s [SESSION {gap}, WA ts]", s=[{"ts": t} for t in times], late=late,
                  engine=engine, **{"progress": "ordered", **options})


def found(results: Any) -> list[tuple[int, int, int]]:
    return [(row["window"]["start"], row["window"]["end"], row["n"]) for row in results]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_a_late_row_that_touches_an_open_session_is_in_it(engine: str) -> None:
    results = sessions(5, 3, 8, 4, engine=engine)
    assert found(results) == [(3, 13, 3)], "as in Flink and Kafka"
    assert results.status["late"] == 0, "it missed nothing"
    dropped = sessions(5, 3, 8, 4, engine=engine, late="drop")
    assert (found(dropped), dropped.status["late"]) == ([(3, 13, 2)], 1)


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_a_late_row_that_would_have_joined_a_closed_session_begins_behind_it_and_is_late(engine: str) -> None:
    results = sessions(6, 1, 13, 7, engine=engine)
    assert found(results) == [(1, 7, 1), (8, 19, 2)]
    assert results.status["late"] == 1
    strict = sessions(6, 1, 13, 7, engine=engine, late="consistent")
    assert (found(strict), strict.status["late"]) == ([(1, 7, 1), (13, 19, 1)], 1)


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_a_late_row_opens_a_session_of_its_own_while_that_would_be_open(engine: str) -> None:
    assert found(sessions(5, 1, 20, 16, engine=engine)) == [(1, 6, 1), (16, 25, 2)]
    far = sessions(5, 1, 20, 10, engine=engine)
    assert (found(far), far.status["late"]) == ([(1, 6, 1), (20, 25, 1)], 1)


def plan(gap: int, partitioned: bool) -> Any:
    keys, by = ("k, ", ", PA k") if partitioned else ("", "")
    group = " GROUP BY k" if partitioned else ""
    text = f"SELECT {keys}count(*) AS n, sum(v) AS total FROM s [SESSION {gap}, WA ts{by}]{group}"
    return pw.open_query(text, s=COLUMNS).plan


rows = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 1), st.integers(0, 3)), max_size=16)


@settings(deadline=None, max_examples=150)
@given(rows, st.integers(1, 8), st.booleans(), st.sampled_from(["generous", "consistent", "drop"]),
       st.sampled_from(["ordered", "late:3", "rows:1"]), st.integers(1, 17), st.integers(0, 16))
@example([(1, 0, 0), (13, 0, 0), (7, 0, 0), (2, 0, 0)], 6, False, "generous", "ordered", 4, 2)
def test_late_rows_are_judged_one_by_one_however_they_are_cut(
        items: list[tuple[int, int, int]], gap: int, partitioned: bool, late: str, progress: str, size: int,
        saved_after: int) -> None:
    node = plan(gap, partitioned)
    data = [{"ts": ts, "k": k, "v": v} for ts, k, v in items]
    oracle = Oracle(node, [Arrival("s", row) for row in data], late=late, progress=progress)
    query = open_plan(node, late=late, progress=progress)
    results = []
    for start in range(0, len(data), size):
        results += query.push("s", data[start : start + size]).to_pylist()
        if start <= saved_after < start + size:
            saved = query.snapshot()
            query = open_plan(node, late=late, progress=progress)
            query.restore(saved)
    results += query.finish().to_pylist()
    assert_same_rows(results, oracle.results())
    assert query.late_count == len(oracle.late_rows())
