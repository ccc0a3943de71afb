"""NOT EXISTS, whose results leave early: a calendar that is searched, negative tuples for all, and numbers (X3.6).

    python bench/negation_crossover.py [--windows 100 1000 10000 100000] [--batch 1000] [--repeat 3] [--json FILE]

The results of a negation have an end, and some leave before it. Whoever keeps them can have a calendar by their ends
and search it for those that leave early, as was published: cheap while the window is small. Or every end, early or not,
is sent as a negative tuple through all operators and found in a hash table: dearer, but whatever the window. Where the
one becomes dearer than the other is the crossover. This engine keeps a calendar, too, but finds what leaves early by
its number.

The query of X3.6 runs with expiry by calendars and with negative tuples throughout, one core, time of the processor.
What the negation told is noted, and kept once more in a calendar as published, compiled, one tuple after the other:
*searched* is the query with that in the place of the engine's own. All must let go of the same number of results.
*keep*, *expire* and *find* are what the parts of the engine's calendar cost per row, for the constants of
``planner/choose/departures.py``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from common import load_note, median, pin, say, table_text, write_json
from relations_styles import QUERIES, Links, plan, run

from panewise.dataflow import open_plan
from panewise.kernels.relations.edges.delta import NO_ENDS, Delta, Ends, Lives
from panewise.kernels.relations.stores.alive import AliveRows
from panewise.kernels.relations.stores.queues import Calendar
from panewise.plan.nodes import AntiJoin

Ints = npt.NDArray[np.int64]
DAYS = 11
"""Ten days of the longest life, and one so that none is used for two (Golab erratum E4)."""
NOTHING = pa.schema([])


@dataclass(frozen=True)
class Step:
    """What a negation told in one step: results by number from ``first`` on, and numbers that leave early."""

    upto: int
    first: int
    expires: Ints
    early: Ints
    at: Ints


TEXT = next(text for name, text in QUERIES.items() if "X3.6" in name)


def links_of(window: int, batch: int) -> Links:
    return Links(max(4 * window, 20 * batch) // batch * batch, batch, window, "strangers")


def whole(links: Links, style: str) -> float:
    """Microseconds of the query for each input row."""
    tables = {link: links.table(link) for link in "ab"}
    query = open_plan(plan(TEXT, links.window), progress="ordered", strategy=style)
    seconds, _, _, _ = run(query, tables, links.batch, 0)
    return 1e6 * seconds / (2 * links.rows)


def recorded(links: Links) -> list[Step]:
    """What the negation tells, step by step."""
    batch, tables = links.batch, {link: links.table(link) for link in "ab"}
    query = open_plan(plan(TEXT, links.window), progress="ordered")
    negation = next(stage for stage in query.relation.root.walk() if isinstance(stage.node, AntiJoin))
    told: list[tuple[int, Delta]] = []
    operator = negation.operator
    step = operator.step

    def noting(inputs: Any, upto: int) -> Delta:
        delta = step(inputs, upto)
        told.append((upto, delta))
        return delta

    operator.step = noting  # type: ignore[method-assign]
    for first in range(0, links.rows, batch):
        for name in "ab":
            query.push(name, tables[name].slice(first, batch))
    numbers: dict[int, int] = {}
    steps, first = [], 0
    for upto, delta in told:
        stay = delta.lives.expires >= upto
        expires = delta.lives.expires[stay]
        numbers.update(zip(delta.lives.uid[stay].tolist(), range(first, first + len(expires)), strict=True))
        early = np.array([numbers[uid] for uid in delta.ends.uid.tolist()], np.int64)
        steps.append(Step(upto, first, expires, early, delta.ends.at))
        first += len(expires)
    return steps


# -- as published: one tuple after the other


@dataclass(frozen=True)
class Flat:
    """All steps in a row, so that a compiled loop can take them: where each begins is in ``starts``."""

    starts: Ints
    """By step: the first result, the first early end or negative, the bound."""
    expires: Ints
    gone: Ints

    @classmethod
    def of(cls, steps: list[Step], gone: list[Ints]) -> Flat:
        """With the rows that each step lets go of by number."""
        firsts = np.cumsum([0, *(len(part) for part in gone)])
        last = steps[-1].first + len(steps[-1].expires)
        starts = [(step.first, firsts[i], step.upto) for i, step in enumerate(steps)] + [(last, firsts[-1], 0)]
        return cls(np.array(starts), np.concatenate([step.expires for step in steps]), np.concatenate(gone))


@numba.njit(cache=True)
def searched(starts: Ints, expires: Ints, early: Ints, width: int) -> int:
    """A calendar of lists; what leaves early is looked for in one day after the other."""
    head, after = np.full(DAYS, -1), np.empty(len(expires), np.int64)
    day, gone = 0, 0
    for step in range(len(starts) - 1):
        for i in range(starts[step, 1], starts[step + 1, 1]):
            row = early[i]
            for d in range(DAYS):
                before, at = -1, head[d]
                while at not in (-1, row):
                    before, at = at, after[at]
                if at == row:
                    if before == -1:
                        head[d] = after[row]
                    else:
                        after[before] = after[row]
                    gone += 1
                    break
        upto = starts[step, 2]
        while (day + 1) * width <= upto:  # days that are over
            at = head[day % DAYS]
            while at != -1:
                gone += 1
                at = after[at]
            head[day % DAYS] = -1
            day += 1
        before, at = -1, head[day % DAYS]  # and what is over of today
        while at != -1:
            if expires[at] < upto:
                gone += 1
                if before == -1:
                    head[day % DAYS] = after[at]
                else:
                    after[before] = after[at]
            else:
                before = at
            at = after[at]
        for row in range(starts[step, 0], starts[step + 1, 0]):
            d = (expires[row] // width) % DAYS
            after[row], head[d] = head[d], row
    return gone


@numba.njit(cache=True)
def hashed(starts: Ints, negatives: Ints, buckets: int) -> int:
    """Every end is a negative tuple, found in a hash table by the number of its row."""
    head, after = np.full(buckets, -1), np.empty(starts[-1, 0], np.int64)
    gone, mask = 0, buckets - 1
    for step in range(len(starts) - 1):
        for i in range(starts[step, 1], starts[step + 1, 1]):
            row = negatives[i]
            bucket = (row * 0x9E3779B97F4A7) & mask
            before, at = -1, head[bucket]
            while at != row:
                before, at = at, after[at]
            if before == -1:
                head[bucket] = after[row]
            else:
                after[before] = after[row]
            gone += 1
        for row in range(starts[step, 0], starts[step + 1, 0]):
            bucket = (row * 0x9E3779B97F4A7) & mask
            after[row], head[bucket] = head[bucket], row
    return gone


def by_search(steps: list[Step], window: int) -> tuple[float, int]:
    flat = Flat.of(steps, [step.early for step in steps])
    started = time.process_time()
    gone = searched(flat.starts, flat.expires, flat.gone, max(1, window // (DAYS - 1)))
    return time.process_time() - started, gone


def by_hash(steps: list[Step], window: int) -> tuple[float, int]:
    flat = Flat.of(steps, all_ends(steps))
    started = time.process_time()
    gone = hashed(flat.starts, flat.gone, 1 << max(4, (2 * window).bit_length()))
    return time.process_time() - started, gone


def all_ends(steps: list[Step]) -> list[Ints]:
    """Who is gone in each step, early or not: what negative tuples say."""
    expires = np.concatenate([step.expires for step in steps])
    there = np.zeros(len(expires), np.bool_)
    found = []
    for step in steps:
        there[step.early] = False
        due = np.flatnonzero(there[: step.first] & (expires[: step.first] < step.upto))
        there[due] = False
        found.append(np.concatenate([step.early, due]))
        there[step.first : step.first + len(step.expires)] = True
    return found


# -- this engine: one step after the other


def by_number(steps: list[Step], window: int) -> tuple[float, int]:
    del window
    rows, gone, spent = AliveRows(NOTHING, Calendar()), 0, 0.0
    for step in steps:
        numbers = np.arange(step.first, step.first + len(step.expires)) + 1
        age = np.zeros((1, len(numbers)), np.int64)
        lives = Lives(NOTHING.empty_table(), numbers, numbers, step.expires, age)
        delta = Delta(lives, Ends(step.early + 1, step.at) if len(step.early) else NO_ENDS)
        started = time.process_time()
        gone += len(rows.leave(delta, step.upto))
        rows.enter(lives, step.upto)
        rows.forget()
        spent += time.process_time() - started
    return spent, gone


def parts(steps: list[Step]) -> dict[str, float]:
    """Nanoseconds per row to put into a calendar, to take out of it, and to find by number."""
    queue, numbers = Calendar(), np.arange(sum(len(step.expires) for step in steps))
    spent, counts = dict.fromkeys(("keep", "expire", "find"), 0.0), dict.fromkeys(("keep", "expire", "find"), 1)
    for step in steps:
        slots = np.arange(step.first, step.first + len(step.expires))
        for name, work in (("keep", lambda q=queue, s=slots, t=step: q.insert(s, t.expires, t.upto)),
                           ("expire", lambda q=queue, t=step: q.due(t.upto)),
                           ("find", lambda t=step: np.searchsorted(numbers[: t.first], t.early))):
            started = time.process_time()
            found = work()
            spent[name] += time.process_time() - started
            counts[name] += len(slots) if name == "keep" else len(found)
    return {name: 1e9 * spent[name] / counts[name] for name in spent}


WAYS: dict[str, Callable[[list[Step], int], tuple[float, int]]] = {
    "searched": by_search, "hashed": by_hash, "numbered": by_number}


def measure(window: int, options: argparse.Namespace) -> dict[str, Any]:
    links = links_of(window, options.batch)
    steps = recorded(links)
    results, early = sum(len(step.expires) for step in steps), sum(len(step.early) for step in steps)
    spent: dict[str, list[float]] = {name: [] for name in (*WAYS, "upa", "negative")}
    gone: dict[str, int] = {}
    for _ in range(options.repeat):
        for name, way in WAYS.items():
            seconds, gone[name] = way(steps, window)
            spent[name].append(1e6 * seconds / (2 * links.rows))
        for style in ("upa", "negative"):
            spent[style].append(whole(links, style))
    assert len(set(gone.values())) == 1, f"they let go of different numbers of results: {gone}"
    us = {name: median(found) for name, found in spent.items()}
    return {"window": window, "results": results, "premature": early / max(1, next(iter(gone.values()))),
            "searched_us": us["upa"] - us["numbered"] + us["searched"], "negatives_us": us["negative"],
            "numbered_us": us["upa"], "stores_us": {name: us[name] for name in WAYS}, **parts(steps)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pin()
    note = load_note()
    small = recorded(links_of(100, 10))
    by_search(small, 100)  # compiled before anything is timed
    by_hash(small, 100)
    lines = []
    for window in options.windows:
        lines.append(measure(window, options))
        say(f"{window:,} rows done")
    print(table_text(["window", "leave early", "calendar, searched", "negative tuples", "calendar, by number", "keep",
                      "expire", "find"],
                     [[f"{x['window']:,}", f"{x['premature']:.0%}",
                       *(f"{x[f'{name}_us']:,.2f} us/row" for name in ("searched", "negatives", "numbered")),
                       *(f"{x[name]:,.0f} ns" for name in ("keep", "expire", "find"))] for x in lines]) + note)
    write_json(options.json, "negation_crossover", lines)


if __name__ == "__main__":
    main()
