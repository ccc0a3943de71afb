"""Late rows are counted without limit, kept up to a limit, and shown wherever results are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import PanewiseError
from panewise.dataflow import Query, open_plan

COUNT = "SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
JOIN = "SELECT a.v FROM a [RANGE 5, WA ts], b [RANGE 5, WA ts] WHERE a.v = b.v"
PAIRS = "SELECT a.ts, b.ts AS other FROM a JOIN b ON a.v = b.v AND b.ts BETWEEN a.ts - 2 AND a.ts + 2"
LATE = 300_000


def falling(rows: int) -> pa.Table:
    """One row at the end of time, then so many far behind it."""
    return pa.table({"ts": np.concatenate([[10**9], np.arange(rows)]), "v": np.zeros(rows + 1, np.int64)})


def saved_late_rows(query: Query) -> int:
    _, tables = query.late_output.snapshot()
    return sum(table.num_rows for name, table in tables.items() if name.startswith("late rows"))


@pytest.mark.parametrize(("text", "streams"), [(COUNT, ["s"]), (JOIN, ["a", "b"]), (PAIRS, ["a", "b"])])
@pytest.mark.parametrize("late", ["generous", "side", "consistent"])
def test_many_late_rows_are_all_counted_and_a_few_are_kept(text: str, streams: list[str], late: str) -> None:
    columns = dict.fromkeys(streams, "ts bigint, v bigint")
    query = pw.open_query(text, streams=columns, progress="ordered", late=late)
    first = pa.table({"ts": [10**9], "v": [0]})
    for name in streams:
        query.push(name, first)
    for batch in falling(LATE).slice(1).to_batches(max_chunksize=70_000):
        query.push(streams[0], batch)
    assert query.late_count == LATE
    assert query.late_rows.num_rows == 10_000
    assert query.late_rows.column("ts").to_pylist() == list(range(LATE - 10_000, LATE)), "the newest"
    assert saved_late_rows(query) == 10_000
    assert query.status()["late_forgotten"] == LATE - 10_000
    assert f"{LATE:,} late (late={late!r}, {LATE - 10_000:,} of them no longer kept)" in str(query.status())
    again = open_plan(query.plan, late=late, progress="ordered", late_keep=7)
    again.restore(query.snapshot())
    assert (again.late_count, again.late_rows.num_rows, again.late_forgotten) == (LATE, 7, LATE - 7)


def test_late_keep_is_how_many() -> None:
    rows = [{"ts": t} for t in (50, 4, 3, 2, 1)]
    assert pw.sql(COUNT, s=rows, progress="ordered", late_keep=2).late.to_pylist() == [{"ts": 2}, {"ts": 1}]
    assert pw.sql(COUNT, s=rows, progress="ordered", late_keep=2, engine="oracle").late.to_pylist() == \
        [{"ts": 2}, {"ts": 1}]
    assert pw.sql(COUNT, s=rows, progress="ordered", late_keep=0).late.num_rows == 0
    assert pw.run(COUNT, s=rows, progress="ordered", late_keep=3).collect().late.num_rows == 3
    for wrong in (-1, 1.5, True):
        with pytest.raises(PanewiseError, match="late_keep="):
            pw.sql(COUNT, s=rows, late_keep=wrong)


def test_where_somebody_listens_all_late_rows_leave_and_none_is_kept() -> None:
    query = pw.open_query(COUNT, s="ts bigint", progress="ordered", late_keep=2)
    heard: list[int] = []
    query.on_late(lambda rows: heard.extend(rows.column("ts").to_pylist()))
    query.push("s", [{"ts": t} for t in (50, 4, 3, 2, 1)])
    assert (heard, query.late_count, query.late_rows.num_rows, query.late_forgotten) == ([4, 3, 2, 1], 4, 0, 0)
    assert saved_late_rows(query) == 0


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("late", ["generous", "drop", "side", "consistent"])
def test_printed_results_say_how_many_rows_were_late_and_under_which_policy(engine: str, late: str) -> None:
    reversed_rows = [{"ts": t} for t in range(30, 0, -1)]
    results = pw.sql(COUNT, s=reversed_rows, progress="ordered", late=late, engine=engine)
    assert results.status["late"] == 29
    for text in (str(results), repr(results), results._repr_html_().replace("&#x27;", "'")):
        assert f"29 rows were late (late={late!r})" in text
    assert "late" not in str(pw.sql(COUNT, s=reversed_rows[::-1], progress="ordered", late=late, engine=engine))


def test_explain_analyze_says_so() -> None:
    rows = [{"ts": t} for t in range(30, 0, -1)]
    assert "30, 29 of them late (late='drop')" in pw.explain(COUNT, s=rows, progress="ordered", late="drop",
                                                            analyze=True)
