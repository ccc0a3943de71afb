"""A bare time of day is on the day that the run declares, in the zone of the bracket; without a day it is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise.cli.main import main
from panewise.core.errors import PanewiseError, PlanError, ProgressError, SqlError
from panewise.core.time import Day, parse_timestamp

DAY = date(2026, 3, 28)
ROWS = [{"ts": datetime(2026, 3, day, hour, tzinfo=UTC)} for day in (28, 29) for hour in range(5, 12)]
BAND = "SELECT ts FROM s [UNBOUNDED START AT '07:00:00' END AT '09:00']"
BOTH = pytest.mark.parametrize("engine", ["embedded", "oracle"])


def hours(found: Any) -> list[tuple[int, int]]:
    return sorted((row["ts"].day, row["ts"].hour) for row in found)


@BOTH
@pytest.mark.parametrize("day", [DAY, "2026-03-28"])
def test_a_time_of_day_is_on_the_day_of_the_run(engine: str, day: Any) -> None:
    assert hours(pw.sql(BAND, s=ROWS, day=day, engine=engine)) == [(28, 7), (28, 8), (28, 9)]


@BOTH
def test_the_zone_of_the_bracket_says_whose_clocks_are_meant(engine: str) -> None:
    berlin = BAND.replace("]", " ZONE 'Europe/Berlin']")
    assert hours(pw.sql(berlin, s=ROWS, day=DAY, engine=engine)) == [(28, 6), (28, 7), (28, 8)]
    assert hours(pw.sql(berlin, s=ROWS, day="2026-03-29", engine=engine)) == [(29, 5), (29, 6), (29, 7)]  # summer
    whole = "SELECT ts FROM s [UNBOUNDED START AT '2026-03-29 12:00:00' ZONE 'Europe/Berlin']"
    assert hours(pw.sql(whole, s=ROWS, engine=engine)) == [(29, 10), (29, 11)]
    offset = "SELECT ts FROM s [UNBOUNDED START AT '2026-03-29T10:00:00Z' ZONE 'Europe/Berlin']"
    assert hours(pw.sql(offset, s=ROWS, engine=engine)) == [(29, 10), (29, 11)]


@BOTH
def test_without_a_day_the_run_is_refused_with_the_remedy(engine: str) -> None:
    with pytest.raises(SqlError, match="no day is given") as refused:
        pw.sql(BAND, s=ROWS, engine=engine)
    assert "day='2026-01-01' (--day 2026-01-01" in str(refused.value)
    assert "line 1, column 38" in str(refused.value)


def test_every_entry_point_takes_the_day() -> None:
    text = "SELECT count(*) AS n FROM s [UNBOUNDED END AT '09:00:00']"
    query = pw.open_query(text, s="ts timestamp", day=DAY)
    query.push("s", ROWS)
    assert query.finish().column("n").to_pylist()[-1] == 5
    assert [row["n"] for row in pw.run(text, s=ROWS, day=DAY, progress="ordered")][-1] == 5
    assert "2026-03-28T09:00:00Z" in pw.explain(text, s=ROWS, day=DAY)
    by_calls = pw.stream(ROWS, day=DAY).window("UNBOUNDED START AT '07:00' END AT '09:00'")
    assert [row["n"] for row in by_calls.agg(n="count(*)")][-1] == 3


def test_parameters_and_windows_given_as_parameters_are_on_that_day_too() -> None:
    text = "SELECT ts FROM s [UNBOUNDED START AT :t]"
    for given in ("10:30", time(10, 30)):
        assert hours(pw.sql(text, s=ROWS, day="2026-03-29", params={"t": given})) == [(29, 11)]
    window = {"w": "UNBOUNDED START AT '11:00'"}
    assert hours(pw.sql("SELECT ts FROM s [:w]", s=ROWS, day="2026-03-29", params=window)) == [(29, 11)]
    with pytest.raises(SqlError, match="no day is given"):
        pw.sql("SELECT ts FROM s [:w]", s=ROWS, params=window)


def test_a_day_that_no_time_of_day_needs_is_a_mistake() -> None:
    with pytest.raises(PlanError, match="the query has no time of day"):
        pw.sql("SELECT ts FROM s [RANGE 5 s]", s=ROWS, day=DAY)


@pytest.mark.parametrize(("day", "words"), [
    ("tomorrow", "is no day"), ("2026-13-01", "is no day"), (datetime(2026, 1, 1, tzinfo=UTC), "is no day"),
    (5, "give a date, such as '2026-01-01'"),
])
def test_what_is_no_day_is_refused(day: Any, words: str) -> None:
    with pytest.raises(PanewiseError, match=words):
        pw.sql(BAND, s=ROWS, day=day)


def test_an_origin_needs_a_day_only_where_days_differ() -> None:
    daily = "SELECT count(*) [RANGE 1 day, SLIDE 1 day, WA ts, ORIGIN '06:00'] AS n FROM s"
    assert [row["window"]["start"].hour for row in pw.sql(daily, s=ROWS)] == [6, 6, 6]
    odd = "SELECT count(*) [RANGE 7 hours, SLIDE 7 hours, WA ts, ORIGIN '06:00'] AS n FROM s"
    with pytest.raises(SqlError, match="no day is given"):
        pw.sql(odd, s=ROWS)
    assert datetime(2026, 3, 28, 6, tzinfo=UTC) in [row["window"]["start"] for row in pw.sql(odd, s=ROWS, day=DAY)]


def test_nowhere_else_is_a_time_of_day_an_instant() -> None:
    query = pw.open_query("SELECT ts FROM s [RANGE 5 s]", s="ts timestamp")
    with pytest.raises(ProgressError, match="is a time of day"):
        query.push("s", pw.Punctuation.below("ts", "09:00"))
    with pytest.raises(PanewiseError, match="is a time of day"):
        parse_timestamp("07:00:00")


def test_a_time_that_the_clocks_skip_is_the_first_instant_after() -> None:
    assert Day.parse("2026-03-29").at("02:30", "Europe/Berlin") == parse_timestamp("2026-03-29T01:00:00Z")


def test_the_command_line_takes_the_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "s.ndjson", tmp_path / "out.ndjson"
    source.write_text("".join(f'{{"ts": "{row["ts"].isoformat()}"}}\n' for row in ROWS))
    command = ["run", BAND, "--stream", f"s={source}", "--engine", "embedded", "--out", str(out)]
    assert main(command) == 2
    assert "--day 2026-01-01" in capsys.readouterr().err
    assert main([*command, "--day", "2026-03-28"]) == 0
    assert len(out.read_text().splitlines()) == 3
    assert main(["explain", BAND, "--day", "2026-03-28"]) == 0
    assert "2026-03-28T07:00:00Z" in capsys.readouterr().out
