"""Buffering gives what the extents say: scanned or differential, by punctuation or by slack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.definition import (
    AGGREGATES,
    KEYS,
    NO_BOUND,
    POLICIES,
    Item,
    Row,
    by_definition,
    feed,
    places,
    rising_bounds,
    rows,
    run,
    specs,
    streams,
)
from panewise.aggregates.registry import resolve
from panewise.core.errors import LateRowError, UnsupportedError
from panewise.kernels.baselines.buffering import BufferingKernel
from panewise.kernels.contract.partials import bind
from panewise.kernels.window_ids import context_free
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow

INVERTIBLE = bind([("n", resolve("count")), ("s", resolve("sum")), ("d", resolve("count_distinct"))],
                  [(), (pa.int64(),), (pa.int64(),)])


def kernel(spec: SlidingWindow, late: str = "drop", slack: int | None = None) -> BufferingKernel:
    return BufferingKernel(spec, KEYS, AGGREGATES, late=late, slack=slack)


@settings(deadline=None, max_examples=60)
@given(specs, streams, st.sampled_from(POLICIES), places, places)
@example(SlidingWindow(5, 3), [Row(0, "a", 0), Punctuation.below("ts", 4, k="a"), Row(1, "a", 0), Row(1, "b", 0)],
         "generous", frozenset({1}), frozenset({2}))
def test_results_and_late_rows_are_those_of_the_definition(
        spec: SlidingWindow, items: list[Item], policy: str, cuts: frozenset[int], saves: frozenset[int]) -> None:
    assert run(lambda: kernel(spec, policy), items, cuts, saves) == by_definition(spec, items, policy)


@settings(deadline=None, max_examples=40)
@given(specs, streams, st.sampled_from(POLICIES), places, places, st.integers(0, 8))
def test_slack_is_a_bound_behind_the_largest_value_so_far(
        spec: SlidingWindow, items: list[Item], policy: str, cuts: frozenset[int], saves: frozenset[int],
        slack: int) -> None:
    found = run(lambda: kernel(spec, policy, slack), items, cuts, saves)
    assert found == by_definition(spec, items, policy, rising_bounds(items, slack))


@settings(deadline=None, max_examples=30)
@given(specs, streams, st.sampled_from(POLICIES), places, st.integers(0, 8))
def test_bounds_made_row_by_row_are_respected(spec: SlidingWindow, items: list[Item], policy: str,
                                              cuts: frozenset[int], lag: int) -> None:
    bounds = rising_bounds(items, lag)
    assert run(lambda: kernel(spec, policy), items, cuts, source_bounds=bounds) == \
        by_definition(spec, items, policy, bounds)


def both(spec: SlidingWindow, items: list[Item], policy: str, saves: frozenset[int],
         differential: bool) -> list[dict[str, Any]]:
    """Results of invertible aggregates, as rows in a fixed order."""
    def made() -> BufferingKernel:
        return BufferingKernel(spec, KEYS, INVERTIBLE, late=policy, differential=differential)

    target = made()
    results: list[dict[str, Any]] = []
    for i, item in enumerate([*items, END]):
        if i in saves:
            saved = target.snapshot()
            target = made()
            target.restore(saved)
        if isinstance(item, Punctuation):
            results += target.advance(item).to_pylist()
        else:
            keys = pa.table({"k": pa.array([item.k], pa.string()), "g": pa.array([item.g], pa.int64())})
            value = [pa.array([item.ts % 3])]
            target.process(np.array([item.ts]), keys, [[], value, value])
    counters = target.counters()
    assert (counters["buffered"], counters["partials"], counters["bytes"]) == (0, 0, 0)
    return sorted(results, key=str)


@settings(deadline=None, max_examples=60)
@given(specs, streams, st.sampled_from(POLICIES), places)
@example(SlidingWindow(10, 2), [Row(0, "a", 0), Punctuation.below("ts", 4), Row(20, "a", 0), Row(4, "b", 0)], "drop",
         frozenset())
@example(SlidingWindow(10, 2), [Row(0, "a", 0), Row(5, "a", 0), Punctuation.below("ts", 4), Row(1, "a", 0),
                                Punctuation.below("ts", 6, k="a"), Punctuation.below("ts", 8)], "generous", frozenset())
def test_subtracting_what_left_and_adding_what_came_gives_the_same(
        spec: SlidingWindow, items: list[Item], policy: str, saves: frozenset[int]) -> None:
    assert both(spec, items, policy, saves, True) == both(spec, items, policy, saves, False)


def test_the_differential_variant_needs_an_exact_inverse() -> None:
    for function in ("max", "sum"):  # a float sum would drift
        with pytest.raises(UnsupportedError, match="cannot be subtracted exactly"):
            BufferingKernel(SlidingWindow(10, 5), KEYS, bind([("x", resolve(function))], [(pa.float64(),)]),
                            differential=True)


def test_rows_are_kept_until_their_last_window_is_closed() -> None:
    target = kernel(SlidingWindow(10, 5))
    feed(target, [Row(ts, "a", 0) for ts in range(10)], 0)
    assert target.counters()["buffered"] == 10
    target.advance(Punctuation.below("ts", 10))
    counters = target.counters()
    assert (counters["buffered"], counters["window_groups"], target.open_windows()) == (5, 1, [2])
    assert target.closed_below == 2


def test_one_row_in_many_windows_is_held_once() -> None:
    minute = 60
    target = BufferingKernel(SlidingWindow(5 * minute, minute), pa.schema({"k": pa.int64()}), AGGREGATES[:1])
    target.process(np.array([17 * minute]), pa.table({"k": [1]}), [[]])
    counters = target.counters()
    assert (counters["buffered"], counters["bytes"], counters["open_windows"]) == (1, 16, 5)


def test_w1_ordered_rows_close_windows_without_punctuation() -> None:
    target = kernel(SlidingWindow(10, 5), slack=0)
    feed(target, [Row(1, "a", 0), Row(6, "a", 0)], 0)
    assert [r["wid"] for r in target.ripe().to_pylist()] == [0]
    assert feed(target, [Row(3, "a", 0)], 2) == [2], "a row behind the newest is late"
    feed(target, [Row(10, "a", 0)], 3)
    assert [(r["wid"], r["n"]) for r in target.ripe().to_pylist()] == [(1, 2)]
    assert target.ripe().num_rows == 0


@settings(deadline=None, max_examples=15)
@given(st.lists(rows, max_size=20), specs, st.integers(0, 6), places)
def test_batch_cuts_do_not_change_what_slack_drops(some: list[Row], spec: SlidingWindow, slack: int,
                                                   cuts: frozenset[int]) -> None:
    def made() -> BufferingKernel:
        return kernel(spec, "generous", slack)

    assert run(made, some, cuts) == run(made, some)


def test_it_gives_what_wid_gives_for_many_rows() -> None:
    rng = np.random.default_rng(3)
    functions = bind([(n, resolve(n)) for n in ("sum", "max", "median", "mode")], [[pa.float64()]] * 4)
    keys = pa.schema({"k": pa.string()})
    outputs = []
    for made in (BufferingKernel, WidKernel):
        rng = np.random.default_rng(3)
        target = made(SlidingWindow(9, 4), keys, functions)
        parts = []
        for step in range(20):
            batch = pa.table({"k": [f"k{i}" for i in rng.integers(0, 9, 60)]})
            prices = pa.array(np.round(rng.normal(0, 9, 60), 1), mask=rng.random(60) < 0.1)
            target.process(step * 3 + rng.integers(0, 6, 60), batch, [[prices]] * 4)
            parts.append(target.advance(Punctuation.below("ts", step * 3)))
        outputs.append(sorted(map(str, pa.concat_tables([*parts, target.advance(END)]).to_pylist())))
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 100


def test_many_windows_that_close_together_are_put_together_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SlidingWindow(30, 2)
    some = [Row(ts, "a" if ts % 3 else "b", 0) for ts in (0, 1, 5, 7, 8, 9, 200, 203, 210, 211, 500)]
    whole = kernel(spec)
    feed(whole, some, 0)
    expected = whole.advance(END)
    for most in (1, 7, 40):
        pieces = kernel(spec)
        feed(pieces, some, 0)
        monkeypatch.setattr(context_free, "MOST_AT_ONCE", most)
        assert pieces.advance(END).combine_chunks().equals(expected)
    assert expected.num_rows > 50


def test_a_late_row_stops_the_run_when_the_policy_says_so() -> None:
    target = kernel(SlidingWindow(5, 5), "error", slack=2)
    feed(target, [Row(9, "a", 0), Row(7, "a", 0)], 0)
    with pytest.raises(LateRowError):
        feed(target, [Row(6, "a", 0)], 2)


def test_peeking_changes_nothing() -> None:
    target = BufferingKernel(SlidingWindow(10, 5), KEYS, INVERTIBLE, differential=True, slack=1)
    keys = pa.table({"k": ["a"] * 8, "g": [0] * 8})
    value = [pa.array(range(8))]
    target.process(np.arange(8), keys, [[], value, value])
    seen = target.peek()
    assert seen.num_rows == 3
    assert target.advance(END).equals(seen.combine_chunks())


def test_options_and_windows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="slack"):
        kernel(SlidingWindow(5, 5), slack=-1)
    for spec in (SessionWindow(5), LandmarkWindow(5)):
        with pytest.raises(UnsupportedError, match="buffering"):
            BufferingKernel(spec, KEYS, AGGREGATES)


def test_nothing_is_promised_before_the_first_row() -> None:
    target = kernel(SlidingWindow(5, 5), slack=3)
    assert target.ripe().num_rows == 0
    assert target.closed_below < NO_BOUND
