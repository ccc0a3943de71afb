"""Closing windows costs what it closes, however many windows are open behind them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.tiny import CountRows
from panewise.kernels.contract.kernel import Closing
from panewise.kernels.contract.partials import bind
from panewise.kernels.window_ids.range_state import END, FIRST, RangeState
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.patterns import Constant
from panewise.progress.punctuation import Punctuation
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema({"k": pa.int64()})
COUNT = bind([("n", CountRows())], [()])
GROUPS, WINDOWS = 20, 500


def far_ahead(spec: SlidingWindow) -> WidKernel:
    """A kernel whose rows came in any order over very many windows before anything was promised."""
    kernel = WidKernel(spec, KEYS, COUNT)
    values = np.random.default_rng(5).permutation(np.repeat(np.arange(WINDOWS) * spec.slide, GROUPS))
    for batch in np.array_split(values, 7):
        for group in range(GROUPS):
            kernel.process(batch, pa.table({"k": np.full(len(batch), group)}), [[]])
    return kernel


@pytest.mark.parametrize(("spec", "ratio"), [(SlidingWindow(10, 10), 1), (SlidingWindow(3, 10), 0),
                                             (SlidingWindow(50, 10), 5), (SlidingWindow(25, 10), 3)], ids=str)
def test_a_closing_looks_at_the_partials_of_the_windows_it_closes_only(spec: SlidingWindow, ratio: int) -> None:
    kernel = far_ahead(spec)
    held = kernel.counters()["partials"]  # also puts everything into one run
    for wid in range(20):
        before = kernel.ranges.looked_at
        results = kernel.advance(Punctuation.below("ts", (wid + 1) * spec.slide))
        looked_at = kernel.ranges.looked_at - before
        assert looked_at <= ratio * GROUPS, f"of {held} partials"
        assert results.num_rows == (GROUPS if ratio else 0)


def test_a_closing_of_many_runs_looks_into_each_for_what_it_closes_only() -> None:
    kernel = far_ahead(SlidingWindow(10, 10))
    assert kernel.ranges.rows >= WINDOWS * GROUPS
    for wid in range(20):
        before = kernel.ranges.looked_at
        kernel.advance(Punctuation.below("ts", 10 * (wid + 1)))
        assert kernel.ranges.looked_at - before <= len(kernel.ranges.runs) * GROUPS


def test_a_promise_about_one_group_looks_at_the_windows_it_names_only() -> None:
    kernel = far_ahead(SlidingWindow(10, 10))
    kernel.counters()
    for wid in range(5):
        before = kernel.ranges.looked_at
        results = kernel.advance(Punctuation.below("ts", 10 * (wid + 1), k=3))
        assert (results.num_rows, kernel.ranges.looked_at - before) == (1, (wid + 1) * GROUPS - wid)


ranges = st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 2))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(ranges, min_size=1, max_size=8), max_size=6), st.integers(0, 40))
def test_what_is_due_is_found_whatever_the_ranges_are(batches: list[list[tuple[int, int, int]]], closed: int) -> None:
    state = RangeState(KEYS, COUNT)
    for batch in batches:
        ordered = sorted((first + length, first, k, 1) for first, length, k in batch)
        state.add(pa.table([list(c) for c in zip(*ordered, strict=True)], schema=state.schema))
    held = [r for run in state.runs for r in run.table.to_pylist()]
    due = [r for r in held if r[FIRST] < closed]
    of_one = [r for r in due if r["k"] == 1]
    assert sorted(state.due(Closing(closed, closed))[0].to_pylist(), key=str) == sorted(due, key=str)
    some = Closing(closed, closed, (("k", Constant(1)),))
    found, masks = state.due(some)
    assert sorted(found.to_pylist(), key=str) == sorted(of_one, key=str)
    state.close(some, masks)
    left = [r for r in held if not (r[FIRST] < closed and r["k"] == 1)]
    left += [{**r, FIRST: closed} for r in of_one if closed < r[END]]
    assert sorted((r for run in state.runs for r in run.table.to_pylist()), key=str) == sorted(left, key=str)
