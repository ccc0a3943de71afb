"""What slack costs: error of buffering that closes windows by the rows it sees, against punctuation (Li, figure 6-11).

    python bench/slack.py [--rows 100000] [--json FILE]

Average over RANGE 64 s, SLIDE 6.4 s; rows are up to 3.2 s late. Slack closes a window so much after its end; rows that
are later still are dropped from all their windows (consistent) or from the closed ones (generous). The error is the
mean over windows of the relative error in per cent, of the average and of the count. Punctuation from the source makes
none, whatever the disorder.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from panewise.aggregates.registry import resolve
from panewise.core.ordinals import Ordinals
from panewise.kernels.baselines.buffering import BufferingKernel
from panewise.kernels.contract.partials import bind
from panewise.progress.punctuation import END
from panewise.windows.sliding import SlidingWindow

MILLISECOND = 1_000
WINDOW = SlidingWindow(64_000 * MILLISECOND, 6_400 * MILLISECOND)
LATEST = 3_200 * MILLISECOND
FUNCTIONS = bind([("mean", resolve("avg")), ("n", resolve("count"))], [[pa.float64()], []])


def stream(rows: int) -> tuple[Ordinals, pa.Array]:
    """Times in the order of arrival, and values that drift so that missing rows show."""
    rng = np.random.default_rng(4)
    times = np.sort(rng.integers(0, 20 * WINDOW.range, rows))
    times = times[np.argsort(times + rng.integers(0, LATEST + 1, rows), kind="stable")]
    return times, pa.array(100 + 50 * np.sin(times / WINDOW.range * 9) + rng.normal(0, 30, rows))


Answers = dict[int, tuple[float, int]]


def answers(times: Ordinals, values: pa.Array, policy: str, slack: int | None) -> tuple[Answers, int]:
    target = BufferingKernel(WINDOW, pa.schema([]), FUNCTIONS, late=policy, slack=slack)
    parts, batch = [], 1_000
    for start in range(0, len(times), batch):
        some = values.slice(start, batch)
        target.process(times[start : start + batch], pa.table({}), [[some], []])
        parts.append(target.ripe())
    table = pa.concat_tables([*parts, target.advance(END)])
    pairs = zip(table["mean"].to_pylist(), table["n"].to_pylist(), strict=True)
    return dict(zip(table["wid"].to_pylist(), pairs, strict=True)), target.late_rows


def error(found: Answers, exact: Answers, which: int) -> float:
    """Mean relative error of the averages (0) or counts (1), in per cent."""
    return float(np.mean([abs(found.get(wid, (0, 0))[which] - right[which]) / right[which] * 100
                          for wid, right in exact.items()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="append a line per measurement to this file")
    options = parser.parse_args()
    times, values = stream(options.rows)
    exact, _ = answers(times, values, "drop", None)
    print("slack    error of the average: consistent, generous    of the count: consistent, generous    late rows")
    for slack in (0, 320, 640, 1_280, 2_560, 3_200):
        lines = []
        for policy in ("consistent", "generous"):
            found, late = answers(times, values, policy, slack * MILLISECOND)
            lines.append({"bench": "slack", "slack_ms": slack, "policy": policy, "late": late, "rows": options.rows,
                          "average_error": error(found, exact, 0), "count_error": error(found, exact, 1)})
        cells = [f"{line[name]:>10.4f} %" for name in ("average_error", "count_error") for line in lines]
        print(f"{slack / 1000:>4} s" + "    ".join(cells) + f"    {lines[0]['late']:>8,}")
        if options.json:
            with options.json.open("a") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
