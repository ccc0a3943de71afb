"""P5, P8, P10, P11, P14 and P18 on every kernel that can run the window; P1 is ``tests/windows/test_duality.py``."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cases import Case
from conformance.compare import assert_same_rows
from conformance.generated import BY_POSITION, BY_VALUE, any_kind, random_case
from conformance.runners import embedded
from panewise.core.errors import UnsupportedError
from panewise.core.intervals import Interval
from panewise.kernels.catalog import KERNELS
from panewise.kernels.panes.pane_tables import pane_ids, panes_per_slide, panes_per_window, window_range
from panewise.progress.punctuation import Punctuation
from panewise.windows.base import Rows
from panewise.windows.landmark import LandmarkWindow
from panewise.windows.sliding import SlidingWindow
from properties.every_kernel import Row, Run, kernels, promised, rows, run

amounts, origins = st.integers(1, 12), st.integers(-9, 9)
sliding = st.builds(SlidingWindow, amounts, amounts, origins, st.integers(0, 5))
restarts = st.frozensets(st.integers(1, 20), max_size=4)


# -- P5: one answer


def by_every_kernel(case: Case, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The answers of the kernels that can run a case."""
    found = {}
    for entry in KERNELS:
        try:
            found[entry.name] = embedded(case, strategy=entry.name, **options)
        except UnsupportedError as error:
            if "does not run these" not in str(error):
                raise
    return found


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["", *BY_VALUE, *BY_POSITION]), st.integers(1, 10), restarts)
def test_p5_every_kernel_gives_the_oracles_answer(random: Random, bracket: str, batch_rows: int,
                                                  at: frozenset[int]) -> None:
    """P5: WID, panes, AdaptWID, buffering and whatever else the catalog lists are one definition."""
    case = any_kind(random, (bracket,), grammatical=None, rows=15) if bracket else random_case(random)
    answers = by_every_kernel(case, batch_rows=batch_rows, restarts=at)
    assert answers
    expected = case.expected()
    for found in answers.values():
        assert_same_rows(found, expected)


# -- P8: bounds of state


@settings(max_examples=15, deadline=None)
@given(amounts, amounts, st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_p8_ordered_input_needs_at_most_range_over_slide_partials_per_group_and_no_rows(
        window: int, slide: int, steps: list[int]) -> None:
    """P8: WID holds at most RANGE/SLIDE partials of a group that is ordered, panes no more than two a slide and one."""
    spec = SlidingWindow(window, slide)
    items: list[Any] = []
    for ts in np.cumsum(steps).tolist():
        items += [Row(ts, "a"), Row(ts, "b"), Punctuation.below("ts", ts)]

    def after(place: int, done: Run) -> None:
        counters = done.kernel.counters()
        if done.kernel.name in ("wid", "panes"):
            assert counters["buffered"] == 0
            assert counters["window_groups"] <= 2 * spec.ratio
            assert counters["partials"] <= 2 * (spec.ratio + 1)

    for make in kernels(spec):
        run(make, items, after=after)


# -- P10: partitions of time windows


@settings(max_examples=20, deadline=None)
@given(sliding, st.lists(rows, max_size=14), st.data())
def test_p10_a_partition_of_a_time_window_is_a_group(spec: SlidingWindow, some: list[Row], data: st.DataObject) -> None:
    """P10: PARTITION BY of a window on values gives what GROUP BY gives."""
    items = data.draw(promised(some))
    for grouped, parted in zip(kernels(spec), kernels(spec, partition=("k",)), strict=True):
        assert run(grouped, items).bag == run(parted, items).bag


# -- P11: landmarks


@settings(max_examples=20, deadline=None)
@given(st.builds(LandmarkWindow, amounts, origins), st.lists(rows, max_size=14), st.data())
def test_p11_a_landmark_window_contains_the_one_before_it(spec: LandmarkWindow, some: list[Row],
                                                          data: st.DataObject) -> None:
    """P11: windows of a group follow each other without a gap, and none has fewer rows or a smaller maximum."""
    for make in kernels(spec):
        by_group = defaultdict(list)
        for _, (wid, k, g, count, top, _total) in run(make, data.draw(promised(some))).results:
            by_group[k, g].append((wid, count, top))
        assert {(r.k, r.g) for r in some} == set(by_group)
        for results in by_group.values():
            for (wid, count, top), (next_wid, next_count, next_top) in pairwise(sorted(results)):
                assert next_wid == wid + 1
                assert next_count >= count
                assert next_top >= top
            mine = sorted(results)
            first = min(spec.wids(Rows.of([r.ts]))[0][0] for r in some)
            assert mine[0][0] >= first


# -- P14: partial windows at the start


@settings(max_examples=20, deadline=None)
@given(amounts, amounts, origins, st.lists(st.integers(0, 30), min_size=1, max_size=14))
def test_p14_windows_that_begin_before_the_origin_are_full_windows_cut_there(
        window: int, slide: int, origin: int, after_origin: list[int]) -> None:
    """P14: on a stream that starts at the origin the first windows hold what their truncated extents hold."""
    spec = SlidingWindow(window, slide, origin)
    some = [Row(origin + t, "a", 0, 1) for t in after_origin]
    expected = {wid: sum(spec.extent(wid).intersect(Interval(origin, None)).contains(r.ts) for r in some)
                for wid in spec.windows(Rows.of([r.ts for r in some])).tolist()}
    for make in kernels(spec):
        assert {result[0]: result[3] for _, result in run(make, some).results} == expected


# -- P18: ids of windows over panes


@settings(max_examples=50, deadline=None)
@given(sliding, st.lists(st.integers(-40, 40), min_size=1, max_size=20))
def test_p18_windows_put_together_from_panes_keep_their_ids(spec: SlidingWindow, values: list[int]) -> None:
    """P18: the windows over pane ids that the kernels use are the windows over values, id for id."""
    at = np.array(values)
    first, end = window_range(pane_ids(at, spec), panes_per_window=panes_per_window(spec),
                              panes_per_slide=panes_per_slide(spec))
    expected_first, expected_end = spec.wids_of(at)
    np.testing.assert_array_equal(first, expected_first)
    np.testing.assert_array_equal(np.maximum(end, first), np.maximum(expected_end, expected_first))


@settings(max_examples=15, deadline=None)
@given(sliding, st.lists(rows, max_size=14))
def test_p18_the_paned_kernel_names_windows_as_wid_does(spec: SlidingWindow, some: list[Row]) -> None:
    """P18: results of panes carry the ids of the query's windows."""
    by_name = {}
    for make in kernels(spec):
        done = run(make, some)
        by_name[done.kernel.name] = sorted({result[0] for _, result in done.results})
    assert {"panes", "wid"} <= by_name.keys()
    expected = spec.windows(Rows.of([r.ts for r in some])).tolist()
    assert all(found == expected for found in by_name.values())


@pytest.mark.parametrize("name", sorted({entry.name for entry in KERNELS}))
def test_every_kernel_of_the_catalog_takes_part_in_these_properties(name: str) -> None:
    """P5 is only worth what it covers: every kernel runs at least one of the windows drawn above."""
    ran: set[str] = set()
    for seed, bracket in enumerate(("RANGE 9, SLIDE 4, WA ts", *BY_VALUE, *BY_POSITION)):
        ran |= by_every_kernel(any_kind(Random(seed), (bracket,), rows=3)).keys()
    assert name in ran
