"""Two versions of panewise beside each other: every table of the report, the same jobs, in interleaved rounds.

    .venv/bin/python bench/versions.py --before ../panewise-before                      # all tables
    .venv/bin/python bench/versions.py --before ../panewise-before --job ratio --job keys  # two, others later

``--before`` is a checkout of the other version; both run on this interpreter, each from its own ``src`` and its own
adapters. Every measurement is a JSON line of ``--results`` at once, and what is there is not measured again, so tables
can be taken one by one. The figure is CPU time per row; a ratio above 1 says that this version takes less.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from common import commit, machine, say
from contenders import PEERS, Failure
from contenders import run_process as ask_process
from resident import Residents
from suite import catalogue
from suite.compare import differences
from suite.data import Store
from suite.entrants import Entrant, NexmarkEngine, Peer
from suite.figures import OURS
from suite.jobs import Job, Point, only
from suite.results import CHECK, Results

CLONE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Version:
    """A checkout whose engines take part."""

    name: str
    home: Path

    def entrants(self, job: Job) -> list[Entrant]:
        """Its contenders in a job."""
        ours = [name for name in job.contenders if name.split("/")[0] in OURS]
        if job.family == "nexmark":
            return [NexmarkEngine(name, self.home / "bench" / "nexmark") for name in ours]
        return [Peer(name, self.home / "bench" / "peers") for name in ours]

    def command(self, entrant: Entrant, point: Point, rows: int, out: Path | None, store: Store) -> list[str]:
        """The same process as ``panewise bench`` starts, with this version's modules."""
        return ["/usr/bin/env", f"PYTHONPATH={self.home / 'src'}", *entrant.command(point, rows, out, store)]


class Comparison:
    """Measures both versions, or finds what was measured before."""

    def __init__(self, versions: Sequence[Version], results: Results, store: Store, rounds: int) -> None:
        self.versions, self.results, self.store, self.rounds = versions, results, store, rounds
        self._residents = Residents()

    def run(self, jobs: Sequence[Job]) -> None:
        """Job after job; both versions take turns at each point, and give the same results first."""
        for job in jobs:
            try:
                for point in job.points:
                    for number in range(self.rounds + 1):
                        self._round(job, point, number)
            finally:
                self._residents.close()

    def _round(self, job: Job, point: Point, number: int) -> None:
        turns = list(self.versions) if number % 2 else list(reversed(self.versions))
        pairs = zip(*(version.entrants(job) for version in turns), strict=True)
        for entrants in pairs:
            found = [self._measure(job, point, version, entrant, number)
                     for version, entrant in zip(turns, entrants, strict=True)]
            if number == CHECK and not any("failure" in line for line in found):
                outs = [Path(line["out"]) for line in found]
                if all(out.exists() for out in outs) and (wrong := differences(*map(pq.read_table, outs))):
                    raise SystemExit(f"{job.name}, {point.label}: {wrong} results differ between the versions")

    def _measure(self, job: Job, point: Point, version: Version, entrant: Entrant, number: int) -> dict[str, Any]:
        rows = entrant.rows(job, point)
        out = self.store.folder / f"{version.name}-{entrant.name.replace('/', '-')}-{point.label}.parquet"
        line = {"job": job.name, "point": point.label, "contender": f"{version.name} {entrant.name}", "rows": rows,
                "round": number, "parameters": point.parameters}
        if (known := self.results.find(line)) is not None:
            return known
        command = version.command(entrant, point, rows, out if number == CHECK else None, self.store)
        try:
            ask = self._residents.ask if entrant.stays else ask_process
            line |= {**ask(command, 3 * job.timeout, point.cores, f"{rows:,} rows"), "out": str(out)}
        except Failure as failure:
            line |= {"failure": str(failure), "out": str(out)}
        self.results.add(line)
        say(f"{job.name} {point.label} {line['contender']} {number}: "
            f"{line.get('failure') or format(1e6 * line['cpu_seconds'] / rows, '.3g') + ' us a row'}")
        return line


@dataclass(frozen=True)
class Cell:
    """One contender at one point: how much less CPU a row takes now, the middle of the rounds."""

    job: str
    label: str
    ratio: float


def cells(lines: Sequence[dict[str, Any]], versions: Sequence[Version]) -> Iterator[Cell]:
    """The ratio of both versions at every point that both have measured."""
    before, now = (version.name for version in versions)
    by_place: dict[tuple[str, str, str], dict[int, dict[str, float]]] = {}
    for line in lines:
        if line["round"] == CHECK or "failure" in line:
            continue
        version, _, contender = line["contender"].partition(" ")
        rounds = by_place.setdefault((line["job"], str(line["point"]), contender), {})
        rounds.setdefault(line["round"], {})[version] = line["cpu_seconds"] / line["rows"]
    for (job, point, contender), rounds in by_place.items():
        ratios = [both[before] / both[now] for both in rounds.values() if {before, now} <= both.keys()]
        if ratios:
            yield Cell(job, f"{contender} at {point}", statistics.median(ratios))


def report(found: Sequence[Cell], versions: Sequence[Version], rounds: int) -> str:
    """A line for every table: the geometric mean, and its worst cell."""
    before, now = (commit(version.home) for version in versions)
    text = [f"CPU per row of {before} by that of {now}, middle of {rounds} interleaved rounds; above 1: faster now",
            "", "| table | cells | geometric mean | lowest cell |", "|---|--:|--:|---|"]
    for job in dict.fromkeys(cell.job for cell in found):
        own = [cell for cell in found if cell.job == job]
        mean = math.exp(statistics.fmean(math.log(cell.ratio) for cell in own))
        worst = min(own, key=lambda cell: cell.ratio)
        text.append(f"| {job} | {len(own)} | {mean:.2f} | {worst.ratio:.2f}, {worst.label} |")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the version to compare with")
    parser.add_argument("--job", action="append", default=[], help="a table of the report; all without it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="the short set of jobs")
    parser.add_argument("--results", type=Path, default=CLONE / "out" / "bench" / "versions.jsonl")
    options = parser.parse_args()
    versions = (Version("before", options.before.resolve()), Version("now", CLONE))
    os.environ.pop("PYTHONPATH", None)
    results = Results.open(options.results, {"machine": machine()}, resume=True)
    jobs = only(catalogue.quick() if options.quick else catalogue.full(), options.job)
    with tempfile.TemporaryDirectory(prefix="panewise-versions-") as folder:
        Comparison(versions, results, Store(Path(folder)), options.rounds).run([job for job in jobs if not job.missing])
    print(report(list(cells(results.lines, versions)), versions, options.rounds))


if __name__ == "__main__":
    assert Path(PEERS).is_dir(), "run from a clone"
    sys.exit(main())
