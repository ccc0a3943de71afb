"""A join of two count windows: by expiry catalogues (ORD) and with negative tuples (NT), as they were published.

    python bench/count_joins.py [--windows 10000 100000] [--matches 25 100] [--rows 2000] [--repeat 3] [--json FILE]

A result leaves with the first of its two rows, and nobody knows beforehand when that is. *Negatives*: a row that leaves
probes the other window again, and each negative tuple it makes looks through the list of results of its join value, one
after the other. *ORD*: every row has a catalogue of its results; a row that leaves takes those out of the table and out
of the other rows' catalogues. Both are compiled loops that put nothing out, so that they compare as algorithms. *This
engine* is ORD as a query has it, with what came and what went as Arrow tables, in order. All get the same rows, a
window's fill first; the rows after it are timed, one core, time of the processor. What came and went must be the same
in number.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from common import load_note, median, pin, say, table_text, write_json

from panewise.api.query import plan_of
from panewise.core.schema import SourceSchema
from panewise.queries.relations import RelationQuery

Ints = npt.NDArray[np.int64]
COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64()})
TEXT = "SELECT a.ts, b.ts, a.k FROM a [ROWS :n], b [ROWS :n] WHERE a.k = b.k"
BATCH = 1_000


def keys(window: int, matches: int, rows: int) -> dict[str, Ints]:
    """Join values of two streams of which every row has so many partners."""
    rng = np.random.default_rng(5)
    return {name: rng.integers(0, window // matches, window + rows) for name in "ab"}


# -- this engine


def by_catalogue(window: int, values: dict[str, Ints]) -> tuple[float, int, int]:
    """Seconds after the fill, and how many results came and went in all."""
    schemas = {name: SourceSchema.of(COLUMNS) for name in "ab"}
    query = RelationQuery(plan_of(TEXT, schemas, {"n": window}), progress="ordered")
    tables = {name: pa.table({"ts": 2 * np.arange(len(part)) + (name == "b"), "k": part}, schema=COLUMNS)
              for name, part in values.items()}
    came, went, seconds, rows = 0, 0, 0.0, len(values["a"])
    for first in range(0, rows, BATCH):
        started = time.process_time()
        parts = [query.push(name, tables[name].slice(first, BATCH)) for name in "ab"]
        if first + BATCH >= rows:
            parts += [query.push(name, pa.table({"ts": [2 * rows], "k": [-1]}, schema=COLUMNS)) for name in "ab"]
        if first >= window:
            seconds += time.process_time() - started
        changes = np.concatenate([part.column("change").to_numpy() for part in parts])
        came, went = came + int(np.count_nonzero(changes > 0)), went + int(np.count_nonzero(changes < 0))
    return seconds, came, went


# -- expiry catalogues, as published


def with_catalogues(window: int, values: dict[str, Ints]) -> tuple[float, int, int]:
    """ORD by itself."""
    state = _no_catalogues(window, int(max(part.max() for part in values.values())) + 1, len(values["a"]))
    came, went = _run_ord(*state, values["a"], values["b"], 0, window, window)
    started = time.process_time()
    more, gone = _run_ord(*state, values["a"], values["b"], window, len(values["a"]), window)
    return time.process_time() - started, int(came + more), int(went + gone)


def _no_catalogues(window: int, values: int, rows: int) -> tuple[Ints, ...]:
    """Rows of each side by value, a catalogue for each row, and room for as many results as there are at a time."""
    room = int(1.5 * window * max(window / values, 1)) + 1024
    side = [np.full((2, values), -1), np.full((2, values), -1), np.full((2, rows), -1)]
    catalogues = [np.full((2, rows), -1), np.empty((2, room), np.int64), np.empty((2, room), np.int64)]
    return (*side, *catalogues, np.empty((2, room), np.int64), np.arange(room)[::-1].copy(), np.array([room]))


@numba.njit(cache=True)
def _run_ord(first: Ints, last: Ints, follows: Ints, head: Ints, after: Ints, before: Ints, of: Ints, free: Ints,
             left: Ints, a: Ints, b: Ints, start: int, end: int, window: int) -> tuple[int, int]:
    came, went = 0, 0
    for row in range(start, end):
        for side in range(2):
            mine, other = a if side == 0 else b, 1 - side
            old = row - window
            if old >= 0:
                at = head[side, old]
                while at != -1:  # all results of the row that leaves
                    one, next_, previous = of[other, at], after[other, at], before[other, at]
                    if previous == -1:
                        head[other, one] = next_
                    else:
                        after[other, previous] = next_
                    if next_ != -1:
                        before[other, next_] = previous
                    free[left[0]] = at
                    left[0] += 1
                    went += 1
                    at = after[side, at]
                value = mine[old]
                first[side, value] = follows[side, old]  # the oldest of its value
                if first[side, value] == -1:
                    last[side, value] = -1
            value = mine[row]
            partner = first[other, value]
            while partner != -1:
                left[0] -= 1
                at = free[left[0]]
                for place, one in ((side, row), (other, partner)):
                    of[place, at], before[place, at], after[place, at] = one, -1, head[place, one]
                    if head[place, one] != -1:
                        before[place, head[place, one]] = at
                    head[place, one] = at
                came += 1
                partner = follows[other, partner]
            if last[side, value] == -1:
                first[side, value] = row
            else:
                follows[side, last[side, value]] = row
            last[side, value] = row
    return came, went


# -- negative tuples, as published


def with_negatives(window: int, values: dict[str, Ints]) -> tuple[float, int, int]:
    """The same by the baseline."""
    state = _empty(window, int(max(part.max() for part in values.values())) + 1, len(values["a"]))
    came, went = _run(*state, values["a"], values["b"], 0, window, window)
    started = time.process_time()
    more, gone = _run(*state, values["a"], values["b"], window, len(values["a"]), window)
    return time.process_time() - started, int(came + more), int(went + gone)


def _empty(window: int, values: int, rows: int) -> tuple[Ints, ...]:
    """Lists as arrays: rows of each side by value, and results by value, each with a first and a last."""
    room = 2 * rows * max(window // values, 1) * 2 + 1024
    side = [np.full((2, values), -1), np.full((2, values), -1), np.full((2, rows), -1)]
    results = [np.full(values, -1), np.full(values, -1), np.empty(room, np.int64), np.empty(room, np.int64),
               np.empty(room, np.int64), np.zeros(1, np.int64)]
    return (*side, *results)


@numba.njit(cache=True)
def _run(first: Ints, last: Ints, follows: Ints, head: Ints, tail: Ints, after: Ints, left: Ints, right: Ints,
         used: Ints, a: Ints, b: Ints, start: int, end: int, window: int) -> tuple[int, int]:
    came, went = 0, 0
    for row in range(start, end):
        for side in range(2):
            mine = a if side == 0 else b
            old = row - window
            if old >= 0:
                value = mine[old]
                partner = first[1 - side, value]
                while partner != -1:  # a negative tuple for every result of the row
                    before, at = -1, head[value]
                    while True:
                        here = left[at] == old and right[at] == partner if side == 0 else \
                            left[at] == partner and right[at] == old
                        if here:
                            break
                        before, at = at, after[at]
                    if before == -1:
                        head[value] = after[at]
                    else:
                        after[before] = after[at]
                    if tail[value] == at:
                        tail[value] = before
                    went += 1
                    partner = follows[1 - side, partner]
                first[side, value] = follows[side, old]  # the oldest of its value
                if first[side, value] == -1:
                    last[side, value] = -1
            value = mine[row]
            partner = first[1 - side, value]
            while partner != -1:
                at = used[0]
                used[0] += 1
                left[at], right[at], after[at] = (row, partner, -1) if side == 0 else (partner, row, -1)
                if tail[value] == -1:
                    head[value] = at
                else:
                    after[tail[value]] = at
                tail[value] = at
                came += 1
                partner = follows[1 - side, partner]
            if last[side, value] == -1:
                first[side, value] = row
            else:
                follows[side, last[side, value]] = row
            last[side, value] = row
    return came, went


# -- the comparison


WAYS = {"engine": by_catalogue, "ord": with_catalogues, "negatives": with_negatives}


def measure(window: int, matches: int, options: argparse.Namespace) -> dict[str, Any]:
    values = keys(window, matches, options.rows)
    spent: dict[str, list[float]] = {name: [] for name in WAYS}
    counts: set[tuple[int, int]] = set()
    for _ in range(options.repeat):
        for name, way in WAYS.items():
            seconds, came, went = way(window, values)
            spent[name].append(seconds)
            counts.add((came, went))
    assert len(counts) == 1, f"different numbers came and went: {counts}"
    us = {name: 1e6 * median(seconds) / (2 * options.rows) for name, seconds in spent.items()}
    return {"window": window, "matches": matches, "results": came, **{f"{name}_us": us[name] for name in us},
            "times": us["negatives"] / us["ord"], "engine_times": us["negatives"] / us["engine"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--matches", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--rows", type=int, default=2_000, help="timed rows of each stream")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pin()
    note = load_note()
    for way in (with_catalogues, with_negatives):
        way(100, keys(100, 5, 50))  # compiled before anything is timed
    lines = []
    for window in options.windows:
        for matches in options.matches:
            lines.append(measure(window, matches, options))
            say(f"{window:,} rows, {matches} partners: {lines[-1]['times']:.0f}")
    print(table_text(["rows per window", "partners per row", "negatives us/row", "ORD", "negatives/ORD", "this engine",
                      "negatives/engine"],
                     [[f"{x['window']:,}", x["matches"], f"{x['negatives_us']:,.1f}", f"{x['ord_us']:.2f}",
                       f"{x['times']:,.0f}", f"{x['engine_us']:.1f}", f"{x['engine_times']:.1f}"] for x in lines])
          + note)
    write_json(options.json, "count_joins", lines)


if __name__ == "__main__":
    main()
