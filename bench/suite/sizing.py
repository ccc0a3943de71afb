"""What a cluster for many rows per second would need, computed from the measured cost of a row on this machine.

The cost of a row is the slope of processor time over rows between the smallest and the largest data of the job
``scaling``, so what a query costs once is not counted for each row. All else is an assumption, and is printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Cost:
    """What rows cost in one place, by one contender."""

    place: str
    title: str
    cpu_per_row: float
    """Microseconds."""
    fixed_cpu: float
    """Seconds that a query costs whatever its rows."""
    rows_per_second: float
    """By the slope of time over rows: what is added when more rows come."""
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


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope and offset of the line through the first and the last point by x; an offset below 0 is 0."""
    (x0, y0), (x1, y1) = min(points), max(points)
    if x0 == x1:
        raise ValueError("a slope needs two numbers of rows")
    slope = (y1 - y0) / (x1 - x0)
    return slope, max(0.0, y0 - slope * x0)


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

    cpu, fixed = line(by_rows("cpu_seconds"))
    seconds, _ = line(by_rows("seconds"))
    shuffled = by_rows("shuffle_bytes")
    return Cost(place, found[0].title, cpu * 1e6, fixed, 1 / seconds if seconds > 0 else math.inf,
                max(0.0, line(shuffled)[0]) if len(shuffled) > 1 else 0.0,
                max((value for one in found for value in one.values("state_bytes")), default=0.0))


def need(rate: int, cost: Cost) -> Need:
    """Cores by processor time with room for peaks and stragglers; all but one node's share of a shuffle travels."""
    cores = math.ceil(rate * cost.cpu_per_row / 1e6 / UTILISATION * STRAGGLERS)
    nodes = math.ceil(cores / CORES_PER_NODE)
    return Need(rate, cores, nodes, rate * cost.shuffle_per_row / 1e6 * (nodes - 1) / nodes)


def page(lines: Sequence[dict[str, Any]]) -> list[Block]:
    """The page; nothing when the job ``scaling`` has not been measured with two numbers of rows, or when more rows did
    not take longer in all places, so that the slope is no cost."""
    known = costs(lines)
    if not known or any(one.cpu_per_row <= 0 for one in known):
        return []
    head = ["place", "contender", "CPU µs per row", "CPU s per query", "rows/s more", "shuffle bytes per row",
            "state MB"]
    measured = [[one.place, one.title, f"{one.cpu_per_row:.2f}", f"{one.fixed_cpu:.1f}", f"{one.rows_per_second:,.0f}",
                 f"{one.shuffle_per_row:.2f}", f"{one.state_bytes / 1e6:.1f}"] for one in known]
    needed = [[one.place, one.title, f"{rate:,}", f"{wanted.cores:,}", f"{wanted.nodes:,}", f"{wanted.network_mb:,.1f}"]
              for one in known if one.cpu_per_row > 0 for rate in RATES for wanted in [need(rate, one)]]
    return [
        Text("Measured is the job scaling: count, max and avg of 1,000 keys, RANGE/SLIDE 20, Parquet files in and out, "
             "as a stream. A row's cost is the slope between two numbers of rows, so start-up is not in it."),
        Table(head, measured), *_growth(known), Heading("What that makes of a cluster"),
        Table(["by the cost in", "contender", "rows/s", "cores", f"nodes of {CORES_PER_NODE}", "network MB/s"], needed),
        Heading("Assumptions"), Bullets(ASSUMPTIONS)]


def _growth(known: Sequence[Cost]) -> list[Block]:
    """What a second core gave, and what other processes instead of threads cost."""
    by_place = {(one.place, one.title): one for one in known}
    said = []
    for (place, title), one in by_place.items():
        alone = by_place.get(("local[1]", title))
        if alone is not None and place != "local[1]" and alone.rows_per_second and alone.cpu_per_row > 0:
            said.append(f"{title}, {place}: {one.rows_per_second / alone.rows_per_second:.2f} times the rows/s of one "
                        f"core, {one.cpu_per_row / alone.cpu_per_row:.2f} times its processor time per row")
    return [Bullets(said)] if said else []


ASSUMPTIONS = (
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
