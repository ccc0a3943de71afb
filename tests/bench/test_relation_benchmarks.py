"""The benchmarks of joins and relations run on little data, and every aim finds its figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def test_all_of_them_run_and_every_aim_finds_its_figures(tmp_path: Path) -> None:
    figures = tmp_path / "figures.jsonl"
    done = subprocess.run([sys.executable, str(BENCH / "relations_report.py"), "--quick", "--without-spark", "--json",
                           str(figures)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in figures.read_text(encoding="utf-8").splitlines()]
    assert {line.get("bench", line.get("part")) for line in lines} == {
        "styles", "negation_crossover", "count_joins", "counted_joins", "skew", "throughput"}
    for query in ("X3.1", "X3.2", "X3.3", "X3.4", "X3.7 join", "X3.7 without"):
        styles = {line["style"] for line in lines if line.get("bench") == "styles" and query in line["query"]}
        assert styles == {"upa", "negative", "direct"}, query
    for found in ("X7 Q7-2", "X8 Q7-2", "join in process"):
        assert found in done.stdout
