"""The benchmark of stream joins runs on little data, and all joins in it give the same pairs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def test_every_part_measures_and_compares(tmp_path: Path) -> None:
    figures = tmp_path / "figures.jsonl"
    done = subprocess.run([sys.executable, str(BENCH / "stream_joins.py"), "--rows", "40000", "--repeat", "1", "--rate",
                           "200", "--seconds", "4", "--ranges", "1", "--skews", "0", "10", "--flows", "300",
                           "--json", str(figures)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in figures.read_text().splitlines()]
    assert [line["query"] for line in lines if line["part"] == "throughput"][:1] == ["band"]
    assert all(line["pairs"] > 0 for line in lines)
    by_join = {line["join"]: line for line in lines if line["part"] == "ordered"}
    assert {line["pairs"] for line in by_join.values()} == {by_join["OA-Join"]["pairs"]}
    assert by_join["OA-Join"]["largest_delay"] < by_join["output buffered"]["largest_delay"]  # in stream time
    assert sorted({line["skew"] for line in lines if line["part"] == "skew"}) == [0, 10]
