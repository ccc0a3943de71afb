"""Joins of four windows, eager and lazy, in several probing orders: X5.1, X5.2 and X5.3 of Golab's thesis.

    python bench/multiway_joins.py [x51] [x52] [x53] [engine] [expiry] [--rows 26000] [--repeat 5] [--json FILE]

Streams of his table 5.5 with a first rate of 10 (erratum E17): one tuple at a time, of a stream by its rate, with a
uniform value. A unit of time is what it takes all streams to send their rates: windows of 100 hold 1,000, 100, 100 and
100 tuples. The algorithms are compiled as published (``published_joins.py``): *eager* expires windows before each probe
(J1), *lazy expiry* at intervals (J2), *lazy* evaluates at intervals what then holds (J3), *restore* also what lived in
between (J4). J1, J2 and J4 must find the same results, J3 those of them that hold at the refresh.

* x51: orders, nested loops and hash tables of 10 buckets, intervals of 10; *predicted* is what the cost model says that
  an order scans, both as multiples of the best order.
* x52, x53: nested loops, 2 and 5 buckets against the interval.
* engine: the operator that runs queries over the same tuples, in steps of 10 and of 100, with its results put together.
* expiry: that operator over three windows of 20,000 rows with one partner each; a step is a part of the window.

One core, milliseconds of the processor per 1,000 tuples, the least of the repetitions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import load_note, pin, say, table_text, write_json
from published_joins import EVERY_ROW, Arrivals, Found, joined

from panewise.kernels.relations.edges.delta import Delta, Lives, Uids
from panewise.kernels.relations.edges.departures import Departures
from panewise.kernels.relations.joins.many_join import JoinedWindow, Manner, ManyJoin
from panewise.kernels.relations.joins.probe_groups import Refreshes
from panewise.planner.choose.join_order import Order, Stream, order_cost
from panewise.windows.sliding import SlidingWindow

RATES, VALUES, WINDOW = [10.0, 1.0, 1.0, 1.0], [40, 100, 8, 5], 100
UNIT = int(sum(RATES))
"""Tuples in a unit of time."""
NAMED: list[Order] = [(1, 0, 2, 3), (0, 1, 2, 3), (1, 2, 3, 0)]
"""The orders the thesis names, the best first."""
WAYS: dict[str, dict[str, Any]] = {"eager": {}, "eager, lazy expiry": {}, "lazy": {"lazy": True},
                                   "lazy, restore": {"lazy": True, "restore": True}}
INTERVALS = (0, 1, 2, 5, 10, 20, 40)


def streams(buckets: int) -> list[Stream]:
    return [Stream(rate, WINDOW, values, buckets) for rate, values in zip(RATES, VALUES, strict=True)]


def orders() -> list[Order]:
    """Those of the thesis, and the worst for the one it does not name."""
    every = list(permutations(range(len(RATES))))
    return [*NAMED, max(every, key=lambda order: order_cost(streams(1), order))]


def name_of(order: Order) -> str:
    return ", ".join(f"S{i + 1}" for i in order)


def drawn(rows: int) -> Arrivals:
    """Whole intervals of any length that is asked for."""
    rows = -(-rows // (200 * UNIT)) * 200 * UNIT
    return Arrivals.drawn(rows, RATES, VALUES, [WINDOW * UNIT] * len(RATES), seed=5)


def fastest(work: Callable[[], Any], rows: int, repeat: int) -> tuple[float, Any]:
    """Milliseconds per 1,000 tuples, and what was found; once before, so that nothing is compiled in between."""
    found, least = work(), float("inf")
    for _ in range(repeat):
        started = time.process_time()
        work()
        least = min(least, time.process_time() - started)
    return 1e6 * least / rows, found


# -- the published algorithms


def measure(arrivals: Arrivals, order: Order, buckets: int, interval: int, repeat: int) -> dict[str, float]:
    """All four at one interval; where it is 0 there is only the eager one."""
    found: dict[str, float] = {}
    told: dict[str, Found] = {}
    for way, options in WAYS.items():
        every = EVERY_ROW if way == "eager" else interval * UNIT
        if every or way == "eager":
            found[way], told[way] = fastest(lambda o=options, e=every: joined(arrivals, order, buckets, every=e, **o),
                                            arrivals.count, repeat)
    check(told)
    return found


def check(told: dict[str, Found]) -> None:
    """Property 9."""
    same = {(f.results, f.checksum) for way, f in told.items() if way != "lazy"}
    if len(same) > 1 or ("lazy" in told and told["lazy"].results != told["lazy, restore"].holding):
        raise SystemExit(f"the algorithms found different results: {told}")


def x51(arrivals: Arrivals, repeat: int) -> list[dict[str, Any]]:
    lines = []
    for buckets in (1, 10):
        for order in orders():
            lines.append({"part": "x51", "order": name_of(order), "buckets": buckets,
                          "predicted": order_cost(streams(buckets), order),
                          "ms": measure(arrivals, order, buckets, 10, repeat)})
            say(f"x51: {name_of(order)}, {buckets} buckets done")
    head = ["structure", "order", "predicted", *(f"{way} ms" for way in WAYS), "as multiples of the best", "ranks"]
    best = {b: next(line for line in lines if line["buckets"] == b) for b in (1, 10)}
    rows = []
    for line in lines:
        first = best[line["buckets"]]
        ratios = [line["ms"][way] / first["ms"][way] for way in WAYS]
        rows.append(["nested loops" if line["buckets"] == 1 else f"hash, {line['buckets']}", line["order"],
                     f"{line['predicted']:,.0f} ({line['predicted'] / first['predicted']:.2f})",
                     *(f"{line['ms'][way]:.2f}" for way in WAYS), " ".join(f"{r:.2f}" for r in ratios),
                     " ".join(str(rank(lines, line, way)) for way in ("predicted", *WAYS))])
    print("X5.1: orders (ranks: predicted, then measured)\n" + table_text(head, rows) + "\n")
    return lines


def rank(lines: Sequence[dict[str, Any]], line: dict[str, Any], way: str) -> int:
    """Which place an order has among those with its structure."""
    def cost(one: dict[str, Any]) -> float:
        return float(one["predicted"] if way == "predicted" else one["ms"][way])

    return 1 + sum(cost(one) < cost(line) for one in lines if one["buckets"] == line["buckets"])


def intervals(arrivals: Arrivals, repeat: int, part: str, buckets: int) -> list[dict[str, Any]]:
    lines = []
    for interval in INTERVALS:
        lines.append({"part": part, "order": name_of(NAMED[0]), "buckets": buckets, "interval": interval,
                      "ms": measure(arrivals, NAMED[0], buckets, interval, repeat)})
        say(f"{part}: {buckets} buckets, interval {interval} done")
    eager = lines[0]["ms"]["eager"]
    rows = [[line["interval"], *(f"{line['ms'][way]:.2f} ({line['ms'][way] / eager:.2f})" if way in line["ms"] else "–"
                                 for way in WAYS)] for line in lines]
    structure = "nested loops" if buckets == 1 else f"{buckets} buckets"
    print(f"{part.upper().replace('X5', 'X5.')}: {structure}, order {name_of(NAMED[0])}, ms (and of eager at once)\n"
          + table_text(["interval", *WAYS], rows) + "\n")
    return lines


# -- this engine


MANNERS = {"eager": (False, True), "eager, lazy expiry": (False, False), "lazy": (True, False),
           "lazy, restore": (True, False)}
"""Whether evaluation is lazy, and whether expiry is eager."""


def steps(arrivals: Arrivals, way: str, batch: int) -> list[tuple[list[Delta], int]]:
    """The tuples as the operator gets them: rows with their lives, step by step."""
    slide = 10 * UNIT if way == "lazy" else 1
    uids, made = Uids(), []
    for began in range(0, arrivals.count, batch):
        deltas = []
        for stream, length in enumerate(arrivals.ranges):
            times = began + np.flatnonzero(arrivals.stream[began : began + batch] == stream)
            born, expires = SlidingWindow(int(length), slide).lifetime(times)
            table = pa.table({f"S{stream + 1}.a": arrivals.value[times]})
            deltas.append(Delta(Lives(table, uids.draw(len(times)), born, expires, np.stack([times, times]))))
        made.append((deltas, began + batch))
    return made


def run(made: list[tuple[list[Delta], int]], way: str, order: Order) -> tuple[int, int, int]:
    """Results, the most rows that were kept, and look-ups."""
    lazy, eager_expiry = MANNERS[way]
    manner = Manner(order, Refreshes(10 * UNIT) if lazy else None, way == "lazy", eager_expiry)
    windows = [JoinedWindow(pa.schema({f"S{i + 1}.a": pa.int64()}), f"S{i + 1}.a", Departures.IN_ORDER)
               for i in range(len(order))]
    join, results, kept = ManyJoin(windows, pa.int64(), Uids(), manner), 0, 0
    for deltas, upto in made:
        results += len(join.step(deltas, upto).lives)
        kept = max(kept, join.counters()["rows"])
    return results, kept, join.counters()["probes"]


def engine(arrivals: Arrivals, repeat: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for batch in (10, 100):
        for order in (orders()[0], orders()[-1]):
            told: dict[str, int] = {}
            for way in WAYS:
                made = steps(arrivals, way, batch * UNIT)
                ms, (told[way], kept, probes) = fastest(lambda m=made, w=way, o=order: run(m, w, o),
                                                        arrivals.count, repeat)
                lines.append({"part": "engine", "order": name_of(order), "step": batch, "way": way, "ms": ms,
                              "kept": kept, "probes": probes / arrivals.count, "results": told[way]})
            holding = joined(arrivals, order, 10, lazy=True, every=10 * UNIT).results
            if len({told[way] for way in WAYS if way != "lazy"}) > 1 or told["lazy"] != holding:
                raise SystemExit(f"the operator found different results: {told}, {holding:,} hold at refreshes")
            say(f"engine: {name_of(order)}, steps of {batch} done")
    eager = {(line["step"], line["order"]): line["ms"] for line in lines if line["way"] == "eager"}
    print("the operator that runs queries, results put together\n" + table_text(
        ["step", "order", "evaluation", "ms", "of eager", "ns a result", "look-ups a row", "rows kept"],
        [[line["step"], line["order"], line["way"], f"{line['ms']:.1f}",
          f"{line['ms'] / eager[line['step'], line['order']]:.2f}",
          f"{1e3 * line['ms'] * arrivals.count / line['results']:.0f}", f"{line['probes']:.1f}", f"{line['kept']:,}"]
         for line in lines]) + "\n")
    return lines


def expiry(repeat: int, window: int = 20_000) -> list[dict[str, Any]]:
    """What it costs to let go of rows at every step instead of when they are the most, and what it saves."""
    lines: list[dict[str, Any]] = []
    for part in (40, 20, 10, 8, 4, 2):
        batch = window // part
        arrivals = Arrivals.drawn(12 * window // (3 * batch) * 3 * batch, [1.0] * 3, [window] * 3, [3 * window] * 3, 5)
        for way in ("eager", "eager, lazy expiry"):
            made = steps(arrivals, way, 3 * batch)
            ms, (_, kept, _) = fastest(lambda m=made, w=way: run(m, w, (0, 1, 2)), arrivals.count, repeat)
            lines.append({"part": "expiry", "window": window, "step": f"1/{part}", "way": way, "ms": ms, "kept": kept})
        say(f"expiry: steps of 1/{part} done")
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    print("expiry at every step, or when most rows are gone\n" + table_text(
        ["step", "eager ms", "lazy ms", "eager/lazy", "rows kept, eager", "lazy"],
        [[f"{one['step']} of a window", f"{one['ms']:.2f}", f"{other['ms']:.2f}", f"{one['ms'] / other['ms']:.2f}",
          f"{one['kept']:,}", f"{other['kept']:,}"] for one, other in pairs]) + "\n")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["x51", "x52", "x53", "engine", "expiry"], metavar="PART")
    parser.add_argument("--rows", type=int, default=26_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pin()
    note = load_note()
    arrivals = drawn(options.rows)
    work: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "x51": lambda: x51(arrivals, options.repeat),
        "x52": lambda: intervals(arrivals, options.repeat, "x52", 1),
        "x53": lambda: [*intervals(arrivals, options.repeat, "x53", 2), *intervals(arrivals, options.repeat, "x53", 5)],
        "engine": lambda: engine(arrivals, options.repeat),
        "expiry": lambda: expiry(options.repeat, max(80, min(20_000, options.rows)))}
    if unknown := [part for part in options.parts if part not in work]:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(work)}")
    lines = [line for part in options.parts for line in work[part]()]
    print(f"{arrivals.count:,} tuples{note}")
    write_json(options.json, "multiway_joins", lines)


if __name__ == "__main__":
    main()
