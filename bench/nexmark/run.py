"""One query of Nexmark on one engine, in a process of its own; the figures leave as one JSON line.

    python bench/nexmark/run.py '{"query": "q5", "engine": "embedded", "data": "nexmark-1m", "events": 1000000,
                                  "batches": 10, "cores": 1, "out": "q5.parquet"}'

``engine`` is embedded, spark-batch, spark-streaming or duckdb, the reference. Files in ``data`` are made when they are
not there; ``site`` may give other parameters of the generator than its defaults. Before the clock starts the query runs
once over few rows. ``out`` takes the results, for ``check.py``; with an empty one they are only counted. With ``-`` for
the JSON it takes one job after the other from its input.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # this file is started by its path

import pyarrow as pa
import pyarrow.parquet as pq
from common import cpu_seconds

from nexmark.engines import Engine, engine, rows_in
from nexmark.files import SETTINGS, settings, write
from nexmark.generator import Nexmark
from nexmark.queries import QUERIES, Query

WARM_EVENTS, WARM_BATCHES = 5_000, 2
STAY = "-"
"""The argument of a process that takes jobs from its input."""
WARM: set[tuple[str, str]] = set()
"""Queries that this process has run."""


@dataclass(frozen=True)
class Job:
    """What is asked for."""

    query: str
    engine: str
    data: str
    events: int
    batches: int = 10
    cores: int = 1
    out: str = ""
    site: dict[str, Any] = field(default_factory=dict)
    """Parameters of the generator."""

    def generated(self) -> Path:
        """The files, made if they are not there."""
        folder, site = Path(self.data), Nexmark(events=self.events, **self.site)
        if not (folder / SETTINGS).exists():
            write(folder, site, self.batches)
        if settings(folder) != (site, self.batches):
            raise ValueError(f"{folder} was made with other parameters: {settings(folder)}; name another folder")
        return folder


def main() -> None:
    """Do the job whose JSON is the only argument; or, with the argument ``-``, one for every line of the input."""
    engines: dict[tuple[str, int], Engine] = {}
    try:
        for text in sys.stdin if sys.argv[1] == STAY else sys.argv[1:]:
            job = Job(**json.loads(text))
            _use(job.cores)
            if (job.engine, job.cores) not in engines:
                engines[job.engine, job.cores] = engine(job.engine, job.cores)
            figures = _done(job, engines[job.engine, job.cores])
            sys.stdout.write("\n" + json.dumps(figures) + "\n")
            sys.stdout.flush()
    finally:
        for started in engines.values():
            started.close()


def _done(job: Job, started: Engine) -> dict[str, Any]:
    query, data = QUERIES[job.query], job.generated()
    with tempfile.TemporaryDirectory(prefix="nexmark-") as work:
        if (job.query, job.engine) not in WARM:
            _warm_up(started, query, Path(work))
            WARM.add((job.query, job.engine))
        figures = _measured(started, query, data, Path(work), job.out)
    return {"query": job.query, "engine": job.engine, **figures}


def _measured(started: Engine, query: Query, data: Path, work: Path, out: str) -> dict[str, Any]:
    (work / "timed").mkdir()
    since, clock, busy = time.time(), time.perf_counter(), _cpu()
    done = started.run(query, data, work / "timed")
    seconds, busy = time.perf_counter() - clock - done.aside, _cpu() - busy - done.aside
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results = done.results()
    if out:
        pq.write_table(results, out)
    return {"seconds": seconds, "cpu_seconds": busy, "rows_in": rows_in(query, data), "rows_out": results.num_rows,
            "results": results.num_rows, "state_rows": done.state_rows, "state_bytes": done.state_bytes,
            "shuffle_bytes": started.shuffled(since), "own_peak_mb": peak}


def _warm_up(started: Engine, query: Query, work: Path) -> None:
    """What is compiled or loaded on first use is not part of the figures."""
    write(work / "few", Nexmark(events=WARM_EVENTS), WARM_BATCHES)
    (work / "warm").mkdir()
    started.run(query, work / "few", work / "warm").results()


def _use(cores: int) -> None:
    """Keep this process and what it starts on so many cores, the last it may use."""
    pa.set_cpu_count(cores)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])


def _cpu() -> float:
    """Processor seconds of this process and everything below it, in all threads."""
    return time.process_time() + cpu_seconds()


if __name__ == "__main__":
    main()
