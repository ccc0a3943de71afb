"""Aggregates over continuous relations: what a row costs, and what is kept, by the length of the window.

    python bench/relation_aggregates.py [--lengths 1000 10000 100000] [--batch 200] [--timed 100] [--repeat 3]
                                        [--queries NAME …] [--json FILE]

One row per tick. A window of n rows is filled first; a stream without a window gets n rows first, so that its lines say
what a row costs, and what is kept, after so many. Then some batches are timed, each of which moves the clock of the
query once. Time is that of the processor; *rows* and *KiB* are what the aggregate keeps at the end. Nothing should grow
from line to line: what a row costs depends on the step it comes in, not on the rows that are there.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import load_note, pin, table_text, write_json

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan

COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64(), "v": pa.int64(), "x": pa.float64()})
KEYS = 100
QUERIES = {
    "sum": "SELECT sum(v) AS s FROM a [RANGE :w]",
    "max": "SELECT max(v) AS top FROM a [RANGE :w]",
    "sum of floats": "SELECT sum(x) AS s FROM a [RANGE :w]",
    "max by key": "SELECT k, max(v) AS top FROM a [RANGE :w] GROUP BY k",
    "max by key, last": "SELECT k, max(v) AS top, last(v) AS newest FROM a [RANGE :w] GROUP BY k",
    "max of newest": "SELECT max(v) AS top FROM a [ROWS :w]",
    "max of two windows": "SELECT max(v) AS top FROM (SELECT v FROM a [RANGE :w] UNION ALL SELECT v FROM b [RANGE :h])",
    "sum, unbounded": "SELECT sum(v) AS s FROM a",
    "max, unbounded": "SELECT max(v) AS top FROM a",
    "sum of floats, unbounded": "SELECT sum(x) AS s FROM a",
    "max by key, unbounded": "SELECT k, max(v) AS top FROM a GROUP BY k",
    "max since, unbounded": "SELECT max(v) AS top FROM a [UNBOUNDED START AT 3]",
}


def rows_of(name: str, count: int) -> pa.Table:
    """Values without a trend, so that the largest changes now and then."""
    rng = np.random.default_rng(sum(name.encode()))
    return pa.table({"ts": np.arange(count), "k": rng.integers(0, KEYS, count), "v": rng.integers(0, 1 << 40, count),
                     "x": rng.random(count)}, schema=COLUMNS)


def measure(name: str, length: int, batch: int, timed: int) -> dict[str, Any]:
    """One run of one query."""
    schemas = {stream: SourceSchema.of(COLUMNS) for stream in "ab"}
    text = QUERIES[name].replace(":w", str(length)).replace(":h", str(length // 2))
    query = open_plan(plan_of(text, schemas), progress="ordered")
    tables = {stream: rows_of(stream, length + (timed + 2) * batch) for stream in query.streams}
    results = 0
    for first in range(0, length, 20_000):
        for stream, table in tables.items():
            query.push(stream, table.slice(first, min(20_000, length - first)))
    seconds = 0.0
    for step in range(timed + 2):  # the first two are not timed: they may compile, and put what came before in order
        started = time.process_time()
        for stream, table in tables.items():
            results += query.push(stream, table.slice(length + step * batch, batch)).num_rows
        seconds += time.process_time() - started if step >= 2 else 0.0
    kept = next(o for o in query.status()["operators"] if o["operator"] == "GroupAggregate")
    rows = timed * batch * len(tables)
    return {"query": name, "length": length, "us_per_row": 1e6 * seconds / rows, "results": results,
            "rows": kept["rows"], "bytes": kept["bytes"]}


def main(arguments: list[str] | None = None) -> None:
    """Every query at every length, the least of some runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=(1_000, 10_000, 100_000))
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--timed", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=list(QUERIES))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    note = load_note()
    pin()
    measured = [min((measure(name, length, options.batch, options.timed) for _ in range(options.repeat)),
                    key=lambda run: run["us_per_row"]) for name in options.queries for length in options.lengths]
    head = ["query", "length", "us/row", "rows", "KiB"]
    print(table_text(head, [[m["query"], f"{m['length']:,}", f"{m['us_per_row']:.2f}", f"{m['rows']:,}",
                             f"{m['bytes'] / 1024:,.0f}"] for m in measured]) + note)
    write_json(options.json, "relation_aggregates", measured)


if __name__ == "__main__":
    main()
