"""What a cluster for many rows per second would need, computed from the measured cost of a row on this machine.

What other data cost more (more keys, more overlap, more queries) is taken from the jobs that sweep them.

The cost of a row is the processor time of the largest data of the job ``scaling`` by its rows. What a query costs once
is in it, so it is too large rather than too small. (The slope between few rows and many would leave that out, but a JVM
still gets faster from run to run, and the slope came out as a small part of the truth.) All else is an assumption, and
is printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from common import median

from suite.document import Block, Bullets, Heading, Table, Text
from suite.figures import Outcome, outcomes

RATES = (1_000_000, 10_000_000, 100_000_000)
UTILISATION = 0.6
"""The share of processor time that is planned for; the rest is for peaks, restarts and catching up."""
CORES_PER_NODE = 16
STRAGGLERS = 1.25
"""How much longer the slowest task of a large cluster takes than the mean."""
SWEEPS = {"keys": ("keys, RANGE/SLIDE 5", 1_000), "ratio": ("RANGE/SLIDE, 1,000 keys", 20),
          "queries": ("queries at once", 1)}
"""Jobs that sweep what the job ``scaling`` leaves as it is, and the point that is nearest to it."""
WHOLE = ("queries",)
"""Of these each reads and hands over its rows by itself, so all of the cost grows; of the others what kernels do."""


@dataclass(frozen=True)
class Cost:
    """What rows cost in one place, by one contender."""

    place: str
    title: str
    cpu_per_row: float
    """Microseconds."""
    fewer: float
    """The same with the fewest rows, where what a query costs once weighs more."""
    rows_per_second: float
    shuffle_per_row: float
    """Bytes."""
    state_bytes: float


@dataclass(frozen=True)
class Need:
    """What a rate needs."""

    rate: int
    cores: int
    nodes: int
    network_mb: float
    """Megabytes per second that cross the network in all."""


def costs(lines: Sequence[dict[str, Any]], job: str = "scaling") -> list[Cost]:
    """One for each place and contender that was measured with at least two numbers of rows."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for label in dict.fromkeys(one["point"] for one in lines if one["job"] == job):
        for outcome in outcomes(lines, job, label):
            if outcome.rounds:
                place = outcome.first["parameters"]["master"]
                groups.setdefault((place, outcome.contender), []).append(outcome)
    return [_cost(place, found) for (place, _), found in groups.items()
            if len({one.first["rows"] for one in found}) > 1]


def _cost(place: str, found: Sequence[Outcome]) -> Cost:
    def by_rows(figure: str) -> list[tuple[float, float]]:
        return [(one.first["rows"], median(values)) for one in found if (values := one.values(figure))]

    cpu, seconds, shuffled = (by_rows(name) for name in ("cpu_seconds", "seconds", "shuffle_bytes"))
    (few, least), (many, most) = min(cpu), max(cpu)
    rows, taken = max(seconds)
    return Cost(place, found[0].title, most / many * 1e6, least / few * 1e6, rows / taken,
                max(shuffled)[1] / max(shuffled)[0] if shuffled else 0.0,
                max((value for one in found for value in one.values("state_bytes")), default=0.0))


def need(rate: int, cost: Cost) -> Need:
    """Cores by processor time with room for peaks and stragglers; all but one node's share of a shuffle travels."""
    cores = math.ceil(rate * cost.cpu_per_row / 1e6 / UTILISATION * STRAGGLERS)
    nodes = math.ceil(cores / CORES_PER_NODE)
    return Need(rate, cores, nodes, rate * cost.shuffle_per_row / 1e6 * (nodes - 1) / nodes)


def page(lines: Sequence[dict[str, Any]]) -> list[Block]:
    """The page; nothing when the job ``scaling`` has not been measured with two numbers of rows."""
    known = costs(lines)
    if not known:
        return []
    head = ["place", "contender", "CPU µs per row", "with the fewest rows", "rows/s", "shuffle bytes per row",
            "state MB"]
    measured = [[one.place, one.title, f"{one.cpu_per_row:.2f}", f"{one.fewer:.2f}", f"{one.rows_per_second:,.0f}",
                 f"{one.shuffle_per_row:.2f}", f"{one.state_bytes / 1e6:.1f}"] for one in known]
    needed = [[one.place, one.title, f"{rate:,}", f"{wanted.cores:,}", f"{wanted.nodes:,}", f"{wanted.network_mb:,.1f}"]
              for one in known for rate in RATES for wanted in [need(rate, one)]]
    return [
        Text("Measured is the job scaling: count, max and avg of 1,000 keys, RANGE/SLIDE 20, Parquet files in and out, "
             "as a stream. A row's cost is that with the most rows; the start of a query is in it, so it is an upper "
             "bound, as the cost with the fewest rows beside it shows."),
        Table(head, measured), *_more_cores(known), Heading("What that makes of a cluster"),
        Table(["by the cost in", "contender", "rows/s", "cores", f"nodes of {CORES_PER_NODE}", "network MB/s"], needed),
        *_other_data(lines, known), Heading("Assumptions"), Bullets(ASSUMPTIONS)]


def growth(lines: Sequence[dict[str, Any]], job: str, usual: object) -> list[tuple[Any, float, float]]:
    """The points of a sweep: processor time of a row of ours, in microseconds, and how many times the usual one's."""
    found: dict[Any, Outcome] = {}
    for label in dict.fromkeys(one["point"] for one in lines if one["job"] == job):
        mine = [one for one in outcomes(lines, job, label) if one.ours and one.rounds]
        if mine:
            found[label] = max(mine, key=lambda one: one.first["rows"])
    cost = {label: one.cpu_per_row for label, one in found.items() if one.cpu_per_row is not None}
    return [(label, each, each / cost[usual]) for label, each in cost.items()] if usual in cost else []


def _other_data(lines: Sequence[dict[str, Any]], known: Sequence[Cost]) -> list[Block]:
    """Cores for the middle rate by the dearest place, when data are otherwise than in the job ``scaling``."""
    dearest, rows = max(known, key=lambda one: one.cpu_per_row), []
    for job, (what, usual) in SWEEPS.items():
        for label, each, times in growth(lines, job, usual):
            cost = dearest.cpu_per_row * times if job in WHOLE else dearest.cpu_per_row + each - each / times
            cores = need(RATES[1], replace(dearest, cpu_per_row=cost)).cores
            rows.append([what, f"{label:,}", f"{each:.3f}", f"{times:.2f}", f"{cores:,}"])
    if not rows:
        return []
    return [Heading("Other data"),
            Text(f"How the processor time of a row grows with what is asked of it, measured in process on one core, "
                 f"and what {RATES[1]:,} rows/s would need then: the cost in {dearest.place} above, and what the "
                 "kernels need more or less than at the usual point. Each of several queries pays all of it."),
            Table(["by", "point", "CPU µs per row", "times the usual", "cores"], rows)]


def _more_cores(known: Sequence[Cost]) -> list[Block]:
    """What a second core gave, and what other processes instead of threads cost."""
    by_place = {(one.place, one.title): one for one in known}
    said = []
    for (place, title), one in by_place.items():
        alone = by_place.get(("local[1]", title))
        if alone is not None and place != "local[1]":
            said.append(f"{title}, {place}: {one.rows_per_second / alone.rows_per_second:.2f} times the rows/s of one "
                        f"core, {one.cpu_per_row / alone.cpu_per_row:.2f} times its processor time per row")
    return [Bullets(said)] if said else []


ASSUMPTIONS = (
    "what kernels need more for other data in process, they need more on Spark, where they are the same",
    f"processor time is planned to {UTILISATION:.0%}; the rest is for peaks and for catching up after a restart",
    f"the slowest task takes {STRAGGLERS:g} times the mean, as in clusters with even keys; skew costs more (job skew)",
    f"nodes have {CORES_PER_NODE} cores like those of this machine",
    "the processor time of a row is the same on any number of nodes: rows are put into panes where they are read, and "
    "what crosses the shuffle is a partial result for each key and pane of a task, so shuffle bytes per row, taken "
    "from large micro-batches here, grow when tasks see fewer rows of the same key and pane",
    "the source delivers so many rows, and the network takes the megabytes per second in the last column on top",
    "the driver plans a micro-batch in the time it takes here; with thousands of tasks it takes longer, so "
    "micro-batches have to be longer too",
)
