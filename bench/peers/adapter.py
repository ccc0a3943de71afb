"""What every contender's ``run.py`` shares: the job it is given, the clock, and the form of results.

A contender runs in a process of its own, often with other packages than this project's, so this file needs nothing but
Python 3.11 and pyarrow. ``run.py`` hands ``main`` two functions: ``prepare(job)`` imports and loads what is not to be
timed and returns the function that is, and ``as_table(job, results)`` brings its results, after the clock has stopped,
into the columns of ``columns(job)``. The figures leave as one JSON line on standard output; what only some contenders
can tell (bytes of state, of a shuffle, latencies) they add with ``note``.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

MICROS = 1_000_000
RESULT = ("item", "end", "n", "hi", "mean")
"""The columns results are compared in; ``end`` is the exclusive end of the window in microseconds, for windows that
count rows its number."""
PAIRS = ("ts", "item", "price", "other", "offer")
"""The columns of a join."""
TYPES = {"end": pa.int64(), "n": pa.int64(), "hi": pa.float64(), "mean": pa.float64(), "query": pa.int64(),
         "ts": pa.int64(), "price": pa.float64(), "other": pa.int64(), "offer": pa.float64()}
SENTINEL = -1
"""The item of the rows at the end of a stream that close all windows before them; its own results do not count."""
STAY = "-"
"""The argument of a process that takes jobs from its input."""
FIGURES: dict[str, Any] = {}
ASIDE = [0.0, 0.0]
"""Seconds and processor seconds of this run that went into measuring."""


@dataclass(frozen=True)
class Job:
    """What to do; times are in microseconds.

    ``sliding``: count, max and avg of ``price`` per ``item`` over sliding windows on ``ts``, by ``range`` and
    ``slide``. ``cumulate``: the same from the start of the ``range`` on, every ``slide``. ``session``: over sessions
    with a pause of ``range``. ``rows``: over the last ``range`` rows of each item, every ``slide`` rows. ``tuple``:
    over all rows of the last ``range``, at every ``slide``-th row by time. ``queries``: ``sliding`` for ``slide``,
    twice ``slide``, ... up to ``range`` at once. ``join``: bids of two streams on the same item, at most ``range``
    apart.
    """

    path: str
    """A Parquet or CSV file with ts (timestamp, UTC), item (int64 or text) and price (float64), in order of arrival;
    for streams of files a folder of numbered ones, for a join a folder with ``a`` and ``b``."""
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
    options: dict[str, Any] = field(default_factory=dict)
    """What only some contenders understand."""
    kind: str = "sliding"
    cores: int = 1

    @property
    def panes(self) -> int:
        """RANGE/SLIDE."""
        return self.range // self.slide

    @property
    def warm_up(self) -> Job:
        """The same job on the few rows."""
        return replace(self, path=self.warm_path, out="")

    @property
    def each(self) -> Iterator[Job]:
        """The jobs of ``queries``, one for each window."""
        for size in range(self.slide, self.range + 1, self.slide):
            yield replace(self, kind="sliding", range=size)


def columns(job: Job) -> tuple[str, ...]:
    """The columns in which the results of a job are compared."""
    return PAIRS if job.kind == "join" else ("query", *RESULT) if job.kind == "queries" else RESULT


def note(**figures: Any) -> None:
    """Add figures to those of this run."""
    FIGURES.update(figures)


@contextmanager
def aside() -> Iterator[None]:
    """What a contender does here only to be measured, and does not count: looking at its state."""
    started, busy = time.perf_counter(), cpu_seconds()
    yield
    ASIDE[0] += time.perf_counter() - started
    ASIDE[1] += cpu_seconds() - busy


def refuse(job: Job, *kinds: str) -> None:
    """End with the reason when a job is of another kind than those a contender does."""
    if job.kind not in kinds:
        raise SystemExit(f"does {', '.join(kinds)}; not {job.kind}")


def read(path: str) -> pa.Table:
    """A file as a table, with times in UTC."""
    if not path.endswith(".csv"):
        return pq.read_table(path)
    table = pacsv.read_csv(path)
    return table.set_column(0, "ts", table.column("ts").cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC")))


def batches(job: Job) -> list[pa.RecordBatch]:
    """All rows in memory, cut as the job says."""
    return list(read(job.path).combine_chunks().to_batches(max_chunksize=job.batch))


def main(prepare: Callable[[Job], Callable[[], Any]], as_table: Callable[[Job, Any], pa.Table]) -> None:
    """Do the job whose JSON is the only argument; or, with the argument ``-``, one for every line of the input."""
    for text in sys.stdin if sys.argv[1] == STAY else sys.argv[1:]:
        figures = _done(Job(**json.loads(text)), prepare, as_table)
        sys.stdout.write("\n" + json.dumps(figures) + "\n")
        sys.stdout.flush()


def _done(job: Job, prepare: Callable[[Job], Callable[[], Any]], as_table: Callable[[Job, Any], pa.Table],
          ) -> dict[str, Any]:
    FIGURES.clear()
    if job.cores == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {job.core})  # before any library counts the cores
    pa.set_cpu_count(job.cores)
    timed = prepare(job)
    before = _resident("VmRSS")
    ASIDE[:] = 0.0, 0.0
    started, busy = time.perf_counter(), cpu_seconds()
    found = timed()
    seconds, busy = time.perf_counter() - started - ASIDE[0], cpu_seconds() - busy - ASIDE[1]
    peak = _resident("VmHWM")
    table = as_table(job, found).select(list(columns(job)))
    table = table.cast(pa.schema([pa.field(f.name, TYPES.get(f.name, f.type)) for f in table.schema]))
    if job.out:
        pq.write_table(table, job.out)
    return {"seconds": seconds, "cpu_seconds": busy, "results": table.num_rows,
            "before_mb": before, "own_peak_mb": peak, **FIGURES}


def cpu_seconds() -> float:
    """Processor seconds of this process and all its descendants, those that ended included, in all threads."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + sum(map(_spent, _children(os.getpid())))


def _spent(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended meanwhile
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(_spent, _children(pid)))


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for task in Path(f"/proc/{pid}/task").iterdir()
                for child in (task / "children").read_text().split()]
    except OSError:  # it has ended meanwhile, or there is no /proc
        return []


def _resident(name: str) -> float:
    """A memory figure of this process in MB; 0 where there is no /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name + ":")), 0.0)
