"""How soon a result is there once its window is covered, at a steady rate of rows.

    python bench/embedded_latency.py                    # 100,000 rows/s for 30 s, twice: by punctuation, by lateness
    python bench/embedded_latency.py --quick            # for 3 s

Small batches are pushed on a schedule. The latency of a window runs from the push of the item that covers it (the
punctuation, or under ``late:`` the batch with the row that moves the bound past its end) to the moment its results are
in hand. A push that had to wait for the one before counts from its place in the schedule, so falling behind shows;
how punctually the system wakes this process is not the engine's and does not count.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from common import SECOND, START, bids, load_note, say, table_text, write_json

from panewise import Punctuation
from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.planner.options import RunOptions

MILLI = SECOND // 1000
QUERY = """
SELECT item, count(*) [RANGE :range, SLIDE :slide, WA ts] AS n, max(price) AS hi, avg(price) AS mean
FROM bids GROUP BY item
"""
TARGET = 20
"""Milliseconds that 99 of 100 windows should stay under."""


@dataclass(frozen=True)
class Due:
    """An item and when it is to be pushed, in seconds from the start."""

    at: float
    item: pa.RecordBatch | Punctuation


@dataclass
class Latencies:
    """What was seen, in milliseconds."""

    windows: list[float] = field(default_factory=list)
    pushes: list[float] = field(default_factory=list)
    busy: float = 0.0
    results: int = 0
    behind: int = 0
    """Pushes that had to wait for the one before."""

    def at(self, share: float) -> float:
        return float(np.percentile(self.windows, 100 * share)) if self.windows else float("nan")


def schedule(options: argparse.Namespace, progress: str) -> Iterator[Due]:
    """Batches as their last row arrives, and where the source punctuates a promise for each slide."""
    rows, late = int(options.rate * options.seconds), options.late * MILLI
    table = pa.concat_tables(bids(rows, keys=options.keys, rows_per_second=options.rate, late=late)).combine_chunks()
    slide, promised = options.slide * MILLI, START
    for number, batch in enumerate(table.to_batches(max_chunksize=options.batch), 1):
        at = number * options.batch / options.rate
        yield Due(at, batch)
        bound = (START + int(at * SECOND) - late) // slide * slide  # nothing later than ``late`` is still to come
        if progress == "punctuation" and bound > promised:
            promised = bound
            yield Due(at, Punctuation.below("ts", bound))


def open_query(options: argparse.Namespace, progress: str, schema: pa.Schema) -> Query:
    windows = {"range": f"{options.ratio * options.slide} ms", "slide": f"{options.slide} ms"}
    policy = "source" if progress == "punctuation" else f"late:{options.late} ms"
    return open_plan(plan_of(QUERY, {"bids": SourceSchema.of(schema)}, RunOptions(params=windows)), progress=policy,
                         strategy=options.strategy)


def run(query: Query, items: Sequence[Due], *, paced: bool = True) -> Latencies:
    seen = Latencies()
    start = free = time.perf_counter()
    before = -1.0
    for due in items:
        planned = start + due.at
        waiting = planned - time.perf_counter()
        if paced and waiting > 0:
            time.sleep(waiting)
        begun = time.perf_counter()
        late = free > planned
        results = query.push("bids", due.item)
        free = time.perf_counter()
        taken = (free - (planned if late else begun)) * 1000
        closed = len(pc.unique(pc.struct_field(results.column("window"), "end"))) if results.num_rows else 0
        seen.windows += [taken] * closed
        seen.pushes.append((free - begun) * 1000)
        seen.busy += free - begun
        seen.behind += late and due.at > before  # a punctuation follows its batch at once, and so always waits for it
        before = due.at
        seen.results += results.num_rows
    if query.late_count:
        raise SystemExit(f"{query.late_count} rows were late; the schedule allows none")
    return seen


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rate", type=int, default=100_000, help="rows per second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--batch", type=int, default=1_000, help="rows per push")
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--slide", type=int, default=100, help="milliseconds")
    parser.add_argument("--ratio", type=int, default=60, help="RANGE/SLIDE")
    parser.add_argument("--late", type=int, default=50, help="milliseconds that rows may be late")
    parser.add_argument("--progress", action="append", choices=["punctuation", "late"])
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--json", type=Path, help="append a JSON line per kind of progress to this file")
    parser.add_argument("--quick", action="store_true", help="3 seconds each")
    options = parser.parse_args()
    if options.quick:
        options.seconds = min(options.seconds, 3)
    return options


def main() -> None:
    options, load = arguments(), load_note()
    pa.set_cpu_count(1)
    lines, figures = [], []
    for progress in options.progress or ["punctuation", "late"]:
        items = list(schedule(options, progress))
        schema = next(due.item.schema for due in items if isinstance(due.item, pa.RecordBatch))
        run(open_query(options, progress, schema), items[:len(items) // 3], paced=False)  # compiles on first use
        say(f"progress by {progress}: {options.rate:,} rows/s for {options.seconds:g} s ...")
        seen = run(open_query(options, progress, schema), items)
        lines.append((progress, len(seen.windows), f"{seen.results:,}", f"{seen.at(0.5):.2f}", f"{seen.at(0.9):.2f}",
                      f"{seen.at(0.99):.2f}", f"{seen.at(1):.2f}", f"{np.median(seen.pushes):.2f}",
                      f"{seen.busy / options.seconds:.0%}", seen.behind))
        figures.append(_figures(progress, seen, options))
    print(f"{options.rate:,} rows/s in batches of {options.batch:,}, {options.keys:,} keys, count + max + avg, SLIDE "
          f"{options.slide} ms, RANGE/SLIDE = {options.ratio};\nmilliseconds from the covering item to the results "
          f"(target: p99 under {TARGET})\n")
    print(table_text(("progress by", "windows", "results", "median", "p90", "p99", "largest", "a push", "busy",
                      "pushes behind"), lines) + load)
    write_json(options.json, "embedded_latency", figures)


def _figures(progress: str, seen: Latencies, options: argparse.Namespace) -> dict[str, Any]:
    return {"progress": progress, "rate": options.rate, "batch": options.batch, "keys": options.keys,
            "slide_ms": options.slide, "ratio": options.ratio, "strategy": options.strategy,
            "windows": len(seen.windows), "median_ms": round(seen.at(0.5), 3), "p90_ms": round(seen.at(0.9), 3),
            "p99_ms": round(seen.at(0.99), 3), "max_ms": round(seen.at(1), 3),
            "busy": round(seen.busy / options.seconds, 4), "behind": seen.behind}


if __name__ == "__main__":
    main()
