"""Measures: at every point results are compared first, then contenders take turns, round by round, each in a process
of its own; those that are slow to start keep it for all points of a job.

What a noisy machine does to one of them it does to all in the same round, so ratios are formed within rounds. A
contender that fails, takes too long or gives other results is left out of the rounds, and that is its outcome.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from contenders import ENVIRONMENTS, PEERS, Failure, run_process
from resident import Residents

from suite.compare import differences
from suite.data import Store
from suite.entrants import Entrant, entrants, reference
from suite.figures import ours_beside
from suite.jobs import Job, Point
from suite.progress import Display
from suite.results import CHECK, Results

Filter = Callable[[str], bool]


@dataclass
class Runner:
    """The measurements of one run of the tool."""

    results: Results
    store: Store
    display: Display
    repeat: int = 3
    minutes: float = float("inf")
    """After this time no further measurement is begun; making the environments of peers does not count."""
    wanted: Filter = lambda _name: True
    size: str = "--quick"
    """The set the jobs are from, for the command that repeats a measurement."""
    peers: Path = PEERS
    environments: Path = ENVIRONMENTS
    skipped: list[str] = field(default_factory=list)
    """The jobs that the time did not suffice for."""
    _deadline: float = float("inf")
    _residents: Residents = field(default_factory=Residents)

    def run(self, jobs: list[Job]) -> None:
        """All jobs, one after the other."""
        runnable = [job for job in jobs if not job.missing]
        for entrant in (one for job in runnable for one in self._entrants(job)):
            with suppress(Failure):  # its outcome at every point, soon
                _ = entrant.version
        self._deadline = time.monotonic() + 60 * self.minutes
        self.display.start(sum(len(job.points) * len(self._entrants(job)) * (self.repeat + 1) for job in runnable))
        for job in runnable:
            try:
                for point in job.points:
                    self._point(job, point)
            finally:
                self._residents.close()

    def _entrants(self, job: Job) -> list[Entrant]:
        return [one for one in entrants(job, peers=self.peers, environments=self.environments) if self.wanted(one.name)]

    def _point(self, job: Job, point: Point) -> None:
        equal = Equality(self, job, point)
        racing: list[tuple[Entrant, int]] = []
        for entrant in self._entrants(job):
            self._check(job, point, (entrant, entrant.rows(job, point)), equal, racing)
        for entrant, rows in self._on_fewer_rows(racing):
            self.display.more(self.repeat + 1)
            self._check(job, point, (entrant, rows), equal, racing)
        for number in range(1, self.repeat + 1):
            turn = number % max(1, len(racing))  # nobody is always first
            for entrant, rows in racing[turn:] + racing[:turn]:
                self._measure(job, point, entrant, rows, number, None)

    def _check(self, job: Job, point: Point, who: tuple[Entrant, int], equal: Equality,
               racing: list[tuple[Entrant, int]]) -> None:
        """Compare the results of one that wants to race."""
        checked = self._measure(job, point, *who, CHECK, equal)
        if checked is None or "failure" in checked:
            self.display.skip(self.repeat)
        else:
            racing.append(who)

    @staticmethod
    def _on_fewer_rows(racing: list[tuple[Entrant, int]]) -> list[tuple[Entrant, int]]:
        """Ours once more for every contender that gets only the first rows: what is compared has the same rows."""
        by_name = {entrant.name: (entrant, rows) for entrant, rows in racing}
        found: dict[tuple[str, int], tuple[Entrant, int]] = {}
        for entrant, rows in racing:
            beside = next((by_name[name] for name in ours_beside(entrant.name) if name in by_name), None)
            if beside is not None and entrant.name not in ours_beside(entrant.name) and rows < beside[1]:
                found[beside[0].name, rows] = (beside[0], rows)
        return list(found.values())

    def _measure(self, job: Job, point: Point, entrant: Entrant, rows: int, number: int,
                 equal: Equality | None) -> dict[str, Any] | None:
        """One measurement, now or from the file; None when there is no time for it."""
        line = {"job": job.name, "point": point.label, "contender": entrant.name, "title": entrant.title, "rows": rows,
                "round": number, "parameters": point.parameters,
                "command": f"panewise bench {self.size} --job {job.name} --contender {entrant.name}"}
        known = self.results.find(line)
        if known is not None:
            self.display.skip(1)
            return known
        if time.monotonic() > self._deadline:
            self.display.skip(1)
            if job.name not in self.skipped:
                self.skipped.append(job.name)
            return None
        self.display.begin(job.name, str(point.label), entrant.title, number)
        try:
            line["version"] = entrant.version
            figures = self._checked(job, point, entrant, rows, equal) if equal else self.once(
                job, point, entrant, rows, None)
            line |= {name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}
        except Failure as failure:
            line["failure"] = str(failure)
        self.display.end(line)
        self.results.add(line)
        return line

    def _checked(self, job: Job, point: Point, entrant: Entrant, rows: int, equal: Equality) -> dict[str, Any]:
        out = equal.folder / f"{entrant.name.replace('/', '-')}.parquet"
        figures = self.once(job, point, entrant, rows, out)
        figures["differences"] = equal.differences(out, rows, entrant.name)
        if figures["differences"]:
            figures["failure"] = f"{figures['differences']:,} of {pq.read_metadata(out).num_rows:,} results differ"
        return figures

    def once(self, job: Job, point: Point, entrant: Entrant, rows: int, out: Path | None) -> dict[str, Any]:
        """Start the process of a contender and wait for its figures."""
        command = entrant.command(point, rows, out, self.store)
        run = self._residents.ask if entrant.stays else run_process
        return run(command, job.timeout, point.cores, f"{rows:,} rows")


class Equality:
    """The results at one point that all others must equal, by the number of rows that were asked about."""

    def __init__(self, runner: Runner, job: Job, point: Point) -> None:
        self._runner, self._job, self._point = runner, job, point
        self._ours = reference(job, environments=runner.environments)
        self._known: dict[int, Path] = {}
        self.folder = runner.store.folder / "results" / job.name / str(point.label)
        self.folder.mkdir(parents=True, exist_ok=True)

    def differences(self, found: Path, rows: int, name: str) -> int:
        """How many results differ from ours."""
        if name == self._ours.name:
            self._known[rows] = found
            return 0
        return differences(pq.read_table(self._reference(rows)), pq.read_table(found))

    def _reference(self, rows: int) -> Path:
        if rows not in self._known:
            out = self.folder / f"reference-{rows}.parquet"
            try:
                self._runner.once(self._job, self._point, self._ours, rows, out)
            except Failure as failure:
                raise Failure(f"nothing to compare with, as panewise {failure}") from failure
            self._known[rows] = out
        return self._known[rows]
