"""Windows rolled up from panes are the windows computed directly (P18, W8, PF9)."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.tiny import CountRows, InOrder, Total
from panewise.aggregates.registry import resolve
from panewise.kernels.contract.partials import BoundAggregate, bind, finish_partials, partial_table
from panewise.kernels.panes import block_scans as dense
from panewise.kernels.panes import pane_tables as tables
from panewise.kernels.panes.pane_tables import (
    PANE_ID,
    pane_ids,
    panes_per_slide,
    panes_per_window,
    roll_up,
    window_range,
)
from panewise.windows.sliding import SlidingWindow

Row = tuple[int, str, float | None]
FLOAT = pa.float64()
SCANNABLE = bind([("n", resolve("count")), ("hi", resolve("max")), ("lo", resolve("min")), ("s", resolve("sum"))],
                 [(), (FLOAT,), (FLOAT,), (FLOAT,)])
COPY = {"explode": 0, "dense": 10**9, "auto": tables.COPY}
ANY = bind([("n", CountRows()), ("all", InOrder())], [(), (FLOAT,)])

specs = st.builds(SlidingWindow, st.integers(1, 12), st.integers(1, 12), st.integers(-20, 20), st.integers(0, 9))
rows_strategy = st.lists(st.tuples(st.integers(-30, 30), st.sampled_from("abc"),
                                   st.one_of(st.none(), st.integers(-9, 9).map(float))), max_size=25)


def panes_of(rows: list[Row], spec: SlidingWindow, aggregates: list[BoundAggregate]) -> pa.Table:
    ids = pane_ids(np.array([r[0] for r in rows], np.int64), spec)
    keys = pa.table({"k": pa.array([r[1] for r in rows], pa.string())})
    value = pa.array([r[2] for r in rows], FLOAT)
    return partial_table(ids, keys, [[value] if a.inputs else [] for a in aggregates], aggregates, id_name=PANE_ID)


def windows_of(rows: list[Row], spec: SlidingWindow, aggregates: list[BoundAggregate], strategy: str, *,
               first: int = -1000, end: int = 1000) -> dict[tuple[int, str], dict[str, object]]:
    tables.COPY = COPY[strategy]
    table = roll_up(panes_of(rows, spec, aggregates), ["k"], aggregates, panes_per_window=panes_per_window(spec),
                    panes_per_slide=panes_per_slide(spec), first_wid=first, end_wid=end)
    tables.COPY = COPY["auto"]
    finished = finish_partials(table, ["k"], aggregates, id_name="wid").to_pylist()
    assert [r["wid"] for r in finished] == sorted(r["wid"] for r in finished)
    assert len(finished) == len({(r["wid"], r["k"]) for r in finished})
    return {(r.pop("wid"), r.pop("k")): r for r in finished}


def directly(rows: list[Row], spec: SlidingWindow, first: int = -1000, end: int = 1000) -> dict[tuple[int, str],
                                                                                            list[float | None]]:
    found: dict[tuple[int, str], list[float | None]] = {}
    for wid in range(max(first, -70), min(end, 70)):
        for at, key, value in rows:
            if spec.extent(wid).contains(at):
                found.setdefault((wid, key), []).append(value)
    return found


@settings(deadline=None, max_examples=75)
@given(rows_strategy, specs, st.sampled_from(["explode", "dense", "auto"]), st.sampled_from([4_000_000, 10]))
@example([(0, "a", None), (1, "a", 2.0)], SlidingWindow(9, 6), "dense", 10)
def test_both_strategies_give_every_window_as_its_extent_says(
        rows: list[Row], spec: SlidingWindow, strategy: str, cells: int) -> None:
    before, dense.CELLS = dense.CELLS, cells
    try:
        found = windows_of(rows, spec, SCANNABLE, strategy)
    finally:
        dense.CELLS = before
    expected = directly(rows, spec)
    assert found.keys() == expected.keys()
    for at, values in expected.items():
        known = [v for v in values if v is not None]
        assert found[at] == {"n": len(values), "hi": max(known, default=None), "lo": min(known, default=None),
                             "s": sum(known) if known else None}


@settings(deadline=None, max_examples=30)
@given(rows_strategy, specs, st.integers(-12, 12), st.integers(0, 8))
def test_any_aggregate_rolls_up_and_only_the_windows_asked_for_appear(
        rows: list[Row], spec: SlidingWindow, first: int, count: int) -> None:
    expected = directly(rows, spec, first, first + count)
    found = windows_of(rows, spec, ANY, "auto", first=first, end=first + count)
    assert {at: sorted(map(repr, r["all"])) for at, r in found.items()} == {  # type: ignore[call-overload]
        at: sorted(map(repr, values)) for at, values in expected.items()}
    scanned = windows_of(rows, spec, SCANNABLE, "dense", first=first, end=first + count)
    assert {at: r["n"] for at, r in scanned.items()} == {at: len(v) for at, v in expected.items()}


@settings(deadline=None)
@given(specs, st.lists(st.integers(-500, 500), min_size=1, max_size=20))
def test_windows_over_pane_ids_have_the_ids_of_the_original_windows(spec: SlidingWindow, values: list[int]) -> None:
    array = np.array(values, np.int64)
    by_pane = window_range(pane_ids(array, spec), panes_per_window=panes_per_window(spec),
                           panes_per_slide=panes_per_slide(spec))
    first, end = spec.wids_of(array)
    some = first < end  # of rows in a gap only the emptiness of the range counts
    assert (by_pane[0] < by_pane[1]).tolist() == some.tolist()
    assert (by_pane[0][some].tolist(), by_pane[1][some].tolist()) == (first[some].tolist(), end[some].tolist())


def test_range_9_slide_6_has_three_panes_per_window_two_per_slide_and_one_shared() -> None:
    spec = SlidingWindow(9, 6)
    assert (spec.pane, panes_per_window(spec), panes_per_slide(spec)) == (3, 3, 2)
    first, end = window_range(np.arange(1, 8), panes_per_window=3, panes_per_slide=2)
    members = {w: [p for p, a, b in zip(range(1, 8), first, end, strict=True) if a <= w < b] for w in (1, 2)}
    assert members == {1: [1, 2, 3], 2: [3, 4, 5]}


def test_nan_is_the_largest_value_in_a_scan() -> None:
    rows: list[Row] = [(0, "a", math.nan), (1, "a", 1.0), (5, "a", math.nan)]
    found = windows_of(rows, SlidingWindow(2, 1), SCANNABLE, "dense")
    assert math.isnan(found[0, "a"]["hi"])  # type: ignore[arg-type]
    assert math.isnan(found[0, "a"]["lo"])  # type: ignore[arg-type]
    assert (math.isnan(found[1, "a"]["hi"]), found[1, "a"]["lo"]) == (True, 1.0)  # type: ignore[arg-type]


def test_a_scan_of_floats_does_not_drift_after_a_huge_value_has_left() -> None:
    rows: list[Row] = [(0, "a", 1e300)] + [(i, "a", 0.1) for i in range(1, 40)]
    found = windows_of(rows, SlidingWindow(3, 1), SCANNABLE, "dense")
    assert found[30, "a"]["s"] == math.fsum([0.1] * 3)


def test_sums_that_could_overflow_are_left_to_the_aggregate() -> None:
    aggregates = bind([("s", Total())], [(pa.int64(),)])
    table = partial_table(np.array([0, 1]), pa.table({"k": ["a", "a"]}), [[pa.array([2**62, 2**62])]], aggregates,
                          id_name=PANE_ID)
    with pytest.raises(OverflowError):  # Python's sum is exact and does not fit the state column
        roll_up(table, ["k"], aggregates, panes_per_window=2, panes_per_slide=1, first_wid=0, end_wid=3)


def test_panes_that_come_in_several_rows_are_merged_before_a_scan() -> None:
    spec = SlidingWindow(2, 1)
    twice = pa.concat_tables([panes_of([(0, "a", 1.0)], spec, SCANNABLE)] * 2)
    table = roll_up(twice, ["k"], SCANNABLE, panes_per_window=2, panes_per_slide=1, first_wid=0, end_wid=5)
    assert table.column("n.count").to_pylist() == [2, 2]


def test_timestamp_extremes_keep_their_type() -> None:
    stamps = pa.array([5, 3, 9], pa.timestamp("us"))
    aggregates = bind([("hi", resolve("max")), ("lo", resolve("min"))], [(stamps.type,), (stamps.type,)])
    table = partial_table(np.array([0, 1, 2]), pa.table({"k": ["a"] * 3}), [[stamps], [stamps]], aggregates,
                          id_name=PANE_ID)
    rolled = roll_up(table, ["k"], aggregates, panes_per_window=3, panes_per_slide=1, first_wid=2, end_wid=3)
    assert finish_partials(rolled, ["k"], aggregates, id_name="wid").select(["hi", "lo"]).cast(
        pa.schema({"hi": pa.int64(), "lo": pa.int64()})).to_pylist() == [{"hi": 9, "lo": 3}]
