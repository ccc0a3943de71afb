"""The report: for every job a table and a picture, what is faster than this project, and what failed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import rate

from suite import sizing
from suite.document import Block, Bullets, Heading, Table, Text
from suite.document import write as write_document
from suite.figures import Outcome, counterpart, outcomes, times_as_fast
from suite.jobs import Job
from suite.pictures import picture
from suite.reasons import reasons

CELLS = {
    "state rows": ("state_rows", lambda value: f"{value:,.0f}"),
    "state MB": ("state_bytes", lambda value: f"{value / 1e6:,.2f}"),
    "latency ms": ("latency_ms", lambda value: f"{value:,.1f}"),
    "p99 ms": ("latency_p99_ms", lambda value: f"{value:,.1f}"),
    "shuffle MB": ("shuffle_bytes", lambda value: f"{value / 1e6:,.2f}"),
}
"""Columns that are shown where some contender has the figure."""


def write(folder: Path, lines: Sequence[dict[str, Any]], jobs: Sequence[Job], skipped: Sequence[str] = ()) -> Path:
    """``report.md`` and ``.html`` with pictures, ``sizing.md`` where the figures suffice; the path of the first."""
    found = {job.name: [(point.label, outcomes(lines, job.name, point.label)) for point in job.points] for job in jobs}
    blocks: list[Block] = [*_opening(lines), *_faster(jobs, found)]
    for job in jobs:
        blocks += _section(job, found[job.name], job.name in skipped)
    cluster = sizing.page(lines)
    if cluster:
        write_document(folder, "sizing", "What a cluster needs", cluster)
        blocks.append(Text("What a cluster for more rows would need is computed from the job scaling in sizing.md."))
    return write_document(folder, "report", "Measured beside its peers", blocks)


def _opening(lines: Sequence[dict[str, Any]]) -> list[Block]:
    text = ("Every contender runs in a process of its own on the same data. Its results are compared first; contenders "
            "whose results differ, that fail or take too long are listed with the reason. Then contenders take turns, "
            "and figures are medians of the rounds; the spread is the largest minus the smallest as a share of the "
            "median. 'panewise ×' is how many times the throughput of panewise is that of the contender, formed within "
            "rounds, so below 1 the contender is faster; where rows come at a given rate it is how many times as long "
            "a result of the contender takes. A slow contender gets the first rows only, and panewise is "
            "run on as few beside it; where that was not done the ratio is in brackets, because the first rows have "
            "more results than later ones. CPU is processor time of the whole process tree per row, memory its peak, "
            "with what processes share counted for each, and for contenders that stay between jobs what earlier ones "
            "left. State rows are entries of a store: for panewise chunks of many.")
    if not lines:
        return [Text(text), Text("Nothing was measured.")]
    machines = {json.dumps({k: v for k, v in line["machine"].items() if k != "load"}, sort_keys=True): line["machine"]
                for line in lines}
    said = [f"{one['processor']}, {one['cores']} cores, {one.get('memory_gb', '?')} GB, {one['system']}, "
            f"Python {one['python']}, Java {one.get('java', '?')}, "
            f"commit {one['commit']}, {', '.join(map(' '.join, one['versions'].items()))}" for one in machines.values()]
    busy = max(line["machine"]["load"] or 0 for line in lines)
    if busy >= lines[0]["machine"]["cores"] / 2:
        said.append(f"the machine was busy at the start of a command below (load {busy}), with what was measured "
                    "before it or with others: read CPU times and ratios, not rows/s")
    runs = dict.fromkeys(re.sub(r" --(results|report) \S+", "", line["run"]) for line in lines if "run" in line)
    return [Text(text), Bullets([*said, *(f"measured by {run}" for run in runs)])]


def _faster(jobs: Sequence[Job], found: dict[str, list[tuple[object, list[Outcome]]]]) -> list[Block]:
    """Where panewise is not the fastest, before anything else."""
    items: list[str] = []
    who: list[tuple[str, str]] = []
    for job in jobs:
        for label, present in found[job.name]:
            for other in present:
                times = times_as_fast(counterpart(other, present), other, job.measure)
                if times is not None and times < 1:
                    items.append(f"{job.name}, {job.axis} {label}: {other.title} is {1 / times:.2f} times as fast")
                    who.append((job.name, other.contender))
    if not items:
        return [Heading("Faster than panewise"), Text("No contender was.")]
    return [Heading("Faster than panewise"), Bullets(items), Heading("Why", 3), Bullets(reasons(who))]


def _section(job: Job, found: list[tuple[object, list[Outcome]]], skipped: bool) -> list[Block]:
    blocks: list[Block] = [Heading(job.title)]
    if job.text:
        blocks.append(Text(job.text))
    if job.missing:
        return [*blocks, Text(f"Not measured: {job.missing}.")]
    if skipped:
        blocks.append(Text("The time was over before all of it was measured; `--resume` goes on."))
    shown = [name for name, (figure, _) in CELLS.items()
             if any(one.middle(figure) is not None for _, present in found for one in present)]
    head = [job.axis, "contender", "rows", "rows/s", "spread", "CPU µs/row", "peak MB", *shown, "panewise ×", "results"]
    rows = [_row(label, one, present, shown, job.measure) for label, present in found for one in present]
    blocks.append(Table(head, rows))
    drawn = picture(job, found)
    return [*blocks, drawn] if drawn else blocks


def _row(label: object, one: Outcome, present: Sequence[Outcome], shown: Sequence[str], measure: str) -> list[object]:
    name = f"{label:,}" if isinstance(label, int) else label
    rows = f"{one.first['rows']:,}"
    if not one.rounds:
        return [name, one.title, rows, *[""] * (5 + len(shown)), one.failure or "not measured"]
    extra = [(value is not None and form(value)) or "" for figure, form in map(CELLS.__getitem__, shown)
             for value in [one.middle(figure)]]
    beside = counterpart(one, present)
    times = times_as_fast(beside, one, measure)
    ratio = "" if times is None else f"{times:,.2f}" if times < 10 else f"{times:,.0f}"
    if beside is not None and beside.first["rows"] != one.first["rows"] and ratio:
        ratio = f"({ratio})"
    return [name, one.title, rows, rate(one.rate or 0), "" if one.spread is None else f"{one.spread:.0%}",
            f"{one.cpu_per_row:.3g}", f"{one.middle('peak_mb'):,.0f}", *extra,
            ratio, one.failure or _verdict(one)]


def _verdict(one: Outcome) -> str:
    count = f"{one.first['results']:,}" if "results" in one.first else ""
    return f"{count} equal" if one.first.get("differences") == 0 else count
