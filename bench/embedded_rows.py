"""Cost per row of windows that count rows against their length: slide-by-tuple and row windows, one core.

    python bench/embedded_rows.py [--rows 3000000] [--batch 10000] [--json FILE]

Measured is the stream as it runs, without what the end of the input closes. One row in a hundred is late: it comes up
to 50,000 rows after its place. Half of these are in time for the promises of the source, the others break them; what
becomes of those is the late policy's decision. Every measurement is a line of the table, and with --json a line of JSON
in the file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.tuple_slide import TupleSlideWindow

STEP = 10
"""Ticks between two rows."""
DELAY = 50_000
"""How many rows late a late row may be."""
SIZES = (1_000, 10_000, 100_000, 1_000_000)
PRICE = (Scalar.column("price"),)
CALLS = {"count": AggregateCall("n", "count"), "max": AggregateCall("hi", "max", PRICE),
         "avg": AggregateCall("mean", "avg", PRICE)}
KEYS = 1_000


@dataclass(frozen=True)
class Shape:
    """A kind of window and what is asked of it; ``spec`` makes one of so many rows."""

    name: str
    calls: tuple[str, ...]
    every: int = 1
    by_position: bool = False
    keyed: bool = False
    newest: bool = False
    rank: bool = False
    late: str = "drop"

    def spec(self, size: int) -> WindowSpec:
        """The window with ``size`` rows in it, of all keys together."""
        if not self.by_position:
            return TupleSlideWindow(size * STEP, self.every, "rank" if self.rank else "arrival")  # type: ignore[arg-type]
        if self.newest:
            return CountWindow(size, self.every)
        return PartitionedRowWindow(size // KEYS, self.every) if self.keyed else RowWindow(size, self.every)


ALL = ("count", "max", "avg")
SHAPES = (
    *(Shape("slide by tuple", (call,)) for call in ALL),
    Shape("slide by tuple", ALL),
    Shape("slide by tuple, generous", ALL, late="generous"),
    Shape("every 10 rows by rank", ALL, every=10, rank=True),
    Shape("row window, SLIDE 1", ALL, by_position=True),
    Shape("row window, SLIDE 100", ALL, every=100, by_position=True),
    Shape("n newest rows", ALL, by_position=True, newest=True),
    Shape("row window per key", ALL, by_position=True, keyed=True),
)


def bids(rows: int) -> pa.Table:
    """Bids in the order they come: one in a hundred up to ``DELAY`` rows after its place."""
    rng = np.random.default_rng(11)
    place = np.arange(rows, dtype=np.float64)
    tardy = rng.random(rows) < 0.01
    place[tardy] += rng.integers(1, DELAY, int(tardy.sum()))
    order = np.argsort(place, kind="stable")
    return pa.table({"ts": pa.array((np.arange(rows) * STEP)[order]), "item": pa.array(rng.integers(0, KEYS, rows)),
                     "price": pa.array(rng.integers(1, 10_000, rows).astype(float))})


def plan(schema: pa.Schema, shape: Shape, size: int) -> WindowAggregate:
    attribute, ordinal = ("row-num", OrdinalKind.ROWS) if shape.by_position else ("ts", OrdinalKind.INTEGER)
    keys = (NamedScalar.column("item"),) if shape.keyed else ()
    clause = WindowClause(shape.spec(size), attribute, ordinal, ("item",) if shape.keyed else ())
    source = Source("bids", SourceSchema.of(schema, time="ts"))
    return WindowAggregate(source, clause, keys, tuple(CALLS[name] for name in shape.calls))


def measure(table: pa.Table, shape: Shape, size: int, batch: int) -> dict[str, object]:
    query = open_plan(plan(table.schema, shape, size), late=shape.late,
                          progress="source" if shape.by_position else f"late:{STEP * DELAY // 2}")
    rows, results = table.num_rows, 0
    started, busy = time.perf_counter(), time.process_time()
    for part in table.to_batches(max_chunksize=batch):
        results += query.push("bids", part).num_rows
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    return {"bench": "embedded_rows", "window": shape.name, "aggregates": ", ".join(shape.calls), "window_rows": size,
            "rows_per_second": round(rows / seconds), "microseconds_per_row": round(1e6 * seconds / rows, 3),
            "rows_per_cpu_second": round(rows / busy), "rows": rows, "batch": batch, "results": results,
            "late": query.late_count, "state_bytes": query.status()["state_bytes"]}


def measurements(table: pa.Table, batch: int, only: str) -> Iterator[dict[str, object]]:
    shapes = [shape for shape in SHAPES if only in shape.name]
    warm = table.slice(0, 20_000)
    for shape in shapes:  # compiled loops are read from the cache once
        measure(warm, shape, 1_000, 5_000)
    for shape in shapes:
        for size in SIZES:
            yield measure(table, shape, size, batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--only", default="", help="windows whose name contains this")
    parser.add_argument("--json", type=Path, help="a file that gets one line of JSON per measurement")
    options = parser.parse_args()
    pa.set_cpu_count(1)
    table = bids(options.rows)
    lines: list[str] = []
    print(f"{'window':<26} {'aggregates':<16} {'rows in window':>14} {'million rows/s':>14} {'per CPU s':>9} "
          f"{'µs/row':>7} {'state MB':>9}")
    for found in measurements(table, options.batch, options.only):
        lines.append(json.dumps(found))
        print(f"{found['window']:<26} {found['aggregates']:<16} {found['window_rows']:>14,} "
              f"{float(str(found['rows_per_second'])) / 1e6:>14.2f} "
              f"{float(str(found['rows_per_cpu_second'])) / 1e6:>9.2f} {found['microseconds_per_row']:>7.2f} "
              f"{float(str(found['state_bytes'])) / 1e6:>9.1f}", flush=True)
    if options.json:
        options.json.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
