"""What every contender's ``run.py`` shares: the job it is given, the clock, and the form of results.

A contender runs in a process of its own, often with other packages than this project's, so this file needs nothing but
Python 3.11 and pyarrow. ``run.py`` hands ``main`` two functions: ``prepare(job)`` imports and loads what is not to be
timed and returns the function that is, and ``as_table(job, results)`` brings its results, after the clock has stopped,
into the columns of ``RESULT``. The figures leave as one JSON line on standard output.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MICROS = 1_000_000
RESULT = ("item", "end", "n", "hi", "mean")
"""The columns results are compared in; ``end`` is the exclusive end of the window in microseconds."""
NUMBERS = tuple(pa.schema({"end": pa.int64(), "n": pa.int64(), "hi": pa.float64(), "mean": pa.float64()}))


@dataclass(frozen=True)
class Job:
    """Count, max and avg of ``price`` per ``item`` over sliding windows on ``ts``; times are in microseconds."""

    path: str
    """A Parquet file with ts (timestamp, UTC), item (int64 or text) and price (float64), in order of arrival."""
    warm_path: str
    """A few rows of the same kind, to run once before the clock starts."""
    out: str
    """Where the results go for comparison; nothing is written when it is empty."""
    input: str
    """``files``: the clock runs while the file is read; ``memory``: the data is loaded in its best form before."""
    rows: int
    batch: int
    range: int
    slide: int
    late: int
    """No row is later than this."""
    text_keys: bool
    core: int
    options: dict[str, Any]
    """What only one contender understands."""

    @property
    def panes(self) -> int:
        """RANGE/SLIDE."""
        return self.range // self.slide

    @property
    def warm_up(self) -> Job:
        """The same job on the few rows."""
        return replace(self, path=self.warm_path, out="")


def batches(job: Job) -> list[pa.RecordBatch]:
    """All rows in memory, cut as the job says."""
    return list(pq.read_table(job.path).combine_chunks().to_batches(max_chunksize=job.batch))


def main(prepare: Callable[[Job], Callable[[], Any]], as_table: Callable[[Job, Any], pa.Table]) -> None:
    """Do the job whose JSON is the only argument."""
    job = Job(**json.loads(sys.argv[1]))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {job.core})  # before any library counts the cores
    pa.set_cpu_count(1)
    timed = prepare(job)
    before = _resident("VmRSS")
    started, busy = time.perf_counter(), _cpu()
    found = timed()
    seconds, busy = time.perf_counter() - started, _cpu() - busy
    peak = _resident("VmHWM")
    table = as_table(job, found).select(list(RESULT))
    table = table.cast(pa.schema([table.schema.field("item"), *NUMBERS]))
    if job.out:
        pq.write_table(table, job.out)
    figures = {"seconds": seconds, "cpu_seconds": busy, "results": table.num_rows,
               "before_mb": before, "own_peak_mb": peak}
    sys.stdout.write("\n" + json.dumps(figures) + "\n")
    sys.stdout.flush()


def _cpu() -> float:
    """Processor seconds of this process and the children it has waited for, in all threads."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _resident(field: str) -> float:
    """A memory figure of this process in MB; 0 where there is no /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":")), 0.0)
