"""Properties of the kernels that hold rows: agreement (P5), AdaptWID (P6), bounds of state (P8), slack (P16)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.aggregates.registry import resolve
from panewise.kernels.baselines.buffering import BufferingKernel
from panewise.kernels.baselines.two_level import TwoLevelKernel
from panewise.kernels.contract.kernel import WindowKernel
from panewise.kernels.contract.partials import bind
from panewise.kernels.window_ids.adaptive import AdaptiveKernel
from panewise.kernels.window_ids.wid import WidKernel
from panewise.progress.punctuation import END, Punctuation
from panewise.windows.sliding import SlidingWindow

KEYS = pa.schema({"k": pa.int64()})
COUNT_AND_SUM = bind([("n", resolve("count")), ("s", resolve("sum"))], [[], [pa.int64()]])
COUNT = COUNT_AND_SUM[:1]

windows = st.builds(SlidingWindow, st.integers(1, 30), st.integers(1, 12))
steps = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=60)
"""Ordered rows: how far time moves, and the group."""


def feed(target: WindowKernel, times: np.ndarray, groups: np.ndarray) -> None:
    keys = pa.table({"k": pa.array(groups, pa.int64())})
    arguments = [[], [pa.array(times * 7 % 11)]]
    target.process(times, keys, arguments[: len(target.aggregates)])


def rows_of(*tables: pa.Table) -> list[str]:
    return sorted(map(str, pa.concat_tables(tables).to_pylist()))


@settings(deadline=None, max_examples=20)
@given(windows, steps, st.integers(1, 20))
def test_p5_all_kernels_agree_on_ordered_input(spec: SlidingWindow, some: list[tuple[int, int]], batch: int) -> None:
    times, groups = np.cumsum([s for s, _ in some]), np.array([g for _, g in some])
    kernels: list[WindowKernel] = [
        WidKernel(spec, KEYS, COUNT_AND_SUM), AdaptiveKernel(spec, KEYS, COUNT_AND_SUM),
        AdaptiveKernel(spec, KEYS, COUNT_AND_SUM, unit="pane"),
        AdaptiveKernel(spec, KEYS, COUNT_AND_SUM, estimate="model"),
        BufferingKernel(spec, KEYS, COUNT_AND_SUM, slack=0),
        BufferingKernel(spec, KEYS, COUNT_AND_SUM, differential=True),
        TwoLevelKernel(spec, KEYS, COUNT_AND_SUM, slots=2)]
    found = []
    for target in kernels:
        parts = []
        for at in range(0, len(times), batch):
            feed(target, times[at : at + batch], groups[at : at + batch])
            parts += [target.ripe(), target.advance(Punctuation.below("ts", int(times[at : at + batch][-1])))]
        found.append(rows_of(*parts, target.advance(END)))
    assert all(results == found[0] for results in found)


@settings(deadline=None, max_examples=30)
@given(windows, steps, st.data())
def test_p6_adaptwid_is_exact_under_any_switching_schedule_and_leaves_no_residue(
        spec: SlidingWindow, some: list[tuple[int, int]], data: st.DataObject) -> None:
    times, groups = np.cumsum([s for s, _ in some]), np.array([g for _, g in some])
    unit = data.draw(st.sampled_from(["group", "pane"]))
    forced, plain = AdaptiveKernel(spec, KEYS, COUNT_AND_SUM, unit=unit), WidKernel(spec, KEYS, COUNT_AND_SUM)
    forced.switching = lambda eager: np.array(
        data.draw(st.lists(st.booleans(), min_size=len(eager), max_size=len(eager))), np.bool_)
    mine, theirs = [], []
    for at in range(0, len(times), 4):
        for target in (forced, plain):
            feed(target, times[at : at + 4], groups[at : at + 4])
        if data.draw(st.booleans()):
            forced.settle()
        bound = Punctuation.below("ts", int(times[at]))
        mine.append(forced.advance(bound))
        theirs.append(plain.advance(bound))
    assert rows_of(*mine, forced.advance(END)) == rows_of(*theirs, plain.advance(END))
    counters = forced.counters()
    assert (counters["partials"], counters["buffered"], counters["bytes"], counters["window_groups"]) == (0, 0, 0, 0)


@settings(deadline=None, max_examples=30)
@given(windows, steps)
def test_p8_state_is_bounded_on_ordered_input(spec: SlidingWindow, some: list[tuple[int, int]]) -> None:
    """At most two partials per slide and group, and never more rows than open windows hold."""
    adaptive, pane = AdaptiveKernel(spec, KEYS, COUNT), AdaptiveKernel(spec, KEYS, COUNT, unit="pane")
    buffering, wid = BufferingKernel(spec, KEYS, COUNT), WidKernel(spec, KEYS, COUNT)
    times = np.cumsum([s for s, _ in some])
    for i, (_, group) in enumerate(some):
        for target in (adaptive, pane, buffering, wid):
            feed(target, times[i : i + 1], np.array([group]))
            target.advance(Punctuation.below("ts", int(times[i])))
        seen = np.array([g for _, g in some[: i + 1]])
        closed = spec.closed_below(int(times[i]))
        live = spec.wids_of(times[: i + 1])[1] > np.maximum(closed, spec.wids_of(times[: i + 1])[0])
        groups = len(set(seen[live].tolist()))
        held = [target.counters() for target in (adaptive, pane, buffering, wid)]
        assert held[2]["buffered"] == int(live.sum()), "buffering holds exactly the rows of open windows"
        for counters in held[:2]:
            assert counters["partials"] <= (2 * spec.ratio + 1) * groups
            assert counters["buffered"] <= int(live.sum())
            assert counters["window_groups"] == held[3]["window_groups"] <= spec.ratio * groups
        assert held[1]["bytes"] <= min(held[2]["bytes"], held[3]["bytes"]), "a pane is on its smaller side"


disordered = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), min_size=1, max_size=40)
"""Rows as (time, delay): they arrive in the order of their sum, so none is more than 12 late."""


def counts(spec: SlidingWindow, times: np.ndarray, policy: str, slack: int | None) -> dict[int, int]:
    target = BufferingKernel(spec, KEYS, COUNT, late=policy, slack=slack)
    parts = []
    for at in range(0, len(times), 5):
        feed(target, times[at : at + 5], np.zeros(len(times[at : at + 5]), np.int64))
        parts.append(target.ripe())
    table = pa.concat_tables([*parts, target.advance(END)])
    return dict(zip(table["wid"].to_pylist(), table["n"].to_pylist(), strict=True))


@settings(deadline=None, max_examples=40)
@given(st.builds(SlidingWindow, st.integers(2, 20), st.integers(1, 8)), disordered, st.integers(0, 14))
def test_p16_enough_slack_makes_no_error_and_generous_slack_no_more_than_consistent(
        spec: SlidingWindow, some: list[tuple[int, int]], slack: int) -> None:
    times = np.array([time for time, delay in sorted(some, key=lambda row: row[0] + row[1])])
    exact = counts(spec, times, "drop", None)
    found = {policy: counts(spec, times, policy, slack) for policy in ("consistent", "generous")}
    error = {policy: {wid: n - found[policy].get(wid, 0) for wid, n in exact.items()} for policy in found}
    disorder = int((np.maximum.accumulate(times) - times).max())
    if slack >= disorder:
        assert not any(error["consistent"].values())
    assert all(error["consistent"][wid] >= error["generous"][wid] >= 0 for wid in exact)
