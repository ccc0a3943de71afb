"""Errata P1, P7 and P8 of Patroumpas and Sellis: definitions of operators, held against the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from oracle.building import by_time, project, source, window
from oracle.questions import Oracle
from panewise.plan.nodes import BagDifference, Distinct, Union
from panewise.progress.timeline import Timeline

A, B = (source(name, v=pa.string()) for name in "ab")
UNTIL = 32
few = settings(max_examples=25)
search = settings(max_examples=2000, derandomize=True, database=None)

Member = tuple[int, int, str]  # timestamp, order of admission, value
Times = list[tuple[int, str]]
times = st.lists(st.tuples(st.integers(0, 20), st.sampled_from("xy")), max_size=6)
lengths = st.integers(1, 9)


def arriving(one: Times, two: Times) -> Timeline:
    def rows(data: Times) -> list[dict[str, object]]:
        return [{"ts": ts, "v": v} for ts, v in data]

    return by_time(a=rows(one), b=rows(two))


def state(data: Times, tau: int, length: int) -> list[Member]:
    """The window (tau - length, tau] with the order in which its rows were admitted."""
    ordered = sorted(data, key=lambda t: t[0])
    return [(ts, rho, v) for rho, (ts, v) in enumerate(ordered) if tau - length < ts <= tau]


# -- P1: which duplicate is the representative -------------------------------------------------------------------------

BEATS: dict[str, Callable[[Member, Member], bool]] = {
    "printed": lambda other, row: other[0] >= row[0],
    "strict": lambda other, row: other[0] > row[0],
    "ours": lambda other, row: other[:2] > row[:2],
}


def representatives(rows: list[Member], beats: str) -> list[Member]:
    """The rows without an equal one, not excluding themselves, that beats them."""
    return [row for row in rows if not any(other[2] == row[2] and BEATS[beats](other, row) for other in rows)]


@given(times, st.integers(0, UNTIL), lengths)
def test_p1_with_at_least_every_row_excludes_itself(data: Times, tau: int, length: int):
    assert representatives(state(data, tau, length), "printed") == []


def test_p1_with_strictly_greater_rows_of_one_instant_are_all_representatives():
    def two_of_a_value(data: Times) -> bool:
        values = [v for _, _, v in representatives(state(data, 20, 30), "strict")]
        return len(values) > len(set(values))

    assert find(times, two_of_a_value, settings=search) == [(0, "x"), (0, "x")]


@few
@given(times, lengths)
def test_p1_by_timestamp_and_admission_there_is_one_the_oracles_most_recent_row(data: Times, length: int):
    oracle = Oracle(Distinct(project(window(A, length), "v"), policy="recent"), arriving(data, []))
    for tau in range(UNTIL):
        kept = representatives(state(data, tau, length), "ours")
        assert Counter((ts, v) for ts, _, v in kept) == Counter(
            (t.ts, t.values["v"]) for t in oracle._definition.relation(oracle.plan, tau))
        assert len({v for _, _, v in kept}) == len(kept)


# -- P7, P8: the multiplicity of what is absent ------------------------------------------------------------------------

Bag = Counter[str]


def bag_of(data: Times, tau: int, length: int) -> Bag:
    return Counter(v for _, _, v in state(data, tau, length))


def printed_union(left: Bag, right: Bag, largest: int) -> set[tuple[str, int]]:
    """Every (row, k1 + k2) for which the printed condition can be met: k1 copies left *or* k2 copies right."""
    numbers = range(1, largest + 1)
    return {(row, k1 + k2) for row in (*left, *right) for k1 in numbers for k2 in numbers
            if left[row] == k1 or right[row] == k2}


def test_p7_the_printed_union_leaves_the_number_of_copies_open():
    left, right = Counter("xx"), Counter[str]()
    assert printed_union(left, right, 4) == {("x", 3), ("x", 4), ("x", 5), ("x", 6)}  # 2 + any number, never 2 + 0
    assert left + right == Counter({"x": 2})


@few
@given(times, times, lengths, lengths)
def test_p7_with_zero_for_what_is_absent_copies_add_up(one: Times, two: Times, left: int, right: int):
    plan = Union((project(window(A, left), "v"), project(window(B, right), "v")))
    oracle = Oracle(plan, arriving(one, two))
    for tau in range(UNTIL):
        expected = bag_of(one, tau, left) + bag_of(two, tau, right)
        assert Counter(row["v"] for row in oracle.relation_at(tau)) == expected


def difference(left: Bag, right: Bag, *, printed: bool) -> Bag:
    """k = max(0, k1 - k2); printed only for rows that are in both windows."""
    return Counter({row: left[row] - right[row] for row in left
                    if left[row] > right[row] and (row in right or not printed)})


def test_p8_the_printed_difference_shows_no_row_that_only_the_left_window_has():
    items, left, right = arriving([(1, "x"), (2, "y"), (3, "y")], [(2, "y")]), Counter("xyy"), Counter("y")
    oracle = Oracle(BagDifference(project(window(A, 9), "v"), project(window(B, 9), "v")), items)
    shown = Counter(row["v"] for row in oracle.relation_at(3))
    assert shown == difference(left, right, printed=False) == Counter("xy")
    assert difference(left, right, printed=True) == Counter("y")


@few
@given(times, times, lengths, lengths)
def test_p8_with_zero_for_what_is_absent_it_is_the_oracles_difference(one: Times, two: Times, left: int, right: int):
    oracle = Oracle(BagDifference(project(window(A, left), "v"), project(window(B, right), "v")), arriving(one, two))
    for tau in range(UNTIL):
        expected = difference(bag_of(one, tau, left), bag_of(two, tau, right), printed=False)
        assert Counter(row["v"] for row in oracle.relation_at(tau)) == expected


def told(events: list[str]) -> int:
    """The copies of one value in the result by the prose: l and r come to the windows, L and R expire from them."""
    left = right = result = 0
    for event in events:
        if event == "l":
            left, result = left + 1, result + (right == 0)
        elif event == "r":
            right, result = right + 1, max(0, result - (left > 0))
        elif event == "L":
            left, result = left - 1, max(0, result - 1)
        else:
            right, result = right - 1, result + (left > 0)
    return result


def surplus(events: list[str]) -> int:
    return max(0, events.count("l") - events.count("L") - events.count("r") + events.count("R"))


@pytest.mark.parametrize("events", [["r", "l", "l"], ["l", "r", "r", "R"], ["r", "r", "l", "R"]])
def test_p8_moving_the_count_by_events_without_comparing_both_sides_goes_wrong(events: list[str]):
    assert told(events) != surplus(events)
