"""What survives: killed drivers, killed Python workers, and checkpoints that do not fit.

The fault report of the documentation is ``PANEWISE_FAULTS=20 pytest -m soak tests/spark/test_faults.py``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from conformance.cases import Case
from conformance.compare import assert_same_rows
from panewise.aggregates.registry import resolve
from panewise.core.errors import CheckpointError, SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.engines.spark.engine import run_streaming
from panewise.engines.spark.failures import translate
from panewise.engines.spark.paired import PaneScheme
from panewise.engines.spark.shard import ShardConfig
from panewise.engines.spark.sources import read_stream
from panewise.engines.spark.wire import LATE_COLUMN
from panewise.kernels.partials import bind
from panewise.plan.nodes import AggregateCall
from panewise.progress.late import LatePolicy
from panewise.windows.sliding import SlidingWindow
from spark.cases import SCHEMA, judged, plan, rows_of, run_to_end, with_missed, write_ndjson
from spark.faulty_child import case_of, start
from spark.in_process import Chunks
from spark.test_streaming import WINDOW, disordered, halves

TESTS = Path(__file__).parents[1]


def results_of(spark: SparkSession, case: Case, folder: Path) -> None:
    rows = spark.read.parquet(str(folder / "out")).toArrow().to_pylist()
    found = [{k: v for k, v in row.items() if k != LATE_COLUMN} for row in rows if row.get(LATE_COLUMN) is None]
    assert_same_rows(found, case.expected())


def python_workers() -> Iterator[int]:
    """The Python workers under this process: what Spark's daemon forked."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:  # gone meanwhile
                continue
    for process, parent in parents.items():
        try:
            is_fork = b"daemon" in Path(f"/proc/{process}/cmdline").read_bytes() \
                and b"daemon" in Path(f"/proc/{parent}/cmdline").read_bytes()
        except OSError:
            continue
        ancestor = parent
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        if is_fork and ancestor == os.getpid():
            yield process


def killed_now_and_then(spark: SparkSession, case: Case, folder: Path, kills: int, random: Random) -> int:
    """Run to the end while workers are killed, starting again from the checkpoint; how many were killed."""
    killed: list[int] = []
    while True:
        query = start(spark, case, folder)
        stop = threading.Event()

        def kill(stop: threading.Event = stop) -> None:
            while len(killed) < kills and not stop.wait(random.uniform(0.1, 3.0)):
                for worker in list(python_workers())[:1]:
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            query.awaitTermination()
            return len(killed)
        except PySparkException as error:
            if translate(error) is not None:  # a dead worker is no mistake of the user
                raise
        finally:
            stop.set()
            killer.join()


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_killed_python_workers_lose_and_repeat_nothing(spark: SparkSession, tmp_path: Path) -> None:
    case = case_of(1)
    assert killed_now_and_then(spark, case, tmp_path, 2, Random(1)) > 0
    results_of(spark, case, tmp_path)


@pytest.mark.spark
@pytest.mark.soak
def test_drivers_and_workers_killed_at_random_moments_lose_and_repeat_nothing(spark: SparkSession,
                                                                              tmp_path: Path) -> None:
    wanted = int(os.environ.get("PANEWISE_FAULTS", "20"))
    drivers = workers = seed = 0
    while drivers + workers < wanted:
        case, folder = case_of(seed), tmp_path / str(seed)
        folder.mkdir()
        if seed % 4 == 3:
            workers += killed_now_and_then(spark, case, folder, 3, Random(seed))
        else:
            ended = False
            while not ended:
                longest = 20.0 if drivers + workers < wanted else 0.0
                code = f"import sys; sys.path.insert(0, {str(TESTS)!r}); from pathlib import Path; " \
                       f"from spark.faulty_child import main; main(Path({str(folder)!r}), {seed}, {longest})"
                status = subprocess.run([sys.executable, "-c", code], check=False, timeout=900).returncode
                assert status in (0, -signal.SIGKILL)
                ended, drivers = status == 0, drivers + (status != 0)
        results_of(spark, case, folder)
        seed += 1
    print(f"{drivers} drivers and {workers} workers killed in {seed} runs: every sink equals the oracle")


@pytest.mark.spark
def test_a_query_that_does_not_fit_is_refused_and_the_checkpoint_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    items = disordered(7)
    files, checkpoint = write_ndjson(tmp_path / "in", halves(items)), tmp_path / "checkpoint"
    stream = read_stream(spark, files, time="t", rows_per_batch=70)
    before, _ = run_to_end(run_streaming(plan(WINDOW), {"s": stream}, shards=2), checkpoint, batches=1)
    changed = run_streaming(plan(WINDOW, aggregates=[AggregateCall("n", "count")]), {"s": stream}, shards=2)
    with pytest.raises(Exception, match="checkpoint has columns") as failure:
        run_to_end(changed, checkpoint)
    assert isinstance(translate(failure.value), CheckpointError)
    with pytest.raises(SchemaError, match="no column 'k'"):
        run_streaming(plan(WINDOW), {"s": stream.drop("k")}, shards=2)
    after, _ = run_to_end(run_streaming(plan(WINDOW), {"s": stream}, shards=2), checkpoint)
    assert rows_of([*before, *after]) == with_missed(judged(items, WINDOW)[0], WINDOW)


@pytest.mark.parametrize("saved", ["", "[]", "{}", '{"kind": "pane-shard"}', '{"kind": "pane-shard", "version": 2}'])
def test_damaged_progress_is_named_as_such(saved: str) -> None:
    with pytest.raises(CheckpointError, match=r"damaged|another kind"):
        config().shard(Chunks(), saved)


def test_a_damaged_chunk_is_named_as_such() -> None:
    store = Chunks()
    state = json.loads(config().shard(store, None).saved())
    store.put(0, b"not what was written")
    shard = config().shard(store, json.dumps({**state, "chunks": [0]}))
    with pytest.raises(CheckpointError):
        shard.step([], [{"promises": [["", {}]]}])


def config() -> ShardConfig:
    keys, aggregates = SCHEMA.field("k"), bind([("n", resolve("count"))], [()])
    return ShardConfig(PaneScheme(SlidingWindow(10, 5)), SCHEMA.empty_table().select([keys.name]).schema,
                       tuple(aggregates), ("",), LatePolicy.DROP, True, 1, (), "t", OrdinalKind.INTEGER)
