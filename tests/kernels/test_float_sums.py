"""Sums, averages and variances of floats are the exact ones, rounded once, in every kernel: no tolerance anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kernels.wild_floats import exact_average, exact_sum, exact_variance, wild_rows
from panewise.aggregates.registry import resolve
from panewise.kernels.baselines.buffering import BufferingKernel
from panewise.kernels.baselines.two_level import TwoLevelKernel
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.growing.landmark import LandmarkKernel
from panewise.kernels.growing.session import WINDOW_END, SessionKernel
from panewise.kernels.panes.pane_kernel import PanedKernel
from panewise.kernels.positions.rows import RowKernel
from panewise.kernels.positions.tuple_slide import TupleSlideKernel
from panewise.kernels.window_ids.adaptive import AdaptiveKernel
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tuple_slide import TupleSlideWindow

KEYS = pa.schema([("k", pa.int64())])
FLOAT = (pa.float64(),)
AGGREGATES = [BoundAggregate("n", resolve("count")), BoundAggregate("total", resolve("sum"), FLOAT),
              BoundAggregate("mean", resolve("avg"), FLOAT)]
WITH_VARIANCE = [*AGGREGATES, BoundAggregate("spread", resolve("variance"), FLOAT),
                 BoundAggregate("deviation", resolve("stddev"), FLOAT)]
Row = tuple[int, int, float | None]


class DensePaned(PanedKernel):
    """Moves its state to dense arrays at once."""

    name = "dense panes"
    dense_after = 1


BY_VALUE: list[type[WindowKernel]] = [DensePaned, PanedKernel, WidKernel, AdaptiveKernel, BufferingKernel,
                                      TwoLevelKernel]


def pushed(make: Callable[[], WindowKernel], rows: list[Row], random: Random, *, save: bool = True,
           delay: int = 6) -> dict[tuple[int, int], tuple[Any, ...]]:
    """Results by window and key: rows in batches of random size, a bound behind each, saved and restored once."""
    kernel, found, at = make(), [], 0
    half = len(rows) // 2
    while at < len(rows):
        size = random.choice([1, 7, 100, 1000])
        part = rows[at : at + size]
        column = pa.array([row[2] for row in part], pa.float64())
        kernel.process(np.array([row[0] for row in part], np.int64), pa.table([[r[1] for r in part]], schema=KEYS),
                       [[] if not a.inputs else [column] for a in kernel.aggregates])
        found.append(kernel.ripe() if isinstance(kernel, RowKernel) else kernel.advance(
            Punctuation.below("ts", max(row[0] for row in rows[: at + size]) - delay)))
        if save and at <= half < at + size:
            saved = kernel.snapshot()
            kernel = make()
            kernel.restore(saved)
        at += size
    found.append(kernel.advance(END))
    results: dict[tuple[int, int], tuple[Any, ...]] = {}
    for row in pa.concat_tables(found).to_pylist():
        wid, key, *values = (value for name, value in row.items() if name != WINDOW_END)
        assert (wid, key) not in results
        results[wid, key] = tuple(values)
    return results


def assert_exact(found: dict[tuple[int, int], tuple[Any, ...]],
                 windows: dict[tuple[int, int], list[float | None]]) -> None:
    """Bit for bit: zeros have their sign, NaN is NaN."""
    assert found.keys() == windows.keys()
    for at, values in windows.items():
        expected: list[Any] = [len(values), exact_sum(values), exact_average(values)]
        if len(found[at]) > 3:
            variance = exact_variance(values)
            expected += [variance, None if variance is None else math.sqrt(variance)]
        assert repr(list(found[at])) == repr(expected), (at, values)


def by_value(spec: SlidingWindow, rows: list[Row]) -> dict[tuple[int, int], list[float | None]]:
    windows: dict[tuple[int, int], list[float | None]] = {}
    first, end = spec.wids_of(np.array([row[0] for row in rows], np.int64))
    for (_, key, value), low, high in zip(rows, first.tolist(), end.tolist(), strict=True):
        for wid in range(low, high):
            windows.setdefault((wid, key), []).append(value)
    return windows


def disordered(random: Random, count: int, keys: int, per_instant: int = 5) -> Iterator[Row]:
    for i, value in enumerate(wild_rows(random, count)):
        yield i // per_instant + random.randrange(6), random.randrange(keys), value


MANY = 10_000


@pytest.mark.parametrize("kernel", BY_VALUE, ids=lambda kernel: kernel.name)
def test_ten_thousand_windows_of_wild_floats(kernel: type[WindowKernel]) -> None:
    random = Random(18)
    spec, rows = SlidingWindow(4, 2), list(disordered(random, 13_000, 9))
    windows = by_value(spec, rows)
    assert len(windows) >= MANY
    assert_exact(pushed(lambda: kernel(spec, KEYS, AGGREGATES), rows, random), windows)


@pytest.mark.parametrize("kernel", [DensePaned, PanedKernel], ids=lambda kernel: kernel.name)
def test_many_windows_of_floats_that_are_not_so_wild(kernel: type[WindowKernel]) -> None:
    """Where sums have few digits, the compiled kernels take a shorter way."""
    random = Random(18)
    spec, rows = SlidingWindow(4, 2), list(disordered(random, 12_000, 5))
    tame = [(t, k, v if v is None or 1e-20 < abs(v) < 1e40 else round(random.uniform(-9, 9), 3)) for t, k, v in rows]
    assert_exact(pushed(lambda: kernel(spec, KEYS, AGGREGATES), tame, random), by_value(spec, tame))


@pytest.mark.parametrize("kernel", [k for k in BY_VALUE if k not in {DensePaned, PanedKernel}],
                         ids=lambda kernel: kernel.name)
def test_ten_thousand_windows_of_variances(kernel: type[WindowKernel]) -> None:
    """Variances have no compiled form: kernels with dense arrays leave them to the others."""
    random = Random(19)
    spec, rows = SlidingWindow(4, 2), list(disordered(random, 13_000, 9))
    windows = by_value(spec, rows)
    assert len(windows) >= MANY
    assert_exact(pushed(lambda: kernel(spec, KEYS, WITH_VARIANCE), rows, random), windows)


@pytest.mark.parametrize("kernel", BY_VALUE, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("spec", [SlidingWindow(20, 3), SlidingWindow(3, 5), SlidingWindow(60, 1), SlidingWindow(7, 7)],
                         ids=str)
def test_windows_of_every_overlap(kernel: type[WindowKernel], spec: SlidingWindow) -> None:
    random = Random(5)
    rows = list(disordered(random, 600, 3))
    assert_exact(pushed(lambda: kernel(spec, KEYS, AGGREGATES), rows, random), by_value(spec, rows))


@pytest.mark.parametrize(("size", "slide"), [(1, 1), (4, 1), (50, 1), (10, 3), (7, 10)])
def test_windows_by_position(size: int, slide: int) -> None:
    random = Random(size)
    rows = list(disordered(random, 2_500, 4))
    spec = RowWindow(size, slide)
    windows: dict[tuple[int, int], list[float | None]] = {}
    for position, (_, key, value) in enumerate(rows, 1):
        for wid in range((position - 1) // slide, (position - 1 + size) // slide):
            windows.setdefault((wid, key), []).append(value)
    assert_exact(pushed(lambda: RowKernel(spec, KEYS, WITH_VARIANCE), rows, random), windows)


def test_sessions() -> None:
    random = Random(9)
    rows = [(t * 4, key, value) for t, key, value in disordered(random, 2_000, 40)]
    found = pushed(lambda: SessionKernel(SessionWindow(20), KEYS, WITH_VARIANCE, partition=["k"]), rows, random,
                   delay=30)
    sessions: dict[int, list[list[float | None]]] = {}
    for key in {row[1] for row in rows}:
        last = None
        for t, _, value in sorted((r for r in rows if r[1] == key), key=lambda r: r[0]):
            if last is None or t - last > 20:
                sessions.setdefault(key, []).append([])
            sessions[key][-1].append(value)
            last = t
    assert len(found) == sum(map(len, sessions.values()))
    ordered: dict[int, list[tuple[Any, ...]]] = {}
    for (_, key), values in sorted(found.items()):
        ordered.setdefault(key, []).append(values)
    for key, groups in sessions.items():
        assert_exact({(i, key): v for i, v in enumerate(ordered[key])},
                     {(i, key): values for i, values in enumerate(groups)})


def test_windows_that_only_grow() -> None:
    random = Random(4)
    rows = list(disordered(random, 2_000, 3))
    windows: dict[tuple[int, int], list[float | None]] = {}
    newest = max(row[0] for row in rows)
    for t, key, value in rows:
        for wid in range(t // 10, newest // 10 + 1):
            windows.setdefault((wid, key), []).append(value)
    assert_exact(pushed(lambda: LandmarkKernel(LandmarkWindow(10), KEYS, AGGREGATES), rows, random), windows)


def test_windows_that_slide_by_tuple() -> None:
    random = Random(6)
    rows = [(t, key, value) for t, (_, key, value) in enumerate(disordered(random, 2_000, 3))]
    windows: dict[tuple[int, int], list[float | None]] = {}
    for t, key, value in rows:
        for wid in range(t, min(t + 30, len(rows))):
            if (wid + 1) % 3 == 0:
                windows.setdefault((wid, key), []).append(value)
    spec = TupleSlideWindow(30, every=3)
    assert_exact(pushed(lambda: TupleSlideKernel(spec, KEYS, WITH_VARIANCE), rows, random, delay=0), windows)


@pytest.mark.parametrize("kernel", BY_VALUE, ids=lambda kernel: kernel.name)
def test_the_examples_that_depended_on_the_kernel(kernel: type[WindowKernel]) -> None:
    three: list[Row] = [(58, 0, -1e6), (67, 0, 1e6), (77, 0, 19.99)]
    seven: list[Row] = [(t, 0, v) for t, v in enumerate([-1e16, -1e16, 1e16, 0.1, -1e16, 1e16, 1e16], 58)]
    for rows in (three, seven, seven[::-1]):
        for spec in (SlidingWindow(20, 3), SlidingWindow(30, 30), SlidingWindow(7, 1)):
            found = pushed(lambda spec=spec: kernel(spec, KEYS, AGGREGATES), rows, Random(1), delay=100)
            assert_exact(found, by_value(spec, rows))
