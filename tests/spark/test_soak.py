"""Two streaming queries over an unbounded source for half an hour: state and memory stay flat.

``PANEWISE_SOAK_SECONDS`` makes it shorter or longer; the table of the documentation is what it prints (``-s``).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark.killing import TESTS
from spark.processes import needs_proc
from spark.soak_child import QUERIES

ROWS_PER_SECOND = int(os.environ.get("PANEWISE_SOAK_ROWS", "5000"))
MEMORY = ("driver_bytes", "jvm_bytes", "daemon_bytes", "worker_bytes")
GROWTH = {"state_rows": 1.5, "state_bytes": 2.5, **dict.fromkeys(MEMORY, 1.25)}
"""What the median of the last third may be of the middle third. RocksDB fills its buffers and empties them, so its
bytes go up and down."""


def figure(sample: dict[str, Any], name: str) -> float:
    """A figure of all processes, or the sum over the queries."""
    return float(sample[name] if name in sample else sum(sample[query][name] for query in QUERIES))


def line(sample: dict[str, Any]) -> str:
    """One row of the table."""
    memory = " | ".join(f"{sample[name] / 1e6:,.0f}" for name in MEMORY)
    queries = " | ".join(f"{sample[q]['rows']:,} | {sample[q]['open_windows']} | {sample[q]['state_rows']} | "
                         f"{sample[q]['state_bytes'] / 1e6:.1f} | {sample[q]['checkpoint_bytes'] / 1e6:.1f}"
                         for q in QUERIES)
    return f"| {sample['seconds'] / 60:.0f} | {memory} | {queries} |"


@pytest.mark.spark
@pytest.mark.soak
@needs_proc
def test_state_and_memory_of_a_long_run_stay_flat(tmp_path: Path) -> None:
    seconds = int(os.environ.get("PANEWISE_SOAK_SECONDS", "1800"))
    code = f"import sys; sys.path.insert(0, {str(TESTS)!r}); from pathlib import Path; from spark.soak_child import " \
           f"main; main(Path({str(tmp_path)!r}), {seconds}, {ROWS_PER_SECOND}, '10 seconds', 20)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=seconds + 600)
    samples = [json.loads(text) for text in (tmp_path / "samples.jsonl").read_text().splitlines()]
    samples = [sample for sample in samples if all(query in sample for query in QUERIES)]
    print(*map(line, samples[::max(1, len(samples) // 10)]), sep="\n")
    third = len(samples) // 3
    assert third >= 2, "too short to show anything"
    middle, last = samples[third: 2 * third], samples[2 * third:]
    for name, growth in GROWTH.items():
        before, after = (statistics.median(figure(s, name) for s in part) for part in (middle, last))
        print(f"{name}: {before:,.0f} in the middle third, {after:,.0f} in the last")
        assert after <= before * growth
    assert all(sample[query]["late"] == 0 for sample in samples for query in QUERIES)
    assert max(sample["workers"] for sample in last) <= max(sample["workers"] for sample in middle)
