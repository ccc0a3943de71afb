"""Approximate aggregates stay within their error, whatever the cuts."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from panewise.aggregates.base import Aggregate
from panewise.aggregates.registry import resolve


def run(aggregate: Aggregate, values: list[float] | list[int] | list[str], batches: int) -> float:
    array = pa.array(values)
    partials = aggregate.partials([array], np.arange(len(array)) % batches, batches, [array.type])
    state = aggregate.combine(partials, np.zeros(batches, np.int64), 1, [array.type])
    found: float = aggregate.finish_all(state, [array.type])[0].as_py()
    return found


@pytest.mark.parametrize(("constants", "bound"), [((), 0.06), ((0.01,), 0.03), ((0.1,), 0.3)])
def test_distinct_counts_are_within_three_standard_errors(constants: tuple[float, ...], bound: float) -> None:
    found = run(resolve("approx_count_distinct", constants), [i * 7919 for i in range(30_000)] * 2, 3)
    assert found == pytest.approx(30_000, rel=bound)


def test_a_distinct_count_depends_on_the_set_of_values_alone() -> None:
    values = [f"user-{i}" for i in range(5000)]
    results = set()
    for batches in (1, 2, 7):
        random.Random(batches).shuffle(values)
        results.add(run(resolve("approx_count_distinct"), values, batches))
    aggregate = resolve("approx_count_distinct")
    state = aggregate.init()
    for value in values:
        state = aggregate.add(state, value)
    results.add(aggregate.finish(state))
    assert len(results) == 1


def test_a_smaller_error_takes_a_larger_sketch() -> None:
    values, codes = pa.array(range(20_000)), np.zeros(20_000, np.int64)
    sketches = [resolve("approx_count_distinct", (error,)).partials([values], codes, 1, [values.type])[0]
                for error in (0.05, 0.01)]
    sizes = [len(sketch[0].as_py()) for sketch in sketches]
    assert sizes[0] < 1000
    assert sizes[0] * 4 < sizes[1] < 10_000


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_percentiles_are_within_the_accuracy_in_rank(fraction: float) -> None:
    values = list(range(50_000))
    random.Random(1).shuffle(values)
    found = run(resolve("approx_percentile", (fraction, 200)), values, 5)
    assert found == pytest.approx(fraction * 50_000, abs=50_000 / 200 * 2)
    assert isinstance(found, int)


def test_percentiles_count_nan_above_all_numbers() -> None:
    values = [1.0, 2.0, float("nan"), float("nan")]
    assert run(resolve("approx_percentile", (0.5,)), values, 2) == 2.0
    assert np.isnan(run(resolve("approx_percentile", (0.75,)), values, 2))


def test_no_heavy_hitter_is_missed_and_none_is_far_off() -> None:
    random = np.random.default_rng(3)
    values = np.minimum(random.zipf(1.3, 60_000), 50_000).tolist()
    counts = Counter(values)
    found = {e["item"]: e["count"] for e in run(resolve("approx_heavy_hitters", (0.01, 0.002)), values, 7)}
    heavy = {v for v, n in counts.items() if n >= 0.01 * len(values)}
    assert heavy <= found.keys()
    for item, count in found.items():
        assert counts[item] >= (0.01 - 0.002) * len(values)
        assert 0 <= count - counts[item] <= 0.002 * len(values)
