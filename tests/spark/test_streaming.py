"""Streaming on Spark: punctuation closes windows, and nothing else decides what they contain.

``test_exact_streams`` holds the operator to its definition in many cases; here Spark runs it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.core.errors import CheckpointError, LateRowError, SchemaError, UnsupportedError
from panewise.engines.spark import explain_frames
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.host.wire import LATE_COLUMN
from panewise.engines.spark.io.sources import read_batch, read_stream
from panewise.engines.spark.lower.progress import punctuated, split_late
from panewise.engines.spark.session.failures import translate
from panewise.plan.nodes import Union
from panewise.windows.sliding import SlidingWindow
from spark.cases import judged, plan, rows_of, run_to_end, source, with_missed, write_ndjson

pytestmark = pytest.mark.spark

WINDOW = SlidingWindow(30, 10)


def disordered(seed: int, rows: int = 150, *, group_wise: bool = True) -> list[dict[str, Any]]:
    """Rows with disorder, promises in line, and some rows that break them."""
    draw = random.Random(seed)
    items: list[dict[str, Any]] = []
    for i in range(rows):
        items.append({"k": draw.choice("abc"), "t": i + draw.randint(-25, 25), "v": draw.randint(-5, 5)})
        if draw.random() < 0.15:
            promise: dict[str, Any] = {"t": i + draw.randint(-30, 0)}
            if group_wise and draw.random() < 0.6:
                promise["k"] = draw.choice("abc")
            items.append({"punctuation": promise})
    return items


def halves(items: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    middle = len(items) // 2
    return [items[:middle], items[middle:]]


@pytest.mark.parametrize(("policy", "rows_per_batch", "shards"), [("generous", 60, 2), ("drop", 1000, 5)])
def test_late_rows_are_judged_by_the_promises_before_them(spark: SparkSession, tmp_path: Path, policy: str,
                                                          rows_per_batch: int, shards: int) -> None:
    items = disordered(1)
    files = write_ndjson(tmp_path / "in", halves(items))
    stream = read_stream(spark, files, time="t", rows_per_batch=rows_per_batch)
    results = run_streaming(plan(WINDOW), {"s": stream}, late=policy, shards=shards)
    found, late = run_to_end(results, tmp_path / "checkpoint")
    kept, late_rows = judged(items, WINDOW, policy)
    assert rows_of(found) == with_missed(kept, WINDOW)
    assert late == late_rows > 0


def test_a_query_that_stopped_in_the_middle_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    items = disordered(2)
    files = write_ndjson(tmp_path / "in", halves(items))

    def results(shards: int = 2) -> Any:
        stream = read_stream(spark, files, time="t", rows_per_batch=70)
        return run_streaming(plan(WINDOW), {"s": stream}, late="drop", shards=shards)

    before, _ = run_to_end(results(), tmp_path / "checkpoint", batches=1)
    after, _ = run_to_end(results(), tmp_path / "checkpoint")
    kept, _ = judged(items, WINDOW)
    assert before
    assert after
    assert rows_of([*before, *after]) == with_missed(kept, WINDOW)


def test_a_checkpoint_of_another_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    files = write_ndjson(tmp_path / "in", [disordered(3, rows=20)])
    stream = read_stream(spark, files, time="t", finite=False)
    run_to_end(run_streaming(plan(WINDOW), {"s": stream}, shards=1), tmp_path / "checkpoint")
    write_ndjson(tmp_path / "more", [[], disordered(4, rows=5)])
    (tmp_path / "more" / "0001.ndjson").rename(files / "0001.ndjson")
    with pytest.raises(Exception, match="checkpoint has window") as failure:
        run_to_end(run_streaming(plan(SlidingWindow(30, 15)), {"s": stream}, shards=1), tmp_path / "checkpoint")
    assert isinstance(translate(failure.value), CheckpointError)


def test_late_rows_are_an_output_under_the_policy_side(spark: SparkSession, tmp_path: Path) -> None:
    items = [{"k": "a", "t": 1, "v": 1}, {"punctuation": {"t": 40}}, {"k": "b", "t": 3, "v": None}]
    stream = read_stream(spark, write_ndjson(tmp_path / "in", [items]), time="t")
    found, late = run_to_end(run_streaming(plan(WINDOW), {"s": stream}, late="side", shards=1), tmp_path / "checkpoint")
    assert [json.loads(r[LATE_COLUMN]) for r in found if r[LATE_COLUMN]] == [{"k": "b", "t": 3, "v": None}]
    schema = run_streaming(plan(WINDOW), {"s": stream}, late="side").schema
    results, side = split_late(spark.createDataFrame(found, schema))
    assert rows_of(results) == with_missed(judged(items, WINDOW)[0], WINDOW)
    assert side.count() == late == 1


def test_the_policy_error_stops_with_the_late_row(spark: SparkSession, tmp_path: Path) -> None:
    items = [{"k": "a", "t": 1, "v": 1}, {"punctuation": {"t": 40}}, {"k": "b", "t": 3, "v": 1}]
    stream = read_stream(spark, write_ndjson(tmp_path / "in", [items]), time="t")
    with pytest.raises(Exception, match="late") as failure:
        run_to_end(run_streaming(plan(WINDOW), {"s": stream}, late="error", shards=1), tmp_path / "checkpoint")
    plain = translate(failure.value)
    assert isinstance(plain, LateRowError)
    assert str(plain).startswith("row 3 of the stream is late: 't' is 3")


def test_a_union_promises_what_all_its_inputs_promise(spark: SparkSession, tmp_path: Path) -> None:
    left = [{"k": "a", "t": 5, "v": 1}, {"punctuation": {"t": 100}}]
    right = [{"k": "a", "t": 7, "v": 2}, {"punctuation": {"t": 10}}]
    frames = {name: read_stream(spark, write_ndjson(tmp_path / name, [items]), time="t", finite=False)
              for name, items in (("s", left), ("r", right))}
    query = plan(SlidingWindow(10, 5), below=Union((source(), source(name="r"))))
    found, _ = run_to_end(run_streaming(query, frames, shards=2), tmp_path / "checkpoint")
    assert rows_of(found) == {("a", 0, 10, 2, 2, 1.5): 1}, "the window that ends at 15 is still open on the right"


def test_punctuation_can_come_in_any_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    blank = {"k": None, "t": None, "v": None, "punctuation": None}
    batches: list[list[dict[str, Any]]] = [
        [{**blank, "k": "a", "t": 5, "v": 1}, {**blank, "punctuation": '{"t": 10}'}],
        [{**blank, "k": "a", "t": 2, "v": 9}, {**blank, "k": "a", "t": 12, "v": 3}, {**blank, "punctuation": "{}"}],
    ]
    folder = write_ndjson(tmp_path / "in", batches)
    for number in range(2):
        os.utime(folder / f"{number:04d}.ndjson", (1000 + number, 1000 + number))
    raw = (spark.readStream.schema("k string, t bigint, v bigint, punctuation string")
           .option("maxFilesPerTrigger", 1).json(str(folder)))
    results = run_streaming(plan(SlidingWindow(10, 10)), {"s": punctuated(raw)}, shards=1)
    found, late = run_to_end(results, tmp_path / "checkpoint")
    assert rows_of(found) == {("a", 0, 10, 1, 1, 1.0): 1, ("a", 10, 20, 1, 3, 3.0): 1}
    assert late == 1
    with pytest.raises(UnsupportedError, match="order of arrival"):
        run_streaming(plan(WINDOW), {"s": raw.drop("punctuation")}, progress="rows:5")
    assert "to 3 shards, by hash of k" in explain_frames(plan(WINDOW), {"s": raw}, shards=3)


def test_the_bound_can_follow_the_largest_value_of_a_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_ndjson(tmp_path / "in", [
        [{"k": "a", "t": 5, "v": 1}, {"k": "b", "t": 14, "v": 2}],
        [{"k": "a", "t": 9, "v": 3}, {"k": "a", "t": 26, "v": 4}],  # 9 is not late: 14 - 5 = 9
        [{"k": "a", "t": 8, "v": 9}, {"k": "b", "t": 27, "v": 5}],  # 8 is: its window has ended
    ])
    for number in range(3):
        os.utime(folder / f"{number:04d}.ndjson", (1000 + number, 1000 + number))
    raw = spark.readStream.schema("k string, t bigint, v bigint").option("maxFilesPerTrigger", 1).json(str(folder))
    results = run_streaming(plan(SlidingWindow(10, 10)), {"s": raw}, progress="late:5", shards=2)
    found, late = run_to_end(results, tmp_path / "checkpoint")
    assert rows_of(found) == {("a", 0, 10, 2, 3, 2.0): 1, ("b", 10, 20, 1, 2, 2.0): 1}
    assert late == 1


def test_a_union_follows_its_slowest_input(spark: SparkSession, tmp_path: Path) -> None:
    ahead = write_ndjson(tmp_path / "s", [[{"k": "a", "t": 95, "v": 1}], [{"k": "a", "t": 99, "v": 1}]])
    behind = write_ndjson(tmp_path / "r", [[{"k": "a", "t": 5, "v": 2}], [{"k": "a", "t": 12, "v": 3}]])
    frames = {}
    for name, folder in (("s", ahead), ("r", behind)):
        for number in range(2):
            os.utime(folder / f"{number:04d}.ndjson", (1000 + number, 1000 + number))
        frames[name] = (spark.readStream.schema("k string, t bigint, v bigint")
                        .option("maxFilesPerTrigger", 1).json(str(folder)))
    sources = (source(), source(name="r"))
    results = run_streaming(plan(SlidingWindow(10, 10), below=Union(sources)), frames, progress="ordered", shards=1)
    found, late = run_to_end(results, tmp_path / "checkpoint")
    assert rows_of(found) == {("a", 0, 10, 1, 2, 2.0): 1}
    assert late == 0, "12 comes after 95, but from another input"
    with pytest.raises(SchemaError, match="no column 'nothing'"):
        run_streaming(plan(WINDOW), {"s": frames["s"]}, progress="column:nothing")
    assert run_streaming(plan(WINDOW), {"s": frames["s"]}, progress="column:V").isStreaming, "names in any case"


def test_batch_over_stamped_files_leaves_the_same_rows_out(spark: SparkSession, tmp_path: Path) -> None:
    from panewise.engines.spark.engine import run_batch

    items = disordered(5)
    frame = read_batch(spark, write_ndjson(tmp_path / "in", halves(items)), time="t")
    for policy in ("drop", "consistent"):
        kept, _ = judged(items, WINDOW, policy)
        assert rows_of(run_batch(plan(WINDOW), {"s": frame}, late=policy)) == with_missed(kept, WINDOW)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.session.session import session
from panewise.engines.spark.io.sources import read_stream
from spark.cases import plan
from panewise.windows.sliding import SlidingWindow
folder = Path({folder!r})
spark = session("local[2]", **{{"spark.sql.shuffle.partitions": 2}})
stream = read_stream(spark, folder / "in", time="t", rows_per_batch=70)
def sink(batch, number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    batch.write.mode("overwrite").json(str(folder / "out" / str(number)))
(run_streaming(plan(SlidingWindow(30, 10)), {{"s": stream}}, late="drop", shards=2).writeStream.foreachBatch(sink)
 .option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination())
"""


def test_a_killed_process_loses_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    items = disordered(6)
    files = write_ndjson(tmp_path / "in", halves(items))
    script = KILLED.format(tests=str(Path(__file__).parent.parent), folder=str(tmp_path))
    died = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, timeout=600)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    assert died.stderr == b"", "the console stays quiet"
    stream = read_stream(spark, files, time="t", rows_per_batch=70)
    results = run_streaming(plan(WINDOW), {"s": stream}, late="drop", shards=2)
    after, _ = run_to_end(results, tmp_path / "checkpoint")
    before = spark.read.schema(results.schema).json(str(tmp_path / "out" / "0")).collect()
    kept, _ = judged(items, WINDOW)
    assert before
    assert rows_of([*before, *after]) == with_missed(kept, WINDOW)
