"""What closes windows on Spark: promises about one group, and heartbeats of a stream that has nothing else to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.io.sources import read_stream
from panewise.plan.nodes import Union
from panewise.windows.sliding import SlidingWindow
from spark.cases import plan, rows_of, run_to_end, source, write_ndjson


def unfinished(spark: SparkSession, folder: Path, *items: dict[str, Any]) -> DataFrame:
    """A stream that goes on after these."""
    return read_stream(spark, write_ndjson(folder, [list(items)]), time="t", finite=False)


def test_a_promise_about_one_group_closes_its_windows_alone(spark: SparkSession, tmp_path: Path) -> None:
    stream = unfinished(spark, tmp_path / "in", {"k": "a", "t": 1, "v": 1}, {"k": "b", "t": 2, "v": 2},
                        {"punctuation": {"t": 10, "k": "a"}})
    query = run_streaming(plan(SlidingWindow(10, 10)), {"s": stream}, shards=2)
    assert rows_of(run_to_end(query, tmp_path / "state")[0]) == {("a", 0, 10, 1, 1, 1.0): 1}
    with (tmp_path / "in" / "0000.ndjson").open("a") as file:
        file.write('{"k": "b", "t": 3, "v": 4}\n{"punctuation": {"t": 10}}\n')
    assert rows_of(run_to_end(query, tmp_path / "state")[0]) == {("b", 0, 10, 2, 4, 3.0): 1}


def test_a_silent_stream_closes_windows_by_heartbeat(spark: SparkSession, tmp_path: Path) -> None:
    both = Union((source(), source(name="r")))
    frames = {"s": unfinished(spark, tmp_path / "s", {"k": "a", "t": 1, "v": 1}, {"punctuation": {"t": 50}}),
              "r": unfinished(spark, tmp_path / "r", {"k": "a", "t": 2, "v": 2})}
    query = run_streaming(plan(SlidingWindow(10, 10), below=both), frames, shards=2)
    assert not run_to_end(query, tmp_path / "state")[0], "nobody knows yet whether the silent stream has more"
    with (tmp_path / "r" / "0000.ndjson").open("a") as file:
        file.write('{"punctuation": {"t": 20}}\n')
    assert rows_of(run_to_end(query, tmp_path / "state")[0]) == {("a", 0, 10, 2, 2, 1.5): 1}
