"""Peak state of AdaptWID, WID and buffering on streams with ever more small groups (DS1 to DS5, Li table 6-2).

    python bench/adaptive_memory.py [--packets 20000] [--periods 6] [--batch 2000] [--json FILE]

Two queries: the sum per source address over tumbling seconds (Q6-7), and the count over 10 s sliding by 1 s with three
links, one of them two seconds behind (Q6-8). State is counted after every batch, in bytes of the columns that are held:
ids, keys, states and rows. All kernels get the same batches and punctuation, and must give the same results.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from skewed_packets import LAGGING_LINKS, SkewedPackets

from panewise.aggregates.registry import resolve
from panewise.core.ordinals import to_ordinals
from panewise.core.time import SECOND
from panewise.datasets.disorder import punctuated
from panewise.kernels.baselines.buffering import BufferingKernel
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.partials import BoundAggregate, bind
from panewise.kernels.window_ids.adaptive import AdaptiveKernel
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.base import WindowSpec
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema({"src": pa.int64()})
Make = Callable[[WindowSpec, pa.Schema, list[BoundAggregate]], WindowKernel]
KERNELS: dict[str, Make] = {
    "wid": WidKernel,
    "buffering": BufferingKernel,
    "adaptive": AdaptiveKernel,
    "adaptive, panes": lambda spec, keys, functions: AdaptiveKernel(spec, keys, functions, unit="pane"),
    "adaptive, model": lambda spec, keys, functions: AdaptiveKernel(spec, keys, functions, estimate="model"),
}


def measure(make: Make, spec: WindowSpec, function: str, packets: pa.Table, batch: int) -> dict[str, int | float]:
    """Peak bytes, partials and rows held, results and their checksum, and the time without the counting."""
    target = make(spec, KEYS, bind([("x", resolve(function))], [[pa.int64()] if function == "sum" else []]))
    peak = {"bytes": 0, "partials": 0, "buffered": 0}
    results, total, seconds = 0, 0, 0.0
    for item in [*punctuated(packets, "ts", every=SECOND, batch_rows=batch), END]:
        started = time.perf_counter()
        if isinstance(item, Punctuation):
            table = target.advance(item)
        else:
            arguments = [[item.column("len")] if function == "sum" else []]
            target.process(to_ordinals(item.column("ts"), "ts"), pa.table({"src": item.column("src")}), arguments)
            table = target.ripe()
        seconds += time.perf_counter() - started
        results += table.num_rows
        total += sum(map(hash, zip(*(table[name].to_pylist() for name in ("wid", "src", "x")), strict=True)))
        counters = target.counters()
        if counters["bytes"] > peak["bytes"]:
            peak = {name: counters[name] for name in peak}
    return {**peak, "results": results, "checksum": total, "seconds": round(seconds, 3)}


def compare(query: str, spec: WindowSpec, function: str, packets: SkewedPackets, batch: int) -> list[dict[str, object]]:
    table = packets.table()
    found = {name: measure(make, spec, function, table, batch) for name, make in KERNELS.items()}
    answers = {(m["results"], m["checksum"]) for m in found.values()}
    assert len(answers) == 1, f"the kernels disagree on DS{packets.dataset}: {found}"
    best = min(found["wid"]["bytes"], found["buffering"]["bytes"])
    return [{"bench": "adaptive_memory", "query": query, "dataset": f"DS{packets.dataset}", "kernel": name, **m,
             "of_smaller": round(m["bytes"] / best, 3), "packets": table.num_rows} for name, m in found.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=20_000, help="packets per window")
    parser.add_argument("--periods", type=int, default=6, help="windows' worth of packets")
    parser.add_argument("--batch", type=int, default=2_000, help="rows per batch")
    parser.add_argument("--json", type=Path, help="append a line per measurement to this file")
    options = parser.parse_args()
    queries = {
        "sum, 1 s tumbling": (SlidingWindow(SECOND, SECOND), "sum", {"period": "1 s"}),
        "count, 10 s by 1 s, 3 links": (SlidingWindow(10 * SECOND, SECOND), "count",
                                        {"period": "10 s", "lags": LAGGING_LINKS, "link_shares": (0.48, 0.48, 0.04)}),
    }
    for query, (spec, function, extra) in queries.items():
        print(f"\n{query}: peak KiB of state (share of the smaller of wid and buffering)")
        print("      " + "".join(f"{name:>18}" for name in KERNELS))
        for dataset in range(1, 6):
            packets = SkewedPackets(dataset, packets=options.packets, periods=options.periods,
                                    **extra)  # type: ignore[arg-type]
            lines = compare(query, spec, function, packets, options.batch)
            print(f"DS{dataset}   " + "".join(f"{m['bytes'] / 1024:>10.1f} ({m['of_smaller']:.2f})" for m in lines))
            if options.json:
                with options.json.open("a") as file:
                    file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
