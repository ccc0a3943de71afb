"""panewise: Arrow batches pushed into a query on the embedded engine, results taken as they come.

From memory the batches are as large as the job says; files are read in the pieces that panewise's own reader makes.
With the option ``pace`` they are pushed on a schedule of so many rows per second, and the latency of every window is
noted: from the place in the schedule of the batch that covers it to its results.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.dataflow import Query, open_plan

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import Job, aside, main, note, read
from questions import ORIGIN, question

from panewise.api.query import plan_of
from panewise.files.reader import FileStream

Part = tuple[str, pa.RecordBatch]
ENDLESS = ("rows",)
"""Windows that the end of the input does not complete; the question is for complete ones."""


def prepare(job: Job) -> Callable[[], list[pa.Table]]:
    """The compiled loops are loaded by the warm-up; reading a file in batches is part of the run."""
    run(job.warm_up, parts(job.warm_up, "memory"), paced=False)
    if job.input == "memory":
        held = list(parts(job, "memory"))
        return lambda: run(job, held)
    return lambda: run(job, parts(job, "files"))


def parts(job: Job, way: str) -> Iterator[Part]:
    """The batches of all streams in the order they come; those of a join in turn."""
    if job.kind != "join":
        return side("bids", job.path, job.batch, way)
    sides = (side(name, f"{job.path}/{name}", job.batch, way) for name in ("a", "b"))
    return (part for part in chain.from_iterable(zip_longest(*sides)) if part is not None)


def side(name: str, path: str, batch: int, way: str) -> Iterator[Part]:
    """One stream."""
    found = read(path).combine_chunks().to_batches(batch) if way == "memory" else FileStream.open(path).items()
    for part in found:
        yield name, part


def open_query(job: Job) -> Query:
    streams = ("a", "b") if job.kind == "join" else ("bids",)
    first = f"{job.path}/a" if job.kind == "join" else job.path
    schema = FileStream.open(first).schema
    progress = "source" if job.kind == "rows" else f"late:{job.late} us"
    return open_plan(plan_of(question(job), dict.fromkeys(streams, schema)), progress=progress,
                     strategy=job.options.get("strategy", "auto"))


def run(job: Job, items: Iterable[Part], *, paced: bool = True) -> list[pa.Table]:
    """The results of one query, or of several at once, each with all batches."""
    jobs = list(job.each) if job.kind == "queries" else [job]
    queries = [open_query(one) for one in jobs]
    pace = job.options.get("pace", 0) if paced else 0
    found = pushed_on_time(queries, items, job, pace) if pace else [
        [query.push(name, part) for query in queries] for name, part in items]
    with aside():
        states = [query.status(windows=0) for query in queries]
        note(state_bytes=sum(int(one["state_bytes"]) for one in states),
             state_rows=sum(int(one["partials"]) + int(one["buffered"]) for one in states))
    if job.kind not in ENDLESS:
        found.append([query.finish() for query in queries])
    if late := sum(query.late_count for query in queries):
        raise SystemExit(f"{late} rows were late; the job allows none")
    return [pa.concat_tables(tables) for tables in zip(*found, strict=True)]


def pushed_on_time(queries: list[Query], items: Iterable[Part], job: Job, pace: float) -> list[list[pa.Table]]:
    """Push each batch when its last row is due."""
    found, latencies, due, behind = [], [], 0.0, 0
    start = time.perf_counter()
    for name, part in items:
        due += part.num_rows / pace
        wait = start + due - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        behind += wait < 0
        tables = [query.push(name, part) for query in queries]
        taken = (time.perf_counter() - start - due) * 1000
        for table in tables:
            ended = len(pc.unique(pc.struct_field(table.column("window"), "end"))) if table.num_rows else 0
            latencies += [taken] * ended
        found.append(tables)
    median, p99 = np.percentile(latencies, [50, 99]) if latencies else (None, None)
    note(latency_ms=median, latency_p99_ms=p99, windows=len(latencies), behind=behind)
    return found


def as_table(job: Job, results: list[pa.Table]) -> pa.Table:
    if job.kind == "queries":
        return pa.concat_tables(as_table(one, [table]).append_column("query", pa.array([number] * table.num_rows))
                                for number, (one, table) in enumerate(zip(job.each, results, strict=True)))
    table = results[0]
    if job.kind == "join":
        for name in ("ts", "other"):
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, table.column(name).cast(pa.int64()))
        return table
    if "window" in table.column_names:
        end = pc.struct_field(table.column("window"), "end").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    elif job.kind == "cumulate":
        end = pc.add(pc.multiply(pc.add(table.column("wid"), 1), job.slide), ORIGIN)
    else:
        end = table.column("wid")
    if "item" not in table.column_names:
        table = table.append_column("item", pa.array(np.zeros(table.num_rows, np.int64)))
    return table.append_column("end", end)


if __name__ == "__main__":
    main(prepare, as_table)
