"""What the benchmarks share: the bids, the machine, medians, tables and JSON lines."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

SECOND = 1_000_000
START = 1_767_225_600 * SECOND
"""2026-01-01, so that every pane of whole seconds up to a day is aligned with it."""
ROWS_PER_SECOND = 5_000
"""Of event time: 20,000 rows per pane of 4 s."""
LATE = 3 * SECOND
"""Rows that are out of order are late by less than this, so a promise of this lateness drops none."""
TIMESTAMP = pa.timestamp("us", tz="UTC")


def bids(rows: int, *, keys: int = 1_000, disorder: float = 0.05, text_keys: bool = False, seed: int = 7,
         rows_per_second: int = ROWS_PER_SECOND, late: int = LATE, skew: float = 0.0,
         block: int = 1_000_000) -> Iterator[pa.Table]:
    """Bids on uniformly drawn items at a steady rate, a share of them late; a prefix of more rows is the same rows.

    A share ``skew`` of the bids is on one item.
    """
    names = pa.array([f"item-{i:06}" for i in range(keys)])
    for first in range(0, rows, block):
        rng = np.random.default_rng((seed, first))
        arrival = START + (np.arange(first, first + block, dtype=np.int64) * SECOND) // rows_per_second
        delay = np.where(rng.random(block) < disorder, rng.integers(1, late, block), 0)
        item = rng.integers(0, keys, block)
        price = rng.integers(100, 100_000, block) / 100
        if skew:  # drawn last, so that without it all is as ever
            item = np.where(rng.random(block) < skew, 0, item)
        table = pa.table({"ts": pa.array(arrival - delay).cast(TIMESTAMP),
                          "item": names.take(pa.array(item)) if text_keys else pa.array(item),
                          "price": price})
        yield table.slice(0, rows - first)


def threads(count: int = 1) -> dict[str, str]:
    """An environment in which every library that asks uses so many threads."""
    names = (*(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")), "POLARS_MAX_THREADS",
             "PATHWAY_THREADS", "ARROW_IO_THREADS")
    return {**os.environ, **dict.fromkeys(names, str(count))}


def pin(core: int | None = None) -> int:
    """Keep this process on one core (the last it may use, unless named) and Arrow on one thread; the core."""
    pa.set_cpu_count(1)
    if not hasattr(os, "sched_setaffinity"):
        return 0
    core = last_core() if core is None else core
    os.sched_setaffinity(0, {core})
    return core


def last_core() -> int:
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


def cpu_seconds() -> float:
    """CPU time of this process's descendants so far, those that ended included; 0 where there is no /proc."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        spent[int(stat.parent.name)] = sum(map(int, fields[11:15]))
    mine = {os.getpid()}
    while grown := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= grown
    return sum(spent.get(child, 0) for child in mine - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


# -- figures ---------------------------------------------------------------------------------------------------------


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float]) -> float:
    """Largest minus smallest, as a share of the median."""
    return (max(values) - min(values)) / median(values) if median(values) else 0.0


def spread_text(values: Sequence[float]) -> str:
    """Nothing for a single run: it shows no spread, not a spread of 0."""
    return f"{spread(values):.0%}" if len(values) > 1 else ""


def rate(rows_per_second: float) -> str:
    """A throughput in three digits: 21.3 M, 14.6 k, 950."""
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if rows_per_second >= size:
            return f"{rows_per_second / size:.3g}{letter}"
    return f"{rows_per_second:.0f}"


def table_text(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need, text to the left, all that begins with a digit to the right."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    right = [all(not row[i] or row[i][0].isdigit() or row[i][0] in "-–" for row in cells[1:]) for i in range(len(head))]
    return "\n".join("  " + "  ".join(cell.rjust(w) if r else cell.ljust(w)
                                      for cell, w, r in zip(row, widths, right, strict=True)).rstrip()
                     for row in cells)


def say(text: str) -> None:
    """Progress, apart from the report."""
    print(text, file=sys.stderr, flush=True)


def load_note() -> str:
    """A warning for the report when others keep the machine busy as a benchmark starts."""
    load, cores = (os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0), os.cpu_count() or 1
    if load < cores / 2:
        return ""
    return (f"\n\nThe machine was busy at the start (load {load:.1f} on {cores} cores): read the figures by CPU time, "
            "and take them again when it is quiet.")


# -- JSON lines ------------------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Where and with what a figure was taken."""
    packages = ("panewise", "numpy", "numba", "pyarrow", "duckdb", "polars", "pyspark")
    return {"cores": os.cpu_count(), "memory_gb": _memory(), "processor": _processor(), "system": platform.system(),
            "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            "python": platform.python_version(), "java": _java(), "commit": commit(),
            "versions": {name: metadata.version(name) for name in packages if _installed(name)}}


def write_json(path: Path | None, bench: str, lines: Sequence[dict[str, Any]]) -> None:
    """Append one JSON line per measurement; each says where, with what and by which command it was taken."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    shared = {"bench": bench, "command": " ".join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
              "machine": machine()}
    with path.open("a") as file:
        file.writelines(json.dumps({**shared, **line}) + "\n" for line in lines)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
                platform.processor())


def _memory() -> int | None:
    """Gigabytes, rounded."""
    names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= names.keys():
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)


def _java() -> str | None:
    """The version of the Java that Spark would take; None without one."""
    command = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else Path("java")
    try:
        said = subprocess.run([str(command), "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "([^"]+)"', said)
    return found.group(1) if found else None


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def commit(home: Path = Path(__file__).parent) -> str | None:
    """What is checked out, marked when files other than pages (a report, for one) were changed since."""
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=home, check=True, capture_output=True,
                              text=True).stdout.strip()

    try:
        found = git("describe", "--always", "--exclude", "*")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(exclude,top)docs")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{found}-dirty" if changed else found
