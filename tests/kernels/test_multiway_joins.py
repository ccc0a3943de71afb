"""Joins of several windows, eager and lazy: property 9 and the fixtures F2 and F3."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import PlanError
from panewise.kernels.joins.multiway import MultiwayJoin, WindowInput

Rows = list[tuple[int, int, str | None]]
"""Window, time, key; in order of time."""


def windows(*ranges: int) -> list[WindowInput]:
    return [WindowInput(pa.schema({f"s{i}.t": pa.int64(), f"s{i}.k": pa.string()}), f"s{i}.k", length)
            for i, length in enumerate(ranges)]


def table_of(window: int, rows: list[tuple[int, str | None]]) -> tuple[pa.Table, Any]:
    times = [t for t, _ in rows]
    return pa.table({f"s{window}.t": pa.array(times, pa.int64()),
                     f"s{window}.k": pa.array([k for _, k in rows], pa.string())}), np.array(times)


def times_of(table: pa.Table) -> list[tuple[int, ...]]:
    """The times of the rows of every result, with the interval in which it held."""
    names = [*(n for n in table.column_names if n.endswith(".t")), "valid_from", "expires_at"]
    return list(zip(*(table.column(n).to_pylist() for n in names), strict=True))


def eager(join: MultiwayJoin, rows: Rows, random: Random | None = None) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    at = 0
    while at < len(rows):
        end = at + 1
        while end < len(rows) and rows[end][0] == rows[at][0] and random is not None and random.random() < 0.6:
            end += 1
        found += times_of(join.process(rows[at][0], *table_of(rows[at][0], [r[1:] for r in rows[at:end]])))
        at = end
        if random is not None and at < len(rows) and random.random() < 0.3:
            join.expire(rows[at][1])
    return found


def lazy(join: MultiwayJoin, rows: Rows) -> list[tuple[int, tuple[int, ...]]]:
    """Results with the refresh that reported them."""
    assert join.step is not None
    found: list[tuple[int, tuple[int, ...]]] = []
    last = rows[-1][1] if rows else 0
    for now in range(join.step, last + 2 * join.step, join.step):
        for window, time, key in rows:
            if now - join.step < time <= now:
                assert join.process(window, *table_of(window, [(time, key)])).num_rows == 0
        found += [(now, result) for result in times_of(join.refresh(now))]
    return found


def by_definition(ranges: list[int], rows: Rows) -> Counter[tuple[int, ...]]:
    """Combinations of equal keys whose lives have an instant in common."""
    found: Counter[tuple[int, ...]] = Counter()
    for combined in product(*([(t, k) for w, t, k in rows if w == i] for i in range(len(ranges)))):
        keys, times = {k for _, k in combined}, [t for t, _ in combined]
        born, end = max(times), min(t + length for t, length in zip(times, ranges, strict=True))
        if len(keys) == 1 and None not in keys and born < end:
            found[(*times, born, end)] += 1
    return found


def random_rows(random: Random, count: int, ways: int) -> Rows:
    time, rows = 1, []
    for _ in range(count):
        time += random.choice((0, 0, 1, 1, 2, 5))
        rows.append((random.randrange(ways), time, random.choice(("x", "x", "y", None))))
    return rows


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 4), st.integers(1, 6))
def test_property_9_every_way_gives_the_same_results_and_no_restore_those_that_still_hold(random: Random, ways: int,
                                                                                         step: int) -> None:
    ranges = [random.randint(1, 12) for _ in range(ways)]
    rows = random_rows(random, random.randint(0, 16), ways)
    order = random.sample(range(ways), ways)
    expected = by_definition(ranges, rows)
    assert Counter(eager(MultiwayJoin(windows(*ranges), order=order), rows)) == expected  # J1
    assert Counter(eager(MultiwayJoin(windows(*ranges), order=order, eager_expiry=False), rows, random)) == expected
    restored = lazy(MultiwayJoin(windows(*ranges), order=order, step=step, restore=True), rows)
    assert Counter(result for _, result in restored) == expected  # J4
    assert all(now - step < result[-2] <= now for now, result in restored)  # at the first refresh after their birth
    still = Counter(result for now, result in restored if result[-1] > now)
    assert Counter(r for _, r in lazy(MultiwayJoin(windows(*ranges), order=order, step=step), rows)) == still  # J3


F2: Rows = [(0, 1, "x"), (0, 2, "y"), (1, 8, "x"), (1, 11, "y"), (0, 14, "x"), (1, 16, "x")]


def test_f2_two_windows_of_ten() -> None:
    assert sorted(eager(MultiwayJoin(windows(10, 10)), F2)) == [
        (1, 8, 8, 11), (2, 11, 11, 12), (14, 8, 14, 18), (14, 16, 16, 24)]
    restored = lazy(MultiwayJoin(windows(10, 10), step=4, restore=True), F2)
    assert sorted((now, result[:2]) for now, result in restored) == [
        (8, (1, 8)), (12, (2, 11)), (16, (14, 8)), (16, (14, 16))]
    assert (2, 11) not in [result[:2] for _, result in lazy(MultiwayJoin(windows(10, 10), step=4), F2)]


def test_f3_rows_that_each_met_the_third_and_never_each_other_make_no_result() -> None:
    rows: Rows = [(0, 1, "k"), (2, 6, "k"), (1, 8, "k")]
    assert lazy(MultiwayJoin(windows(7, 7, 7), step=4, restore=True), rows) == []
    assert eager(MultiwayJoin(windows(7, 7, 7)), rows) == []


def test_new_rows_of_one_key_probe_the_other_windows_once_when_they_wait_for_a_refresh() -> None:
    rows: Rows = [(0, 1, "x")] + [(1, 2, "x")] * 50
    often, once = MultiwayJoin(windows(10, 10)), MultiwayJoin(windows(10, 10), step=4)
    assert len(eager(often, rows)) == len(lazy(once, rows)) == 50
    assert often.probes == 51
    assert once.probes == 2


def test_rows_leave_by_the_end_of_their_life() -> None:
    join = MultiwayJoin(windows(3, 9))
    eager(join, [(0, 1, "x"), (1, 1, "x"), (0, 4, "y")])
    assert join.held == 2  # the first had ended at 4
    early, restoring = (MultiwayJoin(windows(3, 20), step=4, restore=restore) for restore in (False, True))
    for join in (early, restoring):
        for window in (0, 1):
            join.process(window, *table_of(window, [(3, "x")]))
        assert join.refresh(4).num_rows == 1
    assert early.held == 1  # gone at the next refresh: let go before it
    assert restoring.held == 2


def test_what_makes_no_join_is_refused() -> None:
    with pytest.raises(PlanError, match="at least two"):
        MultiwayJoin(windows(3))
    with pytest.raises(PlanError, match="give the step"):
        MultiwayJoin(windows(3, 3), restore=True)
    with pytest.raises(PlanError, match="each of its 2 windows once"):
        MultiwayJoin(windows(3, 3), order=[0, 0])
    with pytest.raises(PlanError, match="no refreshes"):
        MultiwayJoin(windows(3, 3)).refresh(4)
    with pytest.raises(PlanError, match="put a Sort before it"):
        eager(MultiwayJoin(windows(3, 3)), [(0, 5, "x"), (1, 4, "x")])
    with pytest.raises(PlanError, match="one join key"):
        MultiwayJoin([*windows(3), WindowInput(pa.schema({"k": pa.int64()}), "k", 3)])
    with pytest.raises(PlanError, match="alias"):
        MultiwayJoin([*windows(3), *windows(3)])
