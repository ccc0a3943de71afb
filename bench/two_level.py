"""The bounded table below a roll-up: rows per second and partials put out, by table size and flush (Li 8, figure 8-7).

    python bench/two_level.py [--rows 2000000] [--batch 50000] [--groups 16384] [--json FILE]

Ordered packets of the given number of groups, counted per tumbling minute, 20 packets per group and minute; the table
has half, once and twice as many slots as there are groups. A partial per group and window is the least that can be put
out; each collision adds one. Rows per second of CPU are those of the lower level alone, as it runs beside the source.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.kernels.baselines.slots import MODES, Flush, SlotTable
from panewise.kernels.contract.partials import bind

KEYS = pa.schema({"pair": pa.int64()})
COUNT = bind([("n", resolve("count"))], [[]])
PER_WINDOW = 20


def measure(slots: int, flush: Flush, groups: int, rows: int, batch: int) -> dict[str, float]:
    low = SlotTable(KEYS, COUNT, slots=slots, flush=flush, m=2, i=160)
    rng = np.random.default_rng(1)
    put_out, largest, seconds = 0, 0, 0.0
    low.add(np.zeros(1, np.int64), np.ones(1, np.int64), pa.table({"pair": [0]}), [[]])
    low.clear()  # that was to compile the loop before the clock runs
    for start in range(0, rows, batch):
        wids = np.arange(start, start + batch) // (PER_WINDOW * groups)
        keys = pa.table({"pair": rng.integers(0, groups, batch)})
        started = time.process_time()
        out = low.add(wids, wids + 1, keys, [[]]).num_rows
        seconds += time.process_time() - started
        put_out, largest = put_out + out, max(largest, out)
    residents = low.table
    windows = -(-rows // (PER_WINDOW * groups))
    return {"slots": slots, "rows_per_cpu_second": round(rows / seconds), "largest_burst": largest,
            "put_out_per_group_and_window": round((put_out + residents.num_rows) / (groups * windows), 2),
            "slot_bytes": residents.nbytes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--batch", type=int, default=50_000)
    parser.add_argument("--groups", type=int, default=65_536 // 4)
    parser.add_argument("--json", type=Path, help="append a line per measurement to this file")
    options = parser.parse_args()
    print("slots/groups  flush   M rows per CPU second   put out per group and window   most at once   table bytes")
    for share in (0.5, 1, 2):
        for flush in MODES:
            found = measure(int(share * options.groups), flush, options.groups, options.rows, options.batch)
            print(f"{share:>12}  {flush:<5}  {found['rows_per_cpu_second'] / 1e6:>20.2f}   "
                  f"{found['put_out_per_group_and_window']:>26}   {found['largest_burst']:>12,}   "
                  f"{found['slot_bytes']:>11,}")
            if options.json:
                line = {"bench": "two_level", "groups": options.groups, "flush": flush, **found}
                with options.json.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
