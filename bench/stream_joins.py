"""Window joins of streams: how fast, how much memory and how soon, beside joins that keep order.

    python bench/stream_joins.py [throughput] [ordered] [skew] [--rows 4000000] [--rate 4000] [--seconds 40]
                                 [--flows 65536] [--repeat 3] [--json FILE]

*throughput*: a whole query on the embedded engine, one core, one pair per input row; rows and punctuation of both
streams in batches. *ordered*: OA-Join beside joins with ordered output (output buffered, input buffered, merged) on two
links for ranges of 1 to 9 seconds (Li, experiments of figures 7-6 and 7-7). *skew*: a tumbling join of two unions whose
second parts are up to 100 s behind, OA-Join beside merging inputs in order (figure 8-9).

State is counted in bytes of everything that is held, before and after every punctuation. A pair's delay is the stream
time between its later row and the moment it leaves. All joins of a run must give the same pairs.

In *ordered* and *skew* the joins run alone; ``counted_joins.py`` has them in a whole query, as Li's experiments do.
Beside the delay in stream time, ``latency ms`` is time by the clock: from the item that set pairs free (for OA-Join
their later row, for joins in order mostly a punctuation) to their being there, as the median over items that gave
pairs. How much a join in order holds depends on the number of flows: few flows make many pairs, which wait in the
output; many flows make few pairs, and rows wait alone. Run with ``--flows 4096``, ``65536`` and ``1000000``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import SECOND, START, TIMESTAMP, load_note, machine, median, pin, rate, spread_text, table_text
from in_order_joins import InputBufferedJoin, MergedJoin, OutputBufferedJoin

from panewise.api.query import plan_of
from panewise.core.join_kinds import LEFT, RIGHT
from panewise.core.ordinals import Ordinals, to_ordinals
from panewise.core.schema import SourceSchema
from panewise.dataflow import Query, open_plan
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.pairing import Band, Buckets, Pairing
from panewise.kernels.joins.sides import JoinSide, JoinSpec
from panewise.progress.punctuation import END, Punctuation

JOINS: dict[str, Callable[[JoinSpec], Any]] = {
    "OA-Join": OAJoin, "output buffered": OutputBufferedJoin, "input buffered": InputBufferedJoin, "merged": MergedJoin}


# -- throughput ------------------------------------------------------------------------------------------------------

QUERIES = {
    "band": "SELECT a.ts AS ats, a.v AS av, b.ts AS bts, b.v AS bv "
            "FROM a [RANGE 5 s, WA ts], b [RANGE 5 s, WA ts] WHERE a.k = b.k",
    "tumbling": "SELECT a.ts AS ats, a.v AS av, b.ts AS bts, b.v AS bv "
                "FROM a, b [RANGE TUMBLING 10 s, WA ts] WHERE a.k = b.k",
    "count over the band": "SELECT count(*) [RANGE 10 s, SLIDE 2 s, WA a.ts] AS n "
                           "FROM a [RANGE 5 s, WA ts], b [RANGE 5 s, WA ts] WHERE a.k = b.k",
}


def halves(rows: int, keys: int, batch: int, *, text: bool, disorder: float = 0.05) -> list[tuple[str, Any]]:
    """Rows of two streams in turn, 1,000 per second of each, some late, with a punctuation after each batch."""
    rng = np.random.default_rng(5)
    names = pa.array([f"key-{i:07}" for i in range(keys)])
    items: list[tuple[str, Any]] = []
    for first in range(0, rows // 2, batch):
        count = min(batch, rows // 2 - first)
        for stream in "ab":
            arrival = START + np.arange(first, first + count) * (SECOND // 1_000)
            late = np.where(rng.random(count) < disorder, rng.integers(0, 3 * SECOND, count), 0)
            drawn = pa.array(rng.integers(0, keys, count))
            table = pa.table({"ts": pa.array(arrival - late).cast(TIMESTAMP),
                              "k": names.take(drawn) if text else drawn, "v": rng.random(count)})
            items.append((stream, table.to_batches()[0]))
            items.append((stream, Punctuation.below("ts", int(arrival[-1]) - 3 * SECOND)))
    return items


def throughput(options: argparse.Namespace) -> list[dict[str, Any]]:
    keys = 5 * 1_000  # ten seconds of a thousand rows: every row has two partners, so there is a pair per row
    found = []
    cases = [("band", 10_000, False), ("band", 1_000, False), ("band", 100_000, False), ("band", 10_000, True),
             ("tumbling", 10_000, False), ("count over the band", 10_000, False)]
    for query, batch, text in cases:
        items = halves(options.rows, keys, batch, text=text)
        columns = {"ts": TIMESTAMP, "k": pa.string() if text else pa.int64(), "v": pa.float64()}
        plan = plan_of(QUERIES[query], {s: SourceSchema(dict(columns), time="ts") for s in "ab"})
        _push(open_plan(plan), items[:8])  # compiled loops are loaded
        seconds, cpu, pairs, size = [], [], 0, 0
        for _ in range(options.repeat):
            running = open_plan(plan)
            wall, used = time.perf_counter(), time.process_time()
            results = _push(running, items)
            seconds.append(time.perf_counter() - wall)
            cpu.append(time.process_time() - used)
            counters = running.status(windows=0)["joins"][0]
            pairs, size = counters["results"], max(size, counters["bytes"])
        found.append({"part": "throughput", "query": query, "key": "text" if text else "integer", "batch": batch,
                      "rows": options.rows, "pairs": pairs, "results": results, "seconds": seconds, "cpu": cpu,
                      "rows_per_second": options.rows / median(seconds),
                      "rows_per_cpu_second": options.rows / median(cpu)})
    return found


def _push(query: Query, items: list[tuple[str, Any]]) -> int:
    return sum(query.push(stream, item).num_rows for stream, item in items) + query.finish().num_rows


# -- beside joins that keep order ------------------------------------------------------------------------------------


@dataclass
class Packets:
    """Packets of random flows; a flow's second direction has source and destination exchanged."""

    flows: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(11))

    def __post_init__(self) -> None:
        self.address = self.rng.integers(0, 2**32, (2, self.flows))
        self.port = self.rng.integers(0, 2**16, (2, self.flows), dtype=np.int32)

    def table(self, side: int, times: Ordinals) -> pa.Table:
        """Packets at these times, of one direction."""
        drawn = self.rng.integers(0, self.flows, len(times))
        source, destination = (0, 1) if side == LEFT else (1, 0)
        columns = {"ts": pa.array(times).cast(TIMESTAMP), "srcIP": self.address[source][drawn],
                   "destIP": self.address[destination][drawn], "srcPort": self.port[source][drawn],
                   "destPort": self.port[destination][drawn]}
        return pa.table({f"{'lr'[side]}.{name}": column for name, column in columns.items()})


KEYS = (("srcIP", "destIP"), ("destIP", "srcIP"), ("srcPort", "destPort"), ("destPort", "srcPort"))


def spec(pairing: Pairing, output: tuple[str, ...] | None = None) -> JoinSpec:
    types = {"ts": TIMESTAMP, "srcIP": pa.int64(), "destIP": pa.int64(), "srcPort": pa.int32(), "destPort": pa.int32()}
    sides = [JoinSide(pa.schema([(f"{s}.{n}", t) for n, t in types.items()]), f"{s}.ts",
                      tuple(f"{s}.{pair[i]}" for pair in KEYS),
                      None if output is None else tuple(name for name in output if name.startswith(f"{s}.")))
             for i, s in enumerate("lr")]
    return JoinSpec(sides[LEFT], sides[RIGHT], pairing)


Item = tuple[int, int, Any]
"""Stream time of arrival, side, rows or bound."""


@dataclass
class Measured:
    """What one join did with a stream of items."""

    peak: int = 0
    pairs: int = 0
    checksum: int = 0
    seconds: float = 0.0
    delays: list[Ordinals] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    def run(self, join: Any, items: Iterator[Item]) -> Measured:
        """Everything through a join."""
        for now, side, item in items:
            started = time.perf_counter()
            if isinstance(item, pa.Table):
                results = join.process(side, item, to_ordinals(item.column(f"{'lr'[side]}.ts"), "ts"))
            else:
                results, _ = join.advance(side, item)
            took = time.perf_counter() - started
            self.seconds += took
            self.peak = max(self.peak, join.size)
            if results.num_rows:
                self.latencies.append(took)
                times = [to_ordinals(results.column(f"{s}.ts"), "ts") for s in "lr"]
                self.delays.append(np.maximum(now - np.maximum(*times), 0))
                self.pairs += results.num_rows
                self.checksum += int(np.bitwise_xor.reduce(times[LEFT] * 31 + times[RIGHT]))
        return self

    @property
    def delay(self) -> tuple[float, float]:
        """Median and largest, in seconds of stream time."""
        every = np.concatenate(self.delays) if self.delays else np.zeros(1)
        return float(np.median(every)) / SECOND, float(every.max()) / SECOND


def two_links(packets: Packets, rate_: int, seconds: int) -> Iterator[Item]:
    """Both links in order and in step, ten batches a second, each followed by its punctuation."""
    for start in range(0, seconds * SECOND, SECOND // 10):
        end = START + start + SECOND // 10
        for side in (LEFT, RIGHT):
            times = np.sort(packets.rng.integers(START + start, end, rate_ // 10))
            yield end, side, packets.table(side, times)
            yield end, side, Punctuation.below(f"{'lr'[side]}.ts", end)
    for side in (LEFT, RIGHT):
        yield START + seconds * SECOND, side, END


def ordered(options: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    for reach in options.ranges:
        joined = spec(Band.of_ranges(reach * SECOND, reach * SECOND))  # whole rows, as SELECT * has them
        runs = {}
        for name, make in JOINS.items():
            items = two_links(Packets(options.flows), options.rate, options.seconds)
            runs[name] = Measured().run(make(joined), items)
        found += _compared(runs, part="ordered", range=reach)
    return found


def skewed(packets: Packets, rate_: int, skew: int) -> Iterator[Item]:
    """Two unions of two parts each; the second part of both is some seconds behind, and so are their promises."""
    step, last = SECOND // 2, (skew + 40) * SECOND
    for start in range(0, last, step):
        now = START + start + step
        for side in (LEFT, RIGHT):
            for behind in (0, skew * SECOND):
                times = np.sort(packets.rng.integers(now - step - behind, now - behind, rate_ // 2))
                times = times[times >= START]
                if len(times):
                    yield now, side, packets.table(side, times)
            yield now, side, Punctuation.below(f"{'lr'[side]}.ts", now - skew * SECOND)
    for side in (LEFT, RIGHT):
        yield START + last, side, END


def skew(options: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    for behind in options.skews:
        joined = spec(Buckets(10 * SECOND), ("l.srcIP", "l.destIP", "l.ts", "r.ts"))
        runs = {name: Measured().run(JOINS[name](joined), skewed(Packets(options.flows), options.rate, behind))
                for name in ("OA-Join", "merged")}
        found += _compared(runs, part="skew", skew=behind)
    return found


def _compared(runs: dict[str, Measured], **case: Any) -> list[dict[str, Any]]:
    first = next(iter(runs.values()))
    for name, run in runs.items():
        if run.pairs != first.pairs:
            raise SystemExit(f"{name} gives {run.pairs} pairs, others {first.pairs}: {case}")
    return [{**case, "join": name, "pairs": run.pairs, "peak_bytes": run.peak, "median_delay": run.delay[0],
             "largest_delay": run.delay[1], "latency_ms": 1000 * median(run.latencies or [0.0]),
             "seconds": run.seconds} for name, run in runs.items()]


# -- report ----------------------------------------------------------------------------------------------------------


def report(lines: list[dict[str, Any]]) -> str:
    parts = []
    by_part = {part: [line for line in lines if line["part"] == part] for part in ("throughput", "ordered", "skew")}
    if by_part["throughput"]:
        rows = [(x["query"], x["key"], f"{x['batch']:,}", rate(x["rows_per_second"]), rate(x["rows_per_cpu_second"]),
                 spread_text(x["seconds"]), f"{x['pairs'] / x['rows']:.2f}") for x in by_part["throughput"]]
        parts.append(table_text(["query", "key", "batch", "rows/s", "rows/CPU s", "spread", "pairs/row"], rows))
    for part, case in (("ordered", "range"), ("skew", "skew")):
        if by_part[part]:
            least = {x[case]: x["peak_bytes"] for x in by_part[part] if x["join"] == "OA-Join"}
            rows = [(f"{x[case]} s", x["join"], f"{x['peak_bytes'] / 2**20:.1f}",
                     f"{x['peak_bytes'] / least[x[case]]:.2f}", f"{x['median_delay']:.2f}", f"{x['largest_delay']:.2f}",
                     f"{x['latency_ms']:.2f}", f"{x['seconds']:.2f}", f"{x['pairs']:,}") for x in by_part[part]]
            parts.append(table_text([case, "join", "peak MiB", "of OA-Join", "median delay s", "largest delay s",
                                     "latency ms", "time s", "pairs"], rows))
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["throughput", "ordered", "skew", []], default=[],
                        help="all unless named")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rate", type=int, default=4_000, help="packets per second and link")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--flows", type=int, default=65_536)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ranges", type=int, nargs="+", default=[1, 3, 5, 7, 9])
    parser.add_argument("--skews", type=int, nargs="+", default=[0, 10, 20, 50, 100])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    pin()
    note = load_note()
    for make in JOINS.values():  # compiled loops are loaded
        Measured().run(make(spec(Band(0, SECOND))), two_links(Packets(50), 100, 2))
    parts = {"throughput": throughput, "ordered": ordered, "skew": skew}
    for name in options.parts or parts:
        lines = parts[name](options)
        print(report(lines) + "\n", flush=True)
        if options.json:
            with options.json.open("a") as file:
                file.writelines(json.dumps({**line, "machine": machine()}) + "\n" for line in lines)
    print(note.strip())


if __name__ == "__main__":
    main()
