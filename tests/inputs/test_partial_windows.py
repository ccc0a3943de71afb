"""Windows that begin before ORIGIN are left out where that is asked for, by every engine in process."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise.cli.main import main
from panewise.core.errors import PlanError

ROWS = [{"ts": i, "k": "ab"[i % 2]} for i in range(12)]
SLIDING = "SELECT count(*) [RANGE 10, SLIDE 5, WA ts, ORIGIN 3] AS n FROM s"
BOTH = pytest.mark.parametrize("engine", ["embedded", "oracle"])


def starts(found: Any) -> list[Any]:
    return [row["window"]["start"] for row in found]


@BOTH
def test_windows_that_begin_before_the_origin_are_left_out(engine: str) -> None:
    assert starts(pw.sql(SLIDING, s=ROWS, engine=engine)) == [-7, -2, 3, 8]
    assert starts(pw.sql(SLIDING, s=ROWS, engine=engine, suppress_partial=True)) == [3, 8]


@BOTH
def test_times_dates_and_rows_have_origins_too(engine: str) -> None:
    times = [{"ts": datetime(2026, 1, 1, hour, tzinfo=UTC)} for hour in range(6, 10)]
    text = "SELECT count(*) [RANGE 2 hours, SLIDE 1 hour, WA ts, ORIGIN '07:00'] AS n FROM s"
    found = pw.sql(text, s=times, engine=engine, suppress_partial=True, day="2026-01-01")
    assert [moment.hour for moment in starts(found)] == [7, 8, 9]
    days = [{"d": date(2026, 1, day)} for day in (1, 2, 3)]
    text = "SELECT count(*) [RANGE 2 days, SLIDE 1 day, WA d, ORIGIN '2026-01-02'] AS n FROM s"
    assert starts(pw.sql(text, s=days, time="d", engine=engine, suppress_partial=True)) == [date(2026, 1, 2),
                                                                                            date(2026, 1, 3)]
    text = "SELECT count(*) [RANGE 4 rows, SLIDE 2 rows, WA row-num] AS n FROM s"
    assert [row["wid"] for row in pw.sql(text, s=ROWS[:6], engine=engine)] == [0, 1, 2, 3]
    assert [row["wid"] for row in pw.sql(text, s=ROWS[:6], engine=engine, suppress_partial=True)] == [1, 2, 3]


def test_every_entry_point_leaves_them_out(tmp_path: Path) -> None:
    query = pw.open_query(SLIDING, s="ts bigint, k string", suppress_partial=True)
    query.push("s", ROWS)
    assert starts(query.finish().to_pylist()) == [3, 8]
    assert starts(pw.run(SLIDING, s=ROWS, suppress_partial=True)) == [3, 8]
    by_calls = pw.stream(ROWS, suppress_partial=True).window(range=10, slide=5, origin=3)
    assert starts(by_calls.agg(n="count(*)")) == [3, 8]
    assert "Filter" in pw.explain(SLIDING, s=ROWS, suppress_partial=True)
    source, out = tmp_path / "s.ndjson", tmp_path / "out.ndjson"
    source.write_text("".join(f'{{"ts": {row["ts"]}}}\n' for row in ROWS))
    assert main(["run", SLIDING, "--stream", f"s={source}", "--engine", "embedded", "--out", str(out), "--quiet",
                 "--suppress-partial"]) == 0
    assert len(out.read_text().splitlines()) == 2


def test_a_query_without_such_windows_is_refused() -> None:
    with pytest.raises(PlanError, match="no windows with WA"):
        pw.sql("SELECT count(*) AS n FROM s [RANGE 5]", s=ROWS, suppress_partial=True)
