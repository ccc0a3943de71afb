"""Joins of three windows at once against a tree of joins of two (Golab 5.3).

    python bench/many_joins.py [--seconds 20] [--repeat 3] [--json FILE]

The same streams through the same query, once in either way, time of the processor; results must be as many. *partners*
are the rows of a window that a row meets, *kept* the most rows and results in all operators, *chosen* what statistics
choose. Results over windows by rows are taken back: joined at once they are kept to be named, which is not counted.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import median, pin, rate, table_text, write_json

from panewise.core.schema import Catalog, SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.planner.choose.join_manner import Joins
from panewise.planner.choose.physical import relation_plan
from panewise.planner.statistics.relation_statistics import declared_relations
from panewise.progress.punctuation import Punctuation
from panewise.sql import parse

SCHEMA = pa.schema({"ts": pa.int64(), "a": pa.int64(), "b": pa.int64()})
TICKS = 1_000
"""Steps of the time column a second."""
STEPS = 20
"""Batches into which a run is cut, each followed by a promise."""
QUERY = "SELECT S1.b, S2.b AS c, S3.b AS d FROM {} WHERE S1.a = S2.a AND S2.a = S3.a"
IN_TIME = "RANGE 5000"


@dataclass(frozen=True)
class Case:
    """Rows per second and values of the join column, stream by stream."""

    name: str
    rates: tuple[int, int, int]
    values: tuple[int, int, int]
    window: str = IN_TIME


CASES = [
    Case("alike, 1 partner", (1000, 1000, 1000), (5000, 5000, 5000)),
    Case("alike, 3 partners", (600, 600, 600), (1000, 1000, 1000)),
    Case("alike, 10 partners", (200, 200, 200), (100, 100, 100)),
    Case("a rare third", (2000, 2000, 5), (2000, 2000, 2000)),
    Case("a rare first pair", (20, 20, 20000), (2000, 2000, 2000)),
    Case("by rows, 1 partner", (1000, 1000, 1000), (5000, 5000, 5000), "ROWS 5000"),
    Case("by rows, 3 partners", (600, 600, 600), (1000, 1000, 1000), "ROWS 3000"),
    Case("by rows, a rare third", (2000, 2000, 5), (2000, 2000, 2000), "ROWS 5000"),
]


def stream(rows_per_second: int, values: int, seconds: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    count = rows_per_second * seconds
    ts = np.arange(count) * TICKS // rows_per_second
    return pa.table({"ts": ts, "a": rng.integers(0, values, count), "b": np.arange(count)}, schema=SCHEMA)


def run(query: Query, streams: dict[str, pa.Table], seconds: int) -> tuple[float, int, int]:
    """Seconds, results, and the most rows that were kept."""
    results = kept = 0
    started, aside = time.process_time(), 0.0
    for step in range(1, STEPS + 1):
        until = seconds * TICKS * step // STEPS
        since = seconds * TICKS * (step - 1) // STEPS
        for name, table in streams.items():
            ts = table.column("ts").to_numpy()
            first, last = np.searchsorted(ts, [since, until])
            results += query.push(name, table.slice(first, last - first)).num_rows
            results += query.push(name, Punctuation.below("ts", until)).num_rows
        looking = time.process_time()
        kept = max(kept, sum(counters.get(name, 0) for counters in query.status(windows=0)["operators"]
                             for name in ("rows", "pairs", "results")))
        aside += time.process_time() - looking
    results += query.finish().num_rows
    return time.process_time() - started - aside, results, kept


def measure(case: Case, seconds: int, repeat: int) -> dict[str, Any]:
    each = list(enumerate(zip(case.rates, case.values, strict=True), start=1))
    streams = {f"S{i}": stream(r, v, seconds, i) for i, (r, v) in each}
    windows = ", ".join(f"{name} [{case.window}]" for name in streams)
    plan = parse(QUERY.format(windows), Catalog({name: SourceSchema.of(SCHEMA, time="ts") for name in streams}))
    known = declared_relations({f"S{i}": {"rows_per_second": r / TICKS, "a": v} for i, (r, v) in each})
    running = open_plan(plan).relation.physical.running
    predicted = bool(relation_plan(running, known=known).at_once)
    decided = {"once": relation_plan(running, known=known, joins=Joins.parse("at once"), generous=True),
               "two": relation_plan(running, generous=True)}
    times: dict[str, list[float]] = {"two": [], "once": []}
    found: dict[str, tuple[int, int]] = {}
    for number in range(repeat + 1):
        for way in ("two", "once") if number % 2 else ("once", "two"):
            query = open_plan(running, decided=decided[way])
            taken, *found[way] = run(query, streams, seconds)
            if number:  # the first loads what is compiled
                times[way].append(taken)
    if found["two"][0] != found["once"][0]:
        raise SystemExit(f"{case.name}: {found['two'][0]:,} results by twos, {found['once'][0]:,} at once")
    ratios = [two / once for two, once in zip(times["two"], times["once"], strict=True)]
    rows = sum(table.num_rows for table in streams.values())
    return {"case": case.name, "rows": rows, "results": found["two"][0], "seconds_by_twos": median(times["two"]),
            "seconds_at_once": median(times["once"]), "times_faster": median(ratios),
            "kept_by_twos": found["two"][1], "kept_at_once": found["once"][1], "predicted": predicted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20, help="of event time")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pin()
    found = [measure(case, options.seconds, options.repeat) for case in CASES]
    print(table_text(
        ("streams", "rows", "results", "by twos", "at once", "rows/s", "times faster", "kept by twos", "kept at once",
         "chosen"),
        [(one["case"], f"{one['rows']:,}", f"{one['results']:,}", f"{one['seconds_by_twos']:.2f} s",
          f"{one['seconds_at_once']:.2f} s", rate(one["rows"] / one["seconds_at_once"]), f"{one['times_faster']:.2f}",
          f"{one['kept_by_twos']:,}", f"{one['kept_at_once']:,}", "at once" if one["predicted"] else "by twos")
         for one in found]))
    write_json(options.json, "many_joins", found)


if __name__ == "__main__":
    main()
