"""The benchmarks of the embedded engine run on little data, compare results for real and hide no failure."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def measured(script: str, json_file: Path, *arguments: str) -> list[dict]:
    done = subprocess.run([sys.executable, str(BENCH / script), *arguments, "--json", str(json_file)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in json_file.read_text().splitlines()]


@pytest.mark.parametrize("keys", [[], ["--text-keys"]], ids=["integer keys", "text keys"])
def test_panewise_duckdb_and_polars_have_equal_results(tmp_path: Path, keys: list[str]) -> None:
    lines = measured("embedded_peers.py", tmp_path / "figures.jsonl", "--rows", "60000", "--repeat", "1",
                     "--keys", "40", "--ratio", "3", "--input", "files", "--peers", "panewise,duckdb,polars", *keys)
    assert [(line["contender"], line["differences"]) for line in lines] == [
        ("panewise", None), ("duckdb", 0), ("polars", 0)]
    assert {line["rows"] for line in lines} == {60_000}
    panes, first_is_late = 3, 1  # 12 s; late rows reach one pane back
    assert {line["results"] for line in lines} == {40 * (panes + first_is_late + 2)}


def test_throughput_is_measured_for_each_combination(tmp_path: Path) -> None:
    lines = measured("embedded_throughput.py", tmp_path / "figures.jsonl", "--rows", "30000", "--repeat", "1",
                     "--items", "10", "--ratio", "1", "--ratio", "3", "--batch", "10000")
    combinations = [(line["keys"], line["ratio"]) for line in lines if "rows_per_second" in line]
    assert combinations == [("integer", 1), ("integer", 3), ("text", 1), ("text", 3)]
    assert sum("what" in line for line in lines) == 4


def test_every_covered_window_has_a_latency() -> None:
    import embedded_latency as latency

    options = Namespace(rate=10_000, seconds=2, batch=500, keys=10, slide=100, ratio=3, late=50, strategy="auto")
    for progress in ("punctuation", "late"):
        items = list(latency.schedule(options, progress))
        query = latency.open_query(options, progress, items[0].item.schema)
        seen = latency.run(query, items, paced=False)
        assert len(seen.windows) == 20  # ends at 0, 100, ..., 1900 ms: the last bound is 1950
        assert len(seen.pushes) == len(items)


def results(**changed: pa.Array) -> pa.Table:
    columns = {"item": [1, 2, 1], "end": [4, 4, 8], "n": [5, 6, 7], "hi": [1.0, 2.0, 3.0], "mean": [0.1, 0.2, 0.3]}
    return pa.table(columns | changed)


def test_the_comparison_ignores_order_and_the_last_bits_of_averages() -> None:
    from embedded_peers import differences

    close = results(mean=np.array([0.1, 0.2, 0.3]) * (1 + 1e-12))
    assert differences(results(), close.take([2, 0, 1])) == 0


@pytest.mark.parametrize("other", [
    results(n=[5, 6, 8]), results(hi=[1.0, 2.0, 3.5]), results(mean=[0.1, 0.2, 0.3001]), results(mean=[0.1, 0.2, None]),
    results().slice(1), pa.concat_tables([results(), results().slice(2)]), results(item=[1, 3, 1]),
], ids=["count", "maximum", "average", "no average", "missing window", "window twice", "other key"])
def test_the_comparison_finds_what_differs(other: pa.Table) -> None:
    from embedded_peers import differences

    assert differences(results(), other) > 0
    assert differences(other, results()) > 0


def test_a_peer_that_cannot_be_installed_says_why(tmp_path: Path) -> None:
    from contenders import Contender, Failure

    peer = replace(Contender.named("bytewax"), pythons=("2.6",))
    with pytest.raises(Failure, match=r"needs one of Python 2\.6 and none is installed"):
        peer.python(tmp_path)


def test_a_peer_that_fails_says_why() -> None:
    from contenders import Contender, Failure

    with pytest.raises(Failure, match=r"ended with 1: .*unexpected keyword argument"):
        Contender.named("panewise").run(sys.executable, {"no": "job", "rows": 0}, timeout=60)


def test_fewer_rows_are_a_prefix_of_more() -> None:
    from common import bids

    some, more = (pa.concat_tables(bids(rows, block=1000)) for rows in (1_500, 2_500))
    assert more.slice(0, 1_500).equals(some)
    assert 0.02 < np.mean(np.diff(more["ts"].cast(pa.int64()).to_numpy()) < 0) < 0.1
