"""Two stacks of tables give what merging all panes of every window gives, with a constant number of merges per pane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.aggregates.registry import resolve
from panewise.kernels.contract.partials import BoundAggregate
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema([("k", pa.string())])
AGGREGATES = [
    BoundAggregate("rows", resolve("count")),
    BoundAggregate("middle", resolve("median"), (pa.int64(),)),
    BoundAggregate("different", resolve("count", (), True), (pa.int64(),)),
    BoundAggregate("top", resolve("top_k", (2,)), (pa.int64(),)),
]


class MergingAll(WidKernel):
    """Without stacks."""

    def _two_stacks(self) -> None:
        return None


def batch(rows: list[tuple[int, str, int]]) -> tuple[np.ndarray, pa.Table, list[list[pa.Array]]]:
    values, keys, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    column = pa.array(numbers, pa.int64())
    return np.array(values, np.int64), pa.table([list(keys)], schema=KEYS), [[], [column], [column], [column]]


def comparable(table: pa.Table) -> list[Any]:
    return sorted(table.to_pylist(), key=repr)


rows = st.lists(st.tuples(st.integers(-5, 60), st.sampled_from("abc"), st.integers(0, 9)), max_size=8)
promises = st.one_of(
    st.builds(lambda b: Punctuation.below("ts", b), st.integers(-5, 70)),
    st.builds(lambda b: Punctuation.below("ts", b, k="a"), st.integers(-5, 70)),
)


@settings(deadline=None, max_examples=75)
@given(st.integers(5, 30), st.integers(1, 4),
       st.lists(st.one_of(rows, rows, promises, st.just("restore")), max_size=16),
       st.sampled_from(["drop", "consistent", "generous"]))
@example(5, 1, [[(0, "a", 0), (0, "b", 0)], Punctuation.below("ts", 1, k="a")], "drop")
def test_stacks_change_nothing(length: int, slide: int, steps: list[Any], late: str) -> None:
    spec = SlidingWindow(length, slide)
    ours, plain = (kind(spec, KEYS, AGGREGATES, late=late) for kind in (WidKernel, MergingAll))
    for step in [*steps, END]:
        if step == "restore":
            saved = ours.snapshot()
            ours = WidKernel(spec, KEYS, AGGREGATES, late=late)
            ours.restore(saved)
        elif isinstance(step, Punctuation):
            assert comparable(ours.advance(step)) == comparable(plain.advance(step))
        else:
            assert ours.process(*batch(step)).tolist() == plain.process(*batch(step)).tolist()
        assert ours.open_windows() == plain.open_windows()


def test_a_pane_is_merged_three_times_however_long_the_window_is() -> None:
    merges = []
    for panes in (10, 100):
        kernel = WidKernel(SlidingWindow(panes, 1), KEYS, AGGREGATES)
        for step in range(200):
            kernel.process(*batch([(step, key, step % 7) for key in "abc"]))
            kernel.advance(Punctuation.below("ts", step))
        assert kernel._stacks is not None
        merges.append(kernel._stacks.merges)
    assert max(merges) <= 3 * 200
