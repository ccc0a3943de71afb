"""A program that uses Spark in one way, says when it is in the middle of it, and loses its JVM then."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

import panewise as pw

QUERY = "SELECT k, count(*) [RANGE 4, SLIDE 2, WA ts] AS n FROM s GROUP BY k"


BUSY = Path(sys.argv[-1]) / "busy"
"""Made when the JVM may be killed."""


def say_and_wait() -> None:
    """Tell the parent, and go on when it has acted."""
    BUSY.touch()
    sys.stdin.readline()


def batch(spark: Any) -> None:
    """The JVM ends while tasks run."""
    busy = str(BUSY)

    def held(k: int) -> int:
        Path(busy).touch()
        threading.Event().wait()  # for as long as there is a JVM
        return k

    query = QUERY.replace("s GROUP", "s WHERE held(k) IS NOT NULL GROUP")
    pw.sql(query, s=rows(spark), functions={"held": held}).collect()


def collected(spark: Any) -> None:
    """The JVM ends while results are fetched one after the other."""
    for number, _ in enumerate(pw.sql("SELECT k FROM s", s=rows(spark, 3_000_000)).toLocalIterator()):
        if number == 5:
            say_and_wait()


def streamed(spark: Any) -> None:
    """The JVM ends while a streaming query is waited for."""
    query = stream(spark).writeStream.format("noop").start()
    threading.Thread(target=lambda: until_first_batch(query), daemon=True).start()
    query.awaitTermination()


def for_each_batch(spark: Any) -> None:
    """The JVM ends while it waits for Python to take a micro-batch."""
    def take(batch: DataFrame, number: int) -> None:
        say_and_wait()
        batch.collect()

    stream(spark).writeStream.foreachBatch(take).start().awaitTermination()


def between(spark: Any) -> None:
    """The JVM ends while nothing is asked of it; then everything that asks is told."""
    frame = rows(spark)
    say_and_wait()
    for use in (lambda: pw.sql(QUERY, s=frame), lambda: pw.stream(frame, time="ts"), lambda: pw.explain(QUERY, s=frame),
                pw.spark_session):
        with pytest.raises(pw.PanewiseError, match="has ended"):
            use()
    frame.collect()


def connect(spark: Any) -> None:
    """The server of a Connect session ends while nothing is asked of it, then while results are fetched."""
    between(spark)


def connect_stream(spark: Any) -> None:
    """The server of a Connect session ends while a streaming query is waited for."""
    query = stream(spark).writeStream.format("noop").option("checkpointLocation", sys.argv[-1] + "/state").start()
    threading.Thread(target=lambda: until_first_batch(query), daemon=True).start()
    query.awaitTermination()


def rows(spark: Any, count: int = 20) -> DataFrame:
    return spark.range(0, count, 1, 1).selectExpr("id AS ts", "id % 3 AS k")


def stream(spark: Any) -> DataFrame:
    source = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    return pw.sql("SELECT count(*) [RANGE 1 s, SLIDE 1 s, WA timestamp] AS n FROM s", s=source, progress="ordered")


def until_first_batch(query: Any) -> None:
    pause = threading.Event()
    while not query.recentProgress:
        pause.wait(0.05)
    BUSY.touch()


def main(way: str, folder: str) -> None:
    """Use Spark; an error of panewise is printed with exit code 3, everything else is a traceback."""
    spark = pw.spark_session("local[1]", log=Path(folder) / "spark.log", connect=way.startswith("connect"))
    try:
        with pw.plain_errors():
            globals()[way](spark)
    except pw.PanewiseError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(3)


if __name__ == "__main__":
    main(*sys.argv[1:])
