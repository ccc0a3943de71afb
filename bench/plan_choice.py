"""Does the plan that should be cheapest run fastest? Candidates of relational queries on the embedded engine.

    python bench/plan_choice.py [--seconds 60] [--repeat 3] [--json FILE]

Every query has several plans with the same answer. Each is run on the same streams; beside its estimated cost stands
the time it took, the least of several. The last column is the time of the chosen plan by that of the fastest.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from common import pin

from panewise.core.schema import Catalog
from panewise.dataflow import open_plan
from panewise.plan.nodes import Node
from panewise.planner.choose.optimizer import Optimized, optimize
from panewise.planner.statistics.relation_sampling import measured_relations
from panewise.progress.punctuation import Punctuation
from panewise.sql import parse

SCHEMA = pa.schema({"ts": pa.int64(), "a": pa.int64(), "b": pa.int64()})
STEPS = 20
"""Batches into which a run is cut, each followed by a promise."""
TICKS = 1_000
"""Steps of the time column a second."""
AT_MOST = 6
"""Candidates that are run: the cheapest, and the query as written."""


@dataclass(frozen=True)
class Scenario:
    """A query and what its streams are like: rows per second and values of the join column."""

    name: str
    query: str
    streams: Mapping[str, tuple[int, int]]


NEGATION = ("SELECT * FROM S1 [RANGE 10000], S2 [RANGE 10000] WHERE S1.a = S2.a AND NOT EXISTS "
            "(SELECT * FROM S3 [RANGE 10000] WHERE S3.a = S1.a)")
THREE = "SELECT * FROM S1 [RANGE 10000], S2 [RANGE 10000], S3 [RANGE 10000] WHERE S1.a = S2.a AND S2.a = S3.a"
SCENARIOS = [
    Scenario("negation, many pairs", NEGATION, {"S1": (1000, 300), "S2": (1000, 300), "S3": (200, 300)}),
    Scenario("negation, few pairs", NEGATION, {"S1": (10000, 20000), "S2": (20, 20000), "S3": (1000, 20000)}),
    Scenario("join, small last", THREE, {"S1": (2000, 1000), "S2": (2000, 1000), "S3": (2, 1000)}),
    Scenario("join, all alike", THREE, {"S1": (300, 1000), "S2": (300, 1000), "S3": (300, 1000)}),
]


def stream(rows_per_second: int, values: int, seconds: int, seed: int) -> pa.Table:
    """Uniform values at a steady rate."""
    rng, rows = np.random.default_rng(seed), rows_per_second * seconds
    return pa.table({"ts": np.sort(rng.integers(0, seconds * TICKS, rows)), "a": rng.integers(0, values, rows),
                     "b": rng.integers(0, 10, rows)})


def run(plan: Node, tables: Mapping[str, pa.Table], seconds: int) -> tuple[float, int]:
    """Seconds and results of one run."""
    query = open_plan(plan)
    started, results = time.perf_counter(), 0
    width = seconds * TICKS // STEPS
    for step in range(STEPS):
        for name, table in tables.items():
            times = table.column("ts").to_numpy()
            low, high = np.searchsorted(times, [step * width, (step + 1) * width])
            results += query.push(name, table.slice(int(low), int(high - low))).num_rows
        for name in tables:
            results += query.push(name, Punctuation.below("ts", (step + 1) * width)).num_rows
    results += query.finish().num_rows
    return time.perf_counter() - started, results


def measure(scenario: Scenario, seconds: int, repeat: int) -> list[dict[str, object]]:
    """Every candidate of one scenario."""
    tables = {name: stream(rate, values, seconds, seed)
              for seed, (name, (rate, values)) in enumerate(scenario.streams.items())}
    plan = parse(scenario.query, Catalog.of(**dict.fromkeys(scenario.streams, SCHEMA)))
    found: Optimized = optimize(plan, measured_relations(plan, {name: [table] for name, table in tables.items()}))
    shown = list({c.formula: c for c in reversed(found.candidates)}.values())[::-1][:AT_MOST]
    shown += [c for c in found.candidates if not c.by and c.formula not in {s.formula for s in shown}]
    lines: list[dict[str, object]] = []
    few = {name: table.slice(0, 1_000) for name, table in tables.items()}
    for candidate in shown:
        run(candidate.plan, few, seconds)  # compiles what is compiled on first use
        runs = [run(candidate.plan, tables, seconds) for _ in range(repeat)]
        lines.append({"scenario": scenario.name, "plan": candidate.formula, "from": candidate.origin,
                      "cost": candidate.cost.total, "seconds": min(r for r, _ in runs), "results": runs[0][1],
                      "chosen": candidate.formula == found.chosen.formula})
    return lines


def main() -> None:
    """Print a table a scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="of event time")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pin()
    lines = []
    for scenario in SCENARIOS:
        found = measure(scenario, options.seconds, options.repeat)
        fastest = min(float(str(line["seconds"])) for line in found)
        print(f"\n{scenario.name}: {', '.join(f'{k} {r}/s of {v} values' for k, (r, v) in scenario.streams.items())}")
        for line in found:
            mark = "*" if line["chosen"] else " "
            print(f"{mark} {line['plan']!s:40} cost {line['cost']:>12,.0f}  {line['seconds']:>7.3f} s  "
                  f"{float(str(line['seconds'])) / fastest:5.2f}  {line['results']:>9,} results")
        lines += found
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
