"""``panewise bench``: what it was asked for, measured and reported."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import machine, say
from contenders import ENVIRONMENTS

from suite import catalogue
from suite.data import Store
from suite.entrants import entrants
from suite.figures import outcomes
from suite.jobs import Job, only
from suite.progress import Display
from suite.report import write
from suite.results import Results, read
from suite.runner import Runner

CLONE = Path(__file__).parents[2]
RESULTS = CLONE / "out" / "bench" / "results.jsonl"


def chosen(options: argparse.Namespace) -> list[Job]:
    """The jobs that were asked for; a job of the full set may be named without asking for the set."""
    jobs = catalogue.full() if options.full else catalogue.quick()
    names = {job.name for job in jobs}
    if set(options.job) - names:
        jobs += [job for job in catalogue.full() if job.name not in names]
    return only(jobs, options.job)


def listing(jobs: Sequence[Job], repeat: int) -> str:
    """Jobs with what is in them."""
    lines = []
    for job in jobs:
        lines.append(f"{job.name:<16} {job.title}" + (f" ({job.missing})" if job.missing else ""))
        if job.points:
            lines.append(f"{'':<16} {job.axis}: {', '.join(str(point.label) for point in job.points)}")
        lines.append(f"{'':<16} contenders: {', '.join(job.contenders)}")
    count = sum(len(job.points) * len(job.contenders) * (repeat + 1) for job in jobs)
    return "\n".join([*lines, f"{count} measurements, one in {repeat + 1} of them to compare results"])


def wanted(names: Sequence[str], name: str) -> bool:
    """Whether a contender was asked for, by its folder or with its mode."""
    return not names or name in names or name.split("/", maxsplit=1)[0] in names


def command(options: argparse.Namespace) -> int:
    """Measure, write the report, and fail when results differed."""
    jobs = chosen(options)
    if unknown := [name for name in options.contender
                   if not any(wanted([name], one.name) for job in jobs for one in entrants(job))]:
        raise LookupError(f"no job here has a contender {unknown[0]!r}")
    if options.list:
        print(listing(jobs, options.repeat))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a contender ends with the tool
    file = options.results or RESULTS
    if options.only_report:
        lines = list(read(file))
        missing = [job.name for job in jobs if any(not outcomes(lines, job.name, p.label) for p in job.points)]
        return _written(options, file, lines, jobs, missing)
    minutes = options.minutes or (catalogue.FULL_MINUTES if options.full else catalogue.QUICK_MINUTES)
    run = " ".join(["panewise", *map(shlex.quote, sys.argv[1:])])
    results = Results.open(file, {"machine": machine(), "run": run}, resume=options.resume)
    with tempfile.TemporaryDirectory(prefix="panewise-bench-") as folder, Display() as display:
        runner = Runner(results, Store(Path(folder)), display, options.repeat, minutes,
                        lambda name: wanted(options.contender, name), "--full" if options.full else "--quick",
                        environments=options.environments or ENVIRONMENTS)
        runner.run(jobs)
    return _written(options, file, results.lines, jobs, runner.skipped)


def _written(options: argparse.Namespace, file: Path, lines: Sequence[dict[str, Any]], jobs: Sequence[Job],
             skipped: Sequence[str]) -> int:
    """The report; 1 when results differed."""
    report = write(options.report or file.parent, lines, jobs, skipped)
    print(report.read_text())
    say(f"results: {file}\nreport:  {report} and {report.with_suffix('.html').name}")
    if skipped:
        say(f"the time was over before these were done: {', '.join(skipped)}; go on with --resume")
    return 1 if any(line.get("differences") for line in lines) else 0
