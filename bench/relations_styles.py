"""Continuous relations in three styles: by update pattern, with negative tuples, direct (Golab, experiments X3.1-X3.7).

    python bench/relations_styles.py [throughput] [styles] [--windows 2000 20000 200000] [--batch 200] [--timed 100]
                                     [--kept] [--repeat 3] [--json FILE]

*throughput*: a window join with one match per input row, one core. *styles*: two links with one connection per tick
each, sources and destinations by Zipf's law (1,647 sources), as a stand-in for the trace of the thesis (joins and
negation also get sources that are seen seldom, or every pair would meet; where a join and a negation are put in either
order, a source of one link has about one partner on another, as in the trace); the queries of its figures. The windows
are filled first; then some batches are timed, each of which moves the clock of the query once. Time is that of the
processor, per 1,000 rows; state is what all operators and the result hold at the end of the input. Results whose ends
are known are told once; with *kept* they are kept as well, so that the relation can be read at any time. All styles
must give the same results.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import load_note, machine, median, pin, rate, table_text

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.plan.nodes import Node
from panewise.planner.options import RunOptions

STYLES = ("upa", "negative", "direct")
SOURCES = 1_647
FTP = 0.05
"""The share of connections that transfer files."""
COLUMNS = pa.schema({"ts": pa.int64(), "src": pa.int64(), "dst": pa.int64(), "protocol": pa.string()})

QUERIES = {
    "X3.1 join, ftp": "SELECT * FROM a [RANGE :w], b [RANGE :w] WHERE a.src = b.src AND a.protocol = 'ftp' "
                      "AND b.protocol = 'ftp'",
    "X3.2 join, telnet": "SELECT * FROM a [RANGE :w], b [RANGE :w] WHERE a.src = b.src AND a.protocol = 'telnet' "
                         "AND b.protocol = 'telnet'",
    "X3.3 distinct sources": "SELECT DISTINCT src FROM a [RANGE :w]",
    "X3.4 distinct pairs": "SELECT DISTINCT src, dst FROM a [RANGE :w]",
    "X3.6 without partners": "SELECT * FROM a [RANGE :w] WHERE NOT EXISTS "
                             "(SELECT * FROM b [RANGE :w] WHERE b.src = a.src)",
    "X3.7 join, then without": "SELECT * FROM a [RANGE :w], b [RANGE :w] WHERE a.src = b.src AND a.protocol = 'ftp' "
                               "AND b.protocol = 'ftp' AND NOT EXISTS (SELECT * FROM c [RANGE :w] WHERE "
                               "c.src = a.src)",
    "X3.7 without, then join": "SELECT * FROM (SELECT * FROM a [RANGE :w] WHERE protocol = 'ftp' AND NOT EXISTS "
                               "(SELECT * FROM c [RANGE :w] WHERE c.src = a.src)) AS a, b [RANGE :w] "
                               "WHERE a.src = b.src AND b.protocol = 'ftp'",
    "aggregate by source": "SELECT src, count(*) AS n, max(dst) AS top FROM a [RANGE :w] GROUP BY src",
}


@dataclass(frozen=True)
class Links:
    """Connections on some links, one per tick and link."""

    rows: int
    batch: int
    window: int
    meeting: str
    """Who meets whom: `sources` of the trace alone; `strangers`, sources that are seen seldom beside them; `partners`,
    about one for each."""

    def table(self, link: str) -> pa.Table:
        """One link."""
        rng = np.random.default_rng(sum(link.encode()))
        protocol = rng.choice(["ftp", "telnet", "smtp"], self.rows, p=[FTP, 0.2, 0.8 - FTP])
        src = self._partners(rng, protocol, link) if self.meeting == "partners" else self._by_zipf(rng)
        return pa.table({"ts": np.arange(self.rows), "src": src, "dst": rng.zipf(1.2, self.rows) % 10_000,
                         "protocol": protocol}, schema=COLUMNS)

    def _by_zipf(self, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """Long windows have more strangers, so that how often sources meet does not depend on the window."""
        strangers = 0.0 if self.meeting == "sources" else 0.7
        seldom = SOURCES + rng.integers(0, max(SOURCES, self.window // 2), self.rows)
        return np.where(rng.random(self.rows) >= strangers, rng.zipf(1.3, self.rows) % SOURCES, seldom)

    def _partners(self, rng: np.random.Generator, protocol: np.ndarray[Any, Any], link: str) -> np.ndarray[Any, Any]:
        """As many sources of ftp as a window has of its rows; the third link is seen to have every fifth from them."""
        sources = max(int(FTP * self.window), 1)
        of_ftp = rng.random(self.rows) < 0.2 if link == "c" else protocol == "ftp"
        return np.where(of_ftp, rng.integers(0, sources, self.rows),
                        sources + rng.integers(0, max(SOURCES, self.window // 2), self.rows))


def plan(text: str, window: int) -> Node:
    schemas = {name: SourceSchema.of(COLUMNS) for name in "abc"}
    return plan_of(text, schemas, RunOptions(params={"w": f"{window} ticks"}))


def run(query: Query, tables: dict[str, pa.Table], batch: int, warm: int) -> tuple[float, int, int, int]:
    """Seconds of the processor after the warm-up, rows timed, all results, bytes of state at the end of the input."""
    rows = next(iter(tables.values())).num_rows
    cuts = [*range(0, warm, max(warm // 100, 1)), *range(warm, rows, batch), rows]
    results, started, timed = 0, time.process_time(), 0
    for first, end in pairwise(cuts):
        if first == warm:
            started = time.process_time()
        for name in query.streams:
            results += query.push(name, tables[name].slice(first, end - first)).num_rows
            timed += end - first if first >= warm else 0
    seconds, state = time.process_time() - started, query.status()["state_bytes"]
    return seconds, timed, results + query.finish().num_rows, state


def styles(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every query, window and style."""
    lines = []
    chosen = {n: t for n, t in QUERIES.items() if not options.queries or any(q in n for q in options.queries)}
    for name, text in chosen.items():
        for window in options.windows:
            meeting = "sources" if "DISTINCT" in text else "partners" if "X3.7" in name else "strangers"
            links = Links(window + options.timed * options.batch, options.batch, window, meeting)
            tables = {link: links.table(link) for link in open_plan(plan(text, window)).streams}
            answers, seconds, last = set(), {style: list[float]() for style in STYLES}, dict[str, tuple[int, int]]()
            for _ in range(options.repeat):  # in turns, so that no style has the quiet or the warm machine to itself
                for style in STYLES:
                    query = open_plan(plan(text, window), progress="ordered", strategy=style,
                                          current=options.kept)
                    spent, timed, results, state = run(query, tables, options.batch, window)
                    seconds[style].append(1000 * spent / timed)
                    last[style] = results, state
                    answers.add(results)
            lines += [{"bench": "styles", "query": name, "window": window, "style": style, "results": last[style][0],
                       "ms_per_1000_rows": 1000 * median(seconds[style]), "state_bytes": last[style][1]}
                      for style in STYLES]
            # counters show a value once, from its first copy to its last; delta* names representatives in turn
            assert len(answers) == 1 or "DISTINCT" in text, f"{name}: styles differ: {answers}"
    return lines


def throughput(options: argparse.Namespace) -> list[dict[str, Any]]:
    """A join with one match per row."""
    lines = []
    rng = np.random.default_rng(1)
    window, rows = 100_000, options.rows // 2
    schema = pa.schema({"ts": pa.int64(), "k": pa.int64(), "v": pa.float64()})
    tables = {name: pa.table({"ts": np.arange(rows) + rng.integers(0, 50, rows), "k": rng.integers(0, window, rows),
                              "v": rng.random(rows)}, schema=schema) for name in "ab"}
    text = "SELECT * FROM a [RANGE :w], b [RANGE :w] WHERE a.k = b.k"
    for batch in (1_000, 10_000, 100_000):
        speeds = []
        for _ in range(options.repeat):
            query = open_plan(plan_of(text, {n: SourceSchema.of(schema) for n in "ab"},
                                      RunOptions(params={"w": f"{window} ticks"})), progress="late:50")
            seconds, timed, results, _ = run(query, tables, batch, 0)
            speeds.append(timed / seconds)
        lines.append({"bench": "throughput", "batch": batch, "rows_per_second": median(speeds),
                      "matches_per_row": results / timed})
    return lines


def report(lines: list[dict[str, Any]]) -> str:
    parts = []
    speeds = [line for line in lines if line["bench"] == "throughput"]
    if speeds:
        parts.append(table_text(["batch", "input rows per processor second", "matches per row"],
                                [[f"{x['batch']:,}", rate(x["rows_per_second"]), f"{x['matches_per_row']:.2f}"]
                                 for x in speeds]))
    found = {(x["query"], x["window"], x["style"]): x for x in lines if x["bench"] == "styles"}
    rows = []
    for query, window in dict.fromkeys((q, w) for q, w, _ in found):
        one = [found[query, window, style] for style in STYLES]
        rows.append([query, f"{window:,}", *(_milliseconds(x["ms_per_1000_rows"]) for x in one),
                     *(f"{x['ms_per_1000_rows'] / one[0]['ms_per_1000_rows']:.1f}" for x in one[1:]),
                     *(f"{x['state_bytes'] / 1024:,.0f}" for x in one)])
    if rows:
        parts.append(table_text(["query", "window", "upa ms", "negative", "direct", "negative/upa", "direct/upa",
                                 "upa KiB", "negative", "direct"], rows))
    return "\n\n".join(parts)


def _milliseconds(found: float) -> str:
    return f"{found:.2f}" if found >= 0.1 else f"{found:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[], help="throughput, styles; both unless named")
    parser.add_argument("--queries", nargs="+", default=[], help="those whose names contain one of these texts")
    parser.add_argument("--windows", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--timed", type=int, default=100, help="batches that are timed when windows are full")
    parser.add_argument("--kept", action="store_true", help="the relation is kept, to be read at any time")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pin()
    note = load_note()
    parts = {"throughput": throughput, "styles": styles}
    lines = [line for name, work in parts.items() if name in (options.parts or parts) for line in work(options)]
    print(report(lines) + note)
    if options.json:
        with options.json.open("a") as file:
            file.writelines(json.dumps({**line, "machine": machine()}) + "\n" for line in lines)


if __name__ == "__main__":
    main()
