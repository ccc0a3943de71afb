"""Where an in-process query spends its time, by part of the engine: the reasons in the report of ``panewise bench``.

    python bench/where_time_goes.py q9 [q4 ...] [ratio:60 ...] [keys:1000000 ...] [join ...] [--events 300000]

A query of Nexmark by its name, or panewise at a point of another job of ``panewise bench --full``. It runs once to warm
up, by the clock, and once under Python's profiler, whose seconds are shared out: what a library function takes belongs
to the part of panewise that called it. The profiler makes small calls dearer than they are; shares are a guide, not a
measurement.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
from common import median, pin, table_text
from nexmark.engines import Embedded
from nexmark.files import write
from nexmark.generator import Nexmark
from nexmark.queries import QUERIES
from suite.catalogue import full
from suite.data import Store
from suite.entrants import Peer
from suite.jobs import only

PARTS = {
    "reading files": ("files/", "nexmark/files"),
    "parsing and planning": ("sql/", "planner/", "plan/", "api/", "queries/relations/compiler", "queries/opening"),
    "conditions and computed columns": ("core/scalar", "stateless", "expressions"),
    "rows that wait for their instant": ("relations/waiting", "relations/delta"),
    "keys to numbers": ("key_table", "key_codes", "live_codes", "cells_numba", "grouping", "text_codes", "texts_numba"),
    "joins": ("relations/join", "relations/pairing", "kernels/joins", "existence"),
    "groups": ("group_aggregate", "aggregates/", "cell_values", "sweep"),
    "panes and windows": ("kernels/", "windows/"),
    "results": ("relations/changes", "relations/to_stream", "row_hashes", "queries/relations/results", "emission"),
}
"""In this order; the first that fits a file has it."""
ORDER = [*PARTS, "the rest"]
Key = tuple[str, int, str]


def part_of(file: str) -> str | None:
    """The part of a file of panewise or of the bench; None for a library."""
    if "/panewise/" not in file and "/bench/" not in file:
        return None
    specific = sorted(((place, name) for name, places in PARTS.items() for place in places if place in file),
                      key=lambda found: -len(found[0]))
    return specific[0][1] if specific else "the rest"


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """Seconds by part."""
    stats: dict[Key, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    found: dict[str, float] = defaultdict(float)

    def give(key: Key, seconds: float, depth: int) -> None:
        part = part_of(key[0])
        callers = stats[key][4] if key in stats else {}
        whole = sum(called[3] for called in callers.values())
        if part is not None or depth == 0 or not whole:
            found[part or "the rest"] += seconds
            return
        for caller, called in callers.items():
            give(caller, seconds * called[3] / whole, depth - 1)

    for key, (_, _, own, _, _) in stats.items():
        give(key, own, 6)
    return found


def nexmark(name: str, events: int, folder: Path) -> Callable[[], object]:
    data = folder / f"nexmark-{events}"
    if not data.exists():
        write(data, Nexmark(events=events), 5)
    return lambda: Embedded().run(QUERIES[name], data, folder)


def of_job(name: str, label: str, folder: Path) -> Callable[[], object]:
    """What panewise does at a point of a job of the full set; the first without a label."""
    (job,) = only(full(), [name])
    point = next((p for p in job.points if label in {"", str(p.label)}), None)
    if point is None:
        raise SystemExit(f"{name} has no point {label}; there are {', '.join(str(p.label) for p in job.points)}")
    asked = Peer("panewise").command(point, point.data.rows, None, Store(folder))[-1]
    adapter = import_module("peers.panewise.run")
    run: Callable[[], object] = adapter.prepare(adapter.Job(**{**json.loads(asked), "cores": 1}))
    return run


def measure(what: str, options: argparse.Namespace, folder: Path) -> list[str]:
    name, _, label = what.partition(":")
    run = nexmark(name, options.events, folder) if name in QUERIES else of_job(name, label, folder)
    run()
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    profile = cProfile.Profile()
    profile.runcall(run)
    found = shares(profile)
    total = sum(found.values())
    return [what, f"{median(seconds):.2f} s", *(f"{found[part] / total:.0%}" for part in ORDER)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+")
    parser.add_argument("--events", type=int, default=300_000)
    options = parser.parse_args()
    pin()
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory(prefix="panewise-bench-") as folder:
        print(table_text(["query", "all", *ORDER], [measure(what, options, Path(folder)) for what in options.what]))


if __name__ == "__main__":
    main()
