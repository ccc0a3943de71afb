"""panewise: Arrow batches pushed into a query on the embedded engine, results taken as they come.

From memory the batches are as large as the job says; files are read in the pieces that panewise's own reader makes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))
from adapter import MICROS, Job, batches, main

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.engines.embedded import EmbeddedQuery
from panewise.files.reader import FileStream

QUERY = """
SELECT item, count(*) [RANGE :range, SLIDE :slide, WA ts] AS n, max(price) AS hi, avg(price) AS mean
FROM bids GROUP BY item
"""


def prepare(job: Job) -> Callable[[], pa.Table]:
    """The compiled loops are loaded by the warm-up; reading a file in batches is part of the run."""
    run(job.warm_up, batches(job.warm_up))
    if job.input == "memory":
        held = batches(job)
        return lambda: run(job, held)
    return lambda: run(job, FileStream.open(job.path).items())


def run(job: Job, parts: Iterable[pa.RecordBatch]) -> pa.Table:
    windows = {"range": f"{job.range / MICROS:g} s", "slide": f"{job.slide / MICROS:g} s"}
    schema = SourceSchema.of(pq.read_schema(job.path))
    query = EmbeddedQuery(plan_of(QUERY, {"bids": schema}, windows), progress=f"late:{job.late / MICROS:g}s",
                          strategy=job.options.get("strategy", "auto"))
    results = [query.push("bids", part) for part in parts]
    results.append(query.finish())
    if query.late_count:
        raise SystemExit(f"{query.late_count} rows were late; the job allows none")
    return pa.concat_tables(results)


def as_table(_job: Job, results: pa.Table) -> pa.Table:
    end = pc.struct_field(results.column("window"), "end").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    return results.append_column("end", end)


if __name__ == "__main__":
    main(prepare, as_table)
