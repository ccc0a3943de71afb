"""What survives: killed drivers, Python workers and executors; and checkpoints that do not fit."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from conformance.cases import Case
from conformance.compare import assert_same_rows
from panewise.core.errors import CheckpointError, OtherVersionError
from panewise.engines.spark.host import worker_memory
from panewise.engines.spark.io.sinks import committed_parts
from panewise.engines.spark.queries.shard import QueryConfig
from panewise.engines.spark.session.failures import translate
from panewise.progress.late import LatePolicy
from panewise.progress.punctuation import Punctuation
from panewise.storage import MemoryChunks
from panewise.windows.sliding import SlidingWindow
from spark.clusters import Cluster
from spark.faulty_child import DISTINCT, FILES, JOIN, NEGATION, case_of, start
from spark.in_process import operator_of
from spark.killing import killed_at, killed_at_random, note
from spark.processes import needs_proc, python_workers


def results_of(spark: SparkSession, case: Case, folder: Path, sink: str = "parquet") -> int:
    """Compare what a sink holds with the definition; how many results there are."""
    if sink == "parquet":
        table = spark.read.parquet(str(folder / "out")).toArrow()
    else:
        table = pa.concat_tables([pq.read_table(part) for part in committed_parts(folder / "out")])
    assert_same_rows(table.to_pylist(), case.expected())
    return int(table.num_rows)


@pytest.mark.soak
@needs_proc
def test_a_run_survives_a_killed_executor_a_killed_worker_and_a_killed_driver(
        cluster: Cluster, spark: SparkSession, tmp_path: Path) -> None:
    kills, restarts = killed_at(tmp_path, 1, cluster, {0: "executor", 1: "worker", 3: "driver"})
    assert kills == {"executor": 1, "worker": 1, "driver": 1}
    assert restarts >= 1
    results_of(spark, case_of(1), tmp_path)


@pytest.mark.soak
@needs_proc
@pytest.mark.parametrize("where", ["local", "cluster"])
def test_processes_killed_at_random_moments_lose_and_repeat_nothing(where: str, spark: SparkSession, tmp_path: Path,
                                                                    request: pytest.FixtureRequest) -> None:
    """Half of the kills in local mode, half on a cluster; PANEWISE_FAULTS says how many there are at least."""
    wanted = -(-int(os.environ.get("PANEWISE_FAULTS", "40")) // 2)
    cluster = request.getfixturevalue("cluster") if where == "cluster" else None
    kinds = cycle(("executor", "worker", "executor", "driver") if cluster is not None
                  else ("worker", "worker", "worker", "driver"))
    seed = int(os.environ.get("PANEWISE_SEED", "0"))
    total: Counter[str] = Counter()
    runs = 0
    while total.total() < wanted:
        folder = tmp_path / str(runs)
        folder.mkdir()
        sink = ("parquet", "panewise_parts")[runs % 2]
        kills, restarts = killed_at_random(folder, seed + runs, cluster, kinds, min(8, wanted - total.total()), sink)
        case = case_of(seed + runs)
        results = results_of(spark, case, folder, sink)
        if "PANEWISE_REPORT" in os.environ:
            note(Path(os.environ["PANEWISE_REPORT"]), where=where, query=case.query, sink=sink, kills=dict(kills),
                 restarts=restarts, results=results)
        total += kills
        runs += 1
    print(f"{where}: {dict(total)} killed in {runs} runs: every sink equals the definition")


@pytest.mark.soak
@needs_proc
@pytest.mark.parametrize("seed", [JOIN, DISTINCT, NEGATION])
def test_joins_and_relations_survive_killed_drivers(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    kills, restarts = killed_at_random(tmp_path, seed, None, cycle(("driver",)), 2)
    assert kills == {"driver": 2}
    assert restarts >= 2
    assert results_of(spark, case_of(seed), tmp_path) > 100


@needs_proc
@pytest.mark.parametrize("seed", [JOIN, NEGATION])
def test_a_join_and_a_relation_go_on_when_their_workers_are_killed_and_the_query_is_stopped(
        seed: int, spark: SparkSession, tmp_path: Path) -> None:
    """Workers die inside the second of four micro-batches, which ends the query; the next is stopped in the third.

    The checkpoint and the sink are all that is left each time.
    """
    case = case_of(seed)
    after_one_more(query := start(spark, case, tmp_path, cut=FILES // 4), tmp_path)
    while query.isActive:  # whichever worker has one of its tasks
        for number in python_workers():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        sleep(0.2)
    assert query.exception() is not None
    after_one_more(query := start(spark, case, tmp_path, cut=FILES // 4), tmp_path)
    query.stop()
    start(spark, case, tmp_path, cut=FILES).awaitTermination()
    assert results_of(spark, case, tmp_path) > 100


def after_one_more(query: StreamingQuery, folder: Path, seconds: float = 120) -> None:
    """Wait until one more micro-batch is committed."""
    def last() -> int:
        return max((int(path.name) for path in (folder / "checkpoint" / "commits").glob("[0-9]*")), default=-1)

    before, end = last(), monotonic() + seconds
    while last() == before:
        assert query.isActive
        assert monotonic() < end
        sleep(0.05)


@pytest.mark.parametrize("saved", ["", "[]", "{}", '{"kind": "query-shard"}', '{"kind": "query-shard", "version": 6}'])
def test_damaged_progress_is_named_as_such(saved: str) -> None:
    with pytest.raises(CheckpointError, match="damaged"):
        config().shard(MemoryChunks(), saved)


def test_progress_of_another_version_or_kind_is_refused_by_name() -> None:
    with pytest.raises(CheckpointError, match="the checkpoint was made by version 5 of panewise's state, this is "
                                              "version 6: start again with an empty directory"):
        config().shard(MemoryChunks(), '{"kind": "pane-shard", "version": 5}')
    with pytest.raises(CheckpointError, match="another kind of query"):
        config().shard(MemoryChunks(), '{"kind": "pane-shard", "version": 6}')


def test_a_checkpoint_whose_chunks_have_numbers_is_of_an_earlier_version() -> None:
    schema = "StructType(StructField(userKey,StructType(StructField(chunk,LongType,true)),true))"
    told = translate(RuntimeError("terminated with exception: [STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key "
                                  f"schema does not match. Existing key_schema={schema} SQLSTATE: 42K06"))
    assert isinstance(told, OtherVersionError)
    assert "the checkpoint was made by an earlier version of panewise's state" in str(told)


def test_a_damaged_chunk_is_named_as_such() -> None:
    store, promise = MemoryChunks(), [{"promises": [["", Punctuation.below("t", 1).to_state()]]}]
    first = config().shard(store, None)
    first.step([], promise)
    for name in store.names():
        store.put(name, b"not what was written")
    worker_memory.forget()
    with pytest.raises(CheckpointError):
        config().shard(store, first.saved()).step([], promise)


def config() -> QueryConfig:
    return operator_of(SlidingWindow(10, 5), LatePolicy.DROP, (0,), ["k"])[1]
