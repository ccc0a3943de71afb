"""The embedded engine beside what one would otherwise pick: same files, same results, one core, one interleaved run.

    python bench/embedded_peers.py                        # 10 million bids, RANGE/SLIDE = 60, three rounds
    python bench/embedded_peers.py --quick                # 1 million, one round
    python bench/embedded_peers.py --peers duckdb,polars  # some only

The job is count, max and avg per key over sliding windows, panes of 4 s, 5 % of the rows out of order, in batches of
10,000. Each contender runs in a process of its own on the same core and, round by round, one after the other, so that
other load hits all. Results are compared before anything is reported: counts and maxima exactly, averages to 1e-9. Slow
contenders get a prefix of the rows, and are compared with this project's results on that prefix. Two ways in: ``files``
reads the Parquet file while the clock runs, ``memory`` starts with the data loaded in the contender's best form.
Imports come before the clock starts, and for panewise, DuckDB and Polars a run on 100,000 rows, which loads what is
compiled; parsing the query and putting the results together are timed. Every round is a new process, whose memory is
not mapped yet.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from common import LATE, SECOND, bids, last_core, load_note, median, rate, say, spread_text, table_text, write_json
from contenders import ENVIRONMENTS, Contender, Failure
from suite.compare import differences

PANE = 4 * SECOND
OURS = "panewise"
WARM_ROWS = 100_000


@dataclass
class Entry:
    """A contender with one way in, and what it did."""

    contender: Contender
    input: str
    rows: int
    python: str = ""
    version: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)
    results: Path | None = None
    differences: int | None = None
    failure: str = ""

    def rates(self, per: str = "seconds") -> list[float]:
        return [self.rows / run[per] for run in self.runs]

    def middle(self, figure: str) -> float:
        return median([run[figure] for run in self.runs])


class Comparison:
    """The contenders, the data they share and the rounds."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.entries = [self._entry(Contender.named(name), way) for way in options.input for name in options.peers]
        self._references: dict[int, Path] = {}
        for rows in sorted({WARM_ROWS, *(entry.rows for entry in self.entries)}):
            self._write(rows)

    def _entry(self, contender: Contender, way: str) -> Entry:
        rows = self.options.rows
        if contender.rows is not None:
            limit = contender.rows // 2 if self.options.quick else contender.rows
            rows = min(rows, self.options.slow_rows or limit)
        entry = Entry(contender, way, rows)
        try:
            entry.python = contender.python(self.options.environments)
            entry.version = contender.version(entry.python)
        except Failure as failure:
            entry.failure = str(failure)
        return entry

    def _file(self, rows: int) -> Path:
        return self.folder / f"bids-{rows}.parquet"

    def _write(self, rows: int) -> None:
        parts = bids(rows, keys=self.options.keys, disorder=self.options.disorder, text_keys=self.options.text_keys,
                     seed=self.options.seed)
        first = next(parts)
        with pq.ParquetWriter(self._file(rows), first.schema) as out:
            out.write_table(first)
            for part in parts:
                out.write_table(part)

    def _run(self, entry: Entry, out: Path | None) -> dict[str, Any]:
        options = self.options
        job = {"path": str(self._file(entry.rows)), "warm_path": str(self._file(WARM_ROWS)), "out": str(out or ""),
               "input": entry.input, "rows": entry.rows, "batch": options.batch, "range": options.ratio * PANE,
               "slide": PANE, "late": LATE, "text_keys": options.text_keys, "core": options.core,
               "options": {"strategy": options.strategy}}
        return entry.contender.run(entry.python, job, options.timeout)

    def round(self, number: int) -> None:
        """Each contender once, the fast ones close together; the first round keeps the results."""
        in_turn = sorted(enumerate(self.entries), key=lambda numbered: numbered[1].contender.rows is not None)
        for position, entry in in_turn:
            if entry.failure:
                continue
            out = self.folder / f"results-{position}.parquet" if number == 1 else None
            try:
                run = self._run(entry, out)
            except Failure as failure:
                entry.failure = str(failure)
                say(f"round {number}: {entry.contender.title} ({entry.input}) failed: {failure}")
                continue
            entry.runs.append(run)
            entry.results = entry.results or out
            say(f"round {number} of {self.options.repeat}: {entry.contender.title} ({entry.input}), "
                f"{entry.rows:,} rows in {run['seconds']:.2f} s")

    def compare(self) -> None:
        """Every result with ours over the same rows."""
        for entry in self.entries:
            if entry.results is None:
                continue
            reference = self._reference(entry.rows)
            if reference != entry.results:
                entry.differences = differences(pq.read_table(reference), pq.read_table(entry.results))

    def _reference(self, rows: int) -> Path:
        """Our results over a prefix: from the round when we did it, by a run of its own when not."""
        if rows not in self._references:
            done = next((e for e in self.entries if e.contender.name == OURS and e.rows == rows and e.results), None)
            if done is not None and done.results is not None:
                self._references[rows] = done.results
            else:
                ours = self._entry(Contender.named(OURS), "memory")
                ours.rows = rows
                self._references[rows] = self.folder / f"reference-{rows}.parquet"
                self._run(ours, self._references[rows])
        return self._references[rows]


# -- the report ------------------------------------------------------------------------------------------------------


def ratios(ours: Entry | None, other: Entry, per: str = "seconds") -> list[float]:
    """How many times our throughput is another's, round by round."""
    if ours is None or ours is other:
        return []
    return [a / b for a, b in zip(ours.rates(per), other.rates(per), strict=False)]


def report(entries: Sequence[Entry]) -> str:
    """A table for each way in, and what has no figures."""
    texts = []
    for way in dict.fromkeys(entry.input for entry in entries):
        group = [entry for entry in entries if entry.input == way]
        ours = next((entry for entry in group if entry.contender.name == OURS and entry.runs), None)
        lines = []
        for entry in group:
            title = f"{entry.contender.title} {entry.version}".strip()
            if not entry.runs:
                lines.append((title, f"{entry.rows:,}", *[""] * 7, entry.failure))
                continue
            times, busy = ratios(ours, entry), ratios(ours, entry, "cpu_seconds")
            lines.append((
                title, f"{entry.rows:,}", rate(median(entry.rates())), spread_text(entry.rates()),
                rate(median(entry.rates("cpu_seconds"))), f"{entry.middle('peak_mb'):,.0f}",
                f"{entry.middle('peak_mb') - entry.middle('before_mb'):,.0f}",
                times_text(times), times_text(busy),
                entry.failure or verdict(entry)))
        head = ("from " + way, "rows", "rows/s", "spread", "rows/CPU s", "peak MB", "of it run", "ours ×", "by CPU",
                "results")
        texts.append(table_text(head, lines))
    return "\n\n".join(texts)


def times_text(values: Sequence[float]) -> str:
    middle = median(values) if values else None
    return "" if middle is None else f"{middle:,.2f}" if middle < 10 else f"{middle:,.0f}"


def verdict(entry: Entry) -> str:
    count = f"{entry.runs[0]['results']:,}"
    if entry.differences is None:
        return f"{count}, what others must equal"
    return f"{count}, equal" if entry.differences == 0 else f"{count}, {entry.differences:,} DIFFER"


def lines_for(entries: Sequence[Entry], options: argparse.Namespace) -> list[dict[str, Any]]:
    """One JSON line per run, and one per contender that has none."""
    job = {"keys": options.keys, "ratio": options.ratio, "batch": options.batch, "disorder": options.disorder,
           "text_keys": options.text_keys, "strategy": options.strategy, "seed": options.seed}
    lines = []
    for entry in entries:
        named = {"contender": entry.contender.name, "version": entry.version, "input": entry.input,
                 "rows": entry.rows, "job": job, "differences": entry.differences}
        lines += [{**named, "round": number, "rows_per_second": round(entry.rows / run["seconds"]),
                   **{key: round(value, 4) for key, value in run.items()}} for number, run in enumerate(entry.runs, 1)]
        if entry.failure:
            lines.append({**named, "failure": entry.failure})
    return lines


def arguments() -> argparse.Namespace:
    known = Contender.names()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--slow-rows", type=int, help="rows for slow contenders instead of their own limits")
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--text-keys", action="store_true")
    parser.add_argument("--ratio", type=int, default=60, help="RANGE/SLIDE")
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--disorder", type=float, default=0.05, help="share of rows that are out of order")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--strategy", default="auto", help="the kernel of the embedded engine")
    parser.add_argument("--peers", default=",".join(known), help=f"any of {', '.join(known)}")
    parser.add_argument("--input", default="files,memory", help="files, memory or both")
    parser.add_argument("--core", type=int, default=last_core())
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run of one contender")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="where peers' packages are installed")
    parser.add_argument("--json", type=Path, help="append a JSON line per run to this file")
    parser.add_argument("--quick", action="store_true", help="1 million rows, half for slow contenders, one round")
    options = parser.parse_args()
    options.peers, options.input = options.peers.split(","), options.input.split(",")
    for given, allowed in ((options.peers, known), (options.input, ["files", "memory"])):
        if unknown := sorted(set(given) - set(allowed)):
            parser.error(f"{unknown[0]!r} is none of {', '.join(allowed)}")
    if options.quick:
        options.rows, options.repeat = min(options.rows, 1_000_000), 1
    return options


def main() -> None:
    options = arguments()
    load = load_note()
    with tempfile.TemporaryDirectory(prefix="panewise-bench-") as folder:
        comparison = Comparison(options, Path(folder))
        for number in range(1, options.repeat + 1):
            comparison.round(number)
            if number == 1:
                comparison.compare()
        entries = comparison.entries
    keys = "text" if options.text_keys else "integer"
    print(f"count, max and avg per key, {options.keys:,} {keys} keys, RANGE/SLIDE = {options.ratio}, panes of 4 s, "
          f"{options.disorder:.0%} out of order,\nbatches of {options.batch:,} rows, one core, "
          f"median of {options.repeat}\n")
    print(report(entries) + load)
    write_json(options.json, "embedded_peers", lines_for(entries, options))
    raise SystemExit(1 if any(entry.differences for entry in entries) else 0)


if __name__ == "__main__":
    main()
