"""Batch by kernels, both halves in process: windows from panes with states that are more than numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.aggregates.registry import resolve
from panewise.engines.spark.fragment import ORDINAL
from panewise.engines.spark.kernel_batch import PaneKernel
from panewise.engines.spark.paired import PaneScheme
from panewise.engines.spark.sharding import SHARD
from panewise.kernels.partials import BoundAggregate
from panewise.windows.base import Rows
from panewise.windows.sliding import SlidingWindow

DISTINCT = BoundAggregate("kinds", resolve("count", (), True), (pa.int64(),))
MEDIAN = BoundAggregate("mid", resolve("median", (), False), (pa.int64(),))
row = st.tuples(st.sampled_from("ab"), st.integers(-30, 60) | st.integers(900, 910), st.integers(-3, 3))
windows = st.builds(SlidingWindow, st.integers(1, 40), st.integers(1, 12), st.integers(-9, 9), st.sampled_from([0, 5]))


def kernel_of(window: SlidingWindow, state_bytes: int) -> PaneKernel:
    return PaneKernel(PaneScheme(window), pa.schema({"k": pa.string()}), (DISTINCT, MEDIAN), (("v",), ("v",)),
                      state_bytes)


def results(kernel: PaneKernel, tasks: list[list[tuple[str, int, int]]]) -> Counter[Any]:
    """Each list is what one task reads; all groups are in one shard."""
    schema = pa.schema({"k": pa.string(), ORDINAL: pa.int64(), "v": pa.int64(), SHARD: pa.int32()})
    messages = [m for task in tasks if task for m in kernel.partials(
        pa.table([*map(list, zip(*task, strict=True)), [0] * len(task)], schema=schema).to_batches())]
    found = [pa.Table.from_batches([b]) for b in kernel.windows(messages)]
    return Counter((r["wid"], r["k"], r["kinds"], r["mid"]) for table in found for r in table.to_pylist())


def by_definition(rows: list[tuple[str, int, int]], window: SlidingWindow) -> Counter[Any]:
    members: dict[tuple[int, str], list[int]] = {}
    for key, at, value in rows:
        for wid in window.windows(Rows.of([at])).tolist():
            members.setdefault((wid, key), []).append(value)
    expected: Counter[Any] = Counter()
    for (wid, key), values in members.items():
        ordered = sorted(values)
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        expected[wid, key, len(set(values)), middle] += 1
    return expected


@settings(max_examples=40, deadline=None)
@given(st.lists(row, max_size=40), windows, st.integers(0, 40), st.sampled_from([1, 1_000, 1 << 20]))
@example([("a", 0, 1), ("a", 905, 2)], SlidingWindow(40, 3), 1, 1)
@example([("a", 0, 1), ("b", 20, 2)], SlidingWindow(10, 12), 0, 1)
def test_windows_from_stacked_panes_have_the_answer_of_their_definition(
        rows: list[tuple[str, int, int]], window: SlidingWindow, cut: int, state_bytes: int) -> None:
    kernel = kernel_of(window, state_bytes)
    assert results(kernel, [rows[:cut], rows[cut:]]) == by_definition(rows, window)


def test_few_panes_or_plain_numbers_need_no_stacks() -> None:
    assert kernel_of(SlidingWindow(40, 4), 1).stacks
    assert not kernel_of(SlidingWindow(8, 4), 1).stacks
    numbers = (BoundAggregate("n", resolve("count", (), False)),)
    assert not PaneKernel(PaneScheme(SlidingWindow(40, 4)), pa.schema({}), numbers, ((),)).stacks
