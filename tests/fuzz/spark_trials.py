"""Trials of what Spark's driver writes: results it keeps, and parts that count with their manifest.

Faults are tried without a JVM: a job does with both what the driver does, batch after batch, and begins after a failure
with the batch that Spark has no note of. Kills are those of real runs: drivers and Python workers in local mode.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.forks import REFUSED, in_child
from fuzz.injector import FAULTS, Injector, failing
from fuzz.storage_trials import TrialError, folder, must
from panewise.engines.spark.files.kept_batches import KeptBatches
from panewise.engines.spark.io.sinks import PartsWriter, committed_parts
from panewise.storage import DirectoryChunks, disk

BATCHES, TASKS = 5, 2


def rows_of(batch: int, task: int) -> pa.RecordBatch:
    """The results of a task, which are the same when the batch is repeated; every third task has none."""
    count = 0 if (batch + task) % 3 == 0 else 3
    return pa.record_batch({"n": pa.array([100 * batch + 10 * task + i for i in range(count)], pa.int64())})


def run_job(home: Path) -> list[int]:
    """Start it, or go on with it; what it has kept in all."""
    spark = home / "spark"
    (spark / "commits").mkdir(parents=True, exist_ok=True)
    (spark / "metadata").write_text('{"id": "a query"}')
    with DirectoryChunks(home / "state", beside=("spark",)) as store:
        kept, parts = KeptBatches(store, spark), PartsWriter(str(home / "out"), str(spark))
        done = max((int(note.name) for note in (spark / "commits").iterdir()), default=-1)
        for batch in range(done + 1, BATCHES):
            results = [rows_of(batch, task) for task in range(TASKS)]
            if not kept.has(batch):
                kept.add(batch, pa.Table.from_batches(results))
            parts.commit([parts.write(iter([one])) for one in results], batch)
            note = spark / "commits" / f".{batch}"
            note.write_text("v1")
            os.replace(note, spark / "commits" / str(batch))
        return [n for table in kept.tables() for n in table["n"].to_pylist()]


def wrong(home: Path) -> str:
    """Finish the job and say what is wrong with its results; nothing, if they are right."""
    expected = Counter(
        n for batch in range(BATCHES) for task in range(TASKS) for n in rows_of(batch, task)["n"].to_pylist()
    )
    kept = Counter(run_job(home))
    given = Counter(n for part in committed_parts(home / "out") for n in pq.read_table(part)["n"].to_pylist())
    if kept != expected:
        return f"kept: {kept - expected} too many, {expected - kept} missing"
    return "" if given == expected else f"parts: {given - expected} too many, {expected - given} missing"


def durable_calls() -> list[list[str]]:
    """The calls of an undisturbed job."""
    with folder() as home:

        def noted() -> None:
            injector = Injector()
            with disk.injected(injector):
                run_job(home)
            (home / "calls").write_text(json.dumps(injector.calls))

        must(home, noted, "an undisturbed job")
        return list(json.loads((home / "calls").read_text()))


def faults(*, every: int = 1, seed: int = 0) -> dict[str, object]:
    """Each durable call of the driver's side with each fault; then the job is finished."""
    calls = durable_calls()
    counted: Counter[str] = Counter()
    for number in range(seed % every, len(calls), every):
        for fault in FAULTS:
            what = f"{fault} at durable call {number}, {' '.join(calls[number])}"
            with folder() as home:

                def struck(home: Path = home, number: int = number, fault: str = fault) -> None:
                    with failing(number, fault):
                        run_job(home)

                status = in_child(struck)
                if status != (-signal.SIGKILL if fault == "kill" else REFUSED):
                    raise TrialError(f"{what}: the job ended with {status}")

                def finish(home: Path = home, what: str = what) -> None:
                    problem = wrong(home)
                    if problem:
                        raise TrialError(f"after {what}: {problem}")

                must(home, finish, f"after {what}")
            counted[fault] += 1
    return {"durable calls": len(calls), "kinds": dict(Counter(call for call, _ in calls)), "faults": dict(counted)}


def kills(wanted: int, *, seed: int = 0, say: Callable[[str], object] = print) -> dict[str, object]:
    """Drivers and Python workers of streaming queries killed at random moments until all is done, exactly once."""
    from conformance.compare import assert_same_rows
    from spark.faulty_child import case_of
    from spark.killing import killed_at_random

    total: Counter[str] = Counter()
    runs = restarts = results = 0
    kinds = cycle(("worker", "driver", "worker", "worker"))
    while total.total() < wanted:
        with folder() as home:
            case = case_of(seed + runs)
            killed, again = killed_at_random(
                home, seed + runs, None, kinds, min(8, wanted - total.total()), "panewise_parts"
            )
            table = pa.concat_tables([pq.read_table(part) for part in committed_parts(home / "out")])
            assert_same_rows(table.to_pylist(), case.expected())
        runs, restarts, results, total = runs + 1, restarts + again, results + table.num_rows, total + killed
        say(f"{total.total()} kills in {runs} runs, {restarts} restarts: every sink equals the definition")
    return {"kills": dict(total), "runs": runs, "restarts": restarts, "results": results}
