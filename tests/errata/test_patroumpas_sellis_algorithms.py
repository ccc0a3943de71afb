"""Errata of the algorithms in Patroumpas and Sellis: what is printed fails, the correction holds."""

from __future__ import annotations

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from errata.algorithms import aggregate_count_window, live_pairs, ord_join

values = st.lists(st.integers(0, 9), min_size=1, max_size=15)
arrivals = st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ab"), st.sampled_from("xy")), max_size=14)
sizes = st.tuples(st.integers(1, 3), st.integers(1, 3))


def newest(data: list[int], size: int, function: str) -> list[float]:
    windows = [data[max(0, i + 1 - size): i + 1] for i in range(len(data))]
    return [float(max(w)) if function == "max" else sum(w) / len(w) for w in windows]


@pytest.mark.parametrize("function", ["max", "avg"])
@given(data=values, size=st.integers(1, 5))
def test_p16_removing_before_scanning_and_keeping_the_sum_is_exact(function: str, data: list[int], size: int) -> None:
    got = aggregate_count_window(data, size, function, printed=False)
    assert got == newest(data, size, function)


@pytest.mark.parametrize("function", ["max", "avg"])
def test_p16_algorithm_1_as_printed_goes_wrong(function: str) -> None:
    def wrong(case: tuple[list[int], int]) -> bool:
        data, size = case
        return aggregate_count_window(data, size, function, printed=True) != pytest.approx(newest(data, size, function))

    find(st.tuples(values, st.integers(1, 5)), wrong)


@given(arrivals, sizes)
def test_p14_a_strict_garbage_bound_keeps_exactly_the_live_results(data: list, size: tuple[int, int]) -> None:
    assert ord_join(data, size, lazily=True) == live_pairs(data, size)


def test_p14_the_printed_bound_kills_live_results() -> None:
    find(st.tuples(arrivals, sizes), lambda c: ord_join(*c, lazily=True, inclusive=True) != live_pairs(*c))


@given(arrivals, sizes)
def test_p15_one_catalogue_per_partition_is_exact(data: list, size: tuple[int, int]) -> None:
    assert ord_join(data, size, partitioned=True) == live_pairs(data, size, partitioned=True)


def test_p15_one_catalogue_per_side_is_not() -> None:
    def wrong(case: tuple) -> bool:
        return ord_join(*case, partitioned=True, one_catalogue=True) != live_pairs(*case, partitioned=True)

    find(st.tuples(arrivals, sizes), wrong)


def test_pf5_results_do_not_expire_in_the_order_they_were_born() -> None:
    text = [(0, "a"), (1, "b"), (1, "a"), (0, "c"), (0, "b"), (1, "x"), (1, "y"), (1, "z"), (0, "q")]
    history = ord_join([(s, v, "") for s, v in text], (3, 4))
    first, second = (0, 1), (2, 0)  # (p1, s2) and (p3, s1), counted from zero
    born = [next(i for i, live in enumerate(history) if pair in live) for pair in (first, second)]
    died = [next(i for i, live in enumerate(history) if i > b and pair not in live)
            for pair, b in zip((first, second), born, strict=True)]
    assert [b + 1 for b in born] == [3, 5]
    assert [d + 1 for d in died] == [9, 8]
