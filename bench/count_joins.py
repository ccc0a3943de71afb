"""A join of two windows by rows: by expiry catalogues (ORD), with negative tuples (NT), and by this engine.

    python bench/count_joins.py [count] [trace] [mixed] [--windows 10000 100000] [--matches 25 100] [--rows 2000]
                                [--exponents 0.5] [--negative-rows 2000] [--told] [--repeat 3] [--json FILE]

A result leaves with the first of its two rows, and nobody knows beforehand when that is. *Negatives* and *ORD* are
compiled loops that put nothing out, so that they compare as algorithms (``published_expiry``). *This engine* is a query
that tells what came and what went as Arrow tables, in order. All get the same rows, the windows' fill first; the rows
after it are timed, one core, time of the processor. What came and went must be the same in number.

*count*: every row has so many partners. *trace*: Q6 of the publication, local hosts of one half of a trace with remote
hosts of the other, 1,647 hosts by Zipf's law, so that the number of partners follows from the data; negatives take so
long over the most frequent hosts that fewer rows may be timed. *mixed*: windows over time and by rows, and windows by
rows of each of five partitions (protocols). There the engine also keeps the results, to be read at any time, by their
expiry vectors and with negative tuples of its own (*kept*).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from common import load_note, median, pin, say, table_text, write_json
from published_expiry import Run, Windows, by_partition, by_rows, by_time, with_catalogues, with_negatives

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan

Ints = npt.NDArray[np.int64]
COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64(), "p": pa.int64()})
TEXT = "SELECT a.ts, b.ts, a.k FROM a [{}], b [{}] WHERE a.k = b.k"
BATCH = 1_000
HOSTS, PROTOCOLS = 1_647, 5
COUNT, TIME, PARTITIONED = "ROWS {}", "RANGE {} ticks", "PARTITION BY p ROWS {}"
MIXED = {"time, count": (TIME, COUNT), "partitioned, partitioned": (PARTITIONED, PARTITIONED),
         "time, partitioned": (TIME, PARTITIONED), "count, partitioned": (COUNT, PARTITIONED)}


@dataclass(frozen=True)
class Join:
    """Two windows of about so many rows each, and what comes."""

    kinds: tuple[str, str]
    window: int
    values: dict[str, Ints]
    partitions: dict[str, Ints]

    @classmethod
    def drawn(cls, kinds: tuple[str, str], window: int, values: dict[str, Ints]) -> Join:
        rng = np.random.default_rng(7)
        return cls(kinds, window, values, {name: rng.integers(0, PROTOCOLS, len(values[name])) for name in "ab"})

    @property
    def query(self) -> str:
        sizes = {COUNT: self.window, TIME: 2 * self.window, PARTITIONED: self.window // PROTOCOLS}
        return TEXT.format(*(kind.format(sizes[kind]) for kind in self.kinds))

    @property
    def tables(self) -> dict[str, pa.Table]:
        return {name: pa.table({"ts": 2 * np.arange(len(part)) + (name == "b"), "k": part,
                                "p": self.partitions[name]}, schema=COLUMNS) for name, part in self.values.items()}

    def windows(self, rows: int) -> Windows:
        """As a schedule, of the first rows."""
        leaves = []
        for side, (name, kind) in enumerate(zip("ab", self.kinds, strict=True)):
            if kind is PARTITIONED:
                leaves.append(by_partition(self.partitions[name][:rows], side, self.window // PROTOCOLS))
            else:
                leaves.append(by_rows(rows, side, self.window) if kind is COUNT else
                              by_time(rows, side, 2 * self.window))
        return Windows((self.values["a"][:rows], self.values["b"][:rows]), (leaves[0], leaves[1]))

    def published(self, algorithm: Any, rows: int) -> Run:
        """An algorithm over the rows that fill the windows, and so many that are timed."""
        count = self.window + rows
        found: Run = algorithm(self.windows(count), 2 * self.window, 2 * count)
        return found

    def engine(self, *, style: str = "upa", kept: bool = False) -> Run:
        """The same as a query."""
        schemas = {name: SourceSchema.of(COLUMNS) for name in "ab"}
        query = open_plan(plan_of(self.query, schemas), progress="ordered", strategy=style, current=kept)
        tables, rows = self.tables, len(self.values["a"])
        came, went, seconds = 0, 0, 0.0
        for first in range(0, rows, BATCH):
            started = time.process_time()
            parts = [query.push(name, tables[name].slice(first, BATCH)) for name in "ab"]
            if first + BATCH >= rows:
                last = pa.table({"ts": [2 * rows], "k": [-1], "p": [-1]}, schema=COLUMNS)
                parts += [query.push(name, last) for name in "ab"]
            if first >= self.window:
                seconds += time.process_time() - started
            changes = np.concatenate([part.column("change").to_numpy() for part in parts])
            came, went = came + int(np.count_nonzero(changes > 0)), went + int(np.count_nonzero(changes < 0))
        return Run(seconds, came, went)


def uniform(window: int, matches: int, rows: int) -> dict[str, Ints]:
    """Join values of two streams of which every row has so many partners."""
    rng = np.random.default_rng(5)
    return {name: rng.integers(0, window // matches, window + rows) for name in "ab"}


def hosts(window: int, exponent: float, rows: int) -> dict[str, Ints]:
    """Hosts of two halves of a trace: the n-th most frequent has 1/n to the power of the exponent of its rows."""
    rng = np.random.default_rng(5)
    shares = 1 / np.arange(1, HOSTS + 1) ** exponent
    return {name: rng.choice(HOSTS, window + rows, p=shares / shares.sum()) for name in "ab"}


def partners(join: Join) -> float:
    """How many rows of the other window a row meets, on average."""
    one, other = (np.bincount(part[: join.window], minlength=int(part.max()) + 1) for part in join.values.values())
    width = min(len(one), len(other))
    return float(one[:width] @ other[:width]) / join.window


def measure(part: str, join: Join, options: argparse.Namespace, *, kept: bool) -> dict[str, Any]:
    few = min(options.negative_rows or options.rows, options.rows)
    ways = {"negatives": lambda: join.published(with_negatives, few),
            "ord": lambda: join.published(with_catalogues, options.rows), "engine": join.engine}
    if kept:
        ways |= {"kept": lambda: join.engine(kept=True), "kept_negatives": lambda: join.engine(kept=True,
                                                                                               style="negative")}
    spent: dict[str, list[float]] = {name: [] for name in ways}
    counts: dict[str, set[tuple[int, int]]] = {"few": set(), "all": set()}
    for _ in range(options.repeat):
        for name, way in ways.items():
            run = way()
            spent[name].append(run.seconds)
            counts["few" if name == "negatives" and few < options.rows else "all"].add((run.came, run.went))
    if few < options.rows:
        again = join.published(with_catalogues, few)
        counts["few"].add((again.came, again.went))
    assert all(len(found) <= 1 for found in counts.values()), f"different numbers came and went: {counts}"
    us = {name: 1e6 * median(seconds) / (2 * (few if name == "negatives" else options.rows))
          for name, seconds in spent.items()}
    return {"part": part, "window": join.window, "matches": partners(join), "windows": ", ".join(join.query.split("[")[
        i].partition("]")[0] for i in (1, 2)), "results": max(counts["all"])[0],
        **{f"{name}_us": us[name] for name in us}, "times": us["negatives"] / us["ord"],
        "engine_times": us["negatives"] / us["engine"]}


def joins(options: argparse.Namespace) -> list[tuple[str, Join, bool]]:
    """Everything that is measured: under which name, and whether also with results that are kept."""
    found = []
    for window in options.windows:
        if "count" in options.parts:
            found += [("count", Join.drawn((COUNT, COUNT), window, uniform(window, matches, options.rows)), False)
                      for matches in options.matches]
        if "trace" in options.parts:
            found += [(f"trace, exponent {exponent:g}", Join.drawn((COUNT, COUNT), window,
                                                                   hosts(window, exponent, options.rows)), False)
                      for exponent in options.exponents]
        if "mixed" in options.parts:
            found += [(f"mixed: {name}", Join.drawn(kinds, window, uniform(window, matches, options.rows)),
                       not options.told) for name, kinds in MIXED.items() for matches in options.matches]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[], help="count, trace, mixed; count unless named")
    parser.add_argument("--windows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--matches", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--exponents", type=float, nargs="+", default=[0.5], help="of Zipf's law")
    parser.add_argument("--rows", type=int, default=2_000, help="timed rows of each stream")
    parser.add_argument("--negative-rows", type=int, help="fewer of them for negatives")
    parser.add_argument("--told", action="store_true", help="no results are kept: they take 200 bytes each")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.parts = options.parts or ["count"]
    pin()
    note = load_note()
    for way in (with_catalogues, with_negatives):
        Join.drawn((COUNT, COUNT), 100, uniform(100, 5, 50)).published(way, 50)  # compiled before anything is timed
    lines = []
    for name, join, kept in joins(options):
        lines.append(measure(name, join, options, kept=kept))
        say(f"{name}: {join.window:,} rows, {lines[-1]['matches']:.0f} partners: {lines[-1]['times']:.0f}")
    print(table_text(["what", "rows per window", "partners per row", "negatives us/row", "ORD", "negatives/ORD",
                      "this engine", "negatives/engine", "engine, kept", "kept, its negatives"],
                     [[x["part"], f"{x['window']:,}", f"{x['matches']:.0f}", f"{x['negatives_us']:,.1f}",
                       f"{x['ord_us']:.2f}", f"{x['times']:,.0f}", f"{x['engine_us']:.1f}", f"{x['engine_times']:,.1f}",
                       *(f"{x[name]:.1f}" if name in x else "" for name in ("kept_us", "kept_negatives_us"))]
                      for x in lines]) + note)
    write_json(options.json, "count_joins", lines)


if __name__ == "__main__":
    main()
