"""The published joins of many windows find what is defined, and the benchmark of them runs on little data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def by_definition(rows: list[tuple[int, int]], ranges: list[int]) -> Iterator[tuple[int, int]]:
    """First instant and end of all combinations with one value whose lives have an instant in common."""
    places = [[at for at, (stream, _) in enumerate(rows) if stream == i] for i in range(len(ranges))]
    for times in product(*places):
        born, end = max(times), min(t + length for t, length in zip(times, ranges, strict=True))
        if len({rows[t][1] for t in times}) == 1 and born < end:
            yield born, end


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False), st.integers(2, 4), st.integers(1, 8), st.integers(1, 3))
def test_all_algorithms_find_what_is_defined_in_any_order(random: Random, ways: int, every: int, buckets: int) -> None:
    import numpy as np
    from published_joins import Arrivals, joined

    rows = [(random.randrange(ways), random.randrange(3)) for _ in range(every * random.randint(1, 24 // every + 1))]
    ranges = [random.randint(every + 1, 14) for _ in range(ways)]  # a refresh is shorter than every window
    arrivals = Arrivals(*(np.array([row[i] for row in rows]) for i in range(2)), np.array(ranges))
    order = tuple(random.sample(range(ways), ways))
    expected = list(by_definition(rows, ranges))
    eager = joined(arrivals, order, buckets)
    assert eager.results == len(expected)
    for found in (joined(arrivals, order, buckets, every=every),
                  joined(arrivals, order, buckets, lazy=True, every=every, restore=True)):
        assert (found.results, found.checksum) == (eager.results, eager.checksum)
    holding = sum(end > born // every * every + every - 1 for born, end in expected)
    assert found.holding == holding
    assert joined(arrivals, order, buckets, lazy=True, every=every).results == holding


def test_every_part_measures_and_compares(tmp_path: Path) -> None:
    figures = tmp_path / "figures.jsonl"
    done = subprocess.run([sys.executable, str(BENCH / "multiway_joins.py"), "--rows", "2600", "--repeat", "1",
                           "--json", str(figures)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in figures.read_text().splitlines()]
    first = [line for line in lines if line["part"] == "x51"]
    assert [round(line["predicted"]) for line in first if line["buckets"] == 1] == [16_200, 21_000, 42_600, 135_150]
    assert {line["buckets"] for line in lines if line["part"] == "x53"} == {2, 5}
    engine = {(line["step"], line["order"], line["way"]): line for line in lines if line["part"] == "engine"}
    assert len({line["results"] for (_, _, way), line in engine.items() if way != "lazy"}) == 1
    for (step, order, way), line in engine.items():
        if way == "lazy, restore":
            assert line["probes"] < engine[step, order, "eager"]["probes"]
        assert line["kept"] >= engine[step, order, "eager"]["kept"]
    assert "expiry" in {line["part"] for line in lines}
