"""The choice of a kernel: by rule without statistics, by cost with them, and estimates that the kernels keep to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.aggregates.registry import resolve
from panewise.core.errors import UnsupportedError
from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceSchema
from panewise.dataflow import open_plan
from panewise.engines.embedded.analyze import analyze
from panewise.kernels.catalog import Request, able
from panewise.kernels.contract.partials import bind
from panewise.plan import nodes as n
from panewise.plan.dataflow import Estimate
from panewise.planner.choose.dataflow import physical_plan
from panewise.planner.choose.window_kernel import choose
from panewise.planner.cost.constants import CONSTANTS
from panewise.planner.cost.estimates import MODELS, Workload, estimate
from panewise.planner.options import RunOptions
from panewise.planner.statistics.declared import Statistics, measure
from panewise.windows.base import WindowSpec
from panewise.windows.predicate import PredicateWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow

SIMPLE = (("n", "count", False), ("top", "max", False))
HOLISTIC = (("different", "count", True),)


def request(spec: WindowSpec, calls: tuple[tuple[str, str, bool], ...] = SIMPLE) -> Request:
    functions = [(name, resolve(function, (), distinct)) for name, function, distinct in calls]
    inputs = [[] if name == "n" else [pa.float64()] for name, _ in functions]
    return Request(spec, pa.schema({"k": pa.int64()}), tuple(bind(functions, inputs)))


def workload(spec: SlidingWindow, known: Statistics) -> Workload:
    found = Workload.of(request(spec), known)
    assert found is not None
    return found


def memory(kernel: str, work: Workload) -> float:
    found = estimate(kernel, work).bytes
    assert found is not None
    return found


# -- by rule


def test_without_statistics_overlapping_windows_of_simple_aggregates_take_panes() -> None:
    chosen = choose(request(SlidingWindow(60, 1)))
    assert (chosen.kernel, chosen.estimates) == ("panes", ())
    assert "a row is in up to 60 windows" in chosen.reason
    assert "no statistics" in chosen.reason


def test_without_statistics_holistic_aggregates_take_window_ids() -> None:
    chosen = choose(request(SlidingWindow(60, 1), HOLISTIC))
    assert chosen.kernel == "wid"
    assert "partials do not merge element by element" in chosen.reason


def test_a_kind_with_one_kernel_says_so() -> None:
    assert choose(request(SessionWindow(5))).reason == "the only kernel that runs session windows with these aggregates"


def test_a_strategy_that_is_named_is_taken_or_refused() -> None:
    assert choose(request(SlidingWindow(60, 1)), strategy="buffering").reason == "asked for"
    with pytest.raises(UnsupportedError, match=r"'panes' does not run these session windows: use session"):
        choose(request(SessionWindow(5)), strategy="panes")


def test_the_condition_of_a_predicate_window_does_not_change_the_choice() -> None:
    inner = SlidingWindow(60, 1)
    assert choose(request(PredicateWindow(inner))) == choose(request(inner))


# -- by cost


def test_with_statistics_every_candidate_has_an_estimate_and_the_fastest_is_taken() -> None:
    asked = request(SlidingWindow(60_000_000, 1_000_000))
    chosen = choose(asked, Statistics(0.005, groups=1000))
    assert [e.kernel for e in chosen.estimates] == [entry.name for entry in able(asked)]
    times = {e.kernel: e.seconds for e in chosen.estimates if e.seconds is not None}
    assert set(times) >= {"panes", "wid", "adaptive", "buffering"}
    assert chosen.kernel == min(times, key=lambda name: times[name])
    assert chosen.reason.startswith("least time: ")


def test_the_usual_kernel_is_left_only_for_one_that_is_clearly_faster() -> None:
    for groups in (10, 1_000, 100_000):
        for slide in (1_000, 1_000_000, 60_000_000):
            chosen = choose(request(SlidingWindow(60_000_000, slide)), Statistics(0.005, groups=groups))
            times = {e.kernel: e.seconds for e in chosen.estimates if e.seconds is not None}
            assert times[chosen.kernel] <= 2 * min(times.values())
            assert chosen.kernel == "panes" or 2 * times[chosen.kernel] <= times["panes"]


def test_the_choice_is_panes_where_windows_overlap_and_rows_are_many() -> None:
    assert choose(request(SlidingWindow(60_000_000, 1_000_000)), Statistics(0.05, groups=1000)).kernel == "panes"


def test_a_memory_limit_leaves_out_what_does_not_fit() -> None:
    """A few rows of many groups: rows are small, arrays with a cell for every group and pane are large."""
    asked = request(SlidingWindow(60, 1))
    known = Statistics(100.0, groups=100_000, batch_rows=100)
    free = choose(asked, known)
    limit = memory("buffering", workload(SlidingWindow(60, 1), known)) * 1.01
    tight = choose(asked, Statistics(100.0, groups=100_000, batch_rows=100, memory_limit=limit))
    assert free.estimate_of(tight.kernel) is not None
    found = tight.estimate_of(tight.kernel)
    assert found is not None
    assert found.bytes is not None
    assert found.bytes <= limit
    assert "would need more than" in tight.reason


def test_when_nothing_fits_the_smallest_is_taken() -> None:
    chosen = choose(request(SlidingWindow(60, 1)), Statistics(100.0, groups=1000, memory_limit=10))
    assert chosen.reason.startswith("least memory: no kernel keeps its state below 10 B")
    sizes = {e.kernel: e.bytes for e in chosen.estimates if e.bytes is not None}
    assert chosen.kernel == min(sizes, key=lambda name: sizes[name])


def test_a_kernel_without_a_formula_has_no_estimate() -> None:
    work = workload(SlidingWindow(60, 1), Statistics(1.0))
    assert estimate("session", work) == Estimate("session", None, None)
    assert str(estimate("session", work)) == "session: no estimate"


def test_every_model_has_measured_constants() -> None:
    assert set(CONSTANTS["simple"]) == set(MODELS)
    assert set(CONSTANTS["holistic"]) == set(MODELS) - {"panes"}  # it has compiled forms of simple aggregates only
    for by_kernel in CONSTANTS.values():
        for constants in by_kernel.values():
            assert all(value >= 0 for value in vars(constants).values())
            assert any(vars(constants).values())


# -- what the figures are made of


def test_the_workload_of_an_hour_sliding_by_five_minutes() -> None:
    work = workload(SlidingWindow(3600, 300), Statistics(2.0, groups=10, batch_rows=2))
    assert (work.T, work.P, work.panes_per_slide, work.rows_per_slide) == (7200, 12, 1, 600)
    assert work.wed == 3601  # RANGE and one batch of two rows
    assert pytest.approx(10) == work.G


def test_range_nine_and_slide_six_have_three_panes_and_two_per_slide() -> None:
    work = workload(SlidingWindow(9, 6), Statistics(100.0))
    assert (work.P, work.panes_per_slide) == (3, 2)


def test_disorder_keeps_windows_open_longer() -> None:
    spec = SlidingWindow(60, 10)
    ordered, late = (workload(spec, Statistics(1.0, groups=5, disorder=d)) for d in (0, 600))
    for kernel in ("panes", "wid", "adaptive", "buffering"):
        assert memory(kernel, late) >= memory(kernel, ordered)
    assert late.wed - ordered.wed == 600


sizes = st.lists(st.tuples(st.floats(0.001, 100), st.integers(1, 1000)), min_size=1, max_size=6)


@settings(max_examples=30, deadline=None)
@given(sizes, st.floats(0.01, 1000), st.integers(1, 100), st.integers(1, 100), st.floats(0, 500))
def test_adaptive_is_never_estimated_above_rows_or_partials(
        classes: list[tuple[float, int]], vol: float, slide: int, ratio: int, disorder: float) -> None:
    total = sum(weight * count for weight, count in classes)
    shares = tuple((weight / total, float(count)) for weight, count in classes)
    groups = sum(count for _, count in classes)
    known = Statistics(vol, groups=groups, sizes=shares, disorder=disorder)
    work = workload(SlidingWindow(slide * ratio, slide), known)
    eager = sum(count * work.pane_partial * work.wed / slide * (1 - np.exp(-share * work.rows_per_slide))
                for share, count in shares)
    assert memory("adaptive", work) <= min(eager, memory("buffering", work)) * 1.001


# -- estimates against kernels


def bids(rows: int, groups: int, per_step: int, skew: float) -> pa.Table:
    rng = np.random.default_rng(3)
    keys = (groups * rng.random(rows) ** skew).astype(np.int64)
    return pa.table({"ts": pa.array(np.arange(rows) // per_step), "k": pa.array(keys), "v": rng.random(rows)})


def plan(table: pa.Table, spec: SlidingWindow) -> n.WindowAggregate:
    return n.WindowAggregate(
        n.Source("s", SourceSchema.of(table.schema)), n.WindowClause(spec, "ts", OrdinalKind.INTEGER),
        (n.NamedScalar.column("k"),),
        (n.AggregateCall("n", "count"), n.AggregateCall("top", "max", (Scalar.column("v"),))))


@pytest.mark.parametrize("skew", [1.0, 4.0])
@pytest.mark.parametrize("kernel", ["wid", "adaptive", "buffering", "two-level"])
def test_estimated_memory_is_within_a_factor_of_two_of_the_kernels_own_count(kernel: str, skew: float) -> None:
    table = bids(40_000, 400, 50, skew)
    node = plan(table, SlidingWindow(60, 10))
    batches = table.to_batches(max_chunksize=500)
    known = measure([pa.Table.from_batches([batch]) for batch in batches], node)
    found = analyze(node, lambda: {"s": batches}, RunOptions(progress="ordered", strategy=kernel, stats=known))
    [windows] = found.windows.values()
    expected = windows.choice.estimate_of(kernel)
    assert expected is not None
    assert expected.bytes is not None
    assert 0.5 < windows.peak["bytes"] / expected.bytes < 2


def test_results_do_not_depend_on_the_strategy() -> None:
    table = bids(3_000, 40, 10, 2.0)
    node = plan(table, SlidingWindow(30, 12))
    names = physical_plan(node).steps[1].choice.candidates
    assert len(names) > 3
    answers = []
    for name in names:
        query = open_plan(node, progress="ordered", strategy=name)
        parts = [query.push("s", batch) for batch in table.to_batches(max_chunksize=700)]
        answers.append(pa.concat_tables([*parts, query.finish()]).to_pylist())
    keyed = [sorted((row["window"]["start"], row["k"], row["n"], row["top"]) for row in rows) for rows in answers]
    assert all(rows == keyed[0] for rows in keyed)


def test_the_engine_takes_statistics() -> None:
    table = bids(100, 5, 10, 1.0)
    query = open_plan(plan(table, SlidingWindow(60, 10)), stats={"rows_per_unit": 10, "groups": 5})
    assert query.windows.choice.reason.startswith("least time")
