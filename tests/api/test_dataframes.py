"""DataFrames through ``panewise.sql``: what cannot work is refused before anything runs."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise.core.errors import PlanError

QUERY = "SELECT count(*) [RANGE 10 s, SLIDE 5 s, WA timestamp] AS n FROM s"


def test_a_stream_without_punctuation_or_policy_would_never_close_a_window(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    with pytest.raises(PlanError, match="no window of this stream would ever close"):
        pw.sql(QUERY, s=rate)
    assert pw.sql(QUERY, s=rate, progress="late:10 s").isStreaming


def test_a_static_dataframe_takes_no_progress_policy(spark: SparkSession) -> None:
    static = spark.sql("SELECT TIMESTAMP'2026-01-01 00:00:03' AS timestamp")
    assert pw.sql(QUERY, s=static).count() == 2
    with pytest.raises(PlanError, match="complete and has no order of arrival"):
        pw.sql(QUERY, s=static, progress="late:5 s")


def test_the_function_sql_stays_the_function_when_the_package_is_imported() -> None:
    from panewise.sql import parse

    assert callable(pw.sql)
    assert callable(parse)
