"""Row windows and windows of the n newest rows: the oracle's answer whatever comes in whatever way, and examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.plans import COLUMNS, bag, call, run_timeline
from kernels.tiny import InOrder
from oracle.questions import Oracle
from panewise.aggregates.count import Count
from panewise.core.errors import CheckpointError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.kernels.contract.partials import bind
from panewise.kernels.positions.rows import RowKernel
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.base import WindowSpec
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.rows import PartitionedRowWindow, RowWindow
from panewise.windows.sliding import SlidingWindow

NUMBERS = (call("n", "count"), call("top", "max", "v"), call("mean", "avg", "v"), call("least", "min", "ts"))
ANY = (*NUMBERS, call("oldest", "first", "v"), call("half", "median", "v"), call("text", "max", "k"))

sizes = st.integers(1, 9)
specs = st.one_of(
    st.builds(RowWindow, sizes, sizes, st.integers(-4, 8), st.integers(0, 4)),
    st.builds(PartitionedRowWindow, sizes, sizes, st.integers(-4, 8), st.integers(0, 4)),
    st.builds(CountWindow, sizes, sizes), st.builds(PartitionedCountWindow, sizes, sizes),
    st.builds(SlidingWindow, sizes, sizes, st.integers(-4, 8), st.integers(0, 4)),
)
rows = st.fixed_dictionaries({"ts": st.integers(-15, 30), "k": st.sampled_from(["a", "b", None]),
                              "g": st.integers(0, 1), "v": st.none() | st.integers(-3, 3).map(float)})
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-12, 32), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, rows, promises, endings), max_size=25)
places = st.frozensets(st.integers(0, 25), max_size=6)
groupings = st.sampled_from([(), ("k",), ("k", "g"), ("g",)])
partitions = st.sampled_from([(), ("k",), ("k", "g")])


def plan(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...] = (),
         calls: tuple[AggregateCall, ...] = NUMBERS, predicate: str | None = None) -> WindowAggregate:
    clause = WindowClause(spec, "row-num", OrdinalKind.ROWS, partition,
                          None if predicate is None else Scalar.parse(predicate))
    return WindowAggregate(Source("s", SourceSchema(COLUMNS, time="ts")), clause,
                           tuple(NamedScalar.column(k) for k in keys), calls)


@settings(deadline=None, max_examples=150)
@given(specs, groupings, partitions, st.sampled_from([NUMBERS, NUMBERS, ANY]), streams, places, places,
       st.sampled_from([None, None, "v > 0"]))
def test_results_are_the_oracles(spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...],
                                 calls: tuple[AggregateCall, ...], items: list[Any], cuts: frozenset[int],
                                 saves: frozenset[int], predicate: str | None) -> None:
    node = plan(spec, keys, partition, calls, predicate)
    timeline: Timeline = [Arrival("s", item) for item in items]
    found, query = run_timeline(open_plan(node), timeline, cuts, saves)
    assert bag(found) == bag(Oracle(node, timeline).results())
    assert query.late_count == 0, "positions are never late"
    assert query.status()["partials"] == 0, "nothing is left when everything is closed"


@settings(deadline=None, max_examples=50)
@given(specs, groupings, partitions, st.lists(rows, max_size=20))
def test_results_come_out_with_the_row_that_completes_their_window(
        spec: WindowSpec, keys: tuple[str, ...], partition: tuple[str, ...], items: list[Any]) -> None:
    node = plan(spec, keys, partition)
    query = open_plan(node)
    oracle = Oracle(node, [Arrival("s", item) for item in items])
    out: list[dict[str, Any]] = []
    for place, item in enumerate(items):
        out += query.push("s", [item]).to_pylist()
        assert bag(out) == bag(oracle.results_after(place))


# -- examples ----------------------------------------------------------------------------------------------------------


def collecting(spec: WindowSpec, keys: pa.Schema | None = None, **options: Any) -> RowKernel:
    return RowKernel(spec, pa.schema([]) if keys is None else keys, bind([("rows", InOrder())], [(pa.int64(),)]),
                     **options)


def push(kernel: RowKernel, values: list[int], **keys: list[Any]) -> pa.Table:
    table = pa.table(keys, schema=kernel.keys) if keys else pa.table({})
    kernel.process(np.zeros(len(values), np.int64), table, [[pa.array(values, pa.int64())]])
    return kernel.ripe()


def contents(results: pa.Table) -> list[tuple[int, list[int]]]:
    return [(row["wid"], row["rows"]) for row in results.to_pylist()]


def test_four_rows_every_two() -> None:
    kernel = collecting(RowWindow(4, 2))
    assert contents(push(kernel, [11, 12, 13])) == [(0, [11, 12])]
    assert kernel.open_windows() == [1, 2]
    assert contents(push(kernel, [14, 15])) == [(1, [11, 12, 13, 14])]
    assert contents(kernel.peek()) == [(2, [13, 14, 15]), (3, [15])]
    assert contents(kernel.advance(END)) == [(2, [13, 14, 15]), (3, [15])]
    assert contents(kernel.ripe()) == []


def test_the_three_newest_rows_after_every_row() -> None:
    kernel = collecting(CountWindow(3))
    assert contents(push(kernel, [1, 2, 3, 4])) == [(0, [1]), (1, [1, 2]), (2, [1, 2, 3]), (3, [2, 3, 4])]


def test_rows_between_two_windows_take_a_position_and_are_in_none() -> None:
    kernel = collecting(RowWindow(1, 3))
    assert contents(push(kernel, list(range(1, 8)))) == [(0, [3]), (1, [6])]
    assert contents(kernel.advance(END)) == []


def test_every_partition_counts_its_own_rows_and_groups_share_the_positions() -> None:
    keys = pa.schema({"p": pa.string(), "g": pa.int64()})
    kernel = collecting(PartitionedRowWindow(2, 2), keys, partition=["p"])
    found = push(kernel, [1, 2, 3, 4, 5], p=["a", "b", "a", "a", "b"], g=[0, 0, 1, 0, 0]).to_pylist()
    assert sorted((r["wid"], r["p"], r["g"], r["rows"]) for r in found) == [
        (0, "a", 0, [1]), (0, "a", 1, [3]), (0, "b", 0, [2, 5])]


def test_promises_close_nothing_and_make_no_row_late() -> None:
    kernel = collecting(RowWindow(3, 3), pa.schema({"k": pa.string()}))
    push(kernel, [1, 2], k=["a", "b"])
    assert kernel.advance(Punctuation.below("ts", 99)).num_rows == 0
    assert kernel.advance(Punctuation.of(dict(Punctuation.below("x", 0, k="a").patterns[:-1]))).num_rows == 0
    assert [(r["k"], r["rows"]) for r in push(kernel, [3], k=["a"]).to_pylist()] == [("a", [1, 3]), ("b", [2])]


def test_a_long_slide_keeps_one_partial_per_pane_and_group_however_rows_are_batched() -> None:
    spec = RowWindow(1_000, 250)
    kernel = RowKernel(spec, pa.schema({"k": pa.int64()}), bind([("n", Count())], [()]))
    for start in range(990):
        kernel.process(np.zeros(1, np.int64), pa.table({"k": [start % 2]}), [[]])
        kernel.ripe()
    assert kernel.counters() == {"rows": 990, "late": 0, "partials": 8, "bytes": 8 * 24, "buffered": 0,
                                 "window_groups": 8, "open_windows": 4}


def test_a_partition_that_comes_back_goes_on_counting() -> None:
    kernel = collecting(PartitionedRowWindow(2, 1), pa.schema({"k": pa.int64()}), partition=["k"])
    push(kernel, [1], k=[7])
    for start in range(0, 5_000, 500):
        push(kernel, list(range(500)), k=list(range(100 + start, 600 + start)))
    other = collecting(PartitionedRowWindow(2, 1), pa.schema({"k": pa.int64()}), partition=["k"])
    other.restore(kernel.snapshot())
    assert contents(push(other, [2], k=[7])) == [(1, [1, 2])]


def test_a_state_of_another_query_is_refused() -> None:
    with pytest.raises(CheckpointError, match="it belongs to another query"):
        collecting(RowWindow(3, 1)).restore(collecting(RowWindow(2, 1)).snapshot())


def test_other_windows_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="sliding windows are not windows over row positions"):
        collecting(SlidingWindow(3, 1))
