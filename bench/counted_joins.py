"""Q7-2, a count per minute over a join of two links, with the join exchanged (Li, figures 7-6 and 7-7: X7, X8).

    python bench/counted_joins.py [--ranges 1 2 3 4 5 6 7 8 9] [--rate 4000] [--seconds 190] [--flows 4096]
                                  [--promises 10] [--repeat 3] [--json FILE]

The query is planned and run by the embedded engine. Under its window count stands OA-Join, or a join that keeps order
in its place: *output buffered* (OPOB) or *input buffered* (OPIB). Everything else is the same, the columns that the
join keeps and puts out (only M1.ts is counted) included. Both links are in order and in step, in so many batches a
second, each followed by its promise.

Every run is a process of its own, and the joins take turns; of several runs the median counts.

*state*: the bytes of all that join and count hold, the largest after any item. *process*: how far the memory of the
process rose above what it was before the first row, in the system's account, until the links end. *latency*: by the
clock, from the arrival of the promise that completes a window to its result being there, the median over the windows of
all runs; *latency CPU* is the processor's time in it, for machines that have other things to do. Windows that are
closed by the end of a link are left out, since there all that was held leaves at once. *since M1*: processor time from
the promise of M1 alone that covers the window, so with the work until M2 is as far as the join needs it. *CPU*: all the
query's work. The results of all joins must be the same before anything is compared.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import SECOND, START, TIMESTAMP, load_note, median, pin, table_text, write_json
from in_order_joins import InputBufferedJoin, OrderedJoin, OutputBufferedJoin
from stream_joins import Packets

from panewise.api.query import plan_of
from panewise.core.join_kinds import LEFT, RIGHT
from panewise.core.ordinals import Ordinals
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.dataflow.operators.stream_join import StreamJoin
from panewise.progress.punctuation import END, Punctuation

Q7_2 = """SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA M1.ts] AS n
          FROM M1 [RANGE {n} s, WA ts], M2 [RANGE {n} s, WA ts]
          WHERE M1.srcIP = M2.destIP AND M1.destIP = M2.srcIP AND M1.srcPort = M2.destPort
                AND M1.destPort = M2.srcPort"""
COLUMNS = {"ts": TIMESTAMP, "srcIP": pa.int64(), "destIP": pa.int64(), "srcPort": pa.int32(), "destPort": pa.int32()}
LINKS = ("M1", "M2")
MINUTE = 60 * SECOND
OURS = "OA-Join"
IN_ORDER: dict[str, Callable[[Any], OrderedJoin]] = {
    "output buffered": OutputBufferedJoin, "input buffered": InputBufferedJoin}
JOINS = (OURS, *IN_ORDER)


@dataclass(frozen=True)
class Job:
    """One run of the query."""

    join: str
    range: int
    rate: int
    seconds: int
    flows: int
    promises: int


class InItsPlace:
    """A join in order where the engine has OA-Join.

    The engine can take back an item that is refused; here none is, so a mark is nothing.
    """

    def __init__(self, join: OrderedJoin) -> None:
        self.spec = join.spec
        self.process, self.advance = join.process, join.advance
        self._join = join

    behind = None
    """None of the rows that it is given is late."""

    def mark(self) -> None:
        pass

    def rollback(self) -> None:
        raise AssertionError("nothing is refused here")

    @property
    def size(self) -> int:
        return self._join.size


class Counted:
    """The query with one of the joins."""

    def __init__(self, join: str, reach: int) -> None:
        schemas = {link: SourceSchema(dict(COLUMNS), time="ts") for link in LINKS}
        self.query = open_plan(plan_of(Q7_2.format(n=reach), schemas))
        [self.operator] = [node.operator for node in self.query.graph.nodes if isinstance(node.operator, StreamJoin)]
        if join != OURS:
            exchanged: Any = InItsPlace(IN_ORDER[join](self.operator.join.spec))
            self.operator.join = exchanged

    @property
    def size_of_count(self) -> int:
        """What the count holds, in bytes."""
        assert self.query.windows is not None
        return int(self.query.windows.kernel.counters()["bytes"])


Item = tuple[int, int, Any]
"""Link, up to when it has come, rows or promise."""


def links(job: Job) -> Iterator[Item]:
    """Both links in order and in step; their flows are there before the first item is asked for."""
    return _links(job, Packets(job.flows))


def _links(job: Job, packets: Packets) -> Iterator[Item]:
    step = SECOND // job.promises
    for begin in range(START, START + job.seconds * SECOND, step):
        for side in (LEFT, RIGHT):
            yield side, begin + step, packet_batch(packets, side, begin, begin + step, job.rate // job.promises)
            yield side, begin + step, Punctuation.below("ts", begin + step)
    for side in (LEFT, RIGHT):
        yield side, START + job.seconds * SECOND, END


def packet_batch(packets: Packets, side: int, begin: int, end: int, count: int) -> pa.RecordBatch:
    times: Ordinals = np.sort(packets.rng.integers(begin, end, count))
    return packets.table(side, times).rename_columns(list(COLUMNS)).to_batches()[0]


@dataclass
class Run:
    """What the query did with a join."""

    state_bytes: int = 0
    process_bytes: int | None = None
    latencies: list[float] = field(default_factory=list)
    """Of each window, in seconds, since the promise that completes it."""
    latencies_cpu: list[float] = field(default_factory=list)
    """The same in processor time."""
    since_m1: list[float] = field(default_factory=list)
    """Of each window, in processor time, since M1 has promised it."""
    seconds: float = 0.0
    cpu: float = 0.0
    counts: list[tuple[int, int]] = field(default_factory=list)
    """The start of each window, in seconds, and the number of pairs in it."""


def run(job: Job) -> Run:
    """All items through the query; they are made while no clock runs."""
    counted, found, of_count = Counted(job.join, job.range), Run(), 0
    items = links(job)
    before, covered = forget_peak(), dict[int, float]()
    for side, until, item in items:
        if side == LEFT and isinstance(item, Punctuation) and item is not END and until % MINUTE == 0:
            covered[until - MINUTE] = found.cpu
        if item is END and side == LEFT and before is not None:
            found.process_bytes = peak() - before
        started, used = time.perf_counter(), time.process_time()
        results = counted.query.push(LINKS[side], item)
        worked, took = time.process_time() - used, time.perf_counter() - started
        found.cpu += worked
        found.seconds += took
        if until % (5 * SECOND) == 0:  # it is small and hardly changes, but to ask for it costs more than an item
            of_count = counted.size_of_count
        found.state_bytes = max(found.state_bytes, counted.operator.join.size + of_count)
        for row in results.to_pylist():
            start = round(row["window"]["start"].timestamp())
            found.counts.append((start, row["n"]))
            if item is not END:
                found.latencies.append(took)
                found.latencies_cpu.append(worked)
                found.since_m1.append(found.cpu - covered[start * SECOND])
    return found


def forget_peak() -> int | None:
    """Let the system's account of the largest memory of this process begin anew; what it has now, in bytes.

    What was freed before is given back first: it would be used again without being seen.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        return peak()
    except (OSError, TypeError, AttributeError):  # another system, or not allowed here
        return None


def peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


# -- the runs of all joins -------------------------------------------------------------------------------------------


def apart(job: Job) -> Run:
    """A run in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--job", json.dumps(asdict(job))], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise SystemExit(f"{job} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def measured(options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """A line for every join, by range."""
    for reach in options.ranges:
        runs: dict[str, list[Run]] = {join: [] for join in JOINS}
        for _ in range(options.repeat):
            for join in JOINS:
                runs[join].append(apart(Job(join, reach, options.rate, options.seconds, options.flows,
                                            options.promises)))
        yield compared(runs, reach, options.flows)


def compared(runs: dict[str, list[Run]], reach: int, flows: int) -> list[dict[str, Any]]:
    """The figures of all joins, and how often those of OA-Join they are."""
    expected = sorted(runs[OURS][0].counts)
    for join, of_join in runs.items():
        for one in of_join:
            if sorted(one.counts) != expected:
                raise SystemExit(f"{join} counts {sorted(one.counts)}, and {OURS} {expected}: RANGE {reach} s")
    lines = [{"part": "Q7-2", "range": reach, "flows": flows, "join": join, "windows": len(expected),
              "pairs": sum(count for _, count in expected), "runs": len(of_join), **_figures(of_join)}
             for join, of_join in runs.items()]
    ours = dict(lines[0])
    for line in lines:
        line |= {f"{figure}_times": line[figure] / ours[figure] if ours[figure] and line[figure] is not None and
                 ours[figure] >= least else None for figure, least in FIGURES.items()}
    return lines


FIGURES = {"state_bytes": 0, "process_bytes": 2**20, "latency_ms": 0, "latency_cpu_ms": 0, "since_m1_ms": 0,
           "seconds": 0, "cpu": 0}
"""What is compared, from which size on: a process that has run before finds room for little without growing."""


def _figures(runs: Sequence[Run]) -> dict[str, float | None]:
    resident = [one.process_bytes for one in runs if one.process_bytes is not None]
    return {"state_bytes": max(one.state_bytes for one in runs),
            "process_bytes": median(resident) if resident else None,
            "latency_ms": _milliseconds([took for one in runs for took in one.latencies]),
            "latency_cpu_ms": _milliseconds([took for one in runs for took in one.latencies_cpu]),
            "since_m1_ms": _milliseconds([took for one in runs for took in one.since_m1]),
            "seconds": median([one.seconds for one in runs]), "cpu": median([one.cpu for one in runs])}


def _milliseconds(seconds: Sequence[float]) -> float | None:
    return 1000 * median(seconds) if seconds else None


def report(lines: Sequence[dict[str, Any]]) -> str:
    def shown(line: dict[str, Any], figure: str, unit: float, digits: int) -> list[str]:
        value, times = line[figure], line[f"{figure}_times"]
        return ["" if value is None else f"{value / unit:.{digits}f}", "" if times is None else f"{times:.2f}"]

    rows = [[f"{line['range']} s", line["join"], *shown(line, "state_bytes", 2**20, 2),
             *shown(line, "process_bytes", 2**20, 1), *shown(line, "latency_ms", 1, 2),
             *shown(line, "latency_cpu_ms", 1, 2), *shown(line, "since_m1_ms", 1, 1), *shown(line, "cpu", 1, 2),
             f"{line['pairs']:,}"] for line in lines]
    return table_text(["range", "join", "state MiB", "x", "process MiB", "x", "latency ms", "x", "latency CPU ms", "x",
                       "since M1 ms", "x", "CPU s", "x", "pairs"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranges", type=int, nargs="+", default=list(range(1, 10)), help="of both links, in seconds")
    parser.add_argument("--rate", type=int, default=4_000, help="packets per second and link")
    parser.add_argument("--seconds", type=int, default=190, help="of stream; a window needs a minute and the range")
    parser.add_argument("--flows", type=int, default=4_096, help="fewer flows have more pairs")
    parser.add_argument("--promises", type=int, default=10, help="batches and promises per second and link")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    pin()
    if options.job:
        job = Job(**json.loads(options.job))
        run(Job(job.join, job.range, 200, 61 + job.range, 50, 1))  # compiled loops are loaded
        print(json.dumps(asdict(run(job))))
        return
    note, lines = load_note(), []
    for of_range in measured(options):
        lines += of_range
        write_json(options.json, "counted_joins", of_range)
    print(report(lines) + note)


if __name__ == "__main__":
    main()
