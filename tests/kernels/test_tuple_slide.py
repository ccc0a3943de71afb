"""Slide-by-tuple on the log kernel: the oracle's answer whatever comes in whatever way, and the worked examples.

Streams are random in everything: disorder, promises for all and for groups (kept or broken), cuts into batches, and a
state that is saved and restored into a new query at several places of one run.
"""

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
from panewise.aggregates.extremes import Max
from panewise.core.errors import CheckpointError, LateRowError, UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.kernels.contract.partials import bind
from panewise.kernels.positions.tuple_slide import TupleSlideKernel
from panewise.plan.nodes import AggregateCall, NamedScalar, Source, WindowAggregate, WindowClause
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.timeline import Arrival, Timeline
from panewise.windows.rows import RowWindow
from panewise.windows.tuple_slide import TupleSlideWindow

NUMBERS = (call("n", "count"), call("top", "max", "v"), call("mean", "avg", "v"), call("least", "min", "ts"))
ANY = (*NUMBERS, call("oldest", "first", "v"), call("half", "median", "v"), call("text", "max", "k"))
POLICIES = ("drop", "side", "generous", "consistent")

specs = st.builds(TupleSlideWindow, st.integers(1, 12), st.integers(1, 4), st.sampled_from(["arrival", "rank"]),
                  st.booleans())
rows = st.fixed_dictionaries({"ts": st.integers(-15, 30), "k": st.sampled_from(["a", "b", None]),
                              "g": st.integers(0, 1), "v": st.none() | st.integers(-3, 3).map(float)})
constants = st.fixed_dictionaries({}, optional={"k": st.sampled_from(["a", "b", None]), "g": st.integers(0, 1)})
promises = st.builds(lambda bound, c: Punctuation.below("ts", bound, **c), st.integers(-12, 32), constants)
endings = constants.filter(bool).map(lambda c: Punctuation.of(dict(Punctuation.below("x", 0, **c).patterns[:-1])))
streams = st.lists(st.one_of(rows, rows, rows, promises, endings), max_size=25)
places = st.frozensets(st.integers(0, 25), max_size=6)
groupings = st.sampled_from([(), ("k",), ("k", "g"), ("g",)])
partitions = st.sampled_from([(), ("k",), ("k", "g")])


def plan(spec: TupleSlideWindow, keys: tuple[str, ...], partition: tuple[str, ...] = (),
         calls: tuple[AggregateCall, ...] = NUMBERS) -> WindowAggregate:
    clause = WindowClause(spec, "ts", OrdinalKind.INTEGER, partition)
    return WindowAggregate(Source("s", SourceSchema(COLUMNS, time="ts")), clause,
                           tuple(NamedScalar.column(k) for k in keys), calls)


def check(node: WindowAggregate, items: list[Any], policy: str = "drop", cuts: frozenset[int] = frozenset(),
          saves: frozenset[int] = frozenset(), progress: str = "source") -> None:
    timeline: Timeline = [Arrival("s", item) for item in items]
    oracle = Oracle(node, timeline, late=policy, progress=progress)
    query = open_plan(node, late=policy, progress=progress)
    found, query = run_timeline(query, timeline, cuts, saves, late=policy, progress=progress)
    assert bag(found) == bag(oracle.results())
    assert query.late_count == len(oracle.late_rows())
    assert query.status()["partials"] == 0, "nothing is left when everything is closed"


@settings(deadline=None, max_examples=150)
@given(specs, groupings, partitions, st.sampled_from([NUMBERS, NUMBERS, ANY]), streams, st.sampled_from(POLICIES),
       places, places)
def test_results_are_the_oracles(spec: TupleSlideWindow, keys: tuple[str, ...], partition: tuple[str, ...],
                                 calls: tuple[AggregateCall, ...], items: list[Any], policy: str,
                                 cuts: frozenset[int], saves: frozenset[int]) -> None:
    check(plan(spec, keys, partition, calls), items, policy, cuts, saves)


@settings(deadline=None, max_examples=50)
@given(specs, groupings, partitions, st.lists(rows, max_size=25), st.sampled_from(POLICIES), places, places,
       st.sampled_from(["ordered", "late:3", "rows:2", "column:g"]))
def test_progress_that_is_generated_row_by_row_gives_the_oracles_results(
        spec: TupleSlideWindow, keys: tuple[str, ...], partition: tuple[str, ...], items: list[Any], policy: str,
        cuts: frozenset[int], saves: frozenset[int], progress: str) -> None:
    check(plan(spec, keys, partition), items, policy, cuts, saves, progress)


@settings(deadline=None, max_examples=20)
@given(specs, st.permutations(range(40)), st.integers(1, 40))
def test_rows_that_break_no_promise_may_come_in_any_order(spec: TupleSlideWindow, order: list[int], cut: int) -> None:
    """By arrival the windows follow the order, so only every row and rank are free of it."""
    spec = TupleSlideWindow(spec.range, spec.every, "rank")  # type: ignore[arg-type]
    assert rows_out(spec, order[:cut], order[cut:]) == rows_out(spec, range(40))


def rows_out(spec: TupleSlideWindow, *batches: Any) -> list[dict[str, Any]]:
    kernel = counting(spec)
    for batch in batches:
        push(kernel, list(batch))
    return list(kernel.advance(END).to_pylist())


def counting(spec: TupleSlideWindow, keys: pa.Schema | None = None, **options: Any) -> TupleSlideKernel:
    return TupleSlideKernel(spec, pa.schema([]) if keys is None else keys, bind([("n", Count())], [()]), **options)


def push(kernel: TupleSlideKernel, values: list[int], **keys: list[Any]) -> list[bool]:
    table = pa.table(keys, schema=kernel.keys) if keys else pa.table({})
    arguments = [[pa.array(values)] if a.inputs else [] for a in kernel.aggregates]
    return list(kernel.process(np.array(values, np.int64), table, arguments).tolist())


def windows(results: pa.Table) -> list[tuple[int, int]]:
    return [(row["wid"], row["n"]) for row in results.to_pylist()]


def below(bound: int, **constants: Any) -> Punctuation:
    return Punctuation.below("ts", bound, **constants)


# -- worked examples: RANGE 100, rows 10, 30, 50, 125 and, late in the order but not behind a promise, 20 --------------


@pytest.mark.parametrize(("arrived", "bins"), [
    ([10], [(10, 1)]),
    ([10, 30], [(10, 1), (30, 2)]),
    ([10, 30, 50], [(10, 1), (30, 2), (50, 3)]),
    ([10, 30, 50, 125], [(10, 1), (30, 2), (50, 3), (125, 3)]),
    ([10, 30, 50, 125, 20], [(10, 1), (20, 2), (30, 3), (50, 4), (125, 3)]),
])
def test_the_start_bins_of_the_worked_example(arrived: list[int], bins: list[tuple[int, int]]) -> None:
    kernel = counting(TupleSlideWindow(100))
    push(kernel, arrived)
    assert windows(kernel.peek()) == bins
    assert kernel.open_windows() == [wid for wid, _ in bins]


def test_a_promise_puts_out_the_bins_below_it_and_the_others_stay() -> None:
    kernel = counting(TupleSlideWindow(100))
    push(kernel, [10, 30, 50, 125, 20])
    assert windows(kernel.advance(below(31))) == [(10, 1), (20, 2), (30, 3)]
    assert windows(kernel.peek()) == [(50, 4), (125, 3)]
    assert kernel.counters() == {"rows": 5, "late": 0, "partials": 3, "bytes": kernel.counters()["bytes"],
                                 "buffered": 2, "window_groups": 2, "open_windows": 2}


def test_what_is_put_out_still_counts_in_windows_that_reach_back_to_it() -> None:
    """Erratum E7: the value of the last bin below the bound is not lost with it."""
    kernel = counting(TupleSlideWindow(100))
    push(kernel, [10, 30])
    kernel.advance(below(31))
    push(kernel, [40])
    assert windows(kernel.advance(END)) == [(40, 3)]


def test_rows_exactly_one_range_apart_do_not_share_a_window() -> None:
    """Erratum E6: the bin of the earlier row's end and the bin of the later row have one id."""
    assert rows_out(TupleSlideWindow(10), [0, 10, 20, 10]) == [
        {"wid": 0, "n": 1}, {"wid": 10, "n": 2}, {"wid": 20, "n": 1}]


def test_only_rows_define_windows_and_ends_of_rows_do_not() -> None:
    """Erratum E5: nothing comes out at 110, where the row of 10 leaves."""
    kernel = counting(TupleSlideWindow(100))
    push(kernel, [10])
    assert windows(kernel.advance(below(200))) == [(10, 1)]
    assert windows(kernel.advance(END)) == []


def test_every_second_row_by_arrival_and_by_rank() -> None:
    assert [r["wid"] for r in rows_out(TupleSlideWindow(100, 2), [10, 30, 50, 125, 20])] == [30, 125]
    by_rank = TupleSlideWindow(100, 2, "rank")  # type: ignore[arg-type]
    assert [r["wid"] for r in rows_out(by_rank, [10, 30, 50, 125, 20])] == [20, 50]


def test_by_rank_a_row_may_withdraw_windows_that_a_promise_has_not_covered() -> None:
    kernel = counting(TupleSlideWindow(100, 2, "rank"))  # type: ignore[arg-type]
    push(kernel, [10, 30])
    assert kernel.open_windows() == [30]
    push(kernel, [20])
    assert kernel.open_windows() == [20]
    assert windows(kernel.advance(below(31))) == [(20, 2)]
    push(kernel, [40])
    assert windows(kernel.advance(END)) == [(40, 4)]


# -- groups, partitions, promises --------------------------------------------------------------------------------------

KEYS = pa.schema({"k": pa.string(), "g": pa.int64()})


def test_a_row_of_one_group_defines_windows_for_all() -> None:
    kernel = counting(TupleSlideWindow(10), KEYS)
    push(kernel, [1, 2], k=["a", "b"], g=[0, 0])
    assert [(r["wid"], r["k"], r["n"]) for r in kernel.advance(END).to_pylist()] == [
        (1, "a", 1), (2, "a", 1), (2, "b", 1)]


def test_a_promise_about_a_group_closes_nothing_while_others_may_define_windows() -> None:
    kernel = counting(TupleSlideWindow(10), KEYS)
    push(kernel, [1, 2], k=["a", "b"], g=[0, 0])
    assert kernel.advance(below(5, k="a")).num_rows == 0
    assert push(kernel, [3], k=["a"], g=[0]) == [True]
    assert push(kernel, [3], k=["b"], g=[0]) == [False]
    assert kernel.advance(below(5)).num_rows == 5


def test_a_promise_about_a_partition_closes_its_windows_only() -> None:
    kernel = counting(TupleSlideWindow(10), KEYS, partition=["k"])
    push(kernel, [1, 2, 3], k=["a", "b", "a"], g=[0, 0, 1])
    closed = kernel.advance(below(5, k="a")).to_pylist()
    assert [(r["wid"], r["k"], r["g"], r["n"]) for r in closed] == [(1, "a", 0, 1), (3, "a", 0, 1), (3, "a", 1, 1)]
    assert kernel.open_windows() == [2]
    assert kernel.advance(below(5, g=0)).num_rows == 0, "other groups of the partition may still define windows"


def test_late_rows_have_no_number_and_define_no_window() -> None:
    kernel = counting(TupleSlideWindow(10, 2), late="generous")
    push(kernel, [1, 2])
    kernel.advance(below(4))
    assert push(kernel, [3, 5, 6]) == [True, False, False]
    assert windows(kernel.advance(END)) == [(6, 5)], "the late row is in the open window; 6 is the fourth in time"


def test_the_policy_error_stops_at_the_first_late_row() -> None:
    kernel = counting(TupleSlideWindow(10), late="error")
    kernel.advance(below(4))
    with pytest.raises(LateRowError, match="row 2 of the stream is late"):
        push(kernel, [5, 3])


@pytest.mark.parametrize("slow", [False, True])
def test_many_late_rows_under_generous_in_one_batch(slow: bool) -> None:
    rng = np.random.default_rng(3)
    values = np.arange(9_000) - np.where(rng.random(9_000) < 0.02, rng.integers(0, 900, 9_000), 0)
    bounds = np.append(-(10**6), np.maximum.accumulate(values)[:-1] - 300)
    late = values < bounds
    aggregates = bind([("n", Count()), ("top", Max())], [(), (pa.int64(),)])
    if slow:
        values, bounds, late = values[:3_000], bounds[:3_000], late[:3_000]
        aggregates = [*aggregates, *bind([("seen", InOrder())], [(pa.int64(),)])]
    kernel = TupleSlideKernel(TupleSlideWindow(700 if not slow else 40), pa.schema([]), aggregates, late="generous")
    column = pa.array(values)
    kernel.process(values, pa.table({}), [[], [column], [column]][:len(aggregates)], bounds=bounds)
    found = kernel.advance(END)
    wids = np.unique(values[~late])
    reach = kernel.spec.range  # type: ignore[attr-defined]
    start = np.where(late, bounds, values)
    inside = [(start <= w) & (w < values + reach) & (values <= w) for w in wids.tolist()]
    assert late.sum() > 20
    assert found["wid"].to_pylist() == wids.tolist()
    assert found["n"].to_pylist() == [int(mask.sum()) for mask in inside]
    assert found["top"].to_pylist() == [int(values[mask].max()) for mask in inside]
    if slow:
        assert [sorted(seen) for seen in found["seen"].to_pylist()] == [sorted(values[mask]) for mask in inside]


# -- state -------------------------------------------------------------------------------------------------------------


def test_groups_that_went_away_leave_no_state() -> None:
    kernel = counting(TupleSlideWindow(10), pa.schema({"k": pa.int64()}))
    sizes = []
    for start in range(0, 40_000, 1_000):
        push(kernel, list(range(start, start + 1_000)), k=list(range(start, start + 1_000)))
        kernel.advance(below(start + 1_000))
        sizes.append(len(kernel.snapshot()))
    assert max(sizes[20:]) < 2 * max(sizes[:10])
    assert kernel.counters()["partials"] == 9


def test_states_that_only_their_function_can_merge_are_forgotten_too() -> None:
    kernel = TupleSlideKernel(TupleSlideWindow(3), pa.schema([]), bind([("seen", InOrder())], [(pa.int64(),)]))
    found = []
    for start in range(0, 6_000, 500):
        push(kernel, list(range(start, start + 500)))
        found += kernel.advance(below(start + 500)).to_pylist()
    assert found[2]["seen"] == [0, 1, 2]
    assert [row["seen"] for row in found[2:]] == [[w - 2, w - 1, w] for w in range(2, 6_000)]
    assert kernel._columns.heap_rows < 2_500


def test_a_state_of_another_query_is_refused() -> None:
    kernel = counting(TupleSlideWindow(10))
    push(kernel, [1])
    with pytest.raises(CheckpointError, match="it belongs to another query"):
        counting(TupleSlideWindow(11)).restore(kernel.snapshot())


def test_other_windows_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="row windows are not defined by rows"):
        TupleSlideKernel(RowWindow(3, 1), pa.schema([]), bind([("n", Count())], [()]))
