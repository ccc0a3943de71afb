"""Streams that keep their promises, rows that break them, and watermarks of streams whose future is known."""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.core.errors import LateRowError, ProgressError
from panewise.core.ordinals import OrdinalKind
from panewise.progress import (
    END,
    FINISHED,
    NO_BOUND,
    Below,
    Between,
    Constant,
    Guard,
    OneOf,
    Ordered,
    Pattern,
    Punctuation,
    Wildcard,
    grammatical,
    high_watermark,
    high_watermarks,
    is_grammatical,
    low_watermark,
    low_watermarks,
    offset,
    timeline,
    violations,
)

KEYS = st.sampled_from(["p", "q", None])
NUMBERS = st.integers(0, 8)
TIME_PATTERNS: st.SearchStrategy[Pattern] = st.one_of(
    st.just(Wildcard()), st.builds(Below, NUMBERS), st.builds(Below, NUMBERS), st.builds(Between, NUMBERS, NUMBERS),
    st.builds(Constant, NUMBERS), st.lists(NUMBERS, max_size=2).map(lambda v: OneOf(frozenset(v))))
KEY_PATTERNS: st.SearchStrategy[Pattern] = st.one_of(
    st.just(Wildcard()), st.builds(Constant, KEYS), st.lists(KEYS, max_size=2).map(lambda v: OneOf(frozenset(v))))
PUNCTUATIONS = st.builds(
    lambda ts, k, n: Punctuation.of({"ts": ts, "k": k, "n": n}), TIME_PATTERNS, KEY_PATTERNS,
    st.one_of(st.just(Wildcard()), st.just(Wildcard()), st.builds(Between, NUMBERS, NUMBERS)))
ROWS = st.fixed_dictionaries({"ts": NUMBERS, "k": KEYS, "n": st.none() | NUMBERS})
ITEMS = st.lists(st.one_of(PUNCTUATIONS, ROWS, ROWS), max_size=15)
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "n": pa.int64()})


def broken_by_definition(items: list[Any]) -> list[int]:
    """Places of rows that match any punctuation before them."""
    return [i for i, item in enumerate(items) if not isinstance(item, Punctuation)
            and any(p.matches(item) for p in items[:i] if isinstance(p, Punctuation))]


@given(ITEMS)
def test_a_row_violates_when_any_earlier_punctuation_matches_it(items: list[Any]) -> None:
    broken = broken_by_definition(items)
    assert [v.index for v in violations(timeline(s=items))] == broken
    assert is_grammatical(timeline(s=items)) == (not broken)


@settings(max_examples=30)
@given(ITEMS, ITEMS)
def test_the_guard_for_batches_agrees_and_survives_a_restart(first: list[Any], second: list[Any]) -> None:
    items = first + second
    guard = Guard("ts", action="drop")
    passed: list[Any] = []
    for i, item in enumerate(items):
        if i == len(first):
            saved = json.loads(json.dumps(guard.snapshot()))
            guard = Guard("ts", action="drop")
            guard.restore(saved)
        if isinstance(item, Punctuation):
            guard.punctuate(item)
        else:
            passed += guard.filter(pa.Table.from_pylist([item, item], SCHEMA)).to_pylist()
    broken = broken_by_definition(items)
    kept = [item for i, item in enumerate(items) if not isinstance(item, Punctuation) and i not in broken]
    assert passed == [row for row in kept for _ in range(2)]
    assert guard.violated == 2 * len(broken)


@given(ITEMS, st.randoms())
def test_rows_that_cross_no_punctuation_covering_them_leave_a_stream_grammatical(items: list[Any], random: Any) -> None:
    kept, _ = grammatical(timeline(s=items), "drop")
    order = list(kept)
    for _ in range(20):
        if len(order) < 2:
            break
        i = random.randrange(len(order) - 1)
        left, right = order[i].item, order[i + 1].item
        row_would_follow = isinstance(right, Punctuation) and not isinstance(left, Punctuation) and right.matches(left)
        if not row_would_follow:
            order[i], order[i + 1] = order[i + 1], order[i]
    assert is_grammatical(order)


class TestActions:
    ITEMS = (Punctuation.below("ts", 60, seg="s1"), {"ts": 59, "seg": "s1"}, {"ts": 59, "seg": "s2"})

    def test_drop_and_count_on_a_timeline(self) -> None:
        arrivals = timeline(s=self.ITEMS)
        kept, broken = grammatical(arrivals, "drop")
        assert [a.item for a in kept] == [self.ITEMS[0], self.ITEMS[2]]
        assert [(v.row_number, v.punctuation) for v in broken] == [(1, self.ITEMS[0])]
        assert grammatical(arrivals, "count") == (arrivals, broken)

    def test_an_error_names_the_row_and_the_promise(self) -> None:
        with pytest.raises(LateRowError, match=r"row 1 of s came although punctuation \(seg = s1, ts < 60\)"):
            grammatical(timeline(s=self.ITEMS))
        guard = Guard("ts", stream="bids")
        guard.punctuate(Punctuation.of({"ts": Between(5, 9)}))
        with pytest.raises(LateRowError, match=r"row 12 of bids came although punctuation \(ts in \[5, 9\)\)"):
            guard.filter(pa.table({"ts": [4, 5]}), first_row=11)
        guard.punctuate(Punctuation.below("ts", 3))
        with pytest.raises(LateRowError, match=r"punctuation \(ts < 3\)"):
            guard.filter(pa.table({"ts": [2]}))

    def test_streams_promise_for_themselves_only(self) -> None:
        arrivals = timeline(s=[Punctuation.below("ts", 60)], t=[{"ts": 5}])
        assert is_grammatical(arrivals)

    def test_count_lets_rows_pass(self) -> None:
        guard = Guard("ts", action="count")
        guard.punctuate(END)
        rows = pa.table({"ts": [1, 2]})
        assert guard.filter(rows) is rows
        assert guard.violated == 2

    def test_times_in_rows_compare_with_ordinals_in_punctuation(self) -> None:
        noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        promise = Punctuation.below("ts", OrdinalKind.TIMESTAMP.parse(noon) + 1)
        ordering = {"s": ("ts", OrdinalKind.TIMESTAMP)}
        assert not is_grammatical(timeline(s=[promise, {"ts": noon}]), ordering)
        assert not is_grammatical(timeline(s=[promise, {"ts": "2026-01-01T12:00:00Z"}]), ordering)
        guard = Guard("ts", action="drop")
        guard.punctuate(promise)
        assert guard.filter(pa.table({"ts": [noon]})).num_rows == 0

    def test_what_is_wrong_is_named(self) -> None:
        with pytest.raises(ProgressError, match="no action 'pass' for violated punctuation: use drop, error or count"):
            Guard("ts", action="pass")
        guard = Guard("ts")
        guard.punctuate(Punctuation.below("ts", 5, sge=1))
        with pytest.raises(ProgressError, match="names 'sge', which is no column of the stream; there are ts, seg"):
            guard.violations(pa.table({"ts": [1], "seg": [1]}))
        with pytest.raises(ProgressError, match="names sge, which a row does not have"):
            violations(timeline(s=[Punctuation.below("ts", 5, sge=1), {"ts": 1}]))


class TestWatermarks:
    VALUES = st.lists(st.integers(-9, 9), max_size=15)

    @given(VALUES)
    def test_p13_the_low_watermark_never_decreases_and_is_the_minimum_of_the_future(self, values: list[int]) -> None:
        marks = low_watermarks(values).tolist()
        assert marks == sorted(marks)
        assert marks == [min(values[n:], default=FINISHED) for n in range(len(values) + 1)]
        assert marks == [low_watermark(n, values) for n in range(len(values) + 1)]

    @given(VALUES)
    def test_the_high_watermark_is_the_maximum_of_the_past(self, values: list[int]) -> None:
        marks = high_watermarks(values).tolist()
        assert marks == [max(values[:n], default=NO_BOUND) for n in range(len(values) + 1)]
        assert marks == [high_watermark(n, values) for n in range(len(values) + 1)]

    @given(VALUES)
    def test_a_stream_is_grammatical_exactly_when_its_bounds_stay_at_or_below_the_low_watermark(
            self, values: list[int]) -> None:
        rows = np.array(values, np.int64)
        bounds = Ordered().observe(rows).before
        items: list[Any] = []
        for value, bound in zip(values, bounds.tolist(), strict=True):
            items += [Punctuation.below("ts", bound), {"ts": value}]
        assert is_grammatical(timeline(s=items)) == bool((bounds <= low_watermarks(rows)[:-1]).all())

    def test_the_offset_of_two_sources_is_how_far_one_is_ahead(self) -> None:
        assert (offset([1, 7, 3], [2]), offset([2], [7])) == (5, -5)
