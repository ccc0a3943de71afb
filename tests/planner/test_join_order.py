"""Orders and costs of the three tables of the thesis (F10; erratum E17), and the heuristic on random streams."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from math import prod
from random import Random
from statistics import mean, median

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.planner.choose.join_order import (
    Stream,
    arrival_cost,
    best_order,
    candidate_orders,
    greedy_order,
    join_size,
    order_cost,
)


def table(*streams: tuple[float, float, float]) -> list[Stream]:
    return [Stream(*stream) for stream in streams]


TABLE_3 = table((10, 100, 500), (1, 100, 50), (1, 200, 40), (3, 100, 5))
TABLE_5 = table((10, 100, 40), (1, 100, 100), (1, 100, 8), (1, 100, 5))
TABLE_6 = table((11, 100, 200), (10, 100, 100), (1, 100, 65), (1, 100, 20))


def every(streams: list[Stream]) -> list[float]:
    return [order_cost(streams, order) for order in permutations(range(len(streams)))]


def order(text: str) -> tuple[int, ...]:
    return tuple(int(part) - 1 for part in text.split())


def test_f10_join_sizes_of_table_5_3():
    sizes = {"1 2": 200, "1 3": 400, "1 4": 600, "2 3": 400, "2 4": 600, "3 4": 1500, "1 2 3": 800, "1 2 4": 1200}
    assert {name: join_size(TABLE_3, order(name)) for name in sizes} == sizes


def window_of(stream: Stream) -> Counter[int]:
    """The values of a full window with how often each is in it; of two windows one has all values of the other."""
    return Counter(i % int(stream.values) for i in range(int(stream.rows)))


def pairs_of(windows: list[Counter[int]]) -> int:
    """How many combinations of rows have one value."""
    return sum(prod(window[value] for window in windows) for value in windows[0])


@pytest.mark.parametrize("streams", [TABLE_3, TABLE_5, TABLE_6], ids=["5.3", "5.5", "5.6"])
def test_e12_the_third_window_counts_with_its_own_rows(streams: list[Stream]):
    rounded = [Stream(1, n * v, v) for n, v in ((-(-s.rows // s.values), s.values) for s in streams)]  # no remainder
    windows = [window_of(stream) for stream in rounded]
    for members in permutations(range(4), 3):
        real = pairs_of([windows[i] for i in members])
        assert join_size(rounded, members) == pytest.approx(real, rel=1e-12)
    one, two, three = rounded[:3]
    pairs = one.rows * two.rows / max(one.values, two.values)
    printed = pairs * two.rows / max(min(one.values, two.values), three.values)  # the second window once more
    assert printed != pytest.approx(pairs_of(windows[:3]), rel=0.01)


def test_f10_cost_of_each_arrival_and_of_the_order_of_table_5_3():
    first = order("1 2 3 4")
    assert [arrival_cost(TABLE_3, first, k) for k in range(4)] == [3800, 3800, 2400, 6000]
    assert best_order(TABLE_3) == first
    assert order_cost(TABLE_3, first) == 16000 == min(every(TABLE_3))
    assert max(every(TABLE_3)) == 86850


@pytest.mark.parametrize(("text", "cost"), [("2 1 3 4", 16200), ("2 3 4 1", 42600), ("1 2 3 4", 21000)])
def test_f10_orders_of_table_5_5(text: str, cost: float):
    assert order_cost(TABLE_5, order(text)) == cost


def test_f10_table_5_5_moves_the_fast_stream_up():
    assert greedy_order(TABLE_5) == order("2 3 4 1")
    assert best_order(TABLE_5) == order("2 1 3 4")
    assert min(every(TABLE_5)) == 16200
    assert max(every(TABLE_5)) == 135150


def test_e17_with_the_printed_rate_the_cost_would_be_another():
    """The text says of table 5.5 that its best order costs 16,200: so it does at a rate of 10, but not at 100."""
    printed = table((100, 100, 40), *((s.rate, 100, s.values) for s in TABLE_5[1:]))
    chosen = order("2 1 3 4")
    assert [order_cost(streams, chosen) for streams in (TABLE_5, printed)] == [16_200, 160_200]
    assert [min(every(streams)) for streams in (TABLE_5, printed)] == [16_200, 160_200]
    assert best_order(TABLE_5) == best_order(printed) == chosen  # only the costs tell the rates apart


@pytest.mark.parametrize(("text", "cost"), [
    ("3 4 1 2", 49542), ("3 1 4 2", 47977), ("3 1 2 4", 51954), ("1 2 3 4", 68200), ("2 1 3 4", 79000)])
def test_f10_orders_of_table_5_6(text: str, cost: float):
    assert round(order_cost(TABLE_6, order(text))) == cost


def test_f10_table_5_6_is_searched_from_the_greedy_order():
    assert greedy_order(TABLE_6) == order("3 4 1 2")
    assert best_order(TABLE_6) == order("3 1 4 2")
    assert round(min(every(TABLE_6))) == 47977
    assert round(mean(every(TABLE_6))) == 63362


def test_equal_values_are_joined_by_size_and_by_bucket():
    assert greedy_order(table((3, 10, 7), (1, 10, 7), (2, 10, 7))) == (1, 2, 0)
    assert greedy_order([Stream(3, 10, 7, 10), Stream(1, 10, 7), Stream(2, 10, 7)]) == (0, 1, 2)


def statistics_of(seed: int, cases: int) -> tuple[float, float, float]:
    """The share of cases at or below the mean of all orders; median and 95th percentile of the ratio to the best."""
    random, ratios, below = Random(seed), [], 0
    for _ in range(cases):
        streams = table(*((random.choice([1, 1, 2, 3, 5, 10, 20]), random.choice([50, 100, 200]),
                           random.randint(3, 500)) for _ in range(4)))
        costs, found = every(streams), order_cost(streams, best_order(streams))
        below += found <= mean(costs)
        ratios.append(found / min(costs))
    return below / cases, median(ratios), sorted(ratios)[int(0.95 * cases)]


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**32))
@example(408)  # of 300 cases the median was 1.0207: so few say nothing about the median
def test_property_18_the_heuristic_is_statistically_below_the_mean_of_all_orders(seed: int):
    """Bounds are six standard errors of 3,000 cases away from what a sample shows: 99.4 %, 1.0 and 1.50."""
    below, middle, nearly_all = statistics_of(seed, 3000)
    assert below >= 0.985
    assert middle <= 1.02
    assert nearly_all < 1.6


streams = st.lists(st.builds(Stream, st.integers(1, 20), st.integers(1, 200), st.integers(1, 500)), min_size=1,
                   max_size=5)


@given(streams)
def test_every_candidate_is_an_order_of_all_streams(found: list[Stream]):
    orders = list(candidate_orders(found))
    assert all(sorted(candidate) == list(range(len(found))) for candidate in orders)
    assert order_cost(found, best_order(found)) <= order_cost(found, greedy_order(found))


def test_a_probe_of_a_bucket_scans_its_rows_and_no_others():
    """Buckets make probes cheaper, and results not fewer."""
    plain = table((1, 100, 10), (1, 100, 10), (1, 100, 10))
    hashed = [Stream(s.rate, s.window, s.values, buckets=10) for s in plain]
    assert arrival_cost(plain, (0, 1, 2), 0) == 100 + 10 * 100
    assert arrival_cost(hashed, (0, 1, 2), 0) == 10 + 10 * 10
