"""Throughput of the embedded engine on one core: by batch size, RANGE/SLIDE, kind of key and strategy.

    python bench/embedded_throughput.py                                  # 10 million bids, three rounds
    python bench/embedded_throughput.py --quick                          # 1 million, one round
    python bench/embedded_throughput.py --strategy wid --strategy panes  # kernels side by side
    python bench/embedded_throughput.py --beside ../before --ratio 20    # beside another version of the sources

Batches lie in memory; every combination runs once a round, so that other load hits all. Before the clock starts, each
has run on 100,000 rows, which loads the compiled loops; the clock runs from the first batch to the last result. Below
the table stand the two ratios that matter: what long windows cost beside short ones, and text keys beside integers.
With ``--beside`` processes of this version and of the one in that directory (a git worktree) take turns, one round
each; printed is how much processor time this one takes per row, beside the other one's. So it uses public names only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from common import LATE, SECOND, bids, load_note, median, pin, rate, say, spread, spread_text, table_text, write_json

import panewise as pw

PANE = 4 * SECOND
WARM_ROWS = 100_000
QUERY = """
SELECT item, count(*) [RANGE :range, SLIDE :slide, WA ts] AS n, max(price) AS hi, avg(price) AS mean
FROM bids GROUP BY item
"""


@dataclass(frozen=True)
class Setting:
    """One combination."""

    keys: str
    ratio: int
    batch: int
    strategy: str


@dataclass
class Outcome:
    """What one combination did, round by round."""

    rows: int
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    results: int = 0
    state_bytes: int = 0

    @property
    def rates(self) -> list[float]:
        return [self.rows / seconds for seconds in self.seconds]

    @property
    def cpu_rates(self) -> list[float]:
        return [self.rows / seconds for seconds in self.cpu_seconds]


def run(setting: Setting, parts: list[pa.RecordBatch], outcome: Outcome) -> None:
    """Push everything once; the state is looked at after the last batch, before the end of the input closes it."""
    windows = {"range": f"{setting.ratio * PANE // SECOND} s", "slide": f"{PANE // SECOND} s"}
    query = pw.open_query(QUERY, params=windows, progress=f"late:{LATE // SECOND}s", strategy=setting.strategy,
                          bids=parts[0].schema)
    started, busy = time.perf_counter(), time.process_time()
    results = [query.push("bids", part) for part in parts]
    paused, paused_busy = time.perf_counter(), time.process_time()
    outcome.state_bytes = query.status()["state_bytes"]
    started += time.perf_counter() - paused
    busy += time.process_time() - paused_busy
    results.append(query.finish())
    outcome.seconds.append(time.perf_counter() - started)
    outcome.cpu_seconds.append(time.process_time() - busy)
    outcome.results = sum(part.num_rows for part in results)
    if query.late_count:
        raise SystemExit(f"{query.late_count} rows were late; the data allows none")


def figures(outcomes: dict[Setting, Outcome]) -> str:
    head = ("keys", "strategy", "batch", "RANGE/SLIDE", "rows/s", "spread", "rows/CPU s", "results", "state KB")
    lines = [(s.keys, s.strategy, f"{s.batch:,}", s.ratio, rate(median(o.rates)), spread_text(o.rates),
              rate(median(o.cpu_rates)), f"{o.results:,}", f"{o.state_bytes / 1024:,.0f}")
             for s, o in outcomes.items()]
    return table_text(head, lines)


def compared(outcomes: dict[Setting, Outcome]) -> list[dict[str, Any]]:
    """Ratios of throughput within each round: the longest window to the shortest, text keys to integers."""
    found = []
    shortest, longest = min(s.ratio for s in outcomes), max(s.ratio for s in outcomes)
    for setting, outcome in outcomes.items():
        if setting.ratio == longest != shortest:
            other = outcomes[Setting(setting.keys, shortest, setting.batch, setting.strategy)]
            found.append({"what": f"RANGE/SLIDE {longest} to {shortest}", "keys": setting.keys, "batch": setting.batch,
                          "strategy": setting.strategy, "ratio": _ratio(outcome, other)})
    for setting, outcome in outcomes.items():
        other = outcomes.get(Setting("integer", setting.ratio, setting.batch, setting.strategy))
        if setting.keys == "text" and other is not None:
            found.append({"what": f"text to integer keys, RANGE/SLIDE {setting.ratio}", "keys": "both",
                          "batch": setting.batch, "strategy": setting.strategy, "ratio": _ratio(outcome, other)})
    return found


def _ratio(outcome: Outcome, other: Outcome) -> float:
    """By processor time: one process alone, so other load on the core must not count."""
    return median([a / b for a, b in zip(outcome.cpu_rates, other.cpu_rates, strict=True)])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--items", type=int, default=1_000, help="how many keys")
    parser.add_argument("--keys", action="append", choices=["integer", "text"])
    parser.add_argument("--ratio", type=int, action="append", help="RANGE/SLIDE; may be given several times")
    parser.add_argument("--batch", type=int, action="append", help="rows per batch; may be given several times")
    parser.add_argument("--strategy", action="append", help="kernel; may be given several times")
    parser.add_argument("--disorder", type=float, default=0.05)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--beside", type=Path, help="a directory with another version of the sources, in src")
    parser.add_argument("--json", type=Path, help="append a JSON line per combination to this file")
    parser.add_argument("--quick", action="store_true", help="1 million rows, one round")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeat = min(options.rows, 1_000_000), 1
    return options


def beside(options: argparse.Namespace) -> None:
    """Rounds of this version and of another by turns, each in a process of its own."""
    flags = [f"--{name}={value}" for name in ("rows", "items", "disorder") for value in [getattr(options, name)]]
    flags += [f"--{name}={value}" for name in ("keys", "ratio", "batch", "strategy")
              for value in getattr(options, name) or ()]
    here = Path(__file__).resolve().parent
    costs: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for number in range(1, options.repeat + 1):
        rounds = [_one_round(here, sources, flags) for sources in (options.beside / "src", here.parent / "src")]
        for setting, other in rounds[0].items():
            costs.setdefault(setting, []).append((1 / other, 1 / rounds[1][setting]))
        say(f"round {number} of {options.repeat}")
    lines = [(keys, strategy, f"{batch:,}", ratio, rate(median([1 / old for old, _ in found])),
              rate(median([1 / new for _, new in found])), f"{median([new / old for old, new in found]):.2f}")
             for (keys, ratio, batch, strategy), found in costs.items()]
    print(f"{options.rows:,} bids, {options.items:,} keys, count + max + avg, by turns with {options.beside}, "
          f"median of {options.repeat}\n")
    head = ("keys", "strategy", "batch", "RANGE/SLIDE", "rows/CPU s there", "rows/CPU s here", "cost here to there")
    print(table_text(head, lines))


def _one_round(here: Path, sources: Path, flags: list[str]) -> dict[tuple[Any, ...], float]:
    """Rows per second of processor time of every combination, by the sources in a directory."""
    with TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        subprocess.run([sys.executable, str(here / Path(__file__).name), *flags, "--repeat=1", f"--json={report}"],
                       check=True, stdout=subprocess.DEVNULL,
                       env=os.environ | {"PYTHONPATH": os.pathsep.join([str(sources), str(here)])})
        found = [json.loads(line) for line in report.read_text().splitlines()]
    return {(r["keys"], r["ratio"], r["batch"], r["strategy"]): r["rows_per_cpu_second"] for r in found
            if "rows_per_cpu_second" in r}


def main() -> None:
    options, load = arguments(), load_note()
    if options.beside:
        beside(options)
        return
    pin()
    kinds = options.keys or ["integer", "text"]
    settings = [Setting(*combination) for combination in product(
        kinds, options.ratio or [1, 20, 60, 300], options.batch or [1_000, 10_000, 100_000],
        options.strategy or ["auto"])]
    data = {kind: pa.concat_tables(bids(options.rows, keys=options.items, disorder=options.disorder,
                                        text_keys=kind == "text")).combine_chunks() for kind in kinds}
    parts = {(kind, batch): table.to_batches(max_chunksize=batch)
             for kind, table in data.items() for batch in {s.batch for s in settings}}
    for setting in settings:  # compiles what is compiled on first use, also for windows that close on the way
        few = parts[setting.keys, setting.batch][:max(2, WARM_ROWS // setting.batch)]
        run(setting, few, Outcome(0))
    outcomes = {setting: Outcome(options.rows) for setting in settings}
    for number in range(1, options.repeat + 1):
        for setting, outcome in outcomes.items():
            run(setting, parts[setting.keys, setting.batch], outcome)
            say(f"round {number} of {options.repeat}: {setting.keys} keys, RANGE/SLIDE {setting.ratio}, "
                f"batches of {setting.batch:,}, {setting.strategy}: {rate(outcome.rates[-1])} rows/s")
    ratios = compared(outcomes)
    print(f"{options.rows:,} bids, {options.items:,} keys, count + max + avg, panes of 4 s, {options.disorder:.0%} "
          f"out of order, one core, median of {options.repeat}\n")
    print(figures(outcomes))
    if ratios:
        print("\n" + table_text(("throughput of", "keys", "strategy", "batch", "ratio"), [
            (r["what"], r["keys"], r["strategy"], f"{r['batch']:,}", f"{r['ratio']:.2f}") for r in ratios]))
    if load:
        print(load[1:])
    write_json(options.json, "embedded_throughput", [
        *({**vars(s), "rows": o.rows, "rows_per_second": round(median(o.rates)), "spread": round(spread(o.rates), 3),
           "rows_per_cpu_second": round(median(o.cpu_rates)), "results": o.results, "state_bytes": o.state_bytes}
          for s, o in outcomes.items()), *ratios])


if __name__ == "__main__":
    main()
