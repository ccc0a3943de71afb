"""AdaptWID gives what the extents say whatever side its groups are on, and holds the smaller side."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.definition import (
    AGGREGATES,
    KEYS,
    POLICIES,
    Item,
    Row,
    by_definition,
    feed,
    places,
    rising_bounds,
    run,
    specs,
    streams,
)
from panewise.aggregates.registry import resolve
from panewise.core.errors import CheckpointError, LateRowError, UnsupportedError
from panewise.kernels.contract.kernel import Mask, WindowKernel
from panewise.kernels.contract.partials import bind
from panewise.kernels.window_ids.adaptive import AdaptiveKernel, Estimate, Unit
from panewise.kernels.window_ids.open_duration import OpenDuration
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.calendar import CalendarWindow
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow

UNITS: list[Unit] = ["group", "pane"]
ESTIMATES: list[Estimate] = ["held", "model"]


def kernel(spec: SlidingWindow, late: str = "drop", unit: Unit = "group", estimate: Estimate = "held",
           seed: int | None = None) -> AdaptiveKernel:
    made = AdaptiveKernel(spec, KEYS, AGGREGATES, late=late, unit=unit, estimate=estimate)
    if seed is not None:
        rng = np.random.default_rng(seed)
        made.switching = lambda eager: rng.random(len(eager)) < 0.5
    return made


def settle_sometimes(target: WindowKernel) -> None:
    assert isinstance(target, AdaptiveKernel)
    if (target.rows + target.closed_below) % 2:
        target.settle()


@settings(deadline=None, max_examples=60)
@given(specs, streams, st.sampled_from(POLICIES), places, places, st.sampled_from(UNITS), st.sampled_from(ESTIMATES),
       st.none() | st.integers(0, 5))
@example(SlidingWindow(5, 3), [Row(0, "a", 0), Punctuation.below("ts", 4, k="a"), Row(1, "a", 0), Row(1, "b", 0)],
         "generous", frozenset({1}), frozenset({2}), "group", "held", 1)
def test_results_and_late_rows_are_those_of_the_definition_under_any_switching(
        spec: SlidingWindow, items: list[Item], policy: str, cuts: frozenset[int], saves: frozenset[int], unit: Unit,
        estimate: Estimate, seed: int | None) -> None:
    found = run(lambda: kernel(spec, policy, unit, estimate, seed), items, cuts, saves, between=settle_sometimes)
    assert found == by_definition(spec, items, policy)


@settings(deadline=None, max_examples=30)
@given(specs, streams, st.sampled_from(POLICIES), places, st.integers(0, 8), st.sampled_from(UNITS))
def test_bounds_made_row_by_row_are_respected(spec: SlidingWindow, items: list[Item], policy: str,
                                              cuts: frozenset[int], lag: int, unit: Unit) -> None:
    bounds = rising_bounds(items, lag)
    assert run(lambda: kernel(spec, policy, unit), items, cuts, source_bounds=bounds) == \
        by_definition(spec, items, policy, bounds)


def test_a_late_row_stops_the_run_when_the_policy_says_so() -> None:
    target = kernel(SlidingWindow(5, 5), "error")
    target.advance(Punctuation.below("ts", 9))
    with pytest.raises(LateRowError):
        feed(target, [Row(3, "a", 0)], 0)


def packets(sizes: dict[str, int], aggregate: str = "sum", spec: SlidingWindow | None = None,
            unit: Unit = "group") -> AdaptiveKernel:
    """A kernel that holds so many rows of each group, spread over ten seconds."""
    inputs = [[pa.int64()]] if aggregate != "count" else [[]]
    target = AdaptiveKernel(spec or SlidingWindow(10, 1), pa.schema({"k": pa.string()}),
                            bind([("x", resolve(aggregate))], inputs), unit=unit)
    names = [name for name, size in sizes.items() for _ in range(size)]
    values = np.concatenate([np.linspace(0, 9.99, size).astype(np.int64) for size in sizes.values()])
    arguments = [[pa.array(np.arange(len(names)))]] if inputs[0] else [[]]
    target.process(values, pa.table({"k": pa.array(names)}), arguments)
    return target


def test_small_groups_are_rows_and_large_groups_are_partials() -> None:
    counters = packets({"small": 1, "large": 300}).counters()
    assert (counters["buffered"], counters["partials"]) == (1, 10)


def test_a_pane_is_rows_while_they_are_smaller_than_an_aggregate() -> None:
    counters = packets({"a": 12}, unit="pane").counters()  # two panes with two rows, eight with one
    assert (counters["buffered"], counters["partials"]) == (12, 0)
    counters = packets({"a": 45}, unit="pane").counters()
    assert (counters["buffered"], counters["partials"]) == (0, 10)


def test_a_group_whose_rows_become_few_goes_back_to_rows_and_is_transitional_until_its_partials_close() -> None:
    target = packets({"a": 300})
    assert target.counters()["partials"] == 10
    for ts in range(10, 22):
        target.advance(Punctuation.below("ts", ts))
        target.process(np.array([ts]), pa.table({"k": ["a"]}), [[pa.array([1])]])
    counters = target.counters()
    assert counters["partials"] > 0, "partials stay until they are put out"
    assert counters["buffered"] > 0, "new rows are kept as rows"
    for ts in range(22, 40):
        target.advance(Punctuation.below("ts", ts))
        target.process(np.array([ts]), pa.table({"k": ["a"]}), [[pa.array([1])]])
    counters = target.counters()
    assert (counters["partials"], counters["buffered"]) == (0, 10)
    assert counters["switches"] == 2


def test_the_two_thresholds_keep_a_group_between_them_where_it_is() -> None:
    def switches(hysteresis: float) -> int:
        rng = np.random.default_rng(2)
        target = AdaptiveKernel(SlidingWindow(10, 1), pa.schema({"k": pa.int64()}),
                                bind([("n", resolve("count"))], [[]]), hysteresis=hysteresis)
        for ts in range(200):  # about as many rows as make both sides equally large
            count = int(rng.choice([2, 2, 2, 3]))
            target.advance(Punctuation.below("ts", ts))
            target.process(np.full(count, ts), pa.table({"k": np.zeros(count, np.int64)}), [[]])
            target.settle()
        return target.switches

    assert 0 < switches(0.8) < switches(1.0)
    for wrong in (0.0, 1.5, -1):
        with pytest.raises(UnsupportedError, match="hysteresis"):
            AdaptiveKernel(SlidingWindow(10, 10), KEYS, AGGREGATES, hysteresis=wrong)


def test_e13_the_open_duration_is_range_plus_the_lag_and_not_twice_the_lag() -> None:
    durations = {}
    for since in ("high", "low"):
        time = OpenDuration(SlidingWindow(100, 10), since)  # type: ignore[arg-type]
        for ts in range(0, 500, 10):  # in order, progress is known 30 late
            time.saw(np.array([ts]), ts // 10 + 9, ts - 30)
            time.closed((ts - 30) // 10)
        durations[since] = time.duration or 0
    assert 100 <= durations["high"] + 10 <= 140
    assert durations["low"] == durations["high"] + 30


def test_w6_one_row_in_five_open_windows_is_one_row_here_and_one_range_in_wid() -> None:
    minute = 60
    target = kernel(SlidingWindow(5 * minute, minute))
    feed(target, [Row(17 * minute, "a", 0)], 0)
    counters = target.counters()
    assert (counters["buffered"], counters["partials"], counters["window_groups"]) == (1, 0, 5)


CALLS = [("n", "count", 0), ("s", "sum", 1), ("a", "avg", 1), ("lo", "min", 1), ("hi", "max", 1), ("v", "var_samp", 1),
         ("f", "first", 1), ("l", "last", 1), ("d", "count_distinct", 1), ("m", "median", 1), ("o", "mode", 1)]


@pytest.mark.parametrize("unit", UNITS)
def test_every_kind_of_aggregate_gives_what_wid_gives(unit: Unit) -> None:
    rng = np.random.default_rng(5)
    functions = bind([(name, resolve(function)) for name, function, _ in CALLS],
                     [[pa.float64()] * arity for _, _, arity in CALLS])
    keys = pa.schema({"k": pa.string()})
    spec = SlidingWindow(9, 4)
    targets = [AdaptiveKernel(spec, keys, functions, unit=unit), WidKernel(spec, keys, functions)]
    outputs: list[list[pa.Table]] = [[], []]
    for step in range(20):
        values = step * 3 + rng.integers(0, 6, 60)
        batch = pa.table({"k": [None if i % 7 == 0 else f"k{i}" for i in rng.zipf(1.4, 60) % 40]})
        prices = pa.array(np.round(rng.normal(0, 9, 60), 1), mask=rng.random(60) < 0.1)
        positions = pa.array(np.arange(60) + step * 60)
        arguments = [[prices] * arity + ([positions] if name in "fl" else []) for name, _, arity in CALLS]
        for target, output in zip(targets, outputs, strict=True):
            target.process(values, batch, arguments)
            output.append(target.advance(Punctuation.below("ts", step * 3)))
    for target, output in zip(targets, outputs, strict=True):
        output.append(target.advance(END))
    mine, theirs = (sorted(map(str, pa.concat_tables(output).to_pylist())) for output in outputs)
    assert mine == theirs
    assert len(mine) > 100


def test_aggregates_that_are_larger_than_their_rows_are_not_made() -> None:
    target = AdaptiveKernel(SlidingWindow(10, 10), pa.schema({"k": pa.int64()}),
                            bind([("d", resolve("count_distinct"))], [[pa.int64()]]))
    target.process(np.zeros(500, np.int64), pa.table({"k": np.zeros(500, np.int64)}), [[pa.array(np.arange(500))]])
    wid = WidKernel(target.spec, target.keys, target.aggregates)
    wid.process(np.zeros(500, np.int64), pa.table({"k": np.zeros(500, np.int64)}), [[pa.array(np.arange(500))]])
    assert target.counters()["bytes"] <= min(500 * 24, wid.counters()["bytes"]) * 1.1


def test_calendar_windows_run_too() -> None:
    hour = 3600 * 1_000_000
    spec = CalendarWindow("day", timezone="Europe/Berlin")
    values = np.array([0, 22 * hour, 23 * hour, 47 * hour])
    for estimate in ESTIMATES:
        target = AdaptiveKernel(spec, KEYS, AGGREGATES, estimate=estimate)
        target.process(values, pa.table({"k": ["a"] * 4, "g": [0] * 4}), [[], [pa.array([0, 1, 2, 3])]])
        found = {r["wid"]: r["seen"] for r in target.advance(END).to_pylist()}
        assert found == {w: [i for i, v in enumerate(values) if spec.extent(w).contains(int(v))] for w in found}
        assert len(found) == 3


def test_windows_that_need_more_than_the_row_are_refused() -> None:
    for spec in (SessionWindow(5), RowWindow(5, 1), LandmarkWindow(5)):
        with pytest.raises(UnsupportedError, match="adaptive"):
            AdaptiveKernel(spec, KEYS, AGGREGATES)


@pytest.mark.parametrize("before", UNITS)
@pytest.mark.parametrize("after", UNITS)
def test_a_state_may_be_restored_with_other_options(before: Unit, after: Unit) -> None:
    saving, restored = (kernel(SlidingWindow(10, 5), unit=unit, estimate=estimate)
                        for unit, estimate in ((before, ESTIMATES[0]), (after, ESTIMATES[1])))
    feed(saving, [Row(ts, "a", 0) for ts in range(8)], 0)
    restored.restore(saving.snapshot())
    assert restored.advance(END).equals(saving.advance(END))


def test_a_saved_state_of_another_query_is_refused() -> None:
    with pytest.raises(CheckpointError, match="another query"):
        kernel(SlidingWindow(10, 2)).restore(kernel(SlidingWindow(10, 5)).snapshot())


def test_peeking_changes_nothing() -> None:
    target = kernel(SlidingWindow(10, 5))
    feed(target, [Row(ts, "a", 0) for ts in range(8)], 0)
    seen = target.peek()
    assert seen.num_rows == 3
    assert target.advance(END).equals(seen)


def test_keys_that_went_away_do_not_stay_in_memory() -> None:
    target = AdaptiveKernel(SlidingWindow(10, 10), pa.schema({"k": pa.string()}), AGGREGATES[:1])
    for step in range(40):
        keys = pa.table({"k": [f"{'key' * 20}-{step}-{i}" for i in range(50)]})
        target.process(np.full(50, step * 10), keys, [[]])
        target.advance(Punctuation.below("ts", step * 10))
    assert target.counters()["buffered"] == 50
    assert target.counters()["bytes"] < 50 * 400


def test_a_forced_choice_is_a_choice_of_sides() -> None:
    def all_eager(eager: Mask) -> Mask:
        return np.ones(len(eager), np.bool_)

    target = kernel(SlidingWindow(10, 5))
    target.switching = all_eager
    feed(target, [Row(1, "a", 0)], 0)
    assert (target.counters()["buffered"], target.counters()["partials"]) == (0, 1)
