"""Throughput of the embedded engine: count, max and avg over sliding windows, one core.

    python bench/embedded_wid.py [--rows 10000000] [--keys 1000] [--batch 100000]

Prints rows per second for RANGE/SLIDE of 1 and 60 and a JSON line that a machine can compare.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.engines.embedded import EmbeddedQuery
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.windows.sliding import SlidingWindow

SECOND = 1_000_000
SLIDE = 4 * SECOND


def bids(rows: int, keys: int, panes: int, *, text_keys: bool) -> pa.Table:
    """Bids spread evenly over the panes, up to two seconds out of order."""
    rng = np.random.default_rng(7)
    ts = np.sort(rng.integers(0, panes * SLIDE, rows)) - rng.integers(0, 2 * SECOND, rows)
    codes = rng.integers(0, keys, rows)
    names = pa.array([f"item-{i}" for i in range(keys)])
    key = names.take(pa.array(codes)) if text_keys else pa.array(codes)
    return pa.table({"ts": pa.array(ts).cast(pa.timestamp("us", tz="UTC")), "item": key,
                     "price": rng.integers(1, 10_000, rows).astype(float)})


def plan(schema: pa.Schema, ratio: int) -> WindowAggregate:
    price = (Scalar.column("price"),)
    calls = (AggregateCall("n", "count"), AggregateCall("hi", "max", price), AggregateCall("mean", "avg", price))
    clause = WindowClause(SlidingWindow(ratio * SLIDE, SLIDE), "ts", OrdinalKind.TIMESTAMP)
    return WindowAggregate(Source("bids", SourceSchema.of(schema)), clause, (NamedScalar.column("item"),), calls)


def measure(table: pa.Table, ratio: int, batch: int) -> dict[str, float]:
    query = EmbeddedQuery(plan(table.schema, ratio), progress="late:2s")
    started, busy, results = time.perf_counter(), time.process_time(), 0
    for part in table.to_batches(max_chunksize=batch):
        results += query.push("bids", part).num_rows
    results += query.finish().num_rows
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    return {"ratio": ratio, "batch": batch, "rows_per_second": round(table.num_rows / seconds), "results": results,
            "seconds": round(seconds, 2), "rows_per_cpu_second": round(table.num_rows / busy), "late": query.late_count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--panes", type=int, default=250, help="slides of 4 s that the rows are spread over")
    parser.add_argument("--batch", type=int, action="append", help="rows per batch; may be given several times")
    parser.add_argument("--integer-keys", action="store_true")
    options = parser.parse_args()
    pa.set_cpu_count(1)
    table = bids(options.rows, options.keys, options.panes, text_keys=not options.integer_keys)
    for batch in options.batch or [10_000, 100_000]:
        for ratio in (1, 60):
            found = measure(table, ratio, batch)
            print(f"RANGE/SLIDE {ratio:>2}, batches of {batch:>7,}: {found['rows_per_second'] / 1e6:.2f} M rows/s "
                  f"({found['rows_per_cpu_second'] / 1e6:.2f} M per second of CPU), "
                  f"{found['results']:,} results in {found['seconds']} s")
            print(json.dumps({"bench": "embedded_wid", **found}))


if __name__ == "__main__":
    main()
