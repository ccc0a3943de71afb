"""Bytewax: ``fold_window`` over a ``SlidingWindower`` with an ``EventClock``, as its documentation has it.

This replays the past, so the clock's ``now_getter`` stands still and ``to_system_utc`` asks for no wake-up: with the
defaults the time the run takes would count as time that rows are late, and every key would wake at every step. Rows
are folded as they arrive, since its documentation names a penalty for ordering them first (none was seen on 20,000
rows); a tuple as accumulator was a sixth faster there than a list changed in place.

With the option ``pace`` batches come on a schedule of so many rows per second, and what is noted for every window in
the results of a batch is how long after its place in the schedule they were there. A clock belongs to a key, so that
batch is the first with a row of the key behind the window.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
import pyarrow as pa
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import TestingSink, run_main

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, batches, main, note, refuse

Bid = tuple[Any, datetime, float]
Totals = tuple[int, float, float]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EMPTY: Totals = (0, float("-inf"), 0.0)


def bids(batch: pa.RecordBatch) -> list[Bid]:
    return list(zip(*(batch.column(name).to_pylist() for name in ("item", "ts", "price")), strict=True))


class Schedule:
    """When batches are due, and how long after that results were there."""

    def __init__(self, pace: float) -> None:
        self.pace, self.start, self.due, self.number = pace, time.time(), 0.0, 0
        self.taken: dict[tuple[int, int], float] = {}

    def results(self, items: list[Any]) -> None:
        """A window counts once in a batch, when its last result is there."""
        after = time.time() - self.start - self.due
        self.taken.update(dict.fromkeys(((self.number, wid) for _, (wid, _) in items), after * 1000))


class Batches(StatelessSourcePartition):
    def __init__(self, parts: Iterable[list[Bid]], schedule: Schedule | None) -> None:
        self._parts, self._schedule = iter(parts), schedule
        self._next = next(self._parts, None)

    def next_batch(self) -> list[Bid]:
        if self._next is None:
            raise StopIteration
        part, self._next = self._next, next(self._parts, None)
        if self._schedule:
            self._schedule.due += len(part) / self._schedule.pace
            self._schedule.number += 1
        return part

    def next_awake(self) -> datetime | None:
        if not self._schedule or self._next is None:
            return None
        due = self._schedule.due + len(self._next) / self._schedule.pace
        return datetime.fromtimestamp(self._schedule.start + due, UTC)


class Source(DynamicSource):
    def __init__(self, parts: Iterable[list[Bid]], schedule: Schedule | None) -> None:
        self._parts, self._schedule = parts, schedule

    def build(self, _step_id: str, _worker_index: int, _worker_count: int) -> Batches:
        return Batches(self._parts, self._schedule)


class Watched(DynamicSink, StatelessSinkPartition):
    """Keeps results, and tells the schedule of them."""

    def __init__(self, found: list[Any], schedule: Schedule) -> None:
        self._found, self._schedule = found, schedule

    def build(self, _step_id: str, _worker_index: int, _worker_count: int) -> Watched:
        return self

    def write_batch(self, items: list[Any]) -> None:
        self._schedule.results(items)
        self._found.extend(items)


def fold(totals: Totals, bid: Bid) -> Totals:
    n, hi, total = totals
    price = bid[2]
    return n + 1, price if price > hi else hi, total + price


def merge(a: Totals, b: Totals) -> Totals:
    return a[0] + b[0], max(a[1], b[1]), a[2] + b[2]


def prepare(job: Job) -> Callable[[], list[Any]]:
    """Its best form in memory is lists of Python rows."""
    refuse(job, "sliding")
    if job.input == "memory":
        held = [bids(batch) for batch in batches(job)]
        return lambda: run(job, held)
    return lambda: run(job, map(bids, pq.ParquetFile(job.path).iter_batches(job.batch, use_threads=False)))


def run(job: Job, parts: Iterable[list[Bid]]) -> list[Any]:
    clock = win.EventClock(
        ts_getter=lambda bid: bid[1], wait_for_system_duration=timedelta(microseconds=job.late),
        now_getter=lambda: EPOCH, to_system_utc=lambda _: None)
    windower = win.SlidingWindower(
        length=timedelta(microseconds=job.range), offset=timedelta(microseconds=job.slide), align_to=EPOCH)
    flow, pace = Dataflow("bids"), job.options.get("pace", 0)
    schedule = Schedule(pace) if pace else None
    keyed = op.key_on("key", op.input("bids", flow, Source(parts, schedule)), lambda bid: str(bid[0]))
    windows = win.fold_window("windows", keyed, clock, windower, lambda: EMPTY, fold, merge, ordered=False)
    found: list[Any] = []
    late: list[Any] = []
    op.output("results", windows.down, Watched(found, schedule) if schedule else TestingSink(found))
    op.output("late", windows.late, TestingSink(late))
    run_main(flow)
    if schedule:
        note_latency(schedule)
    if late:
        raise SystemExit(f"{len(late)} rows were late; the job allows none")
    return found


def note_latency(schedule: Schedule) -> None:
    """Without what the end of the input completes: that comes when all is over."""
    taken = sorted(after for (number, _), after in schedule.taken.items() if number < schedule.number)
    if taken:
        note(latency_ms=taken[len(taken) // 2], latency_p99_ms=taken[len(taken) * 99 // 100], windows=len(taken))


def as_table(job: Job, results: list[Any]) -> pa.Table:
    key = str if job.text_keys else int
    rows = [(key(item), wid * job.slide + job.range, n, hi, total / n) for item, (wid, (n, hi, total)) in results]
    item, end, n, hi, mean = zip(*rows, strict=True)
    return pa.table({"item": item, "end": end, "n": n, "hi": hi, "mean": mean})


if __name__ == "__main__":
    main(prepare, as_table)
