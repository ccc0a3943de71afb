"""The table of bounds in force."""

import json
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.core.errors import CheckpointError, ProgressError
from panewise.progress.bounds import BoundTable
from panewise.progress.patterns import Below, Between, Constant, OneOf, Pattern, Wildcard
from panewise.progress.punctuation import END, Punctuation
from panewise.progress.watermarks import FINISHED, NO_BOUND

KEYS = st.none() | st.sampled_from(["p", "q", "r"])
NUMBERS = st.integers(0, 4)
GROUP_PATTERNS: st.SearchStrategy[Pattern] = st.one_of(
    st.just(Wildcard()), st.builds(Constant, KEYS),
    st.lists(KEYS, min_size=1, max_size=2).map(lambda v: OneOf(frozenset(v))))
NUMBER_PATTERNS: st.SearchStrategy[Pattern] = st.one_of(
    st.just(Wildcard()), st.builds(Constant, NUMBERS), st.builds(Below, NUMBERS), st.builds(Between, NUMBERS, NUMBERS))
ORDERING: st.SearchStrategy[Pattern] = st.one_of(
    st.builds(Below, st.integers(0, 30)), st.builds(Below, st.integers(0, 30)), st.builds(Constant, NUMBERS))
PUNCTUATIONS = st.builds(
    lambda ts, k, n: Punctuation.of({"ts": ts, "k": k, "n": n}), ORDERING, GROUP_PATTERNS, NUMBER_PATTERNS)
ROWS = st.lists(st.tuples(KEYS, NUMBERS), max_size=8)


def by_definition(promised: list[Punctuation], group: dict[str, Any]) -> int:
    """The largest bound among the punctuation that covers the group."""
    best = NO_BOUND
    for p in promised:
        others = [(a, pattern) for a, pattern in p.patterns if a != "ts"]
        bound = p.bound("ts")
        if bound is not None and all(a in group and pattern.matches(group[a]) for a, pattern in others):
            best = max(best, bound)
    return best


def columns(rows: list[tuple[Any, int]]) -> dict[str, pa.Array]:
    return {"k": pa.array([k for k, _ in rows], pa.string()), "n": pa.array([n for _, n in rows], pa.int64())}


@given(st.lists(PUNCTUATIONS, max_size=8), ROWS)
def test_the_bound_in_force_is_the_largest_of_all_punctuation_that_covers_the_group(
        promised: list[Punctuation], rows: list[tuple[Any, int]]) -> None:
    table = BoundTable("ts")
    for p in promised:
        table.advance(p)
    expected = [by_definition(promised, {"k": k, "n": n}) for k, n in rows]
    assert [table.bound_for({"k": k, "n": n}) for k, n in rows] == expected
    assert table.bounds_for(columns(rows)).tolist() == expected
    only_k = {"k": columns(rows)["k"]}
    assert table.bounds_for(only_k).tolist() == [by_definition(promised, {"k": k}) for k, _ in rows]
    assert table.bounds_for({}, len(rows)).tolist() == [by_definition(promised, {})] * len(rows)


@given(st.lists(PUNCTUATIONS, max_size=8), st.lists(PUNCTUATIONS, max_size=4), ROWS)
def test_a_table_restored_from_json_answers_and_goes_on_as_the_saved_one(
        before: list[Punctuation], after: list[Punctuation], rows: list[tuple[Any, int]]) -> None:
    table, copy = BoundTable("ts"), BoundTable("ts")
    for p in before:
        table.advance(p)
    copy.restore(json.loads(json.dumps(table.snapshot())))
    assert [copy.advance(p) for p in after] == [table.advance(p) for p in after]
    assert copy.bounds_for(columns(rows)).tolist() == table.bounds_for(columns(rows)).tolist()


@given(st.lists(PUNCTUATIONS, max_size=8), ROWS)
def test_bounds_never_go_back_and_advance_says_whether_any_group_moved(
        promised: list[Punctuation], rows: list[tuple[Any, int]]) -> None:
    table = BoundTable("ts")
    for p in promised:
        before = table.bounds_for(columns(rows))
        moved = table.advance(p)
        after = table.bounds_for(columns(rows))
        assert (after >= before).all()
        assert moved or (after == before).all()
        assert not table.advance(p), "a repeated punctuation says nothing new"


def test_a_group_closed_for_ever_is_finished_and_the_end_finishes_all() -> None:
    table = BoundTable("ts")
    assert table.advance(Punctuation.of({"ip": Constant("202.3.12.4")}))
    assert (table.bound_for({"ip": "202.3.12.4"}), table.bound_for({"ip": "other"})) == (FINISHED, NO_BOUND)
    assert table.advance(END)
    assert table.bound_for({"ip": "other"}) == FINISHED
    assert not table.finish()


def test_state_shrinks_to_the_groups_ahead_of_the_linear_bound() -> None:
    table = BoundTable("ts")
    for i in range(100):
        table.advance(Punctuation.below("ts", i, seg=i))
    table.advance(Punctuation.below("ts", 97))
    assert list(table.group_keys()) == [{"seg": 98}, {"seg": 99}]


def test_punctuation_that_goes_backwards_is_ignored() -> None:
    table = BoundTable("ts")
    table.advance(Punctuation.below("ts", 60))
    table.advance(Punctuation.below("ts", 90, seg="s1"))
    assert not table.advance(Punctuation.below("ts", 60)), "a duplicate is no step back"
    assert not table.advance(Punctuation.below("ts", 30, seg="s2")), "weaker than what is known, yet no step back"
    assert not table.advance(Punctuation.below("ts", 59))
    assert not table.advance(Punctuation.below("ts", 80, seg="s1"))
    assert (table.linear, table.bound_for({"seg": "s1"})) == (60, 90)


def test_group_constants_of_another_type_than_the_column_are_named() -> None:
    table = BoundTable("ts")
    table.advance(Punctuation.below("ts", 60, seg="s1"))
    with pytest.raises(ProgressError, match="'seg' does not fit a column of type int64"):
        table.bounds_for({"seg": pa.array([1, 2])})


def test_group_keys_that_json_lacks_are_saved_exactly() -> None:
    table, copy = BoundTable("ts"), BoundTable("ts")
    table.advance(Punctuation.below("ts", 60, day=date(2026, 1, 1)))
    copy.restore(json.loads(json.dumps(table.snapshot())))
    assert copy.bound_for({"day": date(2026, 1, 1)}) == 60
    with pytest.raises(CheckpointError, match="saved bounds are on 'ts', this stream is ordered by 'start'"):
        BoundTable("start").restore(table.snapshot())


def test_many_groups_of_two_columns_are_looked_up_at_once() -> None:
    table = BoundTable("ts")
    for i in range(50):
        for j in "xyz":
            table.advance(Punctuation.below("ts", 1 + i * 10 + ord(j), i=i, j=j))
    i, j = np.repeat(np.arange(60), 4), list("wxyz") * 60
    expected = [1 + a * 10 + ord(b) if a < 50 and b != "w" else NO_BOUND for a, b in zip(i.tolist(), j, strict=True)]
    assert table.bounds_for({"i": pa.array(i), "j": pa.array(j).dictionary_encode()}).tolist() == expected
