"""Batch by kernels, both halves in process: windows from panes with states that are more than numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast
from unittest.mock import patch

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from panewise.aggregates.registry import resolve
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.engines.spark.host.partial_stage import PartialStage
from panewise.engines.spark.host.sharding import SHARD
from panewise.engines.spark.lower.fragment import ORDINAL, Fragment
from panewise.engines.spark.lower.lineage import origins
from panewise.engines.spark.queries.hosting import WholeInput
from panewise.engines.spark.queries.shard import QueryConfig
from panewise.engines.spark.queries.windows import over_rows
from panewise.kernels.contract.partials import BoundAggregate
from panewise.plan.nodes import AggregateCall
from panewise.progress.late import DEFAULT_LATE
from panewise.windows.base import Rows
from panewise.windows.sliding import SlidingWindow
from spark.cases import plan

DISTINCT = BoundAggregate("kinds", resolve("count", (), True), (pa.int64(),))
MEDIAN = BoundAggregate("mid", resolve("median", (), False), (pa.int64(),))
row = st.tuples(st.sampled_from("ab"), st.integers(-30, 60) | st.integers(900, 910), st.integers(-3, 3))
windows = st.builds(SlidingWindow, st.integers(1, 40), st.integers(1, 12), st.integers(-9, 9), st.sampled_from([0, 5]))


CALLS = (AggregateCall("kinds", "count", (Scalar.column("v"),), distinct=True),
         AggregateCall("mid", "median", (Scalar.column("v"),)))


def halves_of(window: SlidingWindow, calls: tuple[AggregateCall, ...] = CALLS) -> tuple[PartialStage, QueryConfig]:
    fragment = Fragment(plan(window, aggregates=calls), (), cast("DataFrame", None))
    types = pa.schema({"__pw_k0": pa.string(), "__pw_a0_0": pa.int64()})
    config = over_rows(fragment, types, origins(fragment), DEFAULT_LATE, 1, partials=True)
    stage = PartialStage((), (0,), (), window, ("__pw_k0",), (DISTINCT, MEDIAN), (("v",), ("v",)), DEFAULT_LATE, "t",
                         OrdinalKind.INTEGER)
    return stage, config


def results(window: SlidingWindow, tasks: list[list[tuple[str, int, int]]]) -> Counter[Any]:
    """Each list is what one task reads; all groups are in one shard."""
    stage, config = halves_of(window)
    schema = pa.schema({"__pw_k0": pa.string(), ORDINAL: pa.int64(), "v": pa.int64(), SHARD: pa.int32()})
    messages = [m for task in tasks if task for m in stage(
        pa.table([*map(list, zip(*task, strict=True)), [0] * len(task)], schema=schema).to_batches())]
    found = [pa.Table.from_batches([b]) for b in WholeInput(config)(messages)]
    return Counter((r["window"]["start"], r["__pw_k0"], r["kinds"], r["mid"])
                   for table in found for r in table.to_pylist())


def by_definition(rows: list[tuple[str, int, int]], window: SlidingWindow) -> Counter[Any]:
    members: dict[tuple[int, str], list[int]] = {}
    for key, at, value in rows:
        for wid in window.windows(Rows.of([at])).tolist():
            members.setdefault((wid, key), []).append(value)
    expected: Counter[Any] = Counter()
    for (wid, key), values in members.items():
        ordered = sorted(values)
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        expected[window.extent(wid).start, key, len(set(values)), middle] += 1
    return expected


@settings(max_examples=40, deadline=None)
@given(st.lists(row, max_size=40), windows, st.integers(0, 40), st.sampled_from([1, 1_000, 1 << 20]))
@example([("a", 0, 1), ("a", 905, 2)], SlidingWindow(40, 3), 1, 1)
@example([("a", 0, 1), ("b", 20, 2)], SlidingWindow(10, 12), 0, 1)
def test_windows_from_stacked_panes_have_the_answer_of_their_definition(
        rows: list[tuple[str, int, int]], window: SlidingWindow, cut: int, state_bytes: int) -> None:
    with patch("panewise.engines.spark.queries.shard.STATE_BYTES", state_bytes):
        assert results(window, [rows[:cut], rows[cut:]]) == by_definition(rows, window)


def test_few_panes_or_plain_numbers_need_no_stacks() -> None:
    def stacked(window: SlidingWindow, calls: tuple[AggregateCall, ...] = CALLS) -> bool:
        windows = halves_of(window, calls)[1].open().windows
        assert windows is not None
        return windows.ranges.stacked

    assert stacked(SlidingWindow(40, 4))
    assert not stacked(SlidingWindow(8, 4))
    assert not stacked(SlidingWindow(40, 4), (AggregateCall("n", "count"),))
