"""Frequent items from the lists of sub-windows (Golab, chapter 6): how much the lists miss.

    python bench/frequent_items.py [--window 100000] [--panes 20 100 500] [--lists 1 3 5 7 10] [--windows 20]
                                   [--json FILE]

One connection per tick, 1,647 sources by Zipf's law, as a stand-in for the trace of the thesis: ``frequent_items(src,
k)`` over windows whose panes have b rows. Windows of time slide so that some tens of them are looked at, wherever
they begin. Windows by rows slide by b, as the algorithm does: there is a result after every sub-window, and those
that begin where a window of time does must be the same. The truth is counted anew for every window of time.
*threshold*: what a source must exceed to be reported for sure (the sum of the last counts of full lists), as a share
of the window. *above*: sources that truly do. *found*: the share of these that are reported. *error*: by how much
reported counts are too small. *in order*: the share of windows that report their sources in the true order.
*entries*: counters in all lists of a window, beside the rows of the window. *seconds* and *by rows*: processor time
of either run, the second with its results. No source may be reported that is not above the threshold, no count may be
too large and no list may differ: the run stops if one does.
"""

from __future__ import annotations

import argparse
import time
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import load_note, pin, table_text, write_json
from relations_styles import SOURCES

from panewise.api.stream import stream

WINDOW, PANES, LISTS, WINDOWS = 100_000, (20, 100, 500), (1, 3, 5, 7, 10), 20


def slide_for(window: int, pane: int) -> int:
    """About a fiftieth of the window, with panes of the wanted length."""
    if window % pane:
        raise SystemExit(f"a window of {window} rows cannot be cut into panes of {pane}")
    times = max(1, window // (50 * pane))
    while gcd(times, window // pane) > 1:
        times += 1
    return times * pane


def lists_of(panes: Any, k: int) -> tuple[int, int]:
    """The sum of the last counts of full lists, and the entries of all; panes are rows of equal length."""
    counts = np.zeros((len(panes), SOURCES), np.int16)
    np.add.at(counts, (np.arange(len(panes))[:, None], panes), 1)
    last = -np.partition(-counts, k - 1, axis=1)[:, k - 1]
    return int(last.sum()), int(np.minimum(np.count_nonzero(counts, axis=1), k).sum())


def measure(window: int, pane: int, k: int, windows: int) -> dict[str, Any]:
    """Windows of the engine beside the truth."""
    slide = slide_for(window, pane)
    rows = window + windows * slide
    sources = np.random.default_rng(7).zipf(1.3, rows) % SOURCES
    table = pa.table({"ts": np.arange(rows), "src": sources})
    started = time.process_time()
    found = stream(table, time="ts").window(range=window, slide=slide).agg(often=f"frequent_items(src, {k})")
    results = [(row["window"]["start"], row["often"]) for row in found
               if row["window"]["start"] >= 0 and row["window"]["end"] <= rows]
    seconds = time.process_time() - started
    counted, by_rows = results_by_rows(table, window, pane, k)
    if any(counted[start] != often for start, often in results):
        raise SystemExit(f"windows of {window} rows in panes of {pane} have other lists by time than by rows")
    lines = [compared(sources[start : start + window], often, pane, k) for start, often in results]
    mean = {name: float(np.mean([line[name] for line in lines])) for name in lines[0]}
    return {"b": pane, "k": k, "windows": len(lines), "seconds": seconds, "windows by rows": len(counted),
            "seconds by rows": by_rows, **mean}


def results_by_rows(table: pa.Table, window: int, pane: int, k: int) -> tuple[dict[int, Any], float]:
    """The lists of full windows by the place of their first row, a window after every pane; and processor time."""
    started = time.process_time()
    found = stream(table, time="ts").window(f"RANGE {window} rows, SLIDE {pane} rows, WA row-num") \
        .agg(often=f"frequent_items(src, {k})")
    ends = ((row["wid"] * pane + pane, row["often"]) for row in found)
    full = {end - window: often for end, often in ends if window <= end <= table.num_rows}
    return full, time.process_time() - started


def compared(sources: Any, often: list[dict[str, int]], pane: int, k: int) -> dict[str, float]:
    """One window."""
    truth = np.bincount(sources, minlength=SOURCES)
    parts = [lists_of(part, k) for part in np.array_split(sources.reshape(-1, pane), 20)]
    hidden, entries = sum(last for last, _ in parts), sum(size for _, size in parts)
    above = set(np.flatnonzero(truth > hidden).tolist())
    reported = {entry["item"]: entry["count"] for entry in often}
    if not set(reported) <= above or any(count > truth[item] for item, count in reported.items()):
        raise SystemExit(f"a source is reported that is not above {hidden}, or too often: {often}")
    true_order = sorted(reported, key=lambda item: (-truth[item], item))
    errors = [1 - count / truth[item] for item, count in reported.items()]
    return {"threshold": hidden / len(sources), "above": len(above), "reported": len(reported),
            "found": len(reported) / len(above) if above else 1.0, "error": float(np.mean(errors)) if errors else 0.0,
            "in order": float(true_order == list(reported)), "entries": entries}


def main(arguments: list[str] | None = None) -> None:
    """Every size of panes with every length of lists."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--window", type=int, default=WINDOW)
    parser.add_argument("--panes", type=int, nargs="+", default=PANES)
    parser.add_argument("--lists", type=int, nargs="+", default=LISTS)
    parser.add_argument("--windows", type=int, default=WINDOWS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    note = load_note()
    pin()
    measured = [measure(options.window, pane, k, options.windows) for pane in options.panes for k in options.lists]
    shown = [[f"{m['b']:,}", str(m["k"]), f"{m['threshold']:.1%}", f"{m['above']:.1f}", f"{m['found']:.0%}",
              f"{m['error']:.1%}", f"{m['in order']:.0%}", f"{m['entries']:,.0f}", f"{m['seconds']:.1f}",
              f"{m['seconds by rows']:.1f} ({m['windows by rows']:,})"]
             for m in measured]
    head = ["b", "k", "threshold", "above", "found", "error", "in order", "entries", "seconds", "by rows"]
    print(table_text(head, shown) + note)
    write_json(options.json, "frequent_items", measured)


if __name__ == "__main__":
    main()
