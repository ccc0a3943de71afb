"""One time zone for a run: expressions and brackets read the same clocks on every engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise.core.errors import PlanError

STAMPED = pa.table({"ts": pa.array([datetime(2026, 3, 29, 3, 30, tzinfo=UTC), datetime(2026, 11, 1, 5, 30, tzinfo=UTC)],
                                   pa.timestamp("us", tz="UTC"))})
SHOWN = "hour(ts) AS h, cast(ts AS string) AS text, date_trunc('day', ts) AS day"
NEW_YORK = [
    {"h": 23, "text": "2026-03-28 23:30:00", "day": datetime(2026, 3, 28, 4, tzinfo=UTC)},
    {"h": 1, "text": "2026-11-01 01:30:00", "day": datetime(2026, 11, 1, 4, tzinfo=UTC)},
]


def shown(rows: Any) -> list[dict[str, Any]]:
    return sorted(({name: row[name] for name in ("h", "text", "day")} for row in rows), key=lambda row: row["day"])


@pytest.mark.parametrize("over", ["s", "s [RANGE 5 s]"])
@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_expressions_read_the_clocks_of_the_declared_zone(engine: str, over: str) -> None:
    assert shown(pw.sql(f"SELECT {SHOWN} FROM {over}", s=STAMPED, engine=engine, zone="America/New_York")) == NEW_YORK
    assert [row["h"] for row in pw.sql(f"SELECT {SHOWN} FROM {over}", s=STAMPED, engine=engine)] == [3, 5]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_calendar_windows_are_those_of_the_declared_zone_unless_the_bracket_names_one(engine: str) -> None:
    text = "SELECT count(*) [CALENDAR 1 MONTH, WA ts{}] AS n FROM s"
    def starts(bracket: str, **options: Any) -> list[datetime]:
        return [row["window"]["start"] for row in pw.sql(text.format(bracket), s=STAMPED, engine=engine, **options)]
    local = [datetime(2026, 3, 1, 5, tzinfo=UTC), datetime(2026, 11, 1, 4, tzinfo=UTC)]
    assert starts("", zone="America/New_York") == local == starts(", ZONE 'America/New_York'", zone="Asia/Tokyo")
    assert starts("") == [datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)]


def test_a_query_keeps_its_zone_whatever_another_computes_in() -> None:
    one, other = (pw.open_query("SELECT hour(ts) AS h FROM s", s="ts timestamp", zone=zone)
                  for zone in ("Asia/Tokyo", "America/New_York"))
    assert [query.push("s", STAMPED.slice(0, 1)).column("h").to_pylist() for query in (one, other, one)] == [
        [12], [23], [12]]


def test_what_is_no_zone_is_refused() -> None:
    with pytest.raises(PlanError, match="zone='Mars/Olympus' is no time zone"):
        pw.sql("SELECT hour(ts) AS h FROM s", s=STAMPED, zone="Mars/Olympus")


@pytest.mark.spark
def test_on_spark_the_zone_is_that_of_the_session(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    frame = spark.createDataFrame(STAMPED)
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        for over in ("s", "s [RANGE 5 s]"):
            assert shown(pw.sql(f"SELECT {SHOWN} FROM {over}", s=frame).toArrow().to_pylist()) == NEW_YORK
        with pytest.raises(PlanError, match="the Spark session computes in 'America/New_York': set it there"):
            pw.sql(f"SELECT {SHOWN} FROM s", s=frame, zone="UTC")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
